"""A subject of fuzzing: drawn cases, and a function that runs one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from dialect_tests.calls import Trial

__all__ = ["Subject"]


def _alone(case: Any, count: int) -> Iterator[Any]:
    yield case


@dataclass(frozen=True, slots=True)
class Subject:
    """Something to fuzz.

    Args:
        cases: returns the strategy that draws cases; `str` of a case says all that is in it.
        run: raises a SparseError where the case is refused by name, a CompileError where the compiler died, and
            anything else where the answer is wrong.
        more: yields a case and up to as many like it in all, which cost little once the first has run.
        trial: returns the call that a case is with what judges it, so that variants of it are tried; None where a
            case is no such call.
        share: how many of its cases run where others run one, since they take longer or find less.
    """

    cases: Callable[[], st.SearchStrategy[Any]]
    run: Callable[[Any], None]
    more: Callable[[Any, int], Iterator[Any]] = _alone
    trial: Callable[[Any], Trial | None] | None = None
    share: float = 1.0
