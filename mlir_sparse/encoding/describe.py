"""Encodings explained to people: levels, storage arrays, inverse map."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlir_sparse.encoding.buffer_layout import level_buffers
from mlir_sparse.encoding.level_map import LevelSpec
from mlir_sparse.encoding.level_maps import slots_of
from mlir_sparse.encoding.level_type import LevelType
from mlir_sparse.encoding.levels.level_functions import Brackets
from mlir_sparse.encoding.levels.level_property import LevelProperty
from mlir_sparse.errors import EncodingError

if TYPE_CHECKING:  # encoding_value imports this module
    from mlir_sparse.encoding.encoding_value import Encoding

__all__ = ["describe"]


def describe(encoding: Encoding) -> str:
    """Returns the levels of an encoding with their storage, and the inverse map, one a line.

    >>> from mlir_sparse.encoding import encoding
    >>> print(describe(encoding("CSR")))
    CSR: (i, j) -> (i : dense, j : compressed)
      level 0: i is dense, all coordinates 0, 1, 2, ... present; stores nothing
      level 1: j is compressed, ordered, unique; stores positions[1] and coordinates[1]
      storage: positions[1], coordinates[1], values
      widths: positions index, coordinates index
      inverse: i = l0, j = l1
    """
    title = f"{encoding.preset}: " if encoding.preset else ""
    lines = [title + encoding.map_text()]
    lines += [f"  level {lvl}: {_level(encoding, lvl)}" for lvl in range(encoding.lvl_rank)]
    lines.append(f"  storage: {', '.join([*_arrays(encoding), 'values'])}")
    widths = (f"{w} bits" if w else "index" for w in (encoding.pos_width, encoding.crd_width))
    lines.append("  widths: positions {}, coordinates {}".format(*widths))
    if encoding.explicit_val is not None:
        lines.append(f"  explicit value: {encoding.explicit_val}, that of every stored entry")
    if encoding.implicit_val is not None:
        lines.append(f"  implicit value: {encoding.implicit_val}, that of every other entry")
    lines.append(f"  inverse: {_inverse(encoding)}")
    if encoding.foreign_reason is not None:
        lines.append(f"  not in the dialect: {encoding.foreign_reason}")
    return "\n".join(lines)


def _level(encoding: Encoding, lvl: int) -> str:
    level = encoding.levels[lvl]
    expr = level.expr.to_text(encoding.dim_names, encoding.symbol_names)
    return f"{expr} is {_meaning(encoding, level)}; stores {_stored(encoding, lvl)}"


def _meaning(encoding: Encoding, level: LevelSpec) -> str:
    kind = level.type
    parts = [kind.functions.meaning] if kind.functions.meaning else []
    if LevelProperty.NONORDERED in kind.functions.declares:
        parts.insert(0 if kind.has_positions else len(parts), _promises(kind))
    if kind.functions.brackets is Brackets.SIZES:
        parts = [f"{kind.n} of every {kind.m} coordinates"]
    if slots := slots_of(level):
        width = (
            f"{slots.width} slot{'s' if slots.width != 1 else ''}"
            if slots.width
            else "as many slots as the longest needs"
        )
        parts = [f"{width}, the n-th entry with the same {encoding.dim_names[slots.dim]} in slot n"]
    if kind.functions.brackets is Brackets.EXPRESSIONS:
        parts.append(_interval(encoding, kind))
    elif kind.interval is not None and not slots:
        parts = [f"all coordinates of {kind.interval} present"]
    return ", ".join([kind.format.value, *parts])


def _interval(encoding: Encoding, kind: LevelType) -> str:
    if kind.interval is None:
        return "as far as the map stays inside the tensor, zeros elsewhere"
    bounds = kind.interval.to_text(encoding.dim_names, encoding.symbol_names)
    return f"[low, high) = {bounds}, without gaps between parents"


def _promises(kind: LevelType) -> str:
    return f"{'ordered' if kind.ordered else 'not ordered'}, {'unique' if kind.unique else 'not unique'}"


def _stored(encoding: Encoding, lvl: int) -> str:
    kind = encoding.level_types[lvl]
    region = next((r for r in encoding.aos_regions if lvl in r), None)
    parts = [f"positions[{lvl}]"] if kind.has_positions else []
    if region is not None:
        parts.append(f"column {lvl - region.start} of coordinates[{region.start}]")
    elif kind.has_coordinates:
        parts.append(f"coordinates[{lvl}]")
    return " and ".join(parts) or "nothing"


def _arrays(encoding: Encoding) -> list[str]:
    names = []
    for level, kind, levels in level_buffers(encoding):
        names.append(f"{kind}[{level}]" + (f" (array of structs of {len(levels)})" if len(levels) > 1 else ""))
    return names


def _inverse(encoding: Encoding) -> str:
    names = [level.name or f"l{lvl}" for lvl, level in enumerate(encoding.levels)]
    try:
        results = encoding.lvl_to_dim.results
    except EncodingError:
        return "none known, the map has symbols"
    return ", ".join(f"{d} = {r.to_text(names)}" for d, r in zip(encoding.dim_names, results, strict=True))
