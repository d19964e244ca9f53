"""Intervals of coordinates: `[low, high]` after `dense` and `range`."""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse.affine import AffineExpr
from mlir_sparse.classes import dataclass

__all__ = ["Interval"]


@dataclass(frozen=True, slots=True)
class Interval:
    """The coordinates from low up to, not including, high, within the bounds of the level.

    Args:
        low: an expression over dimensions of the levels above, or None for `?`: a bound stored for each parent.
        high: likewise.
        to_end: whether the interval ends with the level; high is None then.

    >>> from mlir_sparse.affine import Constant, Dim, add
    >>> print(Interval(Constant(0), add(Dim(0), Constant(1))), Interval(Dim(0), to_end=True), Interval(None, Dim(0)))
    [0, d0 + 1] [d0] [?, d0]
    """

    low: AffineExpr | None
    high: AffineExpr | None = None
    to_end: bool = False

    @property
    def exprs(self) -> tuple[AffineExpr, ...]:
        """Returns the bounds that are expressions."""
        return tuple(bound for bound in (self.low, self.high) if bound is not None)

    @property
    def stored(self) -> int:
        """Returns the number of stored bounds, 0 to 2."""
        return (self.low is None) + (self.high is None and not self.to_end)

    def to_text(self, dim_names: Sequence[str] = (), symbol_names: Sequence[str] = ()) -> str:
        """Returns the interval with the names given."""
        bounds = [self.low] if self.to_end else [self.low, self.high]
        return f"[{', '.join('?' if b is None else b.to_text(dim_names, symbol_names) for b in bounds)}]"

    def __str__(self) -> str:
        return self.to_text()
