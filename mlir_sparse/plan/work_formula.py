"""The work of a loop nest as a formula of extents and stored entries.

It follows each loop nest from the outside in. At every depth the number of steps is a product of factors: the extent of
a dense variable; the entries of an operand whose compressed levels are walked; or, if another operand reaches the
levels above (the rows of B at the entries of A in SpGEMM), a sum over the entries of that operand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Access, Expr, IndexVar
from mlir_sparse.plan.order.co_iteration import Walk, products, walks

__all__ = ["asymptotic_cost"]

Types = Mapping[str, TensorType]


@dataclass(frozen=True, slots=True)
class _Factor:
    """The number of combinations of some index variables.

    Args:
        variables: the index variables.
        text: the number.
        sources: the accesses and dense variables iterated.
        tensor: the operand whose entries are counted, if it is one.
        level: the last level counted.
    """

    variables: frozenset[IndexVar]
    text: str
    sources: tuple[str, ...]
    tensor: str = ""
    level: int = 0


_Count = tuple[_Factor, ...]


def asymptotic_cost(order: tuple[IndexVar, ...], payload: Expr, types: Types, scattered: Access | None = None) -> str:
    """Returns the work of a nest, such as `O(i + nse(A))`.

    A variable is its extent, `nse(A)` the number of stored entries of A, `nse(A.0)` that of the coordinates in its
    level 0, and `nse(B(k,:))` that of the entries of B at one k.

    Args:
        order: the loops, outermost first.
        payload: the computation in the innermost loop.
        types: the types of all tensors that it reads.
        scattered: the operand that is scattered once, and looked up in the innermost loop.
    """
    terms: dict[_Count, None] = {}
    if scattered is not None:
        last = len(scattered.subscripts) - 1
        own = frozenset(scattered.indices)
        terms[_Factor(own, f"nse({scattered.tensor})", (str(scattered),), scattered.tensor, last),] = None
    for product in products(payload, types):
        count: _Count = ()
        for variable in order:
            found = walks(product, variable, order, types)
            if variable == order[-1]:
                found = tuple(walk for walk in found if walk.access != scattered)
            steps = [_walked(count, walk, variable) for walk in found] or [(*count, _extent(variable))]
            terms.update(dict.fromkeys(steps))
            count = _least(count, steps)
    kept = [term for term in terms if not any(_is_within(term, other) for other in terms if other != term)]
    written = dict.fromkeys(" * ".join(factor.text for factor in _in_order(term)) for term in kept)
    return f"O({' + '.join(written) or '1'})"


def _extent(variable: IndexVar) -> _Factor:
    return _Factor(frozenset({variable}), str(variable), (str(variable),))


def _walked(count: _Count, walk: Walk, variable: IndexVar) -> _Count:
    """Returns the number of steps down to a level that is walked for every value of the variables above it."""
    above, operand = frozenset(walk.above), walk.access
    covering = [factor for factor in count if factor.variables & above]
    rest = tuple(factor for factor in count if factor not in covering)
    covered = frozenset[IndexVar]().union(*(factor.variables for factor in covering))
    sources = tuple(dict.fromkeys(source for factor in covering for source in factor.sources))
    if covered == above:
        name = operand.tensor if walk.last else f"{operand.tensor}.{walk.level}"
        factor = _Factor(above | {variable}, f"nse({name})", (str(operand),), operand.tensor, walk.level)
    else:
        # Other operands reach the levels above, more than once.
        fiber = f"nse({operand.tensor}({_fiber(operand, walk)}))"
        text = f"sum over {', '.join(sources)} of {fiber}"
        factor = _Factor(covered | {variable}, text, (*sources, str(operand)))
    return (*rest, factor)


def _fiber(access: Access, walk: Walk) -> str:
    return ",".join(str(subscript) if subscript in walk.above else ":" for subscript in access.subscripts)


def _least(count: _Count, steps: list[_Count]) -> _Count:
    """Returns the bound after a loop that intersects several levels: the least of theirs."""
    first, *others = steps
    changed = [[factor for factor in step if factor not in count] for step in steps]
    if not others or any(len(new) != 1 for new in changed):
        return first
    names = ", ".join(dict.fromkeys(new[0].text for new in changed))
    least = _Factor(changed[0][0].variables, f"min({names})", changed[0][0].sources)
    return (*(factor for factor in first if factor not in changed[0]), least)


def _in_order(term: _Count) -> _Count:
    """Puts a sum last, as factors after it would read as a part of it."""
    return tuple(sorted(term, key=lambda factor: factor.text.startswith("sum over")))


def _is_within(term: _Count, other: _Count) -> bool:
    """Returns whether a product of factors is at most another, factor by factor."""
    left = list((Counter(other) - Counter(term)).elements())
    for factor in (Counter(term) - Counter(other)).elements():
        above = next((f for f in left if f.tensor and f.tensor == factor.tensor and f.level >= factor.level), None)
        if above is None:
            return False
        left.remove(above)
    return True
