"""What a strategy is: the loops that it is about, whether it applies to one, and what it writes in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, Protocol, TypeVar

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops.operation_index import Nest, Seen
from mlir_sparse.loops.remarks import Missed, Remarks

__all__ = ["HasOperation", "Strategy", "StrategyPass", "StrategySequence", "run_strategy"]

Found = TypeVar("Found")


class HasOperation(Protocol):
    """What strategies are about: a typed view of an operation."""

    @property
    def op(self) -> ir.Operation:
        """Returns the operation."""


Candidate = TypeVar("Candidate", bound=HasOperation | ir.Operation)


class StrategyPass(Protocol):
    """A strategy, whatever it is about, or several: what passes are made of."""

    @property
    def name(self) -> str:
        """Returns the name of its pass."""

    def rewrite_all(self, nest: Nest, remarks: Remarks) -> bool:
        """Rewrites all of a nest that it applies to; returns whether it changed anything."""


@dataclass(frozen=True, slots=True)
class Strategy(Generic[Candidate, Found]):
    """One way to make loops fast.

    Args:
        name: of its pass, and in remarks.
        candidates: the loops of a nest, or other operations, that it is about.
        applies: says of one of them what is to be rewritten, or why not; None where it turns out to be about another.
        rewrite: writes the code.
        names: returns the loop that remarks of what is to be rewritten name; None where it is the candidate.
    """

    name: str
    candidates: Callable[[Nest], Iterable[Candidate]]
    applies: Callable[[Candidate, Nest], Found | Missed | None]
    rewrite: Callable[[Found, Nest], None]
    names: Callable[[Found], ir.Operation] | None = None

    def rewrite_all(self, nest: Nest, remarks: Remarks) -> bool:
        """Rewrites all of a nest that it applies to; looks at a loop when those before it are rewritten.

        Args:
            nest: the nest; rewritten in place.
            remarks: where it says what it applied, and why not.

        Returns:
            whether it changed anything.
        """
        changed = False
        for candidate in self.candidates(nest):
            verdict = self.applies(candidate, nest)
            if verdict is None:
                continue
            found = remarks.of(self._named(candidate, verdict), verdict, self.name)
            if found is not None:
                self.rewrite(found, nest)
                changed = True
        return changed

    def _named(self, candidate: Candidate, verdict: Found | Missed) -> ir.Operation:
        if self.names is not None and not isinstance(verdict, Missed):
            return self.names(verdict)
        return candidate if isinstance(candidate, ir.Operation) else candidate.op


@dataclass(frozen=True, slots=True)
class StrategySequence:
    """Strategies that are one pass: each finds its loops among those that there were before the first.

    Args:
        name: of the pass.
        strategies: the strategies, in their order.
    """

    name: str
    strategies: tuple[StrategyPass, ...]

    def rewrite_all(self, nest: Nest, remarks: Remarks) -> bool:
        """Lets one strategy after the other rewrite a nest; returns whether any changed anything."""
        changes = [strategy.rewrite_all(nest, remarks) for strategy in self.strategies]
        return any(changes)


def run_strategy(strategy: StrategyPass, seen: Seen, options: Mapping[str, str]) -> bool:
    """Runs a strategy as a pass.

    Args:
        strategy: the strategy, or several.
        seen: a module after bufferization; rewritten in place.
        options: those of the pass.

    Returns:
        whether it changed anything.
    """
    changes = [strategy.rewrite_all(nest, seen.remarks) for nest in seen.nests(options)]
    return any(changes)
