"""What the dialect has no word for in an encoding, and so no MLIR module can carry."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from mlir_sparse.affine import AffineBinary, AffineExpr, AffineOp, Constant, Dim
from mlir_sparse.encoding.level_format import LevelFormat
from mlir_sparse.encoding.level_functions import LEVEL_FUNCTIONS

if TYPE_CHECKING:  # the value asks this module
    from mlir_sparse.encoding.encoding import Encoding

__all__ = ["BEFORE_SINGLETON", "foreign_reason"]

# The dialect's own: it lets a singleton follow no other level.
BEFORE_SINGLETON = (LevelFormat.COMPRESSED, LevelFormat.LOOSE_COMPRESSED, LevelFormat.SINGLETON)


def foreign_reason(encoding: Encoding) -> str | None:
    """Returns the first level that the dialect cannot say and what it lacks, or None; see `Encoding.foreign_reason`."""
    for lvl, level in enumerate(encoding.levels):
        if not level.type.is_native:
            return f"{_named(encoding, lvl)}: the dialect has {_lacking(encoding, lvl)}"
    for lvl, (above, level) in enumerate(pairwise(encoding.levels), start=1):
        if level.type.format is LevelFormat.SINGLETON and above.type.format not in BEFORE_SINGLETON:
            rule = "the dialect expected compressed or loose_compressed level before singleton level"
            return f"{_named(encoding, lvl)}: {rule}, but got {above.type} before it"
    if encoding.symbol_names:
        lvl = next((at for at, level in enumerate(encoding.levels) if level.expr.symbols()), 0)
        return f"{_named(encoding, lvl)}: the dialect reads symbols, but can neither invert nor lower a map with them"
    if (found := _first_not_inferred(encoding.dim_to_lvl.results)) is not None:
        rule = "the dialect failed to infer lvlToDim from dimToLvl"
        return f"{_named(encoding, found)}: {rule}: it knows d, and d floordiv c with d mod c after it, each once"
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
    """Returns the first result that MLIR's `inferLvlToDim` does not know, or None if it knows the map."""
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
