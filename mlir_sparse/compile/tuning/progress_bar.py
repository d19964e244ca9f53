"""A progress bar: at once where it is asked for, else once the work takes some seconds, where a user sees it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mlir_sparse.process.progress import on_terminal, progress

__all__ = ["bar"]

_STEPS = 100


@contextmanager
def bar(label: str, shown: bool | None = None) -> Iterator[Callable[[float], None]]:
    """Shows a bar on stderr, or by default what `progress` draws, and yields a function that sets it to a fraction."""
    if shown is None:
        with progress(label) as told:
            yield told
        return
    if not shown:
        yield lambda part: None
        return
    import click  # slow to import, and only needed on terminals

    with click.progressbar(length=_STEPS, label=label, file=sys.stderr, hidden=not on_terminal()) as steps:
        yield lambda part: steps.update(int(part * _STEPS) - steps.pos)
