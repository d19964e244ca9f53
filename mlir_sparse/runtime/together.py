"""Runs functions of Python at once, each on a thread, where most of their time is spent in native code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Thread

__all__ = ["run_together"]


def run_together(functions: Sequence[Callable[[], None]]) -> None:
    """Runs functions at once, the first on the caller's thread; returns when all have ended.

    Functions for which the system has no thread run afterwards, on the caller's.

    Raises:
        BaseException: what one of them raised, of several the one of the first in order.
    """
    raised: dict[int, BaseException] = {}

    def run(number: int) -> None:
        try:
            functions[number]()
        except BaseException as error:  # raised again on the caller's thread
            raised[number] = error

    started, left = [], [0]
    for number in range(1, len(functions)):
        thread = Thread(target=run, args=(number,), name="mlir_sparse")
        try:
            thread.start()
            started.append(thread)
        except RuntimeError:
            left.append(number)
    for number in left:
        run(number)
    for thread in started:
        thread.join()
    if raised:
        raise raised[min(raised)]
