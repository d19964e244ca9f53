"""This package, through its public interface."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse

import mlir_sparse as ms
from benchmarks.canonical import Entries
from benchmarks.entries import Coordinates, DoublyCompressed, Ell, Fibers
from benchmarks.libraries import IN_PLACE, NEW, Call, Calls, Prepare
from benchmarks.on_lines import on_lines

__all__ = ["CALLS", "TEXTS", "called", "plain", "set_threads", "taken"]

DENSE = "dense"
PRODUCT, MASKED = "C(i,j) = A(i,k) * B(k,j)", "C(i,j) = L(i,j) * (L(i,k) * L(k,j))"


def set_threads(number: int) -> None:
    os.environ["MLIR_SPARSE_NUM_THREADS"] = str(number)
    if hasattr(ms, "set_num_threads"):
        ms.set_num_threads(number)


def taken(operand: Any) -> Any:
    """Returns an operand as the package takes it: the storage as it is."""
    match operand:
        case Coordinates():
            return ms.tensor((operand.coords.T, operand.values), "COO", shape=operand.shape)
        case Fibers():
            root = np.array([0, operand.crd[0].size], np.int32)
            return ms.SparseTensor.from_levels(
                "CSF", operand.shape, [root, *operand.pos], list(operand.crd), operand.values
            )
        case DoublyCompressed():
            root = np.array([0, operand.rows.size], np.int32)
            positions, coordinates = [root, operand.pos], [operand.rows, operand.crd]
            return ms.SparseTensor.from_levels("DCSR", operand.shape, positions, coordinates, operand.values)
        case Ell():
            return ms.tensor(_csr_of(operand), "SlotELL")
    return ms.tensor(operand) if scipy.sparse.issparse(operand) else operand


def _csr_of(matrix: Ell) -> Any:
    filled = matrix.values.T != 0
    starts = np.r_[0, np.cumsum(filled.sum(1))].astype(np.int32)
    parts = matrix.values.T[filled], matrix.columns.T[filled], starts
    return scipy.sparse.csr_array(parts, shape=matrix.shape)


def plain(result: Any) -> Any:
    if not isinstance(result, ms.SparseTensor):
        return result
    if len(result.shape) == 2:
        return result.to_scipy()
    storage = result.storage
    if storage.coordinates[-1] is None:  # rows of values, each at (i, j)
        roots, starts, j = storage.coordinates[0], storage.positions[1], storage.coordinates[1]
        assert roots is not None
        assert starts is not None
        assert j is not None
        i = np.repeat(roots, np.diff(starts)).astype(np.int64)
        return Entries(i * result.shape[1] + j, storage.values.reshape(j.size, -1))
    found = result.to_coo()
    return Entries(np.ravel_multi_index(tuple(found[0]), result.shape), found[1])


def _compiled(text: str, operands: Mapping[str, Any], out: str, **options: Any) -> tuple[Any, list[Any]]:
    arguments = [taken(operand) for operand in operands.values()]
    return ms.compile(text, tensors=dict(zip(operands, arguments, strict=True)), out=out, **options), arguments


def called(text: str, out: str, optimize: str = "auto", **more: Any) -> Prepare:
    """Returns what compiles a kernel and calls it by position, and in place too where its result is an array."""
    # Packages of before have one way only.
    options = {**({"optimize": optimize} if hasattr(ms, "set_optimize") else {}), **more}

    def prepare(operands: Mapping[str, Any]) -> Calls:
        kernel, arguments = _compiled(text, operands, out, **options)
        result = kernel(*arguments)
        if out != DENSE or not result.ndim:
            return lambda: kernel(*arguments)
        kept = on_lines(result)
        return {IN_PLACE: lambda: kernel(*arguments, out=kept), NEW: lambda: kernel(*arguments)}

    return prepare


def _computed(operands: Mapping[str, Any]) -> Call:
    """Computes the values of a product whose structure is there."""
    kernel, arguments = _compiled(PRODUCT, operands, "CSR")
    C = kernel.assemble(*arguments)
    return lambda: kernel.compute(*arguments, out=C)


def _packed(encoding: str) -> Prepare:
    """Returns what packs A's coordinates and values."""

    def prepare(operands: Mapping[str, Any]) -> Call:
        A = operands["A"]
        return lambda: ms.tensor((A.coords, A.data), encoding, shape=A.shape)

    return prepare


def _converted(encoding: str, source: str | None = None) -> Prepare:
    """Returns what converts A, stored as in SciPy or in another encoding."""

    def prepare(operands: Mapping[str, Any]) -> Call:
        A = ms.tensor(operands["A"])
        A = A if source is None else A.convert(source)
        return lambda: A.convert(encoding)

    return prepare


_TENSOR_PRODUCTS = {
    "ttv": ("A(i,j) = T(i,j,k) * v(k)", "DCSR"),
    "ttm": ("A(i,j,l) = T(i,j,k) * M(k,l)", "CompressedCompressedDense"),
    "mttkrp": ("A(i,r) = T(i,j,k) * B(j,r) * C(k,r)", DENSE),
}

# What kernels compute, and in what storage, by what they are known as.
TEXTS: Mapping[str, tuple[str, str]] = {
    **{f"spmv-{storage}": ("y(i) = A(i,j) * x(j)", DENSE) for storage in ("csr", "coo", "bsr", "ell", "dia")},
    "spmv-coo-way": ("y(i) = A(i,j) * x(j)", DENSE),
    "residual": ("y(i) = b(i) - A(i,j) * x(j)", DENSE),
    **dict.fromkeys(("mattransmul-csr", "mattransmul-csc"), ("y(j) = alpha * A(i,j) * x(i) + beta * z(j)", DENSE)),
    "spmm": ("Y(i,k) = A(i,j) * X(j,k)", DENSE),
    "sddmm": ("C(i,j) = S(i,j) * X(i,k) * Y(j,k)", "CSR"),
    "spgemm": (PRODUCT, "CSR"),
    "masked-spgemm": (MASKED, "CSR"),
    "add": ("C(i,j) = A(i,j) + B(i,j)", "CSR"),
    "add-three": ("D(i,j) = A(i,j) + B(i,j) + C(i,j)", "CSR"),
    **{f"{name}-{storage}": what for name, what in _TENSOR_PRODUCTS.items() for storage in ("csf", "coo")},
    "innerprod": ("a = T(i,j,k) * U(i,j,k)", DENSE),
    "spmv-dcsr": ("y(i) = A(i,j) * x(j)", DENSE),
    "spgemm-unordered": (PRODUCT, "CSR(unordered)"),
    "row-maxima": ("y(i) = max(j : A(i,j))", DENSE),
    "row-sums": ("y(i) = A(i,j)", DENSE),
    "column-sums": ("y(j) = A(i,j)", DENSE),
    "total-sum": ("s = A(i,j)", DENSE),
    "multiply-three": ("D(i,j) = A(i,j) * B(i,j) * C(i,j)", "CSR"),
    "ttm-chain": ("O(i,r,s) = T(i,j,k) * B(j,r) * C(k,s)", DENSE),
    "plus2": ("A(i,j,k) = T(i,j,k) + U(i,j,k)", "CSF"),
    "plus3": ("A(i,j,k) = T(i,j,k) + U(i,j,k) + V(i,j,k)", "CSF"),
}

CALLS: Mapping[str, Prepare] = {
    **{name: called(text, out) for name, (text, out) in TEXTS.items()},
    "min-plus": called("y(i) = A(i,j) * x(j)", DENSE, semiring="min_plus"),
    "spgemm-values": _computed,
    "pack": _packed("CSR"),
    "pack-csc": _packed("CSC"),
    "pack-sorted": _packed("CSR"),
    "pack-sorted-csc": _packed("CSC"),
    "pack-hashed": _packed("HashedRows"),
    "coo-to-csr": _converted("CSR", "COO"),
    "coo-to-csc": _converted("CSC", "COO"),
    "to-csc": _converted("CSC"),
    "to-coo": _converted("COO"),
    "to-bsr": _converted("BSR(4, 4)"),
    "to-dia": _converted("DIA"),
    "to-ell": _converted("SlotELL"),
    "dia-to-csr": _converted("CSR", "DIA"),
    "bsr-to-csr": _converted("CSR", "BSR(4, 4)"),
    "ell-to-csr": _converted("CSR", "SlotELL"),
    "validate": lambda o: lambda: ms.tensor(o["A"]),
}
