"""The inputs by name, made once a run and read by every process."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks import data
from benchmarks.entries import Coordinates, skewed
from benchmarks.shapes.shape_inputs import made as shaped

__all__ = ["INPUTS", "load"]

Input = Any  # a CSR matrix, or Coordinates

INPUTS: Mapping[str, Callable[[], Input]] = {
    "5-point grid 1000^2": partial(data.grid, 1000, 1000),
    "7-point grid 148^2 x 58": partial(data.grid, 148, 148, 58),
    "power law 1M": partial(data.power_rows, 1_000_000, 3_100_000),
    "circuit 171k": partial(data.circuit, 171_000, 960_000),
    "FEM 62k": partial(data.blocky, 15_625, 16, 4),
    "uniform 1e5 x 20": partial(data.uniform, 100_000, 20),
    "uniform 1e5 x 8": partial(data.uniform, 100_000, 8),
    "grid of 3 x 3 blocks": lambda: data.narrow(scipy.sparse.kron(data.grid(350, 350), np.full((3, 3), 0.5)).tocsr()),
    "social 0.7M": partial(skewed, (1591, 63891, 63890), 700_000, 500_000, 1.5, 11),
    "knowledge 8M": partial(skewed, (12092, 9184, 28818), 8_000_000, 2_000_000, 1.5, 12),
    # What conversions, sparse results and calls are measured on besides.
    "uniform 250k x 20": partial(data.uniform, 250_000, 20),
    "uniform 1e5 x 10": partial(data.uniform, 100_000, 10),
    "uniform 20k x 10": partial(data.uniform, 20_000, 10),
    "uniform 20k x 40": partial(data.uniform, 20_000, 40),
    "5-point grid 500^2": partial(data.grid, 500, 500),
    "power law 1e5": partial(data.power_law, 100_000, 300_000),
    "triangles 400^2": partial(data.triangulated, 400),
    "8 x 8": partial(data.uniform, 8, 3),
    # For tests: all at once in a second.
    "tiny": partial(data.uniform, 60, 5),
    "tiny grid": partial(data.grid, 6, 5),
    "tiny tensor": partial(skewed, (7, 9, 11), 120, 40, 1.5, 13),
}


def load(name: str, folder: Path) -> Input:
    """Returns an input, or a shape of some size, from a folder where another process has put it there already."""
    path = folder / f"{name.replace(' ', '-').replace('^', '').replace(',', '')}.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        made, own = (
            INPUTS[name]() if name in INPUTS else shaped(name),
            path.with_suffix(f".{os.getpid()}.npz"),
        )  # another run may be at it too
        np.savez(own, **_arrays(made))
        own.replace(path)
    with np.load(path) as arrays:
        stored = {key: arrays[key] for key in arrays}
    shape = tuple(int(n) for n in stored.pop("shape"))
    if "coords" in stored:
        return Coordinates(shape, **stored)
    return scipy.sparse.csr_array((stored["data"], stored["indices"], stored["indptr"]), shape=shape)


def _arrays(made: Input) -> dict[str, Any]:
    if isinstance(made, Coordinates):
        return {field.name: np.asarray(getattr(made, field.name)) for field in fields(made)}
    return {"shape": np.asarray(made.shape), **{key: getattr(made, key) for key in ("data", "indices", "indptr")}}
