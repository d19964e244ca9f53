"""Encodings explained to people: levels, storage arrays, the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from mlir_sparse.encoding.level import LevelFormat, LevelType

if TYPE_CHECKING:  # the value describes itself with this module
    from mlir_sparse.encoding.encoding import Encoding

__all__ = ["describe"]


def describe(encoding: Encoding) -> str:
    """Returns the levels of an encoding, what each stores, and the inverse map, one a line.

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
    return "\n".join(lines)


def _level(encoding: Encoding, lvl: int) -> str:
    level = encoding.levels[lvl]
    expr = level.expr.to_text(encoding.dim_names, encoding.symbol_names)
    return f"{expr} is {_meaning(level.type)}; stores {_stored(encoding, lvl)}"


def _meaning(kind: LevelType) -> str:
    match kind.format:
        case LevelFormat.DENSE:
            return "dense, all coordinates 0, 1, 2, ... present"
        case LevelFormat.BATCH:
            return "batch, one of everything below for each coordinate"
        case LevelFormat.STRUCTURED:
            return f"structured, {kind.n} of every {kind.m} coordinates"
        case LevelFormat.COMPRESSED:
            return f"compressed, {_promises(kind)}"
        case LevelFormat.LOOSE_COMPRESSED:
            return f"loose_compressed, {_promises(kind)}, with room between parents"
        case LevelFormat.SINGLETON:
            return f"singleton, one coordinate for each parent, {_promises(kind)}"
        case _:
            assert_never(kind.format)


def _promises(kind: LevelType) -> str:
    return f"{'ordered' if kind.ordered else 'not ordered'}, {'unique' if kind.unique else 'not unique'}"


def _stored(encoding: Encoding, lvl: int) -> str:
    kind, aos = encoding.level_types[lvl], encoding.aos_levels
    parts = [f"positions[{lvl}]"] if kind.has_positions else []
    if lvl in aos:
        parts.append(f"column {lvl - aos.start} of coordinates[{aos.start}]")
    elif kind.has_coordinates:
        parts.append(f"coordinates[{lvl}]")
    return " and ".join(parts) or "nothing"


def _arrays(encoding: Encoding) -> list[str]:
    names: list[str] = []
    for lvl, kind in enumerate(encoding.level_types):
        if kind.has_positions:
            names.append(f"positions[{lvl}]")
        if lvl == encoding.aos_start:
            names.append(f"coordinates[{lvl}] (array of structs of {len(encoding.aos_levels)})")
        elif kind.has_coordinates and lvl not in encoding.aos_levels:
            names.append(f"coordinates[{lvl}]")
    return names


def _inverse(encoding: Encoding) -> str:
    if encoding.symbol_names:
        return "none known, the map has symbols"
    names = [level.name or f"l{lvl}" for lvl, level in enumerate(encoding.levels)]
    results = encoding.lvl_to_dim.results
    return ", ".join(f"{d} = {r.to_text(names)}" for d, r in zip(encoding.dim_names, results, strict=True))
