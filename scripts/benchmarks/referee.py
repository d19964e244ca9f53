"""The reference result, computed once for a contest and kept in a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.canonical import Entries, absolute, error_between, nbytes, plain
from benchmarks.inputs import load
from benchmarks.kernels import KERNELS, Operands

__all__ = ["Judgement", "operands_of"]

_FILE = "expected.npz"


def operands_of(kernel: str, source: str, folder: Path) -> Operands:
    """Returns the operands of a kernel on an input."""
    return KERNELS[kernel].operands(load(source, folder))


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
        known = KERNELS[kernel]
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
