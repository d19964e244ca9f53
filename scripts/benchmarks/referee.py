"""The reference result, computed once for a contest and kept in a file."""

from __future__ import annotations

import os
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.canonical import Entries, absolute, error_between, nbytes, plain
from benchmarks.inputs import load
from benchmarks.kernels import KERNELS, Kernel, Operands
from benchmarks.programs import WORKLOADS
from benchmarks.programs.workload import Workload
from benchmarks.shapes.shape_kernels import SHAPE_KERNELS

__all__ = ["Judgement", "LastOperands", "kernel_of", "operands_of"]

_FILE = "expected.npz"


def kernel_of(name: str) -> Kernel:
    """Returns a kernel, or a whole statement as one."""
    if name in WORKLOADS:
        return _as_kernel(name, WORKLOADS[name])
    return SHAPE_KERNELS[name] if name in SHAPE_KERNELS else KERNELS[name]


def _as_kernel(name: str, workload: Workload) -> Kernel:
    return Kernel(
        name,
        lambda by: (workload.shrunk(by) if by > 1 else workload).operands(),
        lambda operands: workload.scipy(**operands),
        scale=lambda magnitudes: workload.magnitude(magnitudes),
    )


def operands_of(kernel: str, source: str, folder: Path) -> Operands:
    """Returns the operands of a kernel on an input; whole statements draw their own, divided by what `source` says."""
    if kernel in WORKLOADS:
        return _drawn(kernel, int(source), folder)
    return kernel_of(kernel).operands(load(source, folder))


def _drawn(name: str, by: int, folder: Path) -> Operands:
    """Returns the operands of a whole statement, from a file if the process before has drawn just these."""
    path = folder / "programs.pickle"  # the inputs of one at a time: they take as much as all others
    if path.exists():
        with path.open("rb") as file:
            if pickle.load(file) == (name, by):
                return dict(pickle.load(file))
    operands = kernel_of(name).operands(by)
    folder.mkdir(parents=True, exist_ok=True)
    own = path.with_suffix(f".{os.getpid()}.pickle")  # another run may be at it too
    with own.open("wb") as file:
        pickle.dump((name, by), file)
        pickle.dump(operands, file)
    own.replace(path)
    return operands


class LastOperands:
    """The operands that were asked for last, for all who ask for them."""

    def __init__(self) -> None:
        self._asked: tuple[str, str, Path] | None = None
        self._found: Operands = {}

    def __call__(self, kernel: str, source: str, folder: Path) -> Operands:
        """Returns the operands of a kernel on an input."""
        if self._asked != (kernel, source, folder):
            self._found = {}  # frees memory for the next ones
            self._found = operands_of(kernel, source, folder)
            self._asked = kernel, source, folder
        return self._found


@dataclass(frozen=True, slots=True)
class Judgement:
    """The expected result.

    Args:
        expected: the reference result.
        scale: what errors are relative to.
    """

    expected: Any
    scale: Any

    @classmethod
    def write(cls, kernel: str, operands: Operands, folder: Path) -> dict[str, int]:
        """Computes and keeps the reference; returns the fewest bytes and operations that the kernel moves and makes."""
        known = kernel_of(kernel)
        result = known.reference(operands)
        magnitudes = {name: absolute(value) for name, value in operands.items()}
        expected, scale = plain(result), plain((known.scale or known.reference)(magnitudes))
        np.savez(folder / _FILE, **_parts("expected", expected), **_parts("scale", scale))
        flops = known.flops(operands) if known.flops else 0
        return {"bytes": sum(map(nbytes, operands.values())) + nbytes(result), "flops": flops}

    @classmethod
    def read(cls, folder: Path) -> Judgement:
        """Returns what was kept last."""
        with np.load(folder / _FILE) as arrays:
            return cls(_whole("expected", arrays), _whole("scale", arrays))

    def error(self, result: Any) -> float:
        """Returns the error of a result; infinity if it has other entries."""
        return error_between(plain(result), self.expected, self.scale)


def _parts(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Entries):
        return {f"{name}-keys": value.keys, f"{name}-values": value.values}
    return {name: value}


def _whole(name: str, arrays: Any) -> Any:
    return arrays[name] if name in arrays else Entries(arrays[f"{name}-keys"], arrays[f"{name}-values"])
