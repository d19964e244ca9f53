"""The support tables of the README."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from support_table.tables import Outcome, summary

__all__ = ["README", "tables_of", "write_readme"]

README = Path(__file__).resolve().parents[2] / "README.md"
_RANKS = (2, 3)


def tables_of(outcomes: Sequence[Outcome]) -> dict[int, str]:
    """Returns the tables that the README has, by rank."""
    return {rank: summary(rank, [o for o in outcomes if o.cell.rank == rank]) for rank in _RANKS}


def write_readme(outcomes: Sequence[Outcome]) -> None:
    """Puts the tables in place of those between the README's marks."""
    text = README.read_text()
    for rank, table in tables_of(outcomes).items():
        mark = f"<!-- support: rank {rank} -->"
        text = re.sub(f"{mark}.*?{mark}", f"{mark}\n{table}\n{mark}", text, count=1, flags=re.DOTALL)
    README.write_text(text)
