"""Runs random cases: says each before it runs, and what became of it, a line of JSON each.

A process of its own, so that a case that kills it is known by its last line.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

import mlir_sparse as ms
from dialect_tests.test_kernel_properties import STRATEGIES, StoredCase, run

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


def _variants(case: Any, count: int) -> Iterator[Any]:
    """Yields a case and, where it can be had on other data, that: compiling takes longer than running many."""
    yield case
    if isinstance(case, StoredCase):
        yield from (case.on_other_data(number) for number in range(1, count))


def _target(name: str) -> tuple[Mapping[str, Callable[[], Any]], Callable[[Any], None]]:
    """Returns what is drawn for a target, and what runs it there."""
    if name == "cpu":
        return STRATEGIES, run
    from dialect_tests.gpu import properties  # loads a compiler, of an extra

    return properties.STRATEGIES, properties.run


def _fuzz(target: str, strategy: str, number: int, cases: int, variants: int) -> None:
    strategies, runs = _target(target)
    left = cases

    @seed(number)
    @settings(
        max_examples=cases, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=HealthCheck
    )
    @given(strategies[strategy]())
    def trial(drawn: Any) -> None:
        nonlocal left
        for case in _variants(drawn, variants):
            if not left:
                raise _EnoughError
            left -= 1
            _say("case", str(case))
            _say(*verdict_on(case, runs))

    with contextlib.suppress(_EnoughError):
        trial()
    _say("end", "")


def main() -> None:
    """Serves requests of target, strategy, seed, number of cases and of variants of each until the input ends."""
    for line in sys.stdin:
        _fuzz(*json.loads(line))


if __name__ == "__main__":
    main()
