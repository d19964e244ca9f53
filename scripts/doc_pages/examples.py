"""The tensors that pages show, as each preset stores them."""

from __future__ import annotations

import numpy as np

import mlir_sparse as ms
from mlir_sparse.encoding import Preset

__all__ = ["MATRIX", "preset_encoding", "stored"]

MATRIX = np.zeros((4, 6))
MATRIX[[0, 0, 1, 1, 3, 3, 3], [0, 1, 0, 1, 1, 3, 4]] = [5, 1, 7, 3, 8, 4, 9]
SQUARE = np.array([[5.0, 1, 0, 0], [7, 3, 2, 0], [0, 6, 4, 8], [0, 0, 0, 9]])
# Matrices with four entries and with two, so that batches are of different length.
PAIR = np.stack([MATRIX[:2, :3], MATRIX[2:, 2:5]])
# What the examples above do not fit into.
EXAMPLES = {
    "Banded": SQUARE,
    "PackedLower": np.tril(SQUARE),
    "PackedUpper": np.triu(SQUARE),
    "Skyline": np.tril(SQUARE),
    "UpperSkyline": np.triu(SQUARE),
}


def preset_encoding(preset: Preset) -> ms.Encoding:
    """Returns the encoding of a preset, of blocks that fit the examples where it has blocks."""
    block = {"block": (2,) * preset.default_rank} if preset.parameter == "block" else {}
    return ms.encoding(preset.name, rank=preset.default_rank, **block)


def stored(preset: Preset) -> ms.SparseTensor:
    """Returns entries that fit a preset, in its storage."""
    example = EXAMPLES.get(preset.name, {1: MATRIX[3], 2: MATRIX, 3: PAIR}[preset.default_rank])
    return ms.tensor(example, preset_encoding(preset))
