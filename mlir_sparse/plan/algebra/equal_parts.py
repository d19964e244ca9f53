"""Which products are equal up to the names of their variables and the order of their factors.

`native/search/equal_products.hpp` compares the orders.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from mlir_sparse._search import product_key
from mlir_sparse.notation import Access, IndexVar
from mlir_sparse.plan.algebra.normal_form import Factor, Opaque, ProductTerm, expression_of, renamed, variables_of

__all__ = ["PartKey", "key_of", "name_of"]

# The names of functions and of sums, which no tensor has.
_OTHERS = ("=", "+")


class PartKey(NamedTuple):
    """What equal products have in common; searches hash and compare it again and again, as tuples do by themselves.

    Args:
        factors: of each factor its name and the numbers of its variables, sorted by name.
        kept: the numbers of the variables that are kept.
    """

    factors: tuple[tuple[str | int, ...], ...]
    kept: tuple[int, ...]


def key_of(
    factors: Sequence[Factor], kept: frozenset[IndexVar], symmetric: Collection[str] = ()
) -> tuple[PartKey, tuple[IndexVar, ...]]:
    """Returns the key of a product, and the variables that it keeps in the order of their numbers.

    Where a product is the same with two variables in each other's place, as `A(i,j) * A(k,j)` summed over j is, the one
    whose name comes first is first: products over the same variables then keep them in the same order.

    Args:
        factors: the factors.
        kept: the variables that the product keeps; the others are summed over.
        symmetric: the matrices that are their own transposes.
    """
    if len(factors) == 1 and isinstance(factors[0], Access):
        return _key_of_access(factors[0], kept, symmetric)
    ordered = sorted(factors, key=name_of)
    names = list(map(name_of, ordered))
    places: dict[IndexVar, int] = {}
    own = [[places.setdefault(v, len(places)) for v in _ordered(factor)] for factor in ordered]
    variables = list(places)

    def text(factor: int, seen: Sequence[int]) -> str:
        if names[factor] not in _OTHERS:
            return names[factor]
        numbers = {variables[variable]: IndexVar(str(number)) for number, variable in enumerate(seen)}
        return str(expression_of([renamed(ProductTerm((ordered[factor],)), numbers)]))

    others = any(name in _OTHERS for name in names)
    found, numbers, chosen = product_key(
        names,
        own,
        [variable.name for variable in variables],
        [variable in kept for variable in variables],
        [name in symmetric for name in names],
        text if others else None,
    )
    return PartKey(found, numbers), tuple([variables[place] for place in chosen])


def _key_of_access(
    access: Access, kept: frozenset[IndexVar], symmetric: Collection[str]
) -> tuple[PartKey, tuple[IndexVar, ...]]:
    """Returns the key of a product of one factor, as many parts are: the same that it has by the way of others."""
    own = access.indices
    places = [place for place, variable in enumerate(own) if variable in kept]
    if access.tensor in symmetric and len(own) == 2:
        if places == [1]:
            own, places = own[::-1], [0]
        elif len(places) == 2 and own[1].name < own[0].name:
            own = own[::-1]
    return PartKey(((access.tensor, *range(len(own))),), tuple(places)), tuple([own[place] for place in places])


def _ordered(factor: Factor) -> Sequence[IndexVar]:
    if isinstance(factor, Access):
        return factor.indices
    return sorted(variables_of(factor), key=lambda variable: variable.name)


def name_of(factor: Factor) -> str:
    """Returns the name of a tensor, or one that no tensor has; products of other names are not equal."""
    if isinstance(factor, Access):
        return factor.tensor
    return _OTHERS[0] if isinstance(factor, Opaque) else _OTHERS[1]
