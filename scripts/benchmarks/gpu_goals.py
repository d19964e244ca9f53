"""The bounds that kernels must reach on a GPU, each with what was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.gpu_measure import Result

__all__ = ["GOALS", "Goal", "choices", "table"]

Results = Mapping[str, Result]
_LIBRARY = ("library", "CuPy (cuSPARSE)", "PyTorch (cuSPARSE)")
_LARGE = ("56M", "101M")  # what does not fit in a cache


@dataclass(frozen=True)
class Goal:
    """A bound.

    Args:
        text: what must be reached.
        bound: the least ratio, or the most of what must be below it.
        of: the figures by case, from the head and the results; empty where none was measured.
        at_most: whether the bound is the most.
    """

    text: str
    bound: float
    of: Callable[[Mapping[str, Any], Results], dict[str, float]]
    at_most: bool = False

    def line(self, head: Mapping[str, Any], results: Results) -> str:
        """Returns whether it is reached, by the worst figure."""
        found = self.of(head, results)
        if not found:
            return f"NOT MEASURED  {self.text}"
        worst = (max if self.at_most else min)(found, key=lambda name: found[name])
        holds = found[worst] <= self.bound if self.at_most else found[worst] >= self.bound
        each = ", ".join(f"{name} {value:.2f}" for name, value in found.items())
        return f"{'reached' if holds else 'NOT REACHED':12}  {self.text}: {found[worst]:.2f} ({each})"


def _besides(words: tuple[str, ...], others: tuple[str, ...], ours: str = "codegen") -> Any:
    """Returns how often ours is done in the time of the fastest of others, of cases with one of some words."""

    def found(_: Mapping[str, Any], results: Results) -> dict[str, float]:
        ratios = {}
        for name, result in results.items():
            theirs = [result.seconds[other] for other in others if other in result.seconds]
            if result.verdict == "ok" and theirs and ours in result.seconds and _has(name, words):
                ratios[name] = min(theirs) / result.seconds[ours]
        return ratios

    return found


def _has(name: str, words: tuple[str, ...]) -> bool:
    kind, *rest = words
    return name.startswith(kind) and "tiny" not in name and all(word in name for word in rest)


def _of_copies(head: Mapping[str, Any], results: Results) -> dict[str, float]:
    """Returns the share of the bandwidth of a copy, of products with grids that no cache holds."""
    rate, found = head.get("copy GB/s"), {}
    for name, result in results.items():
        wide = any(_has(name, (f"SpMV {kind}", "grid")) for kind in ("f32", "f64"))
        if rate and wide and result.verdict == "ok" and "codegen" in result.seconds and name.endswith(_LARGE):
            best = min(result.seconds[via] for via in ("codegen", "library") if via in result.seconds)
            found[name] = result.gigabytes * best / result.seconds["codegen"] / rate
    return found


def _beside_cpu(_: Mapping[str, Any], results: Results) -> dict[str, float]:
    found = {}
    for name, result in results.items():
        if not _has(name, ("MTTKRP rank 32 f32",)) or result.verdict != "ok":
            continue
        label = name.partition(", ")[2]
        on_cpu = results.get(f"MTTKRP on the CPU f32, {label}")
        spent = on_cpu.seconds.get("CPU, 2 threads") if on_cpu is not None else None
        if spent is not None and "codegen" in result.seconds:
            found[label] = spent / result.seconds["codegen"]
    return found


def _added(head: Mapping[str, Any], _: Results) -> dict[str, float]:
    call = head.get("call, us")
    return {"SpMV of 8 rows": call["added"]} if call else {}


def _both(*parts: Any) -> Any:
    return lambda head, results: {name: value for part in parts for name, value in part(head, results).items()}


_SPMV = tuple((f"SpMV {kind}", place) for place in ("grid", "power law") for kind in ("f32", "f64"))
GOALS: tuple[Goal, ...] = (
    Goal(
        "SpMV f32/f64 CSR on grids, speed beside cuSPARSE, at least 0.9",
        0.9,
        _both(*(_besides(w, _LIBRARY) for w in _SPMV[:2])),
    ),
    Goal(
        "SpMV f32/f64 CSR on power-law rows, speed beside cuSPARSE, at least 0.8",
        0.8,
        _both(*(_besides(w, _LIBRARY) for w in _SPMV[2:])),
    ),
    Goal("SpMV f32/f64 CSR on grids, share of the bandwidth of a copy, at least 0.6", 0.6, _of_copies),
    Goal("SpMM k = 128, speed beside cuSPARSE, at least 0.9", 0.9, _besides(("SpMM k=128 f32",), _LIBRARY)),
    Goal("SDDMM k = 64, speed beside cuSPARSE, above 1", 1.0, _besides(("SDDMM", "k=64 f32"), _LIBRARY)),
    Goal(
        "2:4 SpMM f16 by the library, speed beside dense cuBLAS, at least 1.3",
        1.3,
        _besides(("2:4",), ("dense cuBLAS (PyTorch)",), "library"),
    ),
    Goal("MTTKRP, speed beside the CPU's kernel on two threads, at least 5", 5.0, _beside_cpu),
    Goal("microseconds of a warm call over the driver's, below 10", 10.0, _added, at_most=True),
)


def choices(results: Results) -> str:
    """Returns a line for each case whose ways were all timed: what a call takes, and what is fastest."""
    lines = []
    for name, result in results.items():
        if not result.ways or result.taken not in result.ways:
            continue
        best = min(result.ways, key=lambda way: result.ways[way])
        own, least = result.ways[result.taken], result.ways[best]
        took = f"takes {result.taken} {1e6 * own:.1f} us, fastest {best} {1e6 * least:.1f} us"
        lines.append(f"{own / least:5.2f}  {name}: {took}")
    return "\n".join(lines)


def table(head: Mapping[str, Any], results: Results) -> str:
    """Returns a line for each bound, and how many checks passed."""
    checks = [result for name, result in results.items() if name.startswith("check ")]
    right = sum(result.verdict == "ok" for result in checks)
    lines = [f"{right} of {len(checks)} kernels right in every way they may take"] if checks else []
    return "\n".join([*lines, *(goal.line(head, results) for goal in GOALS)])
