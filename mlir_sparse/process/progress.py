"""Progress of what takes longer than a user waits without a sign: drawn on terminals and in notebooks, nowhere else.

Work that ends in two seconds draws nothing. Where nothing is drawn, in files, pipes and services, no thread is started
either. `MLIR_SPARSE_PROGRESS=off` draws nothing anywhere.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, Protocol

from mlir_sparse.process.settings import PROGRESS

__all__ = ["on_terminal", "progress", "progress_of_many"]

_AFTER = 2.0
"""Seconds of work before the first drawing."""

_EVERY = 0.5
_MANY = 1 << 20
_NOTHING = nullcontext()
_WIDTH = 30

Told = Callable[[float], None]
"""Takes the fraction of work that is done."""

_depth = threading.local()


class _Canvas(Protocol):
    """Where progress is drawn: each text takes the place of the one before."""

    def draw(self, text: str) -> None:
        """Draws a text."""

    def end(self, text: str) -> None:
        """Leaves what stays when the work is done."""


class _Terminal:
    """One line of stderr, which is empty again in the end."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def draw(self, text: str) -> None:
        """Draws a text over the one before."""
        self._stream.write(f"\r{text}\x1b[K")
        self._stream.flush()

    def end(self, text: str) -> None:
        """Leaves an empty line."""
        self._stream.write("\r\x1b[K")
        self._stream.flush()


class _Notebook:
    """An output of the cell that runs."""

    def __init__(self, display: Callable[..., Any]) -> None:
        self._display = display
        self._handle: Any = None

    def draw(self, text: str) -> None:
        """Draws a text in place of the one before."""
        data = {"text/plain": text}
        if self._handle is None:
            self._handle = self._display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)

    def end(self, text: str) -> None:
        """Leaves how long the work took."""
        self.draw(text)


def on_terminal() -> bool:
    """Returns whether stderr is a terminal; stderr is None if it was closed, or without a console."""
    return sys.stderr is not None and sys.stderr.isatty()


def _canvas() -> _Canvas | None:
    """Returns where to draw; None where nobody would see it."""
    shell = _shell()
    if shell is not None and hasattr(shell, "kernel"):
        return _Notebook(sys.modules["IPython"].display.display)
    return _Terminal(sys.stderr) if on_terminal() else None


def _shell() -> Any:
    """Returns IPython's shell, which is not imported for it."""
    found = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return None if found is None else found()


def progress(label: str) -> AbstractContextManager[Told]:
    """Draws what a block does, and for how long, once it takes more than two seconds.

    Inside of another such block nothing is drawn: that one says what the user asked for.

    Args:
        label: what the block does, as in `compiling y(i) = A(i,j) * x(j)`.

    Returns:
        a context, whose value is a function that takes the fraction that is done; work that does not know it draws its
        time alone.

    >>> with progress("counting") as done:
    ...     done(0.5)
    """
    inside = getattr(_depth, "blocks", 0)
    canvas = None if inside or PROGRESS.value == "off" else _canvas()
    return _UNDRAWN if canvas is None else _drawn(label, canvas)


@contextmanager
def _drawn(label: str, canvas: _Canvas) -> Iterator[Told]:
    watcher = _Watcher(label, canvas)
    _depth.blocks = 1
    watcher.thread.start()
    try:
        yield watcher.tell
    finally:
        _depth.blocks = 0
        watcher.stop()


def progress_of_many(size: int, label: Callable[[], str]) -> AbstractContextManager[Any]:
    """Returns a block that draws its progress if it goes through many entries, by a label that is made then.

    A few are done before anybody looks, and in less time than the thread takes that draws.

    Args:
        size: how many entries or elements the block goes through.
        label: returns what the block does.
    """
    return progress(label()) if size >= _MANY else _NOTHING


def _ignored(part: float) -> None:
    """Takes a fraction where nothing is drawn."""


_UNDRAWN = nullcontext(_ignored)


class _Watcher:
    """A thread that draws the progress of a block of another."""

    def __init__(self, label: str, canvas: _Canvas) -> None:
        self._label, self._canvas = label, canvas
        self._start, self._part = time.monotonic(), 0.0
        self._stopped = threading.Event()
        self._drawn = False
        self.thread = threading.Thread(target=self._watch, name="mlir-sparse-progress", daemon=True)

    def tell(self, part: float) -> None:
        """Takes the fraction that is done."""
        self._part = min(1.0, max(0.0, part))

    def _watch(self) -> None:
        wait = _AFTER
        while not self._stopped.wait(wait):
            self._drawn, wait = True, _EVERY
            with suppress(OSError, ValueError):  # a stream that is closed meanwhile
                self._canvas.draw(self._text())

    def stop(self) -> None:
        """Ends the drawing."""
        self._stopped.set()
        self.thread.join()
        if self._drawn:
            with suppress(OSError, ValueError):
                self._canvas.end(f"{self._label}: {time.monotonic() - self._start:.1f} s")

    def _text(self) -> str:
        seconds = f"{time.monotonic() - self._start:.0f} s"
        if not self._part:
            return f"{self._label}: {seconds}"
        full = int(self._part * _WIDTH)
        return f"{self._label}: [{'#' * full}{' ' * (_WIDTH - full)}] {self._part:4.0%} {seconds}"
