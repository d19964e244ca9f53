"""The measurements of tuning, as rows that print as a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, overload

from mlir_sparse.classes import dataclass
from mlir_sparse.text.html_table import html_columns

__all__ = ["Table", "TuningRow"]


@dataclass(frozen=True, slots=True)
class TuningRow:
    """The measurements of one candidate.

    Args:
        candidate: the changes of storage, and the schedule.
        seconds: the seconds of a call; None if not timed.
        rate: the bytes of operands and result divided by the seconds, in GB/s; None if not timed.
        samples: the number of measurements.
        convert: the seconds of converting the operands; None without a conversion.
        pays_after: the number of calls after which the conversion pays, against the fastest without one; None if it
            never does.
        note: why it was not timed, or dropped.
    """

    candidate: str
    seconds: float | None = None
    rate: float | None = None
    samples: int = 0
    convert: float | None = None
    pays_after: int | None = None
    note: str = ""

    @staticmethod
    def read(kept: Mapping[str, Any]) -> TuningRow:
        """Returns the row of a stored mapping."""
        return TuningRow(**kept)

    def kept(self) -> dict[str, Any]:
        """Returns the row as a mapping to store."""
        return asdict(self)


class Table(Sequence[TuningRow]):
    """Rows, the fastest first, and those not timed last.

    >>> print(Table([TuningRow("order=j,i", 0.002, 6.0, 9), TuningRow("static", 0.001, 12.0, 15)]))
    candidate         ms  to best   GB/s
    static             1     1.00     12
    order=j,i          2     2.00      6
    """

    def __init__(self, rows: Iterable[TuningRow]) -> None:
        self._rows = sorted(rows, key=lambda row: math.inf if row.seconds is None else row.seconds)

    @overload
    def __getitem__(self, index: int) -> TuningRow: ...
    @overload
    def __getitem__(self, index: slice) -> list[TuningRow]: ...
    def __getitem__(self, index: int | slice) -> TuningRow | list[TuningRow]:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __str__(self) -> str:
        converts = any(row.convert is not None for row in self._rows)
        best = next((row.seconds for row in self._rows if row.seconds), None)
        width = max([len("candidate"), *(len(row.candidate) for row in self._rows)])
        head = f"{'candidate':<{width}} {'ms':>10} {'to best':>8} {'GB/s':>6}"
        lines = [head + (f" {'convert ms':>11} {'pays after':>10}" if converts else "")]
        lines += [" ".join((f"{row.candidate:<{width}}", *_cells(row, best, converts))).rstrip() for row in self._rows]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Returns the rows as a table, for notebooks."""
        return self.html("Table")

    def html(self, title: str) -> str:
        """Returns the rows as HTML under a title."""
        converts = any(row.convert is not None for row in self._rows)
        best = next((row.seconds for row in self._rows if row.seconds), None)
        head = ["candidate", "ms", "to best", "GB/s", *(("convert ms", "pays after") if converts else ()), ""]
        cells = ([row.candidate, *(cell.strip() for cell in _cells(row, best, converts))] for row in self._rows)
        return html_columns(title, head, cells)

    def __repr__(self) -> str:
        return f"Table({self._rows!r})"


def _cells(row: TuningRow, best: float | None, converts: bool) -> Iterator[str]:
    if row.seconds is None:
        yield from (f"{'-':>10}", f"{'-':>8}", f"{'-':>6}")
    else:
        ratio = f"{row.seconds / best:.2f}" if best else "-"
        yield from (f"{row.seconds * 1e3:>10.4g}", f"{ratio:>8}", f"{_text_of(row.rate, '.3g'):>6}")
    if converts:
        after = "never" if row.convert is not None and row.pays_after is None else _text_of(row.pays_after, ",d")
        after = "" if row.seconds is None else after
        milliseconds = None if row.convert is None else row.convert * 1e3
        yield from (f"{_text_of(milliseconds, '.4g'):>11}", f"{after:>10}")
    yield f" {row.note}"


def _text_of(number: float | None, form: str) -> str:
    return "" if number is None else format(number, form)
