"""Checks before any timing on a GPU: small kernels of every kind, against the tests' oracle."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import mlir_sparse as ms
from mlir_sparse.dtypes import DType

__all__ = ["CHECKS", "Check", "data_of"]

_ORACLE = Path(__file__).resolve().parents[2] / "dialect_tests" / "oracle.py"
_EXTENTS = {"i": 204, "j": 132, "k": 70, "l": 37, "r": 33}
SPMV, SPMM = "y(i) = A(i,j) * x(j)", "C(i,k) = A(i,j) * B(j,k)"
SDDMM, TTV = "C(i,j) = A(i,j) * B(i,k) * D(k,j)", "C(i,j) = A(i,j,k) * b(k)"
TTM, MTTKRP = "C(i,j,l) = A(i,j,k) * B(k,l)", "C(i,r) = A(i,j,k) * B(j,r) * D(k,r)"
_MATRICES = ("CSR", "CSC", "COO", "DCSR", "SoA-COO", "ELL", "DIA", "BSR(2,2)", "BSR(4,4)")
_CUBES = ("CSF", "COO", "(i, j, k) -> (i : dense, j : compressed, k : compressed)")


@dataclass(frozen=True)
class Check:
    """A kernel with what is stored how.

    Args:
        text: the assignment; A is the sparse operand.
        storage: how A is stored; empty for an array.
        out: how the result is.
        dtype: of all operands.
        via: who computes it.
    """

    text: str
    storage: str
    out: str | None = "dense"
    dtype: str = "f64"
    via: str = "codegen"

    def __str__(self) -> str:
        return f"{self.text}, {self.storage or 'dense'} {self.dtype}, via {self.via}"

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Returns the shape of each operand."""
        reads = ms.notation.reads(ms.parse(self.text).value)
        return {access.tensor: tuple(_EXTENTS[str(s)] for s in access.subscripts) for access in reads}

    @property
    def types(self) -> Mapping[str, str]:
        """Returns the type of each operand."""
        kinds = {name: f"{self.dtype}[{','.join('?' * len(shape))}]" for name, shape in self.shapes.items()}
        return {name: f"{kind} {self.storage}".rstrip() if name == "A" else kind for name, kind in kinds.items()}


CHECKS: tuple[Check, ...] = (
    *(Check(text, name) for text in (SPMV, SPMM) for name in _MATRICES),
    *(Check(SDDMM, name) for name in ("CSR", "COO", "ELL", "BSR(2,2)")),
    *(Check(SDDMM, name, name) for name in ("CSR", "COO")),
    *(Check(text, name) for text in (TTV, TTM, MTTKRP) for name in _CUBES),
    Check("C(i,j,k) = 3 * A(i,j,k)", "CSF", "CSF"),
    Check("C(i,j) = A(i,j) * B(i,j)", "CSR"),
    Check("C(i,j) = A(i,j) + B(i,j)", "CSR"),
    Check("a = A(i,j) * B(i,j)", "CSR"),
    Check("y(j) = A(i,j) * x(i)", "CSR"),
    Check("y(i) = b(i) - A(i,j) * x(j)", "CSR"),
    Check("C(i,k) = A(i,j) * B(j,k)", ""),
    *(Check(SPMV, "CSR", dtype=dtype) for dtype in ("i32", "i64", "f16", "bf16", "f32", "c64", "c128")),
    *(Check(SPMM, "CSC", dtype=dtype) for dtype in ("i32", "f16", "bf16", "f32", "c64")),
    *(Check(text, name, via="library") for text in (SPMV, SPMM) for name in ("CSR", "CSC", "SoA-COO", "BSR(2,2)")),
    *(Check(SPMV, "CSR", dtype=dtype, via="library") for dtype in ("f16", "bf16", "f32", "c64")),
    *(Check(SPMM, "CSR", dtype=dtype, via="library") for dtype in ("f16", "bf16", "f32", "c64")),
    Check(SDDMM, "CSR", "CSR", via="library"),
    Check(SDDMM, "CSR", "CSR", dtype="f32", via="library"),
)


def data_of(check: Check) -> tuple[dict[str, Any], Any, Any]:
    """Returns the operands by name in host memory, the result by the oracle, and the scale of its rounding."""
    rng, plain, passed = np.random.default_rng(7), {}, {}
    kind = DType(check.dtype).numpy
    for name, shape in check.shapes.items():
        # Products of small numbers stay exact where the type has few bits.
        array = rng.integers(1, 3, shape).astype(kind)
        if name == "A":
            rare = 0.3 if not check.storage.startswith("DIA") else 0.02
            array = np.where(rng.random(shape) < rare / max(len(shape) - 1, 1), array, np.zeros(1, kind))
            if len(shape) == 2:
                array[5] = 1  # a row of all columns among the others
        array = array.astype(kind)
        plain[name] = array
        passed[name] = ms.tensor(array, check.storage) if name == "A" and check.storage else array
    expected = _oracle().evaluate(check.text, plain)
    return passed, expected, np.maximum(abs(np.asarray(expected, np.complex128)), 1)


@cache
def _oracle() -> Any:
    """Returns the oracle of the tests, which is no package of its own."""
    spec = importlib.util.spec_from_file_location("mlir_sparse_oracle", _ORACLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
