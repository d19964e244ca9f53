"""A progress bar on a terminal, and nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["bar", "on_terminal"]

_STEPS = 100


def on_terminal() -> bool:
    """Returns whether stderr is a terminal; it is None where it was closed, and in programs without a console."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def bar(label: str, shown: bool | None = None) -> Iterator[Callable[[float], None]]:
    """Shows a bar on stderr, and gives what moves it to a part of the whole.

    Args:
        label: what goes on.
        shown: whether to show it; where stderr is a terminal when None.
    """
    if not (on_terminal() if shown is None else shown):
        yield lambda part: None
        return
    import click  # slow to import, and needed on terminals only

    with click.progressbar(length=_STEPS, label=label, file=sys.stderr, hidden=not on_terminal()) as steps:
        yield lambda part: steps.update(int(part * _STEPS) - steps.pos)
