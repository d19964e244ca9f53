"""One statement with its inputs, its best plan by hand, the same in other libraries, and its bounds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from benchmarks.programs.drawn import Drawn

__all__ = ["Plan", "Step", "Workload"]

Operands = Mapping[str, Any]
Plan = Callable[..., Any]


class Step(Protocol):
    """Computes a statement of this package on tensors by name."""

    def __call__(self, text: str, /, *, out: str = "dense", semiring: str | None = None, **tensors: Any) -> Any:
        """Returns the result; the next call of one text may overwrite it."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One statement, or a few that users write around one.

    Args:
        text: index notation.
        inputs: the operands, in the order of the text.
        by_hand: the best plans by hand, of which the fastest counts: each takes a `Step` that computes what is written,
            and the tensors by name.
        scipy: the same in SciPy and NumPy, from operands by name; it is the reference too.
        out: the storage of the result.
        loop: what users write around the statement, from a `Step` and tensors by name; the statement alone by default.
        written: the same as it is measured for `optimize="off"`, where that differs.
        scale: from operands to what errors are relative to; `scipy` on absolute values by default.
        torch: the same in PyTorch, from its tensors by name.
        sql: a query of tables (i, j, v), one for each operand by name.
        optimize: how it is optimized.
        definitions: of tensors of the text that are declared over the inputs, by name.
        gain: at least so many times as fast as the statement as written; None to report only.
        database: at most this part of the time of the query; None to report only.
    """

    text: str
    inputs: Mapping[str, Drawn]
    by_hand: tuple[Plan, ...]
    scipy: Plan
    out: str = "dense"
    loop: Plan | None = None
    written: Plan | None = None
    scale: Plan | None = None
    torch: Plan | None = None
    sql: str | None = None
    optimize: str = "auto"
    definitions: Mapping[str, str] = field(default_factory=dict)
    gain: float | None = None
    database: float | None = None

    def operands(self) -> dict[str, Any]:
        """Returns the inputs, made."""
        return {name: drawn.made() for name, drawn in self.inputs.items()}

    def shrunk(self, by: int) -> Workload:
        """Returns the same on inputs with fewer rows."""
        return replace(self, inputs={name: drawn.shrunk(by) for name, drawn in self.inputs.items()})

    @property
    def factors(self) -> int:
        """Returns how many tensors are read, each as often as it is, or how many a product has that is searched.

        The expanded loss `(X - U V)^2` reads three, but has a product of four.
        """
        # Imported here, for the processes of other libraries do not load the package.
        from benchmarks.programs.searched_products import largest_product

        found = self._reads(self.text, self.inputs)
        for name, definition in self.definitions.items():
            found += self._reads(self.text, [name]) * self._reads(definition, self.inputs)
        return max(found, largest_product(self.text, cancels=self.optimize == "algebra"))

    @staticmethod
    def _reads(text: str, names: Iterable[str]) -> int:
        return len(re.findall(rf"\b(?:{'|'.join(names)})\b(?! *=)", text.partition("=")[2]))

    def run(self, step: Step, **tensors: Any) -> Any:
        """Computes it as users write it."""
        return self.loop(step, **tensors) if self.loop else step(self.text, out=self.out, **tensors)

    def magnitude(self, operands: Operands) -> Any:
        """Returns what errors are relative to, by place, for operands of absolute values."""
        return (self.scale or self.scipy)(**operands)
