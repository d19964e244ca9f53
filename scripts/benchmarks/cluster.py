"""Two workers of a cluster on this machine beside one process with two threads: `--distributed --cluster`.

Walls of several processes mean something on a machine that does nothing else; its load is printed with them, and the
processor time of all processes stands beside each wall.
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import mlir_sparse as ms
import mlir_sparse.dask as msd

__all__ = [
    "Walls",
    "cluster_of_two",
    "page_rank",
    "slow_worker",
    "statements",
    "stopped_half_of_the_time",
    "transferred",
]

STEPS = 20
RANK = "y(i) = 0.85 * A(i,j) * x(j) + t"
ROUNDS = 5


@dataclass(frozen=True)
class Walls:
    """Seconds of a call by two workers and by one process: walls, and processor time of all processes."""

    name: str
    two: float
    one: float
    two_busy: float
    one_busy: float

    @property
    def ratio(self) -> float:
        return self.two / self.one

    @property
    def busy_ratio(self) -> float:
        return self.two_busy / self.one_busy


@contextmanager
def cluster_of_two() -> Iterator[Any]:
    """Gives a client of two workers with a thread each, which have loaded this package."""
    from distributed import Client, LocalCluster

    warnings.filterwarnings("ignore", message="Sending large graph")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=None) as two,
        Client(two) as client,
    ):
        client.run(_loaded)
        yield client


def _loaded() -> None:
    import mlir_sparse.dask  # noqa: F401


def _busy(client: Any) -> float:
    return time.process_time() + sum(client.run(time.process_time).values())


def _beside(
    name: str, client: Any, two: Callable[[], Any], one: Callable[[], Any], rounds: int, *, warm: bool = True
) -> Walls:
    """Times two calls in turn; the least of rounds, which other work disturbs least. Both have run once before."""
    taken: list[list[float]] = [[], [], [], []]
    for number in range(-int(warm), rounds):
        for place, call in enumerate((two, one)):
            start, busy = time.perf_counter(), _busy(client)
            call()
            wall, spent = time.perf_counter() - start, _busy(client) - busy
            if number >= 0:
                taken[place].append(wall)
                taken[2 + place].append(spent)
    return Walls(name, *(float(min(own)) for own in taken))


def graph(nodes: int, edges: int) -> ms.SparseTensor:
    """Returns the transition matrix of a graph: half of the edges between any nodes, half by a power law."""
    random = np.random.default_rng(0)
    order = random.permutation(nodes)
    ends = [random.integers(0, nodes, edges) for _ in range(2)]
    for own in ends:
        own[edges // 2 :] = order[
            np.minimum(nodes - 1, (random.pareto(1.3, edges - edges // 2) * nodes / 400).astype(np.int64))
        ]
    degrees = np.bincount(ends[1], minlength=nodes)
    found = sp.coo_array((1 / degrees[ends[1]], tuple(own.astype(np.int32) for own in ends)), shape=(nodes, nodes))
    return ms.tensor(found.tocsr())


def _ranks_of_one(folder: str) -> np.ndarray:
    """Reads a graph and ranks its nodes, in this process, with two threads."""
    parts = ms.source(folder)
    A = parts.read(0, parts.shape[0])
    nodes = A.shape[0]
    x, y, t = np.full(nodes, 1 / nodes), np.empty(nodes), np.float64(0.15 / nodes)
    kernel = ms.compile(RANK, A=A, x=x, t=t, threads=2)
    for _ in range(STEPS):
        kernel(A=A, x=x, t=t, out=y)
        x, y = y, x
    return x


def _ranks_of_two(folder: str) -> Any:
    A = msd.from_files(folder).persist()
    nodes = A.shape[0]
    t = np.float64(0.15 / nodes)
    step = lambda x, A: ms.evaluate(RANK, A=A, x=x, t=t)  # noqa: E731
    return list(msd.iterate(step, np.full(nodes, 1 / nodes), A, times=STEPS))[-1].compute()


def page_rank(client: Any, edges: int = 50_000_000, rounds: int = 3) -> Walls:
    """Returns the times of 20 steps of PageRank from files, end to end."""
    with tempfile.TemporaryDirectory() as folder:
        whole = graph(max(10, edges // 25), edges)
        for number, (low, high) in enumerate(pairwise(ms.source(whole).balanced(8))):
            ms.write(Path(folder, f"{number}.npz"), whole[low:high])
        del whole
        if not np.allclose(_ranks_of_one(folder), _ranks_of_two(folder), rtol=1e-9):
            raise AssertionError("two workers rank otherwise than one process")
        return _beside(
            f"PageRank of {edges:,} edges from files, {STEPS} steps",
            client,
            lambda: _ranks_of_two(folder),
            lambda: _ranks_of_one(folder),
            rounds,
            warm=False,
        )


def statements(
    client: Any, grid: ms.SparseTensor, skewed: ms.SparseTensor, large: ms.SparseTensor, rounds: int = ROUNDS
) -> Iterator[Walls]:
    """Yields the times of calls whose operands are where they are needed, and whose results stay where they are.

    Each worker has one piece, which moves the fewest bytes.

    Args:
        client: of the cluster.
        grid: a matrix of which pieces name few columns.
        skewed: one of which pieces name most columns.
        large: a grid whose product with itself takes 0.2 seconds.
        rounds: so often both are timed in turn.
    """
    cases = [
        (f"{name} of a {what}", text, A)
        for what, A in (("grid", grid), ("power law", skewed))
        for name, text in (
            ("SpMM", "Y(i,k) = A(i,j) * B(j,k)"),
            ("SDDMM", "C(i,j) = A(i,j) * U(i,k) * V(j,k)"),
        )
    ]
    for name, text, A in [*cases, ("SpGEMM of a grid", "C(i,k) = A(i,j) * P(j,k)", large)]:
        yield _statement(client, name, text, A, rounds)


def _statement(client: Any, name: str, text: str, A: ms.SparseTensor, rounds: int) -> Walls:
    from distributed import wait

    parts = _one_each(client, A)
    chunked = {"P": parts} if "P" in text else {other: _rows_beside(parts) for other in "BUV" if other in text}
    wait([parts, *chunked.values()])
    given = {other: A if other == "P" else value.compute() for other, value in chunked.items()}
    kernel = ms.compile(text, A=A, **given, threads=2)

    def two() -> None:
        wait(msd.evaluate(text, A=parts, **chunked, along="i", threads=1).persist())

    return _beside(name, client, two, lambda: kernel(A=A, **given), rounds)


def _one_each(client: Any, A: ms.SparseTensor) -> Any:
    """Returns a tensor in as many parts as there are workers, each on another: Dask may put two on one."""
    import dask.array

    workers = sorted(client.scheduler_info()["workers"])
    parts = msd.from_tensor(A, pieces=len(workers))
    placed = [client.persist(parts.blocks[number], workers=[one]) for number, one in enumerate(workers)]
    return dask.array.concatenate(placed).persist()


def _rows_beside(parts: Any, columns: int = 64) -> Any:
    """Returns an array whose chunks have the rows of parts, and lie where these do."""
    import dask.array

    made = dask.array.map_blocks(_rows, parts, columns, dtype=float, chunks=(parts.chunks[0], columns))
    return made.persist()


def _rows(part: ms.SparseTensor, columns: int) -> np.ndarray:
    return np.random.default_rng(part.nse).random((part.shape[0], columns))


def transferred(client: Any, A: ms.SparseTensor, pieces: int = 8) -> float:
    """Returns the bytes that workers send each other for a step of a loop, beside the images that they lack."""
    from distributed import wait

    parts = msd.from_tensor(A, pieces=pieces).persist()
    x: Any = np.ones(A.shape[1])
    for _ in range(2):  # parts are asked; results lie where parts do
        x = msd.evaluate("y(i) = A(i,j) * x(j)", A=parts, x=x).persist()
        wait(x)
    return min(_of_a_step(client, A, parts, x) for _ in range(3))  # Dask may move a piece to a worker that waits


def _of_a_step(client: Any, A: ms.SparseTensor, parts: Any, x: Any) -> float:
    from distributed import wait

    homes = {str(key): set(who) for key, who in client.who_has().items()}
    before = _sent(client)
    y = msd.evaluate("y(i) = A(i,j) * x(j)", A=parts, x=x).persist()
    wait(y)
    moved = _sent(client) - before
    del y
    starts = np.cumsum([0, *parts.chunks[0]])
    lacked = 0
    for number, (low, high) in enumerate(pairwise(starts)):
        named = np.unique(A[int(low) : int(high)].storage.coordinates[1])
        for chunk, (begin, end) in enumerate(pairwise(starts)):
            if not homes[str((parts.name, number, 0))] & homes[str((x.name, chunk))]:
                lacked += 8 * np.count_nonzero((named >= begin) & (named < end))
    return moved / max(1, lacked)


def _sent(client: Any) -> int:
    return sum(client.run(_sent_by).values())


def _sent_by(dask_worker: Any) -> int:
    return int(dask_worker.transfer_outgoing_bytes_total)


def slow_worker(client: Any, pieces: int = 32, seconds: float = 0.1, rounds: int = 3) -> float:
    """Returns the wall of pieces where one of two workers has half of the time, beside that where both have all.

    Were pieces as fine as dust, it would be 4 / 3. With 16 pieces both workers end their fifth and their tenth at once,
    so that chance decides which of them takes the last: it is 1.375 or 1.5.

    Args:
        client: of the cluster.
        pieces: their number, as parts that a function reads.
        seconds: what each takes.
        rounds: so often both are timed in turn.
    """
    slowed = next(iter(client.run(os.getpid).values()))
    taken: tuple[list[float], list[float]] = ([], [])
    for number in range(2 * rounds):
        A = msd.from_source(
            _Slow(seconds, number), shape=(100 * pieces, 100), type="f64[?,?] CSR", cuts=range(0, 100 * pieces + 1, 100)
        )
        with stopped_half_of_the_time(slowed) if number % 2 else nullcontext():
            start = time.perf_counter()
            ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=np.ones(100)).compute()
            taken[number % 2].append(time.perf_counter() - start)
    return float(np.median(taken[1]) / np.median(taken[0]))


class _Slow:
    """Reads parts that take a while; each number is a source of its own, so that no result is kept."""

    def __init__(self, seconds: float, number: int) -> None:
        self.seconds, self.number = seconds, number

    def __call__(self, low: int, high: int) -> ms.SparseTensor:
        end = time.process_time() + self.seconds
        while time.process_time() < end:
            pass
        return ms.tensor(np.eye(high - low))


@contextmanager
def stopped_half_of_the_time(process: int, period: float = 0.1) -> Iterator[None]:
    over = threading.Event()

    def stop_and_go() -> None:
        while not over.wait(period / 2):
            os.kill(process, signal.SIGSTOP)
            over.wait(period / 2)
            os.kill(process, signal.SIGCONT)

    thread = threading.Thread(target=stop_and_go)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
