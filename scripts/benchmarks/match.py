"""Contests between processes: each has one library, or ours in its ways, and only one runs at a time."""

from __future__ import annotations

import os
import random
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from workers import Worker

from benchmarks.contestant import REFEREE, ROOFLINE
from benchmarks.libraries import BEFORE, BY_HAND, FORCED, IN_PLACE, LIBRARIES, NEW, OFF, OURS
from benchmarks.referee import kernel_of
from benchmarks.roofline import Roofline
from benchmarks.rounds import Entrant, Rounds, Samples, rounds_of

__all__ = ["WRONG", "Match", "NoResultError", "Outcome", "roofline"]

# These run in one process, on the same operands in memory: in processes of their own the same code takes up to a third
# more or less by where its arrays are, however often it is sampled.
_TOGETHER = (OURS, OFF, BY_HAND)
_TIMEOUT = 600.0
WRONG = "wrong"  # how the reason begins why a peer with a wrong result does not take part
_OTHERS = [name for name in LIBRARIES if name not in (*_TOGETHER, BEFORE, FORCED)]
_PAUSE = 0.004  # seconds for other libraries' threads to stop waiting for work in a loop
_MOST_MEMORY = 3 << 30  # bytes; sums of PyTorch's matrices are never freed (2.13), and end the machine otherwise


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a contest.

    Args:
        samples: seconds a call, one a round, by entrant; fewer of those far behind.
        work: bytes and operations at the least.
        error: the largest of all libraries.
        absent: why others did not take part, by library.
    """

    samples: Samples
    work: Mapping[str, int]
    error: float
    absent: Mapping[str, str] = field(default_factory=dict)

    def ratio(self, ours: Entrant, other: Entrant) -> float:
        """Returns the median over the rounds of our time by the other's: a slow spell slows both of a round."""
        rounds = zip(self.samples[ours], self.samples[other], strict=False)
        return statistics.median(mine / theirs for mine, theirs in rounds)

    def loops(self, threads: int) -> float | None:
        """Returns the time of the loop in numba by that in C: what is above 1.1 is a weak peer. None without both."""
        pairs = [(a, b) for a in self._of("numba", threads) for b in self._of("C", threads) if a.variant == b.variant]
        return self.ratio(*pairs[0]) if pairs else None

    def _of(self, library: str, threads: int) -> list[Entrant]:
        found = [e for e in self.samples if e.library == library and self.samples[e] and e.threads <= threads]
        return [max(found, key=lambda e: e.threads)] if found else []

    def quiet_ratio(self, ours: Entrant, other: Entrant) -> float:
        """Returns our least time by the other's: what a quiet machine comes near."""
        return min(self.samples[ours]) / min(self.samples[other])

    def pair(self, library: str, threads: int) -> tuple[Entrant, Entrant]:
        """Returns our call and a library's on as many threads where it can use them, both in place or neither."""
        theirs = [e for e in self.samples if e.library == library and e.threads <= threads]
        other = max(theirs, key=lambda e: e.threads)
        mine = Entrant(OURS, other.variant, threads)
        return (mine if mine in self.samples else self.ours(threads)), other

    def ours(self, threads: int) -> Entrant:
        """Returns our call, in place where there is one."""
        return next(e for v in (IN_PLACE, NEW) if (e := Entrant(OURS, v, threads)) in self.samples)


class NoResultError(Exception):
    """Raised for a contest without a result of ours."""


class Match:
    """The processes of a run.

    Args:
        libraries: to start, ours among them.
        folder: for inputs; several runs may share it.
        threads: numbers of them to measure, the smallest first.
        clock: one of CLOCKS.
        against: a checkout whose package takes part as BEFORE.
        profile: a machine's, by which the package takes part as FORCED too, in a process and with a cache of its own.
    """

    def __init__(
        self,
        libraries: Sequence[str],
        folder: Path,
        threads: Sequence[int],
        clock: str = "wall",
        against: Path | None = None,
        profile: str | None = None,
    ) -> None:
        self._folder, self._threads, self._clock = folder, list(threads), clock
        self._expected = TemporaryDirectory()
        together = tuple(name for name in libraries if name in _TOGETHER)
        shared = _worker(together, max(threads))
        self._workers = {name: shared if name in together else _worker((name,), max(threads)) for name in libraries}
        if against is not None:
            python = against.resolve() / ".venv" / "bin" / "python"
            self._workers[BEFORE] = _worker((BEFORE,), max(threads), str(python))
        if profile is not None:
            other = {"MLIR_SPARSE_MACHINE": profile, "MLIR_SPARSE_CACHE": str(Path(self._expected.name) / "cache")}
            self._workers[FORCED] = _worker((FORCED,), max(threads), more=other)
        self._referee = _worker((REFEREE,), max(threads))
        self._last: Worker | None = None

    def prepare(self, kernel: str, source: str, only: Sequence[str] = ()) -> tuple[dict[str, int], dict[str, Any]]:
        """Prepares a kernel on an input everywhere, or in some libraries and ours only, where memory is short.

        Returns the work there is, and what each library says.
        """
        asked = {"kernel": kernel, "source": source, "folder": str(self._folder), "expected": self._expected.name}
        work = _ask(self._referee, do="judge", **asked)
        prepared = {"do": "prepare", "threads": self._threads, **asked}
        asked_ones = [name for name in self._workers if not only or name in (OURS, FORCED, *only)]
        return work, {name: self._ask(name, **prepared) for name in asked_ones}

    def account(self, kernel: str, source: str) -> dict[str, Any]:
        """Returns what we say of the plan of a whole statement."""
        return dict(self._ask(OURS, do="account", kernel=kernel, source=source, folder=str(self._folder)))

    def play(self, kernel: str, source: str, rounds: Rounds, only: Sequence[str] = ()) -> Outcome:
        """Prepares a kernel on an input and samples in turn.

        Args:
            kernel: its name.
            source: the name of the input.
            rounds: who takes part in each round.
            only: the libraries beside ours; all by default.

        Raises:
            NoResultError: where we are not among those who can.
        """
        return self.sampled(self.entered(kernel, source, only), rounds)

    def entered(self, kernel: str, source: str, only: Sequence[str] = ()) -> Outcome:
        """Prepares a kernel on an input everywhere; returns who takes part, without samples.

        A peer with a wrong result takes no part.

        Raises:
            NoResultError: where we are not among those who can.
        """
        work, said = self.prepare(kernel, source, only)
        absent = {name: answer["reason"] for name, answer in said.items() if "reason" in answer}
        most = kernel_of(kernel).tolerance
        for name, answer in said.items():
            if name not in absent and name in _OTHERS and not answer["error"] <= most:
                absent[name] = f"{WRONG}: its error is {answer['error']:.1e}, at most {most:.0e} is allowed"
        if OURS in absent:
            raise NoResultError(absent[OURS])
        taking_part = {name: answer for name, answer in said.items() if name not in absent}
        error = max(answer["error"] for answer in taking_part.values())
        return Outcome(dict.fromkeys(_entrants(taking_part), ()), work, error, absent)

    def sampled(self, outcome: Outcome, rounds: Rounds, times: int = 3) -> Outcome:
        """Samples in turn what has been prepared last.

        Args:
            outcome: who takes part.
            rounds: who does in each round.
            times: how often a call is timed in a sample, of which the least time counts.
        """
        samples = self._samples(list(outcome.samples), rounds, times)
        for worker, name in {self._workers[entrant.library]: entrant.library for entrant in samples}.items():
            if self._ask(name, do="memory") > _MOST_MEMORY:
                worker.stop()  # the next request starts it anew
        return replace(outcome, samples=samples)

    def _samples(self, entrants: list[Entrant], rounds: Rounds, times: int) -> Samples:
        samples: dict[Entrant, list[float]] = {entrant: [] for entrant in entrants}
        start = time.perf_counter()
        while chosen := rounds(samples, time.perf_counter() - start):
            # Nobody always runs after the same other one, whose data it may find in the caches, or none of its own.
            for entrant in random.Random(rounds_of(samples)).sample(chosen, len(chosen)):
                samples[entrant].append(self._sample(entrant, times))
        return samples

    def _sample(self, entrant: Entrant, times: int) -> float:
        worker = self._workers[entrant.library]
        if worker is not self._last:
            time.sleep(_PAUSE)
        self._last = worker
        how = {"variant": entrant.variant, "threads": entrant.threads, "clock": self._clock, "times": times}
        return float(self._ask(entrant.library, do="sample", **how))

    def _ask(self, library: str, **request: Any) -> Any:
        return _ask(self._workers[library], library=library, **request)

    def stop(self) -> None:
        """Ends the processes."""
        for worker in (*self._workers.values(), self._referee):
            worker.stop()
        self._expected.cleanup()


def _entrants(said: Mapping[str, Mapping[str, Any]]) -> Iterator[Entrant]:
    """Yields the calls to sample; ours on one thread and on two stand next to each other."""
    for name, answer in said.items():
        for variant in answer["variants"]:
            yield from (Entrant(name, variant, number) for number in answer["threads"])


def roofline(threads: int) -> Roofline:
    """Measures the machine on some number of threads, in a process of its own."""
    worker = _worker((ROOFLINE,), threads)
    found = _ask(worker, do="measure")
    worker.stop()
    return Roofline({int(size): rate for size, rate in found["bandwidth"].items()}, found["flops"])


def _worker(
    names: Sequence[str], threads: int, python: str = sys.executable, more: Mapping[str, str] | None = None
) -> Worker:
    scripts = Path(__file__).resolve().parents[1]
    most = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads)
    # Threads that wait in a loop for 200 ms, as Intel's do by default, or for 300,000 turns, as GNU's, would run beside
    # the next library's. Both wait a millisecond or two, which is more than there is between two calls of one library.
    settings = {
        "KMP_BLOCKTIME": 2,
        "GOMP_SPINCOUNT": 20_000,
        "MKL_DYNAMIC": "FALSE",
        "NUMBA_CACHE_DIR": scripts.parent / ".build" / "numba",
    }
    path = os.pathsep.join(filter(None, (str(scripts), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path, **{key: str(value) for key, value in (most | settings).items()}}
    environment |= more or {}
    return Worker("benchmarks.contestant", _TIMEOUT, names, environment, python)


def _ask(worker: Worker, **request: Any) -> Any:
    worker.send(request)
    answer = worker.line()
    if answer is None:
        raise RuntimeError(f"expected an answer to {request}, but {worker.epitaph()}")
    return answer
