"""Which products are equal up to the names of their variables and the order of their factors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from mlir_sparse.notation import Access, IndexVar
from mlir_sparse.plan.algebra.normal_form import Factor, Opaque, ProductTerm, expression_of, renamed, variables_of

__all__ = ["PartKey", "key_of"]

# Factors that read one tensor may be named in any order; of more orders than this only the first are compared.
_MOST_ORDERS = 24


@dataclass(frozen=True, slots=True)
class PartKey:
    """What equal products have in common.

    Args:
        factors: the text of each factor with its variables numbered, sorted.
        kept: the numbers of the variables that are kept.
    """

    factors: tuple[str, ...]
    kept: tuple[int, ...]


def key_of(factors: Sequence[Factor], kept: frozenset[IndexVar]) -> tuple[PartKey, tuple[IndexVar, ...]]:
    """Returns the key of a product, and the variables that it keeps in the order of their numbers.

    Args:
        factors: the factors.
        kept: the variables that the product keeps; the others are summed over.
    """
    named = sorted(factors, key=_name)
    orders = itertools.islice(itertools.permutations(named), _MOST_ORDERS) if _repeats(named) else [tuple(named)]
    names = [_name(factor) for factor in named]
    found = [_numbered(order, kept) for order in orders if [_name(factor) for factor in order] == names]
    return min(found, key=lambda one: (one[0].factors, one[0].kept))


def _repeats(factors: Sequence[Factor]) -> bool:
    return len({_name(factor) for factor in factors}) < len(factors)


def _name(factor: Factor) -> str:
    match factor:
        case Access(tensor):
            return tensor
        case Opaque():
            return "="  # no tensor has such a name
        case _:
            return "+"


def _numbered(factors: Sequence[Factor], kept: frozenset[IndexVar]) -> tuple[PartKey, tuple[IndexVar, ...]]:
    numbers: dict[IndexVar, IndexVar] = {}
    texts = []
    for factor in factors:
        own = factor.indices if isinstance(factor, Access) else sorted(variables_of(factor), key=str)
        for variable in own:
            numbers.setdefault(variable, IndexVar(f"{len(numbers)}"))
        texts.append(str(expression_of([renamed(ProductTerm((factor,)), numbers)])))
    ordered = tuple(variable for variable in numbers if variable in kept)
    places = tuple(place for place, variable in enumerate(numbers) if variable in kept)
    return PartKey(tuple(texts), places), ordered
