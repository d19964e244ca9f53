"""The table of level formats as text."""

from __future__ import annotations

from mlir_sparse.encoding.level_format import LEVEL_FUNCTIONS
from mlir_sparse.encoding.levels.level_functions import LevelFunctions

__all__ = ["level_table"]


def level_table() -> str:
    """Returns the table in Markdown, for the documentation.

    >>> print(level_table())
    | level format | iterates | locates | assembles | ...
    | `dense` | by value | yes | insert | yes | yes | yes | no | yes | ...
    ...
    """
    heads = ["level format", "iterates", "locates", "assembles", "full", "ordered", "unique", "branchless", "compact"]
    rows = [[*heads, "in the dialect", "is", "in brackets", "positions array", "coordinates array", "positions in all"]]
    rows.append(["---"] * len(rows[0]))
    rows += [[f"`{name.value}`", *_cells(entry)] for name, entry in LEVEL_FUNCTIONS.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cells(entry: LevelFunctions) -> list[str]:
    return [
        entry.iteration.value,
        _yes(entry.locate),
        entry.assembly.value if entry.assembly else "neither",
        *(promise.value for promise in (entry.full, entry.ordered, entry.unique)),
        _yes(entry.branchless),
        _yes(entry.compact),
        _yes(entry.native),
        ", ".join(["those that are present"] * entry.is_segmented + [entry.meaning] * bool(entry.meaning)),
        entry.brackets.value or "nothing",
        entry.positions or "none",
        entry.coordinates or "none",
        entry.positions_in_all,
    ]


def _yes(value: bool) -> str:
    return "yes" if value else "no"
