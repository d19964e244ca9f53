"""Runs random cases: prints each case before it runs, and its outcome, as lines of JSON.

It is a separate process: if a case kills it, the last line names the case.
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
from fuzzing.subject import Subject
from fuzzing.subjects import subject
from fuzzing.variants import chosen

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


def _checked(fuzzed: Subject, case: Any, how_many: str, seed: str, first: bool) -> None:
    """Runs a case, and variants of it.

    Args:
        fuzzed: what the case is of.
        case: the case.
        how_many: how many variants.
        seed: decides on what is drawn for them.
        first: whether its kernel has not run before.
    """
    fuzzed.run(case)
    trial = fuzzed.trial(case) if fuzzed.trial is not None and how_many != "none" else None
    if trial is None:
        return
    plain = trial.run()
    for variant in chosen(how_many, seed, compiles=first):
        _say("variant", variant.name)
        outcome = variant.check(trial, plain, seed)
        if isinstance(outcome, ms.SparseError):
            _say("declined", f"{variant.name}: {type(outcome).__name__}")


def _fuzz(target: str, name: str, number: int, cases: int, data: int, how_many: str) -> None:
    fuzzed = subject(target, name)
    left = cases

    @seed(number)
    @settings(
        max_examples=cases, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=HealthCheck
    )
    @given(fuzzed.cases())
    def trial(drawn: Any) -> None:
        nonlocal left
        for place, case in enumerate(fuzzed.more(drawn, data)):
            if not left:
                raise _EnoughError
            left -= 1
            drawing = f"{number} {left}"
            _say("case", str(case))
            _say(*verdict_on(case, lambda one, at=place, text=drawing: _checked(fuzzed, one, how_many, text, not at)))

    with contextlib.suppress(_EnoughError):
        trial()
    _say("end", "")


def main() -> None:
    """Serves requests of target, subject, seed, number of cases, data for each and variants until the input ends."""
    for line in sys.stdin:
        _fuzz(*json.loads(line))


if __name__ == "__main__":
    main()
