"""Runs random cases: says each before it runs, and what became of it, a line of JSON each.

A process of its own, so that a case that kills it is known by its last line.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

import mlir_sparse as ms
from dialect_tests.test_kernel_properties import run
from fuzzing.subjects import subject

__all__ = ["verdict_on"]


def verdict_on(case: Any, run: Callable[[Any], None] = run) -> tuple[str, str]:
    """Returns what became of a case: `right`, `refused`, `wrong` or `crash` (of the compiler), and why.

    Args:
        case: a kernel on data.
        run: what computes it and compares it with the oracle.
    """
    try:
        run(case)
    except ms.CompileError as error:
        return "crash", str(error)
    except ms.SparseError as error:
        return "refused", f"{type(error).__name__}: {error}"
    except Exception as error:  # whatever else comes out is an answer that no user may see
        return "wrong", f"{type(error).__name__}: {error}"
    return "right", ""


def _say(*words: str) -> None:
    print(json.dumps(words), flush=True)


class _EnoughError(Exception):
    """As many cases have run as were asked for."""


def _fuzz(target: str, name: str, number: int, cases: int, data: int) -> None:
    fuzzed = subject(target, name)
    left = cases

    @seed(number)
    @settings(
        max_examples=cases, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=HealthCheck
    )
    @given(fuzzed.cases())
    def trial(drawn: Any) -> None:
        nonlocal left
        for case in fuzzed.more(drawn, data):
            if not left:
                raise _EnoughError
            left -= 1
            _say("case", str(case))
            _say(*verdict_on(case, fuzzed.run))

    with contextlib.suppress(_EnoughError):
        trial()
    _say("end", "")


def main() -> None:
    """Serves requests of target, subject, seed, number of cases and of data for each until the input ends."""
    for line in sys.stdin:
        _fuzz(*json.loads(line))


if __name__ == "__main__":
    main()
