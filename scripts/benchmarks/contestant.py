"""A process with one library, which prepares calls and times them on request of `match.py`.

    python -m benchmarks.contestant LIBRARY

Requests and answers are lines of JSON.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.kernels import KERNELS
from benchmarks.libraries import NEW, Call, library
from benchmarks.referee import Judgement, operands_of

__all__ = ["CLOCKS", "REFEREE", "ROOFLINE", "Contestant", "serve"]

# Wall clock, and processor time: on one thread the latter ignores other load on the machine.
CLOCKS: Mapping[str, Callable[[], float]] = {"wall": time.perf_counter, "processor": time.process_time}
REFEREE, ROOFLINE = "referee", "roofline"  # processes that measure no library
_SAMPLE = 2e-3  # seconds; a sample repeats its call until it takes this long
_TIMES = 3  # in a sample: between samples other libraries use the caches, and other processes the processor
_COLD = 0.25  # a call that takes longer fills the caches by itself


class Contestant:
    """One library with its prepared calls.

    Args:
        name: in LIBRARIES.
    """

    def __init__(self, name: str) -> None:
        self._calls: dict[str, Call] = {}
        self._repeats: dict[tuple[str, int], int] = {}
        self._threads = 0
        self._name, self._module = name, None
        self._missing = ""
        try:
            self._module = library(name)
        except ImportError as error:
            self._missing = f"not installed: {error}"

    def prepare(self, kernel: str, source: str, folder: str, expected: str, threads: list[int]) -> dict[str, Any]:
        """Prepares a contest; returns the largest error, the calls, and their numbers of threads.

        If the library cannot take part, the reason is returned instead.
        """
        self._calls, self._repeats = {}, {}
        gc.collect()
        if self._module is None:
            return {"reason": self._missing}
        call = KERNELS[kernel].call
        if call not in self._module.CALLS:
            return {"reason": "has no such kernel"}
        numbers = threads if self._module.set_threads else threads[:1]
        try:
            made = self._module.CALLS[call](operands_of(kernel, source, Path(folder)))
            self._calls = dict(made) if isinstance(made, Mapping) else {NEW: made}
            error = max(self._error(variant, number, Path(expected)) for variant in self._calls for number in numbers)
        except Exception as problem:  # any error of a library is an answer
            self._calls = {}
            return {"reason": f"refused: {type(problem).__name__}: {str(problem).splitlines()[:1]}"}
        return {"error": error, "variants": list(self._calls), "threads": numbers}

    def _error(self, variant: str, number: int, folder: Path) -> float:
        self._on(number)
        assert self._module is not None
        return Judgement.read(folder).error(self._module.plain(self._calls[variant]()))

    def _on(self, number: int) -> None:
        assert self._module is not None
        if self._module.set_threads and number != self._threads:
            self._module.set_threads(number)
            self._threads = number

    def sample(self, variant: str, threads: int, clock: str) -> float:
        """Returns the seconds of a call by a clock: the least of several after a warm-up.

        Long calls need no warm-up, and one is enough.
        """
        self._on(threads)
        call, key = self._calls[variant], (variant, threads)
        if key not in self._repeats:
            self._repeats[key] = _repeats(call)
        repeats = self._repeats[key]
        gc.disable()
        try:
            if not repeats:
                return _time(call, 1, CLOCKS[clock])
            call()
            return min(_time(call, repeats, CLOCKS[clock]) for _ in range(_TIMES))
        finally:
            gc.enable()
            gc.collect()  # results that refer to each other would pile up from sample to sample

    def memory(self) -> int:
        """Returns the peak memory of the process so far."""
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _repeats(call: Call) -> int:
    """Returns the repetitions in a sample; 0 for one call without a warm-up."""
    call()
    repeats = 1
    while (taken := _time(call, repeats) * repeats) < _SAMPLE:
        repeats = max(2 * repeats, int(repeats * _SAMPLE / max(taken, 1e-9)))
    return 0 if repeats == 1 and taken > _COLD else repeats


def _time(call: Call, repeats: int, clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    for _ in range(repeats):
        call()
    return (clock() - start) / repeats


def _judge(kernel: str, source: str, folder: str, expected: str) -> dict[str, int]:
    return Judgement.write(kernel, operands_of(kernel, source, Path(folder)), Path(expected))


def _actions(name: str) -> Mapping[str, Callable[..., Any]]:
    """Returns the requests that a process of this name answers."""
    if name == REFEREE:
        return {"judge": _judge}
    if name == ROOFLINE:
        from benchmarks.roofline import measured  # sets threads of NumPy's library alone

        return {"measure": measured}
    contestant = Contestant(name)
    return {"prepare": contestant.prepare, "sample": contestant.sample, "memory": contestant.memory}


def serve(name: str) -> None:
    """Answers requests until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of libraries is no answer
    actions = _actions(name)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(actions[request.pop("do")](**request)), file=answers, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
