"""A process with one library or more, which prepares calls and times them on request of `match.py`.

    python -m benchmarks.contestant LIBRARY ...

Requests and answers are lines of JSON; requests to a library name it.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.libraries import NEW, Call, library
from benchmarks.referee import Judgement, LastOperands, kernel_of, operands_of

__all__ = ["CLOCKS", "REFEREE", "ROOFLINE", "Contestant", "serve"]

# Wall clock, and processor time: on one thread the latter ignores other load on the machine.
CLOCKS: Mapping[str, Callable[[], float]] = {"wall": time.perf_counter, "processor": time.process_time}
REFEREE, ROOFLINE = "referee", "roofline"  # processes that measure no library
_SAMPLE = 2e-3  # seconds; a sample repeats its call until it takes this long
_COLD = 0.25  # a call that takes longer fills the caches by itself
# Seconds to wait, in all and at a time, for the threads of a call: those of OpenBLAS wait in a loop for 0.1 s.
_SETTLED, _LOOK = 0.2, 1e-3
_THREADS = Path("/proc/self/task")


class Contestant:
    """One library with its prepared calls.

    Args:
        name: in LIBRARIES.
        operands: the operands of contests, which the contestants of a process share.
        threads: the threads that each library's setter was told last, likewise.
    """

    def __init__(self, name: str, operands: LastOperands, threads: dict[object, int]) -> None:
        self._calls: dict[str, Call] = {}
        self._repeats: dict[tuple[str, int], int] = {}
        self._operands, self._threads = operands, threads
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
        gc.unfreeze()
        gc.collect()
        if self._module is None:
            return {"reason": self._missing}
        call = kernel_of(kernel).call
        if call not in self._module.CALLS:
            return {"reason": "has no such kernel"}
        numbers = threads if self._uses_threads(call) else threads[:1]
        try:
            made = self._module.CALLS[call](self._operands(kernel, source, Path(folder)))
            self._calls = dict(made) if isinstance(made, Mapping) else {NEW: made}
            error = max(self._error(variant, number, Path(expected)) for variant in self._calls for number in numbers)
        except Exception as problem:  # any error of a library is an answer
            self._calls = {}
            return {"reason": f"refused: {type(problem).__name__}: {str(problem).splitlines()[:1]}"}
        gc.freeze()  # a sample collects what it leaves, and need not look at all that is there
        return {"error": error, "variants": list(self._calls), "threads": numbers}

    def _error(self, variant: str, number: int, folder: Path) -> float:
        self._on(number)
        assert self._module is not None
        return Judgement.read(folder).error(self._module.plain(self._calls[variant]()))

    def _uses_threads(self, call: str) -> bool:
        """Returns whether a call may take as many threads as the library is told, and not one whatever it is told."""
        assert self._module is not None
        single: Container[str] = getattr(self._module, "SINGLE", ())
        return self._module.set_threads is not None and call not in single

    def _on(self, number: int) -> None:
        assert self._module is not None
        setter = self._module.set_threads
        if setter and number != self._threads.get(setter):
            setter(number)
            self._threads[setter] = number

    def sample(self, variant: str, threads: int, clock: str, times: int) -> float:
        """Returns the seconds of a call by a clock: the least of so many times after a warm-up.

        A short call is repeated, and its mean time is taken. Long calls need no warm-up, and one is enough.
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
            return min(_time(call, repeats, CLOCKS[clock]) for _ in range(times))
        finally:
            gc.enable()
            gc.collect()  # results that refer to each other would pile up from sample to sample
            _settle()

    def account(self, kernel: str, source: str, folder: str) -> dict[str, Any]:
        """Returns what a library that has plans says of that of a whole statement."""
        account = getattr(self._module, "account", None)
        return account(kernel, self._operands(kernel, source, Path(folder))) if account else {}

    def memory(self) -> int:
        """Returns the peak memory of the process so far."""
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _settle() -> None:
    """Waits until no other thread of the process runs: it would run beside the next sample."""
    end = time.perf_counter() + _SETTLED
    while _others_run() and time.perf_counter() < end:
        time.sleep(_LOOK)


def _others_run() -> bool:
    own = str(threading.get_native_id())
    others = [folder / "stat" for folder in _THREADS.glob("*") if folder.name != own]
    return any(_state(path) == "R" for path in others)


def _state(path: Path) -> str:
    """Returns the letter of a thread's state; none for one that has ended."""
    try:
        return path.read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


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


def _actions(name: str, operands: LastOperands, threads: dict[object, int]) -> Mapping[str, Callable[..., Any]]:
    """Returns the requests that a process of this name answers."""
    if name == REFEREE:
        return {"judge": _judge}
    if name == ROOFLINE:
        from benchmarks.roofline import measured  # sets threads of NumPy's library alone

        return {"measure": measured}
    contestant = Contestant(name, operands, threads)
    return {
        "prepare": contestant.prepare,
        "sample": contestant.sample,
        "account": contestant.account,
        "memory": contestant.memory,
    }


def serve(names: Sequence[str]) -> None:
    """Answers requests until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of libraries is no answer
    operands, threads = LastOperands(), dict[object, int]()
    actions = {name: _actions(name, operands, threads) for name in names}
    for line in sys.stdin:
        request = json.loads(line)
        asked = actions[request.pop("library", names[0])][request.pop("do")]
        print(json.dumps(asked(**request)), file=answers, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1:])
