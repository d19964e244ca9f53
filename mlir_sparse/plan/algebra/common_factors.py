"""`a * b + a * c` as `a * (b + c)`, and equal terms as one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from mlir_sparse.notation import Access, IndexVar
from mlir_sparse.plan.algebra.normal_form import ProductTerm, Sum, renamed

__all__ = ["factored"]


# So many sums, each with a factor more pulled out, are all looked at; further ones where their number is a power of
# two, and the last. Each is planned as a whole, and all of them would take the square of the time of one.
_ALL = 4


def factored(terms: tuple[ProductTerm, ...]) -> Iterator[tuple[ProductTerm, ...]]:
    """Yields sums of products with ever more common factors pulled out, of two terms at a time: few for many terms."""
    count, found = 0, _with_one_factored(terms)
    while found is not None:
        count, further = count + 1, _with_one_factored(found)
        if count <= _ALL or further is None or count & (count - 1) == 0:
            yield found
        found = further


def _with_one_factored(terms: tuple[ProductTerm, ...]) -> tuple[ProductTerm, ...] | None:
    for left, right in itertools.combinations(terms, 2):
        for first, second in itertools.product(left.factors, right.factors):
            if isinstance(first, Access) and isinstance(second, Access) and first.tensor == second.tensor:
                joined = _joined(left, first, right, second)
                if joined is not None:
                    return (*(term for term in terms if term is not left and term is not right), joined)
    return None


def _joined(left: ProductTerm, first: Access, right: ProductTerm, second: Access) -> ProductTerm | None:
    """Returns two terms with a common factor as one; None where they sum over other variables of it."""
    names = _renaming(second, first)
    if names is None or not _fits(names, left, right):
        return None
    if any(old != new for old, new in names.items()):
        right = renamed(right, names)
    shared = frozenset(first.indices) & left.bound
    if shared != frozenset(first.indices) & right.bound:
        return None
    rests = [_without(term, first, shared) for term in (left, right)]
    return ProductTerm((first, Sum(tuple(rests))), shared) if all(rest.factors for rest in rests) else None


def _renaming(access: Access, wanted: Access) -> dict[IndexVar, IndexVar] | None:
    names = dict(zip(access.indices, wanted.indices, strict=True))
    return names if len(set(names.values())) == len(names) else None


def _fits(names: dict[IndexVar, IndexVar], left: ProductTerm, right: ProductTerm) -> bool:
    """Returns whether variables may get the names: they are summed over in both terms, and nothing has the name."""
    changed = {old: new for old, new in names.items() if old != new}
    taken = right.everywhere - changed.keys()
    return all(old in right.bound and new in left.bound and new not in taken for old, new in changed.items())


def _without(term: ProductTerm, factor: Access, shared: frozenset[IndexVar]) -> ProductTerm:
    factors = list(term.factors)
    factors.remove(factor)
    return ProductTerm(tuple(factors), term.bound - shared, term.negative)
