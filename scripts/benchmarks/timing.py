"""Timing calls side by side on a machine that is never quite idle."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["interleaved", "ratio"]

_SAMPLE = 2e-3  # seconds; a sample repeats its call until it takes this long


def interleaved(calls: Mapping[str, Callable[[], Any]], seconds: float) -> dict[str, list[float]]:
    """Times calls in turn, so that noise meets all alike.

    Args:
        calls: what to time, by name.
        seconds: for how long in all; at least five rounds are made.

    Returns:
        seconds a call, by name, one sample a round.
    """
    repeats = {name: _repeats(call) for name, call in calls.items()}
    samples: dict[str, list[float]] = {name: [] for name in calls}
    order, stop = list(calls), time.perf_counter() + seconds
    gc.collect()
    gc.disable()
    try:
        while len(samples[order[0]]) < 5 or time.perf_counter() < stop:
            for name in order:
                samples[name].append(_sample(calls[name], repeats[name]))
            order.append(order.pop(0))  # nobody always runs on the caches that the same other one left
    finally:
        gc.enable()
    return samples


def ratio(samples: Mapping[str, Sequence[float]], name: str, other: str) -> float:
    """Returns the median over the rounds of one's time by the other's: a slow spell slows both of a round."""
    return statistics.median(a / b for a, b in zip(samples[name], samples[other], strict=True))


def _repeats(call: Callable[[], Any]) -> int:
    call()
    repeats = 1
    while (taken := _sample(call, repeats) * repeats) < _SAMPLE:
        repeats = max(2 * repeats, int(repeats * _SAMPLE / max(taken, 1e-9)))
    return repeats


def _sample(call: Callable[[], Any], repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats
