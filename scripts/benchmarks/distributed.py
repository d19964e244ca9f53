"""Cuts, pieces and Dask's graphs beside one kernel on the whole, by processor time of one thread: `--distributed`.

Each figure has a bound; those that miss it are marked. `--cluster` measures two workers too, by walls and by processor
time: walls need processors that nothing else uses.
"""

from __future__ import annotations

import argparse
import json
import pickle
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

import mlir_sparse as ms
import mlir_sparse.dask as msd
from benchmarks.cluster import cluster_of_two, page_rank, slow_worker, statements, transferred
from benchmarks.machine import commit, machine, processor_of
from benchmarks.report import RESULTS

ROUNDS = 7
TEXTS = {
    "SpMV": "y(i) = A(i,j) * x(j)",
    "SpMM": "Y(i,k) = A(i,j) * B(j,k)",
    "SpGEMM": "C(i,k) = A(i,j) * P(j,k)",
}


@dataclass(frozen=True)
class Figure:
    """What was measured, and its bound."""

    name: str
    value: float
    bound: float

    def __str__(self) -> str:
        return (
            f"{self.name:64} {self.value:8.4f}  at most {self.bound}{'' if self.value <= self.bound else '   MISSED'}"
        )


def ratio(call: Callable[[], Any], base: Callable[[], Any], rounds: int = ROUNDS, *, again: bool = False) -> float:
    """Returns how many times as long a call takes as another: interleaved, medians.

    Args:
        call: the call.
        base: the other.
        rounds: so often both are timed.
        again: whether each is timed the second time in a row: large results take the memory of those before them, which
            results of other sizes have had meanwhile.
    """
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds + 1):
        for one, kept in zip((call, base), times, strict=True):
            if again:
                one()
            start = time.thread_time()
            one()
            if number:
                kept.append(time.thread_time() - start)
    return float(np.median(times[0]) / np.median(times[1]))


def power_law(rows: int, entries: int) -> ms.SparseTensor:
    """Returns a matrix with columns and rows of unlike degrees, in a random order."""
    random = np.random.default_rng(0)
    order = random.permutation(rows)
    skewed = [order[np.minimum(rows - 1, (random.pareto(1.3, entries) * rows / 400).astype(int))] for _ in range(2)]
    found = sp.coo_array((random.random(entries), tuple(skewed)), shape=(rows, rows)).tocsr()
    return ms.tensor(found)


def grid(side: int) -> ms.SparseTensor:
    """Returns a grid of five points."""
    line = sp.diags_array([-np.ones(side - 1), 2 * np.ones(side), -np.ones(side - 1)], offsets=[-1, 0, 1])
    return ms.tensor((sp.kron(line, sp.eye_array(side)) + sp.kron(sp.eye_array(side), line)).tocsr())


def pieces_beside_the_whole(name: str, A: ms.SparseTensor, count: int = 8) -> float:
    """Returns the time of all pieces beside that of the whole."""
    random = np.random.default_rng(1)
    given = {"x": random.random(A.shape[1]), "B": random.random((A.shape[1], 32)), "P": A}
    text = TEXTS[name]
    given = {one: value for one, value in given.items() if f"{one}(" in text}
    kernel = ms.compile(text, A=A, **given, threads=1)
    whole = ms.source(A)
    parts = [whole.read(low, high) for low, high in pairwise(whole.balanced(count))]
    return ratio(lambda: [kernel(A=part, **given) for part in parts], lambda: kernel(A=A, **given), again=True)


def balance(A: ms.SparseTensor, count: int) -> float:
    """Returns the bytes of the largest part that a task computes with, beside an equal share of all."""
    y = msd.evaluate(TEXTS["SpMV"], A=msd.from_tensor(A, pieces=count), x=np.ones(A.shape[1]), threads=1)
    needed = y.dask.cull(y.__dask_keys__())  # heavy parts, whose divisions are computed with, are not
    sizes = [task.nbytes for task in dict(needed).values() if isinstance(task, ms.SparseTensor)]
    return float(max(sizes) / (sum(sizes) / count))


def own_milliseconds(count: int = 512) -> float:
    """Returns processor milliseconds of a task beyond what Dask takes for one of an array's that does nothing."""
    import dask.array

    A = msd.from_tensor(ms.tensor(np.eye(count)), pieces=count)
    ours = msd.evaluate(TEXTS["SpMV"], A=A, x=np.ones(count), threads=1)
    nothing = dask.array.from_array(np.ones(count), chunks=1).map_blocks(_itself)
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(ROUNDS + 1):
        for array, kept in zip((ours, nothing), times, strict=True):
            start = time.thread_time()
            array.compute(scheduler="synchronous")
            if number:
                kept.append(time.thread_time() - start)
    return float((np.median(times[0]) - np.median(times[1])) / count * 1e3)


def _itself(block: Any) -> Any:
    return block


def bytes_sent(A: ms.SparseTensor, count: int = 8) -> float:
    """Returns the bytes of a graph's tasks beside those of its parts and images."""
    x = np.ones(A.shape[1])
    y = msd.evaluate(TEXTS["SpMV"], A=msd.from_tensor(A, pieces=count), x=x)
    whole = ms.source(A)
    needed = 0
    for low, high in pairwise(whole.balanced(count)):
        part = whole.read(low, high)
        needed += part.nbytes + 8 * np.unique(part.storage.coordinates[1]).size
    return len(pickle.dumps(dict(y.dask), protocol=5)) / needed


def figures(scale: int = 1) -> list[Figure]:
    """Measures; a scale above 1 divides the sizes."""
    lattice, skewed = grid(1000 // scale), power_law(200_000 // scale, 3_000_000 // scale)
    half = lattice.shape[0] // 2
    parts = [lattice[:half], lattice[half:]]
    stored = [part.to_scipy() for part in parts]
    found = [
        Figure(f"{name} of a {what}, 8 pieces / whole", pieces_beside_the_whole(name, A), 1.10)
        for name in TEXTS
        for what, A in (("grid", lattice), ("power law", skewed))
        if (name, what) != ("SpGEMM", "power law")
    ]
    found += [
        Figure(f"largest of {count} parts of a power law / share", balance(skewed, count), 1.10) for count in (8, 512)
    ]
    found.append(Figure("our milliseconds a task", own_milliseconds(512 // scale), 0.1))
    found.append(Figure("bytes of a grid's graph / parts and images", bytes_sent(lattice), 1.01))
    found.append(
        Figure(
            "upper half of a grid / copy of it",
            ratio(lambda: lattice[half:], lambda: pickle.loads(pickle.dumps(parts[1]))),
            0.01,
        )
    )
    found.append(Figure("join / scipy.vstack", ratio(lambda: np.concatenate(parts), lambda: sp.vstack(stored)), 0.4))
    return found


def figures_of_two(scale: int = 1) -> list[Figure]:
    """Measures two workers beside one process with two threads; a scale above 1 divides the sizes."""
    lattice, large = grid(1200 // scale), grid(2000 // scale)
    skewed = power_law(400_000 // scale, 16_000_000 // scale)
    with cluster_of_two() as client:
        found = [
            Figure("bytes between workers / images they lack", transferred(client, lattice), 1.01),
            Figure("one of two workers at half speed / both at full", slow_worker(client), 1.5),
        ]
        for walls, bound in [
            *((one, 1.25) for one in statements(client, lattice, skewed, large)),
            (page_rank(client, 50_000_000 // scale), 1.5),
        ]:
            found.append(Figure(f"{walls.name}: wall of two workers / one", walls.ratio, bound))
            found.append(Figure(f"{walls.name}: processor time", walls.busy_ratio, bound))
    return found


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench --distributed", description=__doc__)
    parser.add_argument("--save", action="store_true", help="keep the figures among the results")
    parser.add_argument("--cluster", action="store_true", help="measure two workers too")
    parser.add_argument("--scale", type=int, default=1, help="divide the sizes")
    given = parser.parse_args(arguments)
    found = figures(given.scale) + (figures_of_two(given.scale) if given.cluster else [])
    print("\n".join(map(str, found)))
    if given.save:
        path = RESULTS / f"{time.strftime('%Y-%m-%d')}-{commit()}-distributed.json"
        host = {"processor": processor_of(machine()), "load": machine()["load"]}
        path.write_text(json.dumps(host | {"figures": [asdict(one) for one in found]}, indent=1) + "\n")
        print(path)


if __name__ == "__main__":
    main()
