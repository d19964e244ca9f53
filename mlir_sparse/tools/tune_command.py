"""`mlir-sparse tune`: tunes one kernel, and prints the table and the winner."""

from __future__ import annotations

from collections.abc import Mapping

import click

import mlir_sparse as ms
from mlir_sparse.classes import dataclass
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Comprehension
from mlir_sparse.tools.command_options import CommandRequest
from mlir_sparse.tools.run_operands import Sources, load
from mlir_sparse.tools.run_report import Report, summary

__all__ = ["Question", "find_fastest"]


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
