"""The levels of presets that the dialect lacks; see `mlir_sparse.encoding.preset_levels`."""

from __future__ import annotations

from mlir_sparse.affine import AffineExpr, Constant, Dim, Symbol, add, mul, subtract
from mlir_sparse.encoding.coordinate_interval import Interval
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.level_format import LevelFormat
from mlir_sparse.encoding.level_map import LevelSpec
from mlir_sparse.encoding.level_type import LevelType
from mlir_sparse.encoding.preset import PresetOptions
from mlir_sparse.encoding.preset_levels import Build

__all__ = ["banded", "diagonals", "hashed_rows", "intervals", "slots"]

_DENSE = LevelType(LevelFormat.DENSE)
_DIAGONAL = subtract(Dim(1), Dim(0))


def _matrix(*levels: tuple[AffineExpr, LevelType], symbols: tuple[str, ...] = ()) -> Encoding:
    return Encoding(("i", "j"), tuple(LevelSpec(expr, kind) for expr, kind in levels), symbol_names=symbols)


def slots(level_format: str) -> Build:
    """Returns ELL: `width` slots, or as many as the longest row needs, each with one coordinate for every row."""

    def build(rank: int, options: PresetOptions) -> Encoding:
        last = LevelType(LevelFormat(level_format))
        found = _matrix((mul(Dim(0), Symbol(0)), _DENSE), (Dim(0), _DENSE), (Dim(1), last), symbols=("c",))
        return found if options.width is None else found.with_slots(options.width[0])

    return build


def diagonals(rank: int, options: PresetOptions) -> Encoding:
    """Returns DIA: the diagonals with entries, each by rows."""
    return _matrix((_DIAGONAL, LevelType(LevelFormat.COMPRESSED)), (Dim(0), LevelType(LevelFormat.RANGE)))


def banded(rank: int, options: PresetOptions) -> Encoding:
    """Returns banded storage: a fixed number of diagonals beside the main one, by default one on each side."""
    below, above = options.band or (1, 1)
    band = LevelType(LevelFormat.DENSE, interval=Interval(Constant(-below), Constant(above + 1)))
    return _matrix((_DIAGONAL, band), (Dim(0), LevelType(LevelFormat.RANGE)))


def intervals(bounds: str, *, by_column: bool = False) -> Build:
    """Returns formats with one interval for each row or column.

    Args:
        bounds: "lower" or "upper" triangle, "skyline" from the first entry to the diagonal, or "any" from the first
            entry to the last.
        by_column: whether columns have the intervals.
    """
    outer, inner = (Dim(1), Dim(0)) if by_column else (Dim(0), Dim(1))
    interval = {
        "lower": Interval(Constant(0), add(outer, Constant(1))),
        "upper": Interval(outer, to_end=True),
        "skyline": Interval(None, add(outer, Constant(1))),
        "any": Interval(None, None),
    }[bounds]
    kind = LevelType(LevelFormat.RANGE, interval=interval)
    return lambda rank, options: _matrix((outer, _DENSE), (inner, kind))


def hashed_rows(rank: int, options: PresetOptions) -> Encoding:
    """Returns dense rows with a hash table for each."""
    return _matrix((Dim(0), _DENSE), (Dim(1), LevelType(LevelFormat.HASHED)))
