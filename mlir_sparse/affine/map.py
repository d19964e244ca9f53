"""Affine maps as values: evaluate, compose, invert."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mlir_sparse.affine.expr import AffineBinary, AffineExpr, AffineOp, Constant, Dim
from mlir_sparse.affine.printer import print_map
from mlir_sparse.affine.simplify import add, binary, mul

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
            raise ValueError(f"expected a map to {self.num_dims} results, but got one to {len(other.results)}: {other}")
        symbols = max(self.num_symbols, other.num_symbols)
        return AffineMap(other.num_dims, symbols, tuple(_substitute(r, other.results) for r in self.results))

    def inverse(self) -> AffineMap | None:
        """Returns the map back, or None where there is none that is known.

        Knows the maps that MLIR's `inferLvlToDim` knows: every dimension either
        appears once as it is, or once as `d floordiv c` and later as `d mod c`.

        >>> blocked = AffineMap(1, 0, (AffineBinary(AffineOp.FLOORDIV, Dim(0), Constant(4)),
        ...                            AffineBinary(AffineOp.MOD, Dim(0), Constant(4))))
        >>> print(blocked.inverse())
        (d0, d1) -> (d0 * 4 + d1)
        """
        found: dict[int, AffineExpr] = {}
        blocks: dict[int, int] = {}
        for level, result in enumerate(self.results):
            match result:
                case Dim(dim) if dim not in found:
                    found[dim] = Dim(level)
                case AffineBinary(AffineOp.FLOORDIV, Dim(dim), Constant(c)) if c > 0 and dim not in found:
                    found[dim], blocks[dim] = mul(Dim(level), Constant(c)), c
                case AffineBinary(AffineOp.MOD, Dim(dim), Constant(c)) if blocks.get(dim) == c:
                    found[dim] = add(found[dim], Dim(level))
                    del blocks[dim]  # a second `mod` of the same dimension has nothing left to say
                case _:
                    return None
        if blocks or self.num_symbols or len(found) != self.num_dims:
            return None
        return AffineMap(len(self.results), 0, tuple(found[d] for d in range(self.num_dims)))

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
