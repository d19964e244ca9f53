"""Affine maps as values: evaluate, compose, invert."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from mlir_sparse.affine.affine_expr import AffineBinary, AffineExpr, Dim
from mlir_sparse.affine.inverse import infer_inverse, is_inverse
from mlir_sparse.affine.simplify import binary
from mlir_sparse.classes import dataclass
from mlir_sparse.errors import RankError
from mlir_sparse.process.first_use import import_at_first_call

if TYPE_CHECKING:
    from mlir_sparse.affine.affine_printer import print_map
else:
    import_at_first_call(__name__, {"affine.affine_printer": ("print_map",)})

__all__ = ["AffineMap"]


@dataclass(frozen=True, slots=True)
class AffineMap:
    """A function from dimensions and symbols to a tuple of affine results.

    >>> print(AffineMap.permutation([1, 0]))
    (d0, d1) -> (d1, d0)
    """

    num_dims: int
    num_symbols: int
    results: tuple[AffineExpr, ...]

    @classmethod
    def identity(cls, rank: int) -> AffineMap:
        """Returns the map of `rank` dimensions to themselves.

        >>> print(AffineMap.identity(2))
        (d0, d1) -> (d0, d1)
        """
        return cls.permutation(range(rank))

    @classmethod
    def permutation(cls, order: Iterable[int]) -> AffineMap:
        """Returns the map whose result r is dimension order[r].

        >>> print(AffineMap.permutation([2, 0, 1]))
        (d0, d1, d2) -> (d2, d0, d1)
        """
        results = tuple(Dim(d) for d in order)
        return cls(len(results), 0, results)

    @property
    def num_results(self) -> int:
        """Returns the number of results."""
        return len(self.results)

    @property
    def is_permutation(self) -> bool:
        """Returns whether the results are all the dimensions, each once."""
        positions = [r.position for r in self.results if isinstance(r, Dim)]
        return (
            self.num_symbols == 0
            and len(positions) == len(self.results)
            and sorted(positions) == list(range(self.num_dims))
        )

    @property
    def is_identity(self) -> bool:
        """Returns whether result r is dimension r, for every dimension."""
        return self == AffineMap.identity(self.num_dims)

    def evaluate(self, dims: Sequence[Any], symbols: Sequence[Any] = ()) -> tuple[Any, ...]:
        """Returns the results for given dimensions: ints, or NumPy integer arrays elementwise.

        >>> AffineMap.permutation([1, 0]).evaluate([3, 5])
        (5, 3)
        """
        return tuple(r.evaluate(dims, symbols) for r in self.results)

    def compose(self, other: AffineMap) -> AffineMap:
        """Returns the map that applies `other` first, then this one.

        >>> print(AffineMap.permutation([2, 0, 1]).compose(AffineMap.permutation([2, 0, 1])))
        (d0, d1, d2) -> (d1, d2, d0)
        """
        if len(other.results) != self.num_dims:
            raise RankError(f"expected a map to {self.num_dims} results, but got one to {len(other.results)}: {other}")
        symbols = max(self.num_symbols, other.num_symbols)
        return AffineMap(other.num_dims, symbols, tuple(_substitute(r, other.results) for r in self.results))

    def inverse(self) -> AffineMap | None:
        """Returns the inverse map, or None where none is known.

        Permutations, unimodular maps, blocks nested to any depth, and their combinations
        have one: each dimension is a sum of results times integers.

        >>> from mlir_sparse.affine import parse_affine_map
        >>> print(parse_affine_map("(i) -> (i floordiv 4, i mod 4)").inverse())
        (d0, d1) -> (d0 * 4 + d1)
        """
        if self.num_symbols:
            return None
        found = infer_inverse(self.num_dims, self.results)
        return None if isinstance(found, str) else AffineMap(len(self.results), 0, found)

    def is_inverse_of(self, other: AffineMap) -> bool:
        """Returns whether this map provably inverts another, for all integers.

        The proof substitutes one map into the other. It covers all maps that `inverse`
        covers and quotients that cancel. The result is False where the proof fails.

        >>> from mlir_sparse.affine import parse_affine_map
        >>> rotated = parse_affine_map("(i, j) -> (i + j, i - j)")
        >>> back = parse_affine_map("(a, b) -> ((a + b) floordiv 2, (a - b) floordiv 2)")
        >>> rotated.inverse() is None, back.is_inverse_of(rotated)
        (True, True)
        """
        if (self.num_dims, len(self.results)) != (len(other.results), other.num_dims):
            return False
        return is_inverse(other.results, self.results)

    def __str__(self) -> str:
        return print_map(self.num_dims, self.num_symbols, self.results)


def _substitute(expr: AffineExpr, values: Sequence[AffineExpr]) -> AffineExpr:
    match expr:
        case Dim(position):
            return values[position]
        case AffineBinary(op, left, right):
            return binary(op, _substitute(left, values), _substitute(right, values))
        case _:
            return expr
