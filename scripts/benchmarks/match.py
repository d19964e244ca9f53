"""Contests between processes: each has one library, and only one runs at a time."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from workers import Worker

from benchmarks.contestant import REFEREE, ROOFLINE
from benchmarks.libraries import BEFORE, IN_PLACE, NEW, OURS
from benchmarks.roofline import Roofline

__all__ = ["Entrant", "Match", "NoResultError", "Outcome", "roofline"]

_TIMEOUT = 600.0
_PAUSE = 0.004  # seconds for other libraries' threads to stop waiting for work in a loop
_MOST_MEMORY = 3 << 30  # bytes; sums of PyTorch's matrices are never freed (2.13), and end the machine otherwise
_BEHIND, _FEW = 4.0, 3  # who takes so many times as long as we do is sampled so often only


@dataclass(frozen=True, slots=True)
class Entrant:
    """A call that is sampled.

    Args:
        library: whose it is.
        variant: whether it writes in place or returns a new result.
        threads: how many it runs on.
    """

    library: str
    variant: str
    threads: int

    def __str__(self) -> str:
        new = ", new result" if self.library == OURS and self.variant == NEW else ""
        return f"{self.library}{new}" + (f", {self.threads} threads" if self.threads > 1 else "")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a contest.

    Args:
        samples: seconds a call, one a round, by entrant; fewer of those far behind.
        work: bytes and operations at the least.
        error: the largest of all libraries.
        absent: why others did not take part, by library.
    """

    samples: Mapping[Entrant, Sequence[float]]
    work: Mapping[str, int]
    error: float
    absent: Mapping[str, str] = field(default_factory=dict)

    def ratio(self, ours: Entrant, other: Entrant) -> float:
        """Returns the median over the rounds of our time by the other's: a slow spell slows both of a round."""
        rounds = zip(self.samples[ours], self.samples[other], strict=False)
        return statistics.median(mine / theirs for mine, theirs in rounds)

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
    """

    def __init__(
        self,
        libraries: Sequence[str],
        folder: Path,
        threads: Sequence[int],
        clock: str = "wall",
        against: Path | None = None,
    ) -> None:
        self._folder, self._threads, self._clock = folder, list(threads), clock
        self._expected = TemporaryDirectory()
        self._workers = {name: _worker(name, max(threads)) for name in libraries}
        if against is not None:
            python = against.resolve() / ".venv" / "bin" / "python"
            self._workers[BEFORE] = _worker(BEFORE, max(threads), str(python))
        self._referee = _worker(REFEREE, max(threads))

    def prepare(self, kernel: str, source: str) -> tuple[dict[str, int], dict[str, Any]]:
        """Prepares a kernel on an input everywhere; returns the work there is, and what each library says."""
        asked = {"kernel": kernel, "source": source, "folder": str(self._folder), "expected": self._expected.name}
        work = _ask(self._referee, do="judge", **asked)
        prepared = {"do": "prepare", "threads": self._threads, **asked}
        return work, {name: _ask(worker, **prepared) for name, worker in self._workers.items()}

    def play(self, kernel: str, source: str, seconds: float) -> Outcome:
        """Prepares a kernel on an input and samples in turn for some seconds, five rounds at the least.

        Where rounds take long three are enough.

        Raises:
            NoResultError: where we are not among those who can.
        """
        work, said = self.prepare(kernel, source)
        absent = {name: answer["reason"] for name, answer in said.items() if "reason" in answer}
        if OURS in absent:
            raise NoResultError(absent[OURS])
        taking_part = {name: answer for name, answer in said.items() if name not in absent}
        samples = self._rounds(list(_entrants(taking_part)), seconds)
        for name in taking_part:
            if _ask(self._workers[name], do="memory") > _MOST_MEMORY:
                self._workers[name].stop()  # the next request starts it anew
        error = max(answer["error"] for answer in taking_part.values())
        return Outcome(samples, work, error, absent)

    def _rounds(self, entrants: list[Entrant], seconds: float) -> dict[Entrant, list[float]]:
        samples: dict[Entrant, list[float]] = {entrant: [] for entrant in entrants}
        start, rounds = time.perf_counter(), 0
        while not _enough(rounds, time.perf_counter() - start, seconds):
            for entrant in entrants:
                if not _far_behind(entrant, samples):
                    samples[entrant].append(self._sample(entrant))
            entrants.append(entrants.pop(0))  # nobody always runs after the same other one
            rounds += 1
        return samples

    def _sample(self, entrant: Entrant) -> float:
        time.sleep(_PAUSE)
        worker = self._workers[entrant.library]
        how = {"variant": entrant.variant, "threads": entrant.threads, "clock": self._clock}
        return float(_ask(worker, do="sample", **how))

    def stop(self) -> None:
        """Ends the processes."""
        for worker in (*self._workers.values(), self._referee):
            worker.stop()
        self._expected.cleanup()


def _enough(rounds: int, taken: float, seconds: float) -> bool:
    """Returns whether there have been five rounds and as much time as asked for, or four times that and three."""
    return taken >= seconds if rounds >= 5 else rounds >= _FEW and taken >= 4 * seconds


def _far_behind(entrant: Entrant, samples: Mapping[Entrant, Sequence[float]]) -> bool:
    taken = samples[entrant]
    if entrant.library == OURS or len(taken) < _FEW:
        return False
    ours = [found for other, found in samples.items() if other.library == OURS and other.threads == entrant.threads]
    return min(taken) > _BEHIND * min(map(statistics.median, ours))


def _entrants(said: Mapping[str, Mapping[str, Any]]) -> Iterator[Entrant]:
    """Yields the calls to sample; ours on one thread and on two stand next to each other."""
    for name, answer in said.items():
        for variant in answer["variants"]:
            yield from (Entrant(name, variant, number) for number in answer["threads"])


def roofline(threads: int) -> Roofline:
    """Measures the machine on some number of threads, in a process of its own."""
    worker = _worker(ROOFLINE, threads)
    found = _ask(worker, do="measure")
    worker.stop()
    return Roofline({int(size): rate for size, rate in found["bandwidth"].items()}, found["flops"])


def _worker(name: str, threads: int, python: str = sys.executable) -> Worker:
    scripts = Path(__file__).resolve().parents[1]
    most = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads)
    # Threads that wait in a loop for 200 ms, as Intel's do by default, would run beside the next library's.
    settings = {"KMP_BLOCKTIME": 2, "MKL_DYNAMIC": "FALSE", "NUMBA_CACHE_DIR": scripts.parent / ".build" / "numba"}
    path = os.pathsep.join(filter(None, (str(scripts), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path, **{key: str(value) for key, value in (most | settings).items()}}
    return Worker("benchmarks.contestant", _TIMEOUT, (name,), environment, python)


def _ask(worker: Worker, **request: Any) -> Any:
    worker.send(request)
    answer = worker.line()
    if answer is None:
        raise RuntimeError(f"expected an answer to {request}, but {worker.epitaph()}")
    return answer
