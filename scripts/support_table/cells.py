"""The cells of the support table: a format, a kernel, an element type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import mlir_sparse as ms
from mlir_sparse.encoding.presets import find_preset

__all__ = ["KERNELS", "Cell", "cells"]

KERNELS: dict[int, dict[str, tuple[str, str]]] = {
    1: {
        "scaled": ("C(i) = 2 * A(i)", "dense"),
        "multiply": ("C(i) = A(i) * B(i)", "format"),
        "add": ("C(i) = A(i) + B(i)", "format"),
        "dot": ("c = A(i) * x(i)", "dense"),
    },
    2: {
        "SpMV": ("y(i) = A(i,j) * x(j)", "dense"),
        "SpMV, transposed": ("y(j) = A(i,j) * x(i)", "dense"),
        "SpMM": ("Y(i,k) = A(i,j) * X(j,k)", "dense"),
        "SDDMM": ("C(i,j) = A(i,j) * X(i,k) * Z(k,j)", "format"),
        "multiply": ("C(i,j) = A(i,j) * B(i,j)", "format"),
        "add": ("C(i,j) = A(i,j) + B(i,j)", "format"),
        "add to CSR": ("C(i,j) = A(i,j) + M(i,j)", "CSR"),
        "SpGEMM": ("C(i,j) = A(i,k) * M(k,j)", "CSR"),
    },
    3: {
        "TTV": ("Y(i,j) = A(i,j,k) * x(k)", "dense"),
        "TTM": ("Y(i,j,l) = A(i,j,k) * X(k,l)", "dense"),
        "MTTKRP": ("Y(i,l) = A(i,j,k) * X(k,l) * Z(j,l)", "dense"),
        "multiply": ("C(i,j,k) = A(i,j,k) * B(i,j,k)", "format"),
        "add": ("C(i,j,k) = A(i,j,k) + B(i,j,k)", "format"),
        "inner product": ("c = A(i,j,k) * B(i,j,k)", "dense"),
    },
}
CONVERSIONS = {"from COO": "COO", "to COO": "COO", "from CSF": "CSF", "to CSF": "CSF"}


@dataclass(frozen=True, slots=True)
class Cell:
    """One thing to try.

    Args:
        preset: the format of A, and of the result where the kernel says so.
        rank: the rank of A.
        kernel: a kernel of KERNELS, or a conversion of CONVERSIONS.
        dtype: the element type of everything.
    """

    preset: str
    rank: int
    kernel: str
    dtype: str

    def as_json(self) -> dict[str, Any]:
        """Returns the cell as what JSON can hold."""
        return asdict(self)


def cells(presets: tuple[str, ...], dtypes: tuple[str, ...]) -> Iterator[Cell]:
    """Yields every cell of some formats, of all when none is named."""
    chosen = [find_preset(name)[0] for name in presets] or list(ms.PRESETS.values())
    for preset in chosen:
        ranks = [rank for rank in KERNELS if preset.min_rank <= rank <= (preset.max_rank or 3)]
        for rank in ranks:
            for kernel in (*KERNELS[rank], *CONVERSIONS):
                for dtype in dtypes:
                    yield Cell(preset.name, rank, kernel, dtype)
