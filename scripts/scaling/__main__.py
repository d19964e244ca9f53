"""Prints what kernels take on many nodes, or bytes of cuts of matrices beside those computed."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import mlir_sparse as ms
from scaling.model import COLUMNS, KERNELS, PROBLEMS, Network, chosen, estimates
from scaling.volumes import CUTS, Degrees, computed, counted

TEXTS = {
    "SpMV": "y(i) = A(i,j) * x(j)",
    "SpMM": "Y(i,k) = A(i,j) * B(j,k)",
    "SDDMM": "S(i,j) = A(i,j) * (B(i,k) * B(j,k))",
    "SpGEMM": "C(i,k) = A(i,j) * A(j,k)",
    "MTTKRP": "X(i,r) = T(i,j,k) * B(j,r) * B(k,r)",
}


def measured(rows: int = 40_000, mean: int = 8, rounds: int = 3) -> dict[str, float]:
    """Returns seconds an entry of each kernel, on one thread of this machine."""
    random = np.random.default_rng(0)
    count = rows * mean
    dims = [random.integers(0, rows, count) for _ in range(3)]
    values, B = random.random(count), random.random((rows, COLUMNS))
    matrix = ms.tensor((dims[:2], values), "CSR", shape=(rows, rows))
    operands: dict[str, Any] = {"A": matrix, "T": None, "B": B, "x": random.random(rows)}
    operands["T"] = ms.tensor((dims, values), "CSF", shape=(rows, rows, rows))
    found = {}
    for name, text in TEXTS.items():
        given = {one: value for one, value in operands.items() if f"{one}(" in text}
        kernel, times = ms.compile(text, tensors=given, threads=1), []
        for _ in range(rounds + 1):
            start = time.thread_time()
            kernel(**given)
            times.append(time.thread_time() - start)
        found[name] = float(np.median(times[1:])) / count
    return found


def table(seconds: Mapping[str, float], rows: float, nodes: Sequence[int], network: Network, worth: float) -> str:
    """Returns the efficiency of each cut, a line for each kernel, kind of matrix and number of nodes."""
    lines = [f"{'kernel':8}{'matrix':11}{'nodes':>7}  efficiency by cut; * chosen   bytes a node is sent by that"]
    for kernel in KERNELS:
        for make in PROBLEMS:
            problem = make(rows)
            alone = seconds[kernel] * problem.entries / worth
            for count in nodes:
                found = estimates(kernel, problem, alone, count, network)
                best = chosen(found)
                told = "  ".join(f"{'*' if one is best else ' '}{one.cut} {alone / one.seconds:.0%}" for one in found)
                lines.append(f"{kernel:8}{problem.name:11}{count:7,}  {told}   {best.nbytes:.3g}")
    return "\n".join(lines)


def checked(path: str, parts: Sequence[int]) -> str:
    """Returns elements that cuts of a matrix send, as counted and as computed; rows and columns are shuffled alike."""
    given = ms.tensor(ms.read(path), "COO")
    (rows, columns), _ = given.to_coo()
    m, n = given.shape
    order = np.random.default_rng(0).permutation(max(m, n))
    rows, columns = (np.argsort(order[:m])[rows], np.argsort(order[:n])[columns])
    others = Degrees.of(columns[(rows != columns) | (m != n)], n)
    lines = [f"{path}: {m} x {n}, {given.nse:,} entries"]
    for count in parts:
        if count > min(m, n):
            break
        found = counted(rows, columns, (m, n), count)
        model = computed(Degrees.of(rows, m), Degrees.of(columns, n), count, others)
        told = "  ".join(f"{cut} {found[cut]:,} ({model[cut] / max(1, found[cut]):.2f})" for cut in CUTS)
        lines.append(f"  {count:5} parts: {told}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="scripts/scale", description=__doc__)
    parser.add_argument("--bandwidth", type=float, default=22e9, help="bytes a second of a node's network")
    parser.add_argument("--latency", type=float, default=2e-6, help="seconds a message")
    parser.add_argument("--task", type=float, default=0.0, help="seconds of a central scheduler a task; Dask: 3e-4")
    parser.add_argument("--worth", type=float, default=32, help="threads of this machine that a node is worth")
    parser.add_argument("--rows", type=float, default=1e7, help="rows that a node has")
    parser.add_argument("--nodes", default="10 100 1000 10000")
    parser.add_argument("--check", nargs="+", metavar="FILE", help="matrices whose cuts are counted")
    given = parser.parse_args(arguments)
    if given.check:
        for path in given.check:
            print(checked(path, [4, 16, 64, 256, 1024, 4096]))
        return
    seconds = measured()
    print("nanoseconds an entry on one thread here: " + ", ".join(f"{k} {v * 1e9:.3g}" for k, v in seconds.items()))
    network = Network(given.bandwidth, given.latency, given.task)
    print(table(seconds, given.rows, [int(one) for one in given.nodes.split()], network, given.worth))


if __name__ == "__main__":
    main()
