"""The ways to compute a statement, as values that a user can look at, choose from and compile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

from mlir_sparse.classes import dataclass
from mlir_sparse.notation import Assignment
from mlir_sparse.process.forks import importing
from mlir_sparse.spec.kernel_spec import KernelSpec
from mlir_sparse.spec.rewriting import Part

__all__ = ["Alternative", "Alternatives"]


@dataclass(frozen=True, slots=True)
class Alternative:
    """A way to compute a statement, which `compile` and `evaluate` take in place of its text.

    Args:
        spec: the statement with the types of its tensors, and how it is rewritten.
        nanoseconds: the time of a call on one thread, by estimate; None for what no rule knows, which has one way.
        nbytes: the bytes that its parts take, by estimate.
        rules: the rules that were used; none for the statement as it is written.
        compiled: compiles the way for operands by name and options, where users name other operands than the statement
            has: it is composed of definitions; None where it is theirs.
    """

    spec: KernelSpec
    nanoseconds: float | None
    nbytes: float
    rules: tuple[str, ...] = ()
    compiled: Callable[..., Any] | None = field(default=None, compare=False, repr=False)

    @property
    def is_as_written(self) -> bool:
        """Returns whether the statement is left as it is written."""
        return self.spec.rewriting is None

    @property
    def parts(self) -> tuple[Part, ...]:
        """Returns what is made first, in order."""
        return () if self.spec.rewriting is None else self.spec.rewriting.parts

    @property
    def statement(self) -> Assignment:
        """Returns the statement that reads the parts, with explicit sums."""
        return self.spec.planned

    @property
    def milliseconds(self) -> str:
        """Returns the time as text."""
        return "unknown" if self.nanoseconds is None else f"{self.nanoseconds / 1e6:,.3g} ms"

    def lines(self) -> Iterator[str]:
        """Yields how `explain()` shows it."""
        again = self.spec.rewriting
        by_blas = " by BLAS" if again is not None and again.by_blas else ""
        yield f"{'as written' if again is None else 'rewritten'}: {self.statement}{by_blas}"
        if again is not None and again.symmetric:
            alike = [name for name in again.symmetric if name in again.of_one_value]
            others = [name for name in again.symmetric if name not in alike]
            if alike:
                yield f"  if symmetric, of one value, which calls check: {', '.join(alike)}"
            if others:
                yield f"  if symmetric, which calls check: {', '.join(others)}"
        for part in self.parts:
            yield f"  with {part}{f': {part.estimate}' if part.estimate else ''}"

    def _repr_html_(self) -> str:
        """Returns the way as a table of one row, for notebooks."""
        return Alternatives((self,))._repr_html_()

    def __repr__(self) -> str:
        time = "" if self.nanoseconds is None else f", {self.milliseconds} by estimate"
        parts = f", {len(self.parts)} part{'s' if len(self.parts) > 1 else ''}" if self.parts else ""
        return f"<Alternative {self.statement}{parts}{time}>"

    def __str__(self) -> str:
        rules = f"; {', '.join(self.rules)}" if self.rules else ""
        time = [] if self.nanoseconds is None else [f"  {self.milliseconds} by estimate{rules}"]
        return "\n".join([*self.lines(), *time])


class Alternatives(tuple[Alternative, ...]):
    """The ways to compute a statement, cheapest first: a tuple that shows itself as a table in notebooks."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(f"{number}: {one}" for number, one in enumerate(self))

    def _repr_html_(self) -> str:
        """Returns the ways as a table, for notebooks."""
        with importing():
            from mlir_sparse.text.html_table import html_columns  # for notebooks only

        rows = (
            (str(number), one.milliseconds, f"{one.nbytes:,.0f}", "\n".join(one.lines()), ", ".join(one.rules))
            for number, one in enumerate(self)
        )
        return html_columns("Alternatives", ("", "estimate", "bytes of parts", "way", "rules"), rows)
