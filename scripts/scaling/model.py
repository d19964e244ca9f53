"""Times of kernels on many nodes, of what one node takes, how much is sent, and a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil

import numpy as np

from scaling.volumes import Degrees, computed, grid_of, met_uniformly

COLUMNS = 32
"""Columns of dense operands of SpMM and SDDMM, and the rank of MTTKRP."""


@dataclass(frozen=True)
class Network:
    """Bytes a second into and out of a node, seconds a message, and seconds of a central scheduler a task."""

    bandwidth: float
    latency: float
    task: float = 0.0


@dataclass(frozen=True)
class Problem:
    """What each node has: rows, and degrees of all rows and columns of the whole on so many nodes."""

    name: str
    rows: float
    entries: float
    degrees: Degrees
    lines: bool = False  # a grid whose parts meet along a line


def grid(rows: float) -> Problem:
    """Returns a grid of five points."""
    return Problem("grid", rows, 5 * rows, Degrees(np.array([5.0]), np.array([rows])), lines=True)


def power_law(rows: float, mean: float = 16.0, exponent: float = 2.1) -> Problem:
    """Returns a matrix whose degrees d are as frequent as d ** -exponent, from where the mean is as asked."""
    degrees = np.unique(np.geomspace(1, 1e6, 400).round())
    widths = np.diff(np.append(degrees, degrees[-1] * 1.04))
    counts = degrees**-exponent * widths
    counts *= rows / counts.sum()
    factor = mean * rows / (degrees * counts).sum()
    return Problem("power law", rows, mean * rows, Degrees(np.maximum(1, degrees * factor), counts))


@dataclass(frozen=True)
class Estimate:
    """One cut of a kernel: seconds of a call on so many nodes, and bytes that a node is sent."""

    cut: str
    seconds: float
    nbytes: float


def estimates(kernel: str, problem: Problem, seconds: float, nodes: int, network: Network) -> list[Estimate]:
    """Returns what each cut takes, given what one node takes for its share.

    Args:
        kernel: SpMV, SpMM, SDDMM, SpGEMM or MTTKRP.
        problem: each node's share; the whole grows with the nodes.
        seconds: a node's time for its share.
        nodes: how many.
        network: between them.
    """
    sent = _mttkrp(problem, nodes) if kernel == "MTTKRP" else _matrix(kernel, problem, nodes)
    found = []
    for cut, (nbytes, messages) in sent.items():
        moved = nbytes / network.bandwidth + messages * network.latency
        found.append(Estimate(cut, seconds + moved + network.task * nodes, nbytes))
    return found


def chosen(found: list[Estimate]) -> Estimate:
    """Returns the cut that the plan would choose: the one of least time."""
    return min(found, key=lambda one: one.seconds)


def _matrix(kernel: str, problem: Problem, nodes: int) -> Mapping[str, tuple[float, float]]:
    whole = problem.degrees.scaled(nodes)
    element = {"SpMV": 8, "SpMM": 8 * COLUMNS, "SDDMM": 8 * COLUMNS, "SpGEMM": 8 + 12 * problem.entries / problem.rows}
    volumes = dict(computed(whole, whole, nodes))
    down, across = grid_of(nodes)
    messages = {"broadcast": nodes - 1.0, "images": float(nodes - 1), "2-D": float(down + across - 2)}
    if problem.lines:  # strips of about square parts meet their neighbours only
        volumes["images"] = 4 * (problem.rows**0.5) * nodes
        messages["images"] = 4.0
    size = element[kernel]
    return {cut: (volume * size / nodes, messages[cut]) for cut, volume in volumes.items()}


def _mttkrp(problem: Problem, nodes: int) -> Mapping[str, tuple[float, float]]:
    """X(i,r) = T(i,j,k) * B(j,r) * C(k,r), with as many coordinates in each mode as a node has rows times the nodes."""
    extent, entries, row = problem.rows * nodes, problem.entries, 8 * COLUMNS
    side = max(1, round(nodes ** (1 / 3)))
    block = extent / side
    named = met_uniformly(entries, extent)
    inside = met_uniformly(entries, block)
    return {
        "broadcast": (2 * extent * row, 2.0 * (nodes - 1)),
        "images": (2 * named * row, 2.0 * (nodes - 1)),
        "3-D": (3 * inside * row, 3.0 * (ceil(nodes / side) - 1)),
    }


PROBLEMS: tuple[Callable[[float], Problem], ...] = (grid, power_law)
KERNELS = ("SpMV", "SpMM", "SDDMM", "SpGEMM", "MTTKRP")
