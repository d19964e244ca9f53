"""`mlir-sparse tune`: tunes one kernel, and prints the table and the winner; or measures the machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields

import click

import mlir_sparse as ms
from mlir_sparse.classes import dataclass
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.machine import machine_profile
from mlir_sparse.notation import Comprehension
from mlir_sparse.tools.command_options import CommandRequest
from mlir_sparse.tools.run_operands import Sources, load
from mlir_sparse.tools.run_report import Report, summary

__all__ = ["Question", "find_fastest", "measured_machine"]


@dataclass(frozen=True, slots=True)
class Question:
    """The options of a tuning.

    Args:
        target: the machine to compile for.
        budget: the seconds to spend.
        formats: whether to try other storage.
        tried: (tensor, encoding) pairs to try, in place of those chosen by structure.
        fresh: whether to ignore a record.
    """

    target: str
    budget: float
    formats: bool
    tried: tuple[tuple[str, str], ...]
    fresh: bool

    @property
    def storage_to_try(self) -> bool | Mapping[str, list[str]]:
        """Returns the argument `formats` of `tune`."""
        if not self.tried:
            return self.formats
        names = dict.fromkeys(name for name, _ in self.tried)
        return {name: [encoding for other, encoding in self.tried if other == name] for name in names}


def find_fastest(request: CommandRequest, sources: Sources, question: Question, report: Report) -> None:
    """Tunes a kernel on the tensors of a request, and reports it."""
    if question.target != "cpu":
        raise UnsupportedError(f"expected --target cpu to tune for, but got {question.target!r}")
    if isinstance(request.assignment, Comprehension):
        raise UnsupportedError("expected one assignment to tune, but got a comprehension: tune its statements apart")
    tensors = load(request, sources, report)
    output = request.output
    assert not isinstance(output, dict), "only comprehensions have several"
    found = ms.tune(
        request.assignment,
        tensors=tensors,
        out=output,
        budget=question.budget,
        formats=question.storage_to_try,
        fresh=question.fresh,
        progress=False if report.quiet else None,
    )
    for name, tensor in tensors.items():
        report.line(name, summary(tensor))
    click.echo(f"\n{found}")


def measured_machine() -> Iterator[str]:
    """Measures the machine and keeps what plans go by; yields it beside what they went by before, a line each."""
    before, found = machine_profile(), ms.tune_machine()
    yield f"{'nanoseconds':<14} {found.processor!s:<36} {before.processor}"
    for now, then in ((found.times, before.times), (found.figures, before.figures)):
        for field in fields(now):
            numbers = (_numbers(getattr(each, field.name)) for each in (now, then))
            yield "{:<14} {:<36} {}".format(field.name, *numbers)
    for name, choice in found.choices.items():
        if choice.number != before.number(name):
            yield f"now {choice.means}, as {choice.because}; before {before.choices[name].means}"


def _numbers(value: float | tuple[float, ...] | None) -> str:
    if value is None:
        return "not measured"
    return " ".join(
        f"{one:.2g}" if one < 1e5 else f"{one:.0f}" for one in (value if isinstance(value, tuple) else (value,))
    )
