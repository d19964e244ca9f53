"""The figures of the machine that this process runs on, measured by native loops."""

from __future__ import annotations

from pathlib import Path

from mlir_sparse import _native
from mlir_sparse.machine.machine_figures import (
    ENTRY_DISTANCES,
    GATHER_DISTANCES,
    ROW_DISTANCES,
    WORKING_SETS,
    MachineFigures,
)
from mlir_sparse.machine.processor import cpu_features

__all__ = ["cache_sizes", "measured_figures"]

# Entries of the matrices that are streamed: 100 and 6 MB.
_FAR, _NEAR = 1 << 23, 1 << 19
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def measured_figures() -> MachineFigures:
    """Measures memory, vectors and threads, in about two seconds on two threads at most."""
    return MachineFigures(
        caches=cache_sizes(),
        latencies=tuple(map(_native.time_load, WORKING_SETS)),
        read_lines=tuple(map(_native.time_line, WORKING_SETS)),
        kept_lines=tuple(_native.time_written_line(size, past_caches=False) for size in WORKING_SETS),
        past_lines=tuple(_native.time_written_line(size, past_caches=True) for size in WORKING_SETS),
        page=_native.time_page(),
        gather=_native.time_gather(vector=True) if "avx2" in cpu_features() else None,
        loads=_native.time_gather(vector=False),
        scatter=_native.time_scatter(vector=True) if "avx512f" in cpu_features() else None,
        stores=_native.time_scatter(vector=False),
        wrong_guess=_native.time_wrong_guess(),
        hand_over=_native.time_hand_over(sleeps=False),
        wake=_native.time_hand_over(sleeps=True),
        far_entries=tuple(_native.time_entries(_FAR, ENTRY_DISTANCES)),
        near_entries=tuple(_native.time_entries(_NEAR, ENTRY_DISTANCES)),
        named_elements=tuple(_native.time_named_elements(GATHER_DISTANCES)),
        named_lines=tuple(_native.time_named_lines(ROW_DISTANCES)),
    )


def cache_sizes() -> tuple[float, ...] | None:
    """Returns the bytes of the first processor's caches for data, as Linux says; None where it does not."""
    found: dict[int, float] = {}
    for folder in sorted(_CACHES.glob("index*")):
        level, kind, size = (_word(folder / name) for name in ("level", "type", "size"))
        if kind in ("Data", "Unified") and level.isdecimal() and size[:-1].isdecimal() and size[-1] in _UNITS:
            found[int(level)] = float(int(size[:-1]) * _UNITS[size[-1]])
    if 1 not in found or 2 not in found:
        return None
    return found[1], found[2], found.get(3, found[2])


def _word(path: Path) -> str:
    try:
        return path.read_text("ascii").strip()
    except (OSError, ValueError):
        return ""
