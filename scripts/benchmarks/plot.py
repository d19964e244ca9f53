"""The standing as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.standing import Standing

__all__ = ["plot"]

_REACHED, _MISSED, _OPEN = "#2a7f62", "#b5442e", "#8a8f98"


def plot(found: Sequence[Standing], path: Path) -> None:
    """Draws the ratio to the best peer for each kernel, one panel a number of threads, with the bounds as marks."""
    import matplotlib as mpl  # needed for a picture only

    mpl.use("svg")
    from matplotlib import pyplot as plt

    numbers = sorted({standing.threads for standing in found})
    if not numbers:
        return
    kernels = list(dict.fromkeys(standing.kernel for standing in found))
    figure, panels = plt.subplots(
        1, len(numbers), figsize=(1.5 + 5 * len(numbers), 1.2 + 0.27 * len(kernels)), sharey=True, squeeze=False
    )
    for number, panel in zip(numbers, panels[0], strict=True):
        _panel(panel, number, kernels, {s.kernel: s for s in found if s.threads == number})
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _panel(axes: Any, number: int, kernels: Sequence[str], of: dict[str, Standing]) -> None:
    for at, kernel in enumerate(kernels):
        if kernel not in of:
            continue
        standing = of[kernel]
        axes.barh(at, standing.mean, color=_colour(standing), height=0.7)
        axes.plot([standing.worst], [at], "x", color="black", markersize=4)
        axes.text(standing.mean, at, f" {standing.mean:.2f}", va="center", fontsize=7)
        if standing.bound is not None:
            axes.plot([standing.bound] * 2, [at - 0.4, at + 0.4], color="black", linewidth=1.5)
    axes.axvline(1.0, color="#c8ccd2", linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(kernels)), kernels, fontsize=8)
    axes.set_ylim(len(kernels) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.set_xlabel("time / best peer, geometric mean; bar: bound, x: worst input", fontsize=8)
    axes.set_title(f"{number} thread{'s' * (number > 1)}", fontsize=9)


def _colour(standing: Standing) -> str:
    if standing.bound is None:
        return _OPEN
    return _MISSED if standing.mean > standing.bound else _REACHED
