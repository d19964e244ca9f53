"""What must hold for threads to store: a row that is there, a lane that stores for others, an entry looked up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build

__all__ = ["Guards"]


class Guards:
    """The conditions that hold for what is written at the moment."""

    def __init__(self) -> None:
        # What must hold for a thread to store; and what of it says that an iteration counts.
        self._guards: list[ir.Value] = []
        self._found: list[ir.Value] = []

    def found(self, condition: ir.Value) -> None:
        """Says what must hold for an iteration to count, in the rest of the block."""
        self._guards.append(condition)
        self._found.append(condition)

    @property
    def searches(self) -> bool:
        """Returns whether some iterations do not count."""
        return bool(self._found)

    @contextmanager
    def iterations(self) -> Iterator[Callable[[Sequence[ir.Value], Sequence[ir.Value]], list[ir.Value]]]:
        """Ends what guards say that come up in the meantime.

        Yields a function that returns values, or what they were before where something looked up is not there.
        """
        guards, found = len(self._guards), len(self._found)

        def counted(values: Sequence[ir.Value], before: Sequence[ir.Value]) -> list[ir.Value]:
            conditions = self._found[found:]
            if not conditions or not values:
                return list(values)
            truth = build.conjunction(conditions)
            pairs = zip(values, before, strict=True)
            return [build.select(truth, value, old) for value, old in pairs]

        try:
            yield counted
        finally:
            del self._guards[guards:], self._found[found:]

    def guarded(self, write: Callable[[], None]) -> None:
        """Writes what only threads do that pass all guards."""
        if self._guards:
            build.branch(build.conjunction(self._guards), write)
        else:
            write()

    def guard(self, condition: ir.Value) -> None:
        """Says what must hold for a thread to store, in the rest of the block."""
        self._guards.append(condition)

    def within(self, condition: ir.Value, write: Callable[[], object]) -> None:
        """Writes what only stores where a condition holds."""
        self._guards.append(condition)
        write()
        self._guards.pop()

    def always(self, write: Callable[[], object]) -> None:
        """Writes what threads do whatever they looked up: about iterations before."""
        kept, self._guards = self._guards, []
        write()
        self._guards = kept
