"""Encodings that the dialect lacks, and that no MLIR module can carry."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from mlir_sparse.affine import AffineBinary, AffineExpr, AffineOp, Constant, Dim
from mlir_sparse.encoding.level_format import LEVEL_FUNCTIONS
from mlir_sparse.encoding.level_type import LevelType

if TYPE_CHECKING:  # encoding_value imports this module
    from mlir_sparse.encoding.encoding_value import Encoding

__all__ = ["are_native", "foreign_reason", "is_native"]


def foreign_reason(encoding: Encoding) -> str | None:
    """Returns the first level that the dialect lacks, with the reason, or None; see `Encoding.foreign_reason`."""
    for lvl, level in enumerate(encoding.levels):
        if not level.type.is_native:
            return f"{_named(encoding, lvl)}: the dialect has {_lacking(encoding, lvl)}"
    if (stray := _stray_singleton(encoding.level_types)) is not None:
        rule = "the dialect expected compressed or loose_compressed level before singleton level"
        return f"{_named(encoding, stray)}: {rule}, but got {encoding.level_types[stray - 1]} before it"
    if encoding.symbol_names:
        at_symbol = next((at for at, level in enumerate(encoding.levels) if level.expr.symbols()), 0)
        return f"{_named(encoding, at_symbol)}: the dialect reads symbols, but cannot invert or lower such a map"
    if (found := _first_not_inferred(encoding.dim_to_lvl.results)) is not None:
        rule = "the dialect failed to infer lvlToDim from dimToLvl"
        return f"{_named(encoding, found)}: {rule}: it knows d, and d floordiv c with d mod c after it, each once"
    return None


# Equal encodings may have other names, which the reason contains; so only its existence is cached.
@lru_cache(maxsize=1024)
def is_native(encoding: Encoding) -> bool:
    """Returns whether the dialect has an encoding."""
    return foreign_reason(encoding) is None


def are_native(types: Sequence[LevelType]) -> bool:
    """Returns whether the dialect has these level types in this order, under any map."""
    return all(kind.is_native for kind in types) and _stray_singleton(types) is None


def _stray_singleton(types: Sequence[LevelType]) -> int | None:
    """Returns the first singleton level in a place where the dialect refuses one."""
    for lvl, (above, kind) in enumerate(pairwise(types), start=1):
        if kind.functions.is_chained and not (above.functions.is_segmented or above.functions.is_chained):
            return lvl
    return None


def _named(encoding: Encoding, lvl: int) -> str:
    return f"level {lvl} ({encoding.levels[lvl].to_text(encoding.dim_names, encoding.symbol_names)})"


def _lacking(encoding: Encoding, lvl: int) -> str:
    kind = encoding.level_types[lvl]
    if kind.functions.native:
        return f"no bounds on {kind.format.value} levels"
    native = ", ".join(name.value for name, entry in LEVEL_FUNCTIONS.items() if entry.native)
    return f"no level format {kind.format.value}, only {native}"


def _first_not_inferred(results: Sequence[AffineExpr]) -> int | None:
    """Returns the first result that MLIR's `inferLvlToDim` cannot invert, or None if it can invert the map."""
    seen: set[int] = set()
    blocks: dict[int, tuple[int, int]] = {}
    for level, result in enumerate(results):
        match result:
            case Dim(dim) if dim not in seen:
                seen.add(dim)
            case AffineBinary(AffineOp.FLOORDIV, Dim(dim), Constant(c)) if c > 0 and dim not in seen:
                seen.add(dim)
                blocks[dim] = c, level
            case AffineBinary(AffineOp.MOD, Dim(dim), Constant(c)) if blocks.get(dim, (0, 0))[0] == c:
                del blocks[dim]
            case _:
                return level
    return min((level for _, level in blocks.values()), default=None)
