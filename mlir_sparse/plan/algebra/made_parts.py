"""The parts that are made so far, by what they are: each product is looked up before it is made."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import NamedTuple, Self

from mlir_sparse.dtypes import DType
from mlir_sparse.notation import Access, IndexVar
from mlir_sparse.plan.algebra.equal_parts import PartKey, key_of
from mlir_sparse.plan.algebra.normal_form import Factor

__all__ = ["MadeParts", "TooLongError", "names_of"]

# The sorted names of the factors of a product; all functions and sums have one.
Names = tuple[str, ...]
# By key and element type the name of a part, and which of the numbered variables each dimension is.
_Keyed = dict[tuple[PartKey, DType | None], tuple[str, tuple[int, ...]]]


class TooLongError(Exception):
    """Says that parts take longer than another way takes in all."""


class _Unkeyed(NamedTuple):
    """A part whose key nothing has asked for."""

    factors: Sequence[Factor]
    kept: frozenset[IndexVar]
    symmetric: Collection[str]
    dtype: DType | None
    access: Access


class MadeParts:
    """The parts that are made so far. Keys are found of those alone whose factors another product has by name.

    Args:
        keyed: by key and element type the name, and which of the numbered variables each dimension is.
    """

    def __init__(self, keyed: Mapping[tuple[PartKey, DType | None], tuple[str, tuple[int, ...]]]) -> None:
        self._keyed = dict(keyed)
        # Those that were made where matrices are symmetric, by their keys where none is.
        self._turned: _Keyed = {}
        self._unkeyed: dict[Names, tuple[_Unkeyed, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._keyed or self._unkeyed)

    def copy(self) -> Self:
        """Returns the same parts, to which others may be added."""
        other = object.__new__(type(self))
        other._keyed, other._turned, other._unkeyed = dict(self._keyed), dict(self._turned), dict(self._unkeyed)
        return other

    @property
    def names(self) -> Collection[Names] | None:
        """Returns the sorted names of the factors of each; None where that is not known."""
        return None if self._keyed else self._unkeyed.keys()

    @property
    def keyed(self) -> Mapping[tuple[PartKey, DType | None], tuple[str, tuple[int, ...]]]:
        """Returns by key and element type the name, and which of the numbered variables each dimension is."""
        for names in list(self._unkeyed):
            self._find_keys(names)
        return self._keyed

    def has(self, key: Hashable, dtype: DType | None) -> bool:
        """Returns whether there is a part of a key and an element type."""
        return (key, dtype) in self.keyed

    def find(
        self, factors: Sequence[Factor], kept: frozenset[IndexVar], symmetric: Collection[str], dtype: DType | None
    ) -> Access | None:
        """Returns what reads the part that is equal to a product, if there is one.

        Args:
            factors: the factors of the product.
            kept: the variables that it keeps.
            symmetric: the matrices that are their own transposes.
            dtype: its element type; None for that of the statement.
        """
        names = names_of(factors)
        if not self._keyed and names not in self._unkeyed:
            return None
        self._find_keys(names)
        return _read(self._keyed, factors, kept, symmetric, dtype)

    def needs_symmetry(
        self, found: Access, factors: Sequence[Factor], kept: frozenset[IndexVar], dtype: DType | None
    ) -> bool:
        """Returns whether a part is equal to a product, as `find` says, for some matrices are their own transposes.

        Args:
            found: what `find` returned.
            factors: the factors of the product.
            kept: the variables that it keeps.
            dtype: its element type.
        """
        return found != _read(self._turned, factors, kept, (), dtype)

    def add(
        self,
        factors: Sequence[Factor],
        kept: frozenset[IndexVar],
        symmetric: Collection[str],
        dtype: DType | None,
        access: Access,
    ) -> None:
        """Adds a part that is equal to none.

        Args:
            factors: the factors of the product that it is.
            kept: the variables that it keeps.
            symmetric: the matrices that are their own transposes.
            dtype: its element type; None for that of the statement.
            access: what reads it.
        """
        names = names_of(factors)
        self._unkeyed[names] = (*self._unkeyed.get(names, ()), _Unkeyed(factors, kept, symmetric, dtype, access))

    def _find_keys(self, names: Names) -> None:
        for one in self._unkeyed.pop(names, ()):
            _put(self._keyed, one, one.symmetric)
            if one.symmetric:
                _put(self._turned, one, ())


def _put(keyed: _Keyed, one: _Unkeyed, symmetric: Collection[str]) -> None:
    product, numbered = key_of(one.factors, one.kept, symmetric)
    places = tuple(numbered.index(variable) for variable in one.access.indices)
    keyed[product, one.dtype] = one.access.tensor, places


def _read(
    keyed: _Keyed, factors: Sequence[Factor], kept: frozenset[IndexVar], symmetric: Collection[str], dtype: DType | None
) -> Access | None:
    product, numbered = key_of(factors, kept, symmetric)
    found = keyed.get((product, dtype))
    return None if found is None else Access(found[0], tuple(numbered[place] for place in found[1]))


def names_of(factors: Sequence[Factor]) -> Names:
    """Returns the sorted names of the factors of a product; all functions and sums have one."""
    return tuple(sorted([factor.tensor if isinstance(factor, Access) else "=" for factor in factors]))
