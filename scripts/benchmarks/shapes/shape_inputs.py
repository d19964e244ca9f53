"""The inputs of the section: a shape and how many entries it has about, as in `uniform, 1e6`."""

from __future__ import annotations

from typing import Any

from benchmarks.shapes.matrix_shapes import MATRICES
from benchmarks.shapes.tensor_shapes import TENSORS

__all__ = ["SHAPES", "made", "named", "size_of"]

SHAPES = {**MATRICES, **TENSORS}


def named(shape: str, entries: int) -> str:
    """Returns the name of an input: `uniform, 1e6`."""
    digits = f"{entries:.0e}".replace("e+0", "e").replace("e+", "e")
    return f"{shape}, {digits if float(digits) == entries else entries}"


def size_of(name: str) -> int:
    """Returns how many entries a name asks for; 0 for that of another section's input."""
    shape, _, size = name.rpartition(", ")
    return int(float(size)) if shape in SHAPES else 0


def made(name: str) -> Any:
    """Returns an input: a CSR matrix, or Coordinates.

    Raises:
        KeyError: for a name without a shape or a size.
    """
    if not size_of(name):
        raise KeyError(f"expected a shape ({', '.join(SHAPES)}) and a number of entries, but got {name}")
    return SHAPES[name.rpartition(", ")[0]](size_of(name))
