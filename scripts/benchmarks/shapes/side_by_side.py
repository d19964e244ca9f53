"""Results of all machines beside each other: the last ones of each processor, from `results/`."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.machine import processor_of

__all__ = ["side_by_side"]


def side_by_side(folder: Path) -> str:
    """Returns a table: for each kernel our time by the best peer's, one thread and more, a column for each processor.

    Each cell is the geometric mean over the inputs that were measured there.
    """
    latest: dict[str, Mapping[str, Any]] = {}
    for path in sorted(folder.glob("*.json"), key=lambda path: path.name):
        record = json.loads(path.read_text())
        if not any(row.get("group") and row.get("ratios") for row in record.get("results", ())):
            continue  # whole statements and pieces, which have no kernels
        section = f", {path.stem.rpartition('-')[2]}" if path.stem.count("-") > 3 else ""
        latest[f"{processor_of(record['machine'])}{section}"] = record
    columns = {name: _means(record) for name, record in latest.items()}
    kernels = list(dict.fromkeys(kernel for means in columns.values() for kernel in means))
    heads = [f"{name} ({record['commit']}, {record['date'][:10]})" for name, record in latest.items()]
    lines = [f"| kernel | {' | '.join(heads)} |", f"|---|{'--:|' * len(heads)}"]
    for kernel in kernels:
        lines.append(f"| {kernel} | {' | '.join(means.get(kernel, '') for means in columns.values())} |")
    return "\n".join(lines) + "\n"


def _means(record: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in record["results"]:
        for threads, ratio in (row.get("ratios") or {}).items() if row.get("group") else ():
            found[row["group"]][threads].append(ratio)
    return {
        kernel: " / ".join(f"{statistics.geometric_mean(of[threads]):.2f}" for threads in sorted(of, key=int))
        for kernel, of in found.items()
    }
