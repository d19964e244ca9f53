"""This package again, by the way that a kernel must beat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mlir_sparse as ms
from benchmarks.libraries import Call, Prepare
from benchmarks.libraries.own import CALLS as OWN
from benchmarks.libraries.own import PRODUCT, plain, set_threads

__all__ = ["CALLS", "plain", "set_threads"]


def _through_csr(operands: Mapping[str, Any]) -> Call:
    """Converts coordinates to CSR and multiplies once: what multiplying straight from them must beat."""
    A, x = ms.tensor(operands["A"], "COO"), operands["x"]
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A.convert("CSR"), x=x)
    return lambda: kernel(A.convert("CSR"), x)


def _product_first(operands: Mapping[str, Any]) -> Call:
    """Forms the whole product, then takes the entries of the mask from it."""
    L = ms.tensor(operands["L"])
    product = ms.compile(PRODUCT, A=L, B=L, out="CSR")
    masked = ms.compile("C(i,j) = A(i,j) * B(i,j)", A=L, B=L, out="CSR")
    return lambda: masked(L, product(L, L))


CALLS: Mapping[str, Prepare] = {
    "spmv-coo-way": _through_csr,
    "masked-spgemm": _product_first,
    "spgemm-values": OWN["spgemm"],
}
