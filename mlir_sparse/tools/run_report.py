"""The output of `run`: progress on stderr, results on stdout."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
import numpy as np

import mlir_sparse as ms
from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.process.progress import on_terminal

__all__ = ["Report", "Timing", "measure", "summary"]


@dataclass(frozen=True, slots=True)
class Timing:
    """The measured seconds of each call, in order."""

    calls: tuple[float, ...]

    @property
    def least(self) -> float:
        """Returns the shortest time."""
        return min(self.calls)

    @property
    def median(self) -> float:
        """Returns the median time."""
        return statistics.median(self.calls)


@dataclass(frozen=True, slots=True)
class Report:
    """Prints progress and results."""

    quiet: bool = False

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Shows a step while it runs, then clears the line."""
        shown = not self.quiet and on_terminal()
        if shown:
            click.echo(f"{what} ...", err=True, nl=False)
        try:
            yield
        finally:
            if shown:
                click.echo(f"\r{' ' * (len(what) + 4)}\r", err=True, nl=False)

    def line(self, name: str, text: str) -> None:
        """Prints one result."""
        click.echo(f"{name:<8}{text}")

    def timed(self, call: Callable[[], object], repeats: int) -> Timing:
        """Times calls, with a progress bar."""
        hidden = self.quiet or not on_terminal()
        with click.progressbar(range(repeats), label="timing", file=sys.stderr, hidden=hidden) as rounds:
            return Timing(tuple(measure(call) for _ in rounds))


def measure(call: Callable[[], object]) -> float:
    """Returns the seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def summary(tensor: Any) -> str:
    """Describes a tensor in a line: type, entries and size."""
    if isinstance(tensor, ms.SparseTensor | ms.FilledTensor):
        kind = tensor.encoding.preset or tensor.encoding.to_text()
        fill = f" and {tensor.fill_value} elsewhere" if isinstance(tensor, ms.FilledTensor) else ""
        return f"{_type(tensor)} {kind}, {tensor.nse:,} entries{fill}, {_bytes(tensor.nbytes)}"
    return f"{_type(tensor)} dense, {_bytes(np.asarray(tensor).nbytes)}"


def _type(tensor: Any) -> str:
    return f"{DType.of(tensor.dtype).name}[{','.join(map(str, tensor.shape))}]"


def _bytes(count: int) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000  # type: ignore[assignment]
    return f"{count:.3g} GB"
