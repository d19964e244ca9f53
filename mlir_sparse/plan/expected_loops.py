"""The loops that the sparsifier is known to write for a nest: what sparsified code is compared with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mlir_sparse.encoding import TensorType
from mlir_sparse.encoding.levels.level_functions import Iteration
from mlir_sparse.notation import Access, Apply, Binary, BinaryOp, Expr, Operator, children
from mlir_sparse.notation.rebuild import rebuild
from mlir_sparse.plan.order.co_iteration import Walk, products, walks
from mlir_sparse.plan.order.storage_choice import level_variables
from mlir_sparse.plan.plan_steps import Generic
from mlir_sparse.program.loop_form import LoopForm, NestLoops

__all__ = ["expected_loops"]

Types = Mapping[str, TensorType]
# The levels with stored coordinates that a loop intersects; none where it takes all coordinates.
Intersection = frozenset[Walk]


def expected_loops(step: Generic, types: Types) -> NestLoops:
    """Returns the loops that the sparsifier writes for a nest.

    Args:
        step: the nest.
        types: the types of all values.
    """
    forms, runs = [], False
    for union in _unions(step, types):
        # A loop over runs of equal coordinates looks for the end of a run before it, and for the next one's inside.
        ends, runs = runs, not all(_is_unique(walk, types) for part in union for walk in part)
        found = _forms(union, types)
        forms.append(frozenset({LoopForm.SEGMENT_END, *found} if ends or runs else found))
    return NestLoops(tuple(map(str, step.loops)), tuple(forms))


def _unions(step: Generic, types: Types) -> Iterator[Sequence[Intersection]]:
    """Yields what each loop runs over, the outermost first: a union of intersections."""
    stored = [access for access in step.operands if types[access.tensor].encoding is not None]
    tree = all(_is_tree(access, types) for access in stored)
    if not stored:
        return  # loops over arrays alone are not the sparsifier's
    if not tree:
        yield from _unions_of_blocks(step, stored[0], types)
        return
    iterated = products(_with_sides(step.payload), types)
    for variable in step.loops:
        yield list(dict.fromkeys(frozenset(walks(product, variable, step.loops, types)) for product in iterated))


def _with_sides(node: Expr) -> Expr:
    """Returns an expression with the iteration of a node, for `products`: what is left of one side follows both."""
    operands = tuple(map(_with_sides, children(node)))
    match node:
        case Apply(Operator(left=left, right=right), (_, _)) if (left is None) != (right is None):
            one, other = operands
            return Binary(BinaryOp.ADD, Binary(BinaryOp.MUL, one, other), other if left is None else one)
        case _:
            return rebuild(node, operands)


def _is_tree(access: Access, types: Types) -> bool:
    encoding = types[access.tensor].encoding
    return encoding is None or encoding.is_permutation


def _unions_of_blocks(step: Generic, operand: Access, types: Types) -> Iterator[Sequence[Intersection]]:
    """Yields what loops over blocks run over: over all levels of the operand, and then over the other variables."""
    encoding = types[operand.tensor].encoding
    assert encoding is not None
    variables = level_variables(operand, encoding)
    for level, kind in enumerate(encoding.level_types):
        listed = kind.functions.iteration is Iteration.POSITION
        yield [frozenset([Walk(operand, level, variables, last=False)] if listed else [])]
    for _ in range(len(step.loops) - len(variables)):
        yield [frozenset()]


def _forms(union: Sequence[Intersection], types: Types) -> set[LoopForm]:
    """Returns the forms of the loops over a union: as long as all parts last, and then over what is left of each."""
    if not any(union):
        return {LoopForm.DENSE}
    # Beside a part with all coordinates nothing is left of the others: it lasts the longest.
    left = [part for part in union if not part] or union
    return {*(_form(part, types) for part in left), *([LoopForm.MERGE] if len(union) > 1 else [])}


def _form(part: Intersection, types: Types) -> LoopForm:
    alone = len(part) < 2 and all(_is_unique(walk, types) for walk in part)
    return LoopForm.POSITIONS if alone else LoopForm.MERGE


def _is_unique(walk: Walk, types: Types) -> bool:
    encoding = types[walk.access.tensor].encoding
    assert encoding is not None
    return encoding.level_types[walk.level].unique
