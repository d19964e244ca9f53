"""Estimates of how many places a join of tensors has, for variables by name; `native/search/estimates.hpp` says how.

A variable is a bit, and a set of variables a number with their bits: a search asks for thousands of such sets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from mlir_sparse._search import EntrySet
from mlir_sparse._search import Estimates as NumberedEstimates
from mlir_sparse.notation import IndexVar
from mlir_sparse.plan.algebra.normal_form import NoNormalFormError

__all__ = ["MOST_BITS", "Estimates", "bits_of", "union"]

# The bits of a set of variables.
Variables = int

MOST_BITS = 256
"""A set has so many variables or factors at most."""


class Estimates(NumberedEstimates):
    """Estimates for variables of given extents, which get their bits in the order in which they are asked for.

    Args:
        extents: the extent of each variable; there may be more later.
    """

    def __init__(self, extents: Mapping[IndexVar, float]) -> None:
        super().__init__()
        self._extents = extents
        self._bits: dict[IndexVar, int] = {}
        # Sets are asked for again and again, as the same objects.
        self._of_sets: dict[frozenset[IndexVar], Variables] = {}
        self._sets: dict[Variables, frozenset[IndexVar]] = {}

    def bit(self, variable: IndexVar) -> int:
        """Returns the bit of a variable.

        Raises:
            NoNormalFormError: for a variable beyond those that a set has bits for.
        """
        found = self._bits.get(variable)
        if found is None:
            if len(self._bits) == MOST_BITS:
                raise NoNormalFormError(f"it has more than {MOST_BITS} index variables")
            found = self._bits[variable] = self.add(self._extents[variable])
        return found

    def places(self, variables: Sequence[IndexVar]) -> tuple[int, ...]:
        """Returns the bit of each variable."""
        own = self._bits
        return tuple([own.get(variable) or self.bit(variable) for variable in variables])

    def bits(self, variables: Collection[IndexVar]) -> Variables:
        """Returns a set of variables as a number."""
        if not variables:
            return 0
        if not isinstance(variables, frozenset):
            variables = frozenset(variables)
        found = self._of_sets.get(variables)
        if found is None:
            own = self._bits
            new = [each for each in variables if each not in own]
            # Sets have no order: bits, and so plans, would differ from process to process.
            for each in sorted(new, key=lambda each: each.name) if len(new) > 1 else new:
                self.bit(each)
            found = self._of_sets[variables] = sum([own[each] for each in variables])
        return found

    def variables(self, bits: Variables) -> frozenset[IndexVar]:
        """Returns the variables of a set."""
        found = self._sets.get(bits)
        if found is None:
            found = self._sets[bits] = frozenset([variable for variable, bit in self._bits.items() if bit & bits])
        return found


@lru_cache(maxsize=4096)
def bits_of(variables: Variables) -> tuple[int, ...]:
    """Returns the variables of a set.

    >>> bits_of(0b1101)
    (1, 4, 8)
    """
    return tuple(1 << place for place in range(variables.bit_length()) if variables >> place & 1)


def union(relations: Iterable[EntrySet]) -> Variables:
    """Returns the variables of some relations."""
    found = 0
    for relation in relations:
        found |= relation.variables
    return found
