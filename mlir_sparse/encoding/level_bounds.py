"""The bounds of a level's coordinates, over the sizes of the dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from mlir_sparse.affine import Constant, Dim, Symbol, mul
from mlir_sparse.affine.form_bounds import Bounds, bounds_of
from mlir_sparse.affine.integer_form import form_of
from mlir_sparse.encoding.level_map import LevelSpec
from mlir_sparse.encoding.level_maps import ONE_SLOT, slots_of
from mlir_sparse.encoding.levels.level_functions import Brackets
from mlir_sparse.errors import EncodingError

__all__ = ["bounds_of_levels", "level_bounds", "sized_slots"]


@lru_cache(maxsize=1024)  # each new tensor needs it
def level_bounds(level: LevelSpec) -> Bounds | None:
    """Returns the least coordinate and one more than the greatest; symbol d is the size of dimension d.

    None where the sizes do not decide: for other symbols, and for slots whose number depends on the data.

    >>> from mlir_sparse.encoding import encoding
    >>> low, high = level_bounds(encoding("(i, j) -> (j - i : compressed, i : range)").levels[0])
    >>> print(low, "to", high)
    -s0 + 1 to s1
    """
    if slots := slots_of(level):
        return None if slots.width is None else (Constant(0), Constant(slots.width))
    interval = level.type.interval
    if interval is not None and level.type.functions.brackets is Brackets.NUMBERS:
        low, high = interval.low, interval.high
        assert low is not None
        assert high is not None
        return low, high
    form = form_of(level.expr)
    if form is None:
        return None
    dims = level.expr.dims()
    return bounds_of(form, [(Constant(0), Symbol(d)) for d in range(max(dims, default=-1) + 1)])


def bounds_of_levels(levels: Sequence[LevelSpec], shape: Sequence[int], text: str) -> tuple[tuple[int, int], ...]:
    """Returns the bounds of the levels of a tensor.

    Args:
        levels: of its encoding.
        shape: the extent of each dimension.
        text: the map, for the error.

    Raises:
        EncodingError: for a level whose bounds the extents do not decide.
    """
    found = []
    for number, level in enumerate(levels):
        bounds = level_bounds(level)
        if bounds is None:
            rule = f"expected a level of known size, but got level {number} ({level})"
            raise EncodingError(f"{rule} of {text}: see with_slots")
        found.append((bounds[0].evaluate((), shape), bounds[1].evaluate((), shape)))
    return tuple(found)


def sized_slots(level: LevelSpec, width: int) -> LevelSpec:
    """Returns a slot level with its number of slots; any other level unchanged."""
    slots = slots_of(level)
    if slots is None:
        return level
    (dim,), (symbol,) = level.expr.dims(), level.expr.symbols()
    interval = ONE_SLOT if width == 1 else None
    expr = mul(Dim(dim), mul(Symbol(symbol), Constant(width)))
    return replace(level, expr=expr, type=replace(level.type, interval=interval))
