"""Which products are equal up to the names of their variables and the order of their factors."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence

from mlir_sparse.classes import dataclass
from mlir_sparse.notation import Access, IndexVar
from mlir_sparse.plan.algebra.normal_form import Factor, Opaque, ProductTerm, expression_of, renamed, variables_of

__all__ = ["PartKey", "key_of", "name_of"]

# Factors that read one tensor may be named in any order; of more orders than this only the first are compared.
_MOST_ORDERS = 24
# The names of functions and of sums, which no tensor has.
_OTHERS = ("=", "+")
# The factors of a key, the numbers of the variables that are kept, and their names.
_Numbered = tuple[tuple[tuple[str | int, ...], ...], tuple[int, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class PartKey:
    """What equal products have in common.

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
    product = _Product(factors, kept, symmetric)
    # Numbers stand for variables and factors: each is compared in all orders.
    found = [product.numbered(order, turned) for order in product.orders() for turned in product.turns(order)]
    least = found[0] if len(found) == 1 else min(found)
    names = {variable.name: variable for variable in product.variables}
    return PartKey(least[0], least[1]), tuple([names[name] for name in least[2]])


class _Product:
    """Factors sorted by name, with numbers for their variables."""

    def __init__(self, factors: Sequence[Factor], kept: frozenset[IndexVar], symmetric: Collection[str]) -> None:
        self._factors = sorted(factors, key=name_of)
        self._names = [name_of(factor) for factor in self._factors]
        places: dict[IndexVar, int] = {}
        self._own = [[places.setdefault(v, len(places)) for v in _ordered(factor)] for factor in self._factors]
        self.variables = list(places)
        self._kept = [variable in kept for variable in self.variables]
        self._symmetric = symmetric

    def orders(self) -> Iterable[Sequence[int]]:
        """Yields the orders of factors in which names stay sorted."""
        places = range(len(self._names))
        if len(set(self._names)) == len(self._names):
            return [places]
        alike = (itertools.permutations(group) for _, group in itertools.groupby(places, self._names.__getitem__))
        orders = (list(itertools.chain(*parts)) for parts in itertools.product(*alike))
        return itertools.islice(orders, _MOST_ORDERS)

    def turns(self, order: Sequence[int]) -> Sequence[bool]:
        """Returns whether the first factor may be transposed; the others follow the numbers of that."""
        first = order[0] if order else None
        turns = first is not None and self._names[first] in self._symmetric and len(self._own[first]) == 2
        return (False, True) if turns else (False,)

    def numbered(self, order: Sequence[int], turned: bool) -> _Numbered:
        """Returns what equal products have in common, and the names of the variables that are kept."""
        numbers, seen = [-1] * len(self.variables), list[int]()
        found: list[tuple[str | int, ...]] = []
        for factor in order:
            own, name = self._own[factor], self._names[factor]
            symmetric = name in self._symmetric
            if (turned and not found) or (symmetric and numbers[own[-1]] >= 0 > numbers[own[0]]):
                own = own[::-1]
            for variable in own:
                if numbers[variable] < 0:
                    numbers[variable] = len(seen)
                    seen.append(variable)
            places = [numbers[variable] for variable in own]
            text = name if name not in _OTHERS else self._text(factor, seen)
            found.append((text, *(sorted(places) if symmetric else places)))
        kept = [variable for variable in seen if self._kept[variable]]
        names = tuple([self.variables[variable].name for variable in kept])
        return tuple(found), tuple([numbers[variable] for variable in kept]), names

    def _text(self, factor: int, seen: Sequence[int]) -> str:
        names = {self.variables[variable]: IndexVar(str(number)) for number, variable in enumerate(seen)}
        return str(expression_of([renamed(ProductTerm((self._factors[factor],)), names)]))


def _ordered(factor: Factor) -> Sequence[IndexVar]:
    if isinstance(factor, Access):
        return factor.indices
    return sorted(variables_of(factor), key=lambda variable: variable.name)


def name_of(factor: Factor) -> str:
    """Returns the name of a tensor, or one that no tensor has; products of other names are not equal."""
    if isinstance(factor, Access):
        return factor.tensor
    return _OTHERS[0] if isinstance(factor, Opaque) else _OTHERS[1]
