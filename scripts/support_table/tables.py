"""Outcomes as tables that people and programs read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from support_table.cells import CONVERSIONS, KERNELS, Cell

__all__ = ["Outcome", "json_text", "markdown"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a cell: `right`, `refused`, `wrong` or `crash`, and why."""

    cell: Cell
    verdict: str
    reason: str


def json_text(outcomes: Sequence[Outcome]) -> str:
    """Returns every outcome as JSON, one a line."""
    rows = [{**o.cell.as_json(), "verdict": o.verdict, "reason": o.reason} for o in outcomes]
    return "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n"


def markdown(outcomes: Sequence[Outcome]) -> str:
    """Returns a table for each rank: a row a format, a column a kernel, the element types that are right.

    `●` stands for all that were tried; what was refused is listed below with the error.
    """
    parts = [_table(rank, [o for o in outcomes if o.cell.rank == rank]) for rank in KERNELS]
    return "\n".join(part for part in parts if part)


def _table(rank: int, outcomes: Sequence[Outcome]) -> str:
    if not outcomes:
        return ""
    columns = [*KERNELS[rank], *CONVERSIONS]
    presets = list(dict.fromkeys(o.cell.preset for o in outcomes))
    lines = [f"Rank {rank}", "", "| | " + " | ".join(columns) + " |", "|---|" + ":-:|" * len(columns)]
    for preset in presets:
        row = [_mark([o for o in outcomes if (o.cell.preset, o.cell.kernel) == (preset, c)]) for c in columns]
        lines.append(f"| {preset} | " + " | ".join(row) + " |")
    notes = dict.fromkeys(
        f"- {o.cell.preset}, {o.cell.kernel}: {o.reason.splitlines()[0]}" for o in outcomes if o.verdict != "right"
    )
    return "\n".join([*lines, "", *notes, ""])


def _mark(outcomes: Sequence[Outcome]) -> str:
    verdicts = {outcome.verdict for outcome in outcomes}
    if verdicts == {"right"}:
        return "●"
    if not verdicts - {"right", "refused"}:
        right = [outcome.cell.dtype for outcome in outcomes if outcome.verdict == "right"]
        return " ".join(right) or "refused"
    return "**" + " ".join(sorted(verdicts - {"right"})) + "**"
