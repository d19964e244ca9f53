"""Outcomes as tables that people and programs read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from support_table.cells import CONVERSIONS, KERNELS, Cell

__all__ = ["Outcome", "json_text", "markdown", "read_outcomes", "summary"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a cell: `right`, `refused`, `wrong` or `crash`, and why."""

    cell: Cell
    verdict: str
    reason: str


def json_text(outcomes: Sequence[Outcome]) -> str:
    """Returns every outcome as JSON: a line for each format and kernel, with the element types that are right."""
    rows = []
    for (preset, rank, kernel), group in _grouped(outcomes):
        right = [outcome.cell.dtype for outcome in group if outcome.verdict == "right"]
        other = {o.cell.dtype: [o.verdict, o.reason] for o in group if o.verdict != "right"}
        rows.append(json.dumps({"format": preset, "rank": rank, "kernel": kernel, "right": right, "other": other}))
    return "[\n" + ",\n".join(rows) + "\n]\n"


def read_outcomes(text: str) -> list[Outcome]:
    """Returns the outcomes that `json_text` wrote."""
    found = []
    for row in json.loads(text):
        other = row["other"]
        for dtype in (*row["right"], *other):
            cell = Cell(row["format"], row["rank"], row["kernel"], dtype)
            found.append(Outcome(cell, *other.get(dtype, ("right", ""))))
    return found


def summary(rank: int, outcomes: Sequence[Outcome]) -> str:
    """Returns the table of a rank: a row a format, a column a kernel.

    `●` stands for right in all element types tried; otherwise those that are right are named.
    """
    columns = [*KERNELS[rank], *CONVERSIONS]
    cells = {(preset, kernel): group for (preset, r, kernel), group in _grouped(outcomes) if r == rank}
    lines = ["| | " + " | ".join(columns) + " |", "|---|" + ":-:|" * len(columns)]
    for preset in dict.fromkeys(preset for preset, _ in cells):
        lines.append(f"| {preset} | " + " | ".join(_mark(cells.get((preset, c), [])) for c in columns) + " |")
    return "\n".join(lines)


def markdown(outcomes: Sequence[Outcome]) -> str:
    """Returns a table for each rank, and below it what was not right, with the error."""
    parts = []
    for rank in KERNELS:
        here = [outcome for outcome in outcomes if outcome.cell.rank == rank]
        if here:
            parts.append(f"Rank {rank}\n\n{summary(rank, here)}\n\n{_notes(here)}")
    return "\n".join(parts)


def _notes(outcomes: Iterable[Outcome]) -> str:
    lines: dict[str, None] = {}
    for (preset, _, kernel), group in _grouped(outcomes):
        for outcome in group:
            if outcome.verdict != "right":
                lines[f"- {preset}, {kernel}: {outcome.verdict}: {outcome.reason.splitlines()[0]}\n"] = None
    return "".join(lines)


def _grouped(outcomes: Iterable[Outcome]) -> list[tuple[tuple[str, int, str], list[Outcome]]]:
    groups: dict[tuple[str, int, str], list[Outcome]] = {}
    for outcome in outcomes:
        cell = outcome.cell
        groups.setdefault((cell.preset, cell.rank, cell.kernel), []).append(outcome)
    return list(groups.items())


def _mark(outcomes: Sequence[Outcome]) -> str:
    verdicts = {outcome.verdict for outcome in outcomes}
    if verdicts == {"right"}:
        return "●"
    if not verdicts - {"right", "refused"}:
        return " ".join(outcome.cell.dtype for outcome in outcomes if outcome.verdict == "right") or "refused"
    return "**" + " ".join(sorted(verdicts - {"right"})) + "**"
