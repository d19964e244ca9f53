"""A progress bar on a terminal, and nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["bar", "on_terminal"]

_STEPS = 100


def on_terminal() -> bool:
    """Returns whether stderr is a terminal; stderr is None if it was closed, or without a console."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def bar(label: str, shown: bool | None = None) -> Iterator[Callable[[float], None]]:
    """Shows a bar on stderr, by default on terminals only, and yields a function that sets it to a fraction."""
    if not (on_terminal() if shown is None else shown):
        yield lambda part: None
        return
    import click  # slow to import, and only needed on terminals

    with click.progressbar(length=_STEPS, label=label, file=sys.stderr, hidden=not on_terminal()) as steps:
        yield lambda part: steps.update(int(part * _STEPS) - steps.pos)
