"""The computations: operands of an input, a reference result, and the least work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks import references
from benchmarks.data import Matrix, narrow, shifted, shuffled, turned
from benchmarks.entries import fibers, mixed, moved, slots
from benchmarks.on_lines import on_lines

__all__ = ["KERNELS", "Kernel", "Operands"]

Operands = Mapping[str, Any]
TTM_RANK, MTTKRP_RANK = 16, 32


@dataclass(frozen=True, slots=True)
class Kernel:
    """One computation.

    Args:
        call: its name in libraries; kernels that differ only in sizes share it.
        operands: from an input to named operands, in the storage that is measured.
        reference: from operands to the result.
        flops: from operands to the number of additions and multiplications; None where nothing is computed.
        scale: like the reference, on absolute values, what bounds the rounding; the reference where it is multilinear.
        tolerance: how large an error relative to that may be.
    """

    call: str
    operands: Callable[[Any], Operands]
    reference: Callable[[Operands], Any]
    flops: Callable[[Operands], int] | None = None
    scale: Callable[[Operands], Any] | None = None
    tolerance: float = 1e-13


def _dense(*shape: int, seed: int = 1) -> Any:
    return on_lines(np.random.default_rng(seed).random(shape))


def _with_x(convert: Callable[[Matrix], Any]) -> Callable[[Matrix], Operands]:
    return lambda A: {"A": convert(A), "x": _dense(A.shape[1])}


def _transposed(convert: Callable[[Matrix], Any]) -> Callable[[Matrix], Operands]:
    def operands(A: Matrix) -> Operands:
        return {
            "alpha": np.float64(1.5),
            "A": convert(A),
            "x": _dense(A.shape[0]),
            "beta": np.float64(0.5),
            "z": _dense(A.shape[1], seed=2),
        }

    return operands


def _same(A: Matrix) -> Matrix:
    return A


def _as_csc(A: Matrix) -> Matrix:
    by_column = turned(A)
    return scipy.sparse.csc_array((by_column.data, by_column.indices, by_column.indptr), shape=A.shape)


def _as_dia(A: Matrix) -> Matrix:
    return scipy.sparse.dia_array(A)


def _as_bsr(side: int) -> Callable[[Matrix], Matrix]:
    return lambda A: A.tobsr((side, side))


def _with_columns(k: int) -> Callable[[Matrix], Operands]:
    return lambda A: {"A": A, "X": _dense(A.shape[1], k)}


def _sampled(k: int) -> Callable[[Matrix], Operands]:
    """Y is by columns of the result, as factors are kept."""
    return lambda S: {"S": S, "X": _dense(S.shape[0], k), "Y": _dense(S.shape[1], k, seed=2)}


def _with_others(*by: int) -> Callable[[Matrix], Operands]:
    return lambda A: {"A": A, **{name: shifted(A, n) for name, n in zip("BC", by, strict=False)}}


def _with_turned(more: str) -> Callable[[Matrix], Operands]:
    """Returns other matrices of its size and number of entries, each elsewhere."""
    return lambda A: {"A": A, **dict(zip(more, (turned(A), narrow(A[::-1])), strict=False))}


def _tensor(storage: Callable[[Any], Any], *factors: tuple[str, int, int]) -> Callable[[Any], Operands]:
    """Returns T and a dense factor for each (name, dimension, columns), a vector where it has none."""

    def operands(T: Any) -> Operands:
        made = {name: _dense(T.shape[d], *([r] if r else []), seed=1 + d) for name, d, r in factors}
        return {"T": storage(T), **made}

    return operands


def _two_tensors(T: Any) -> Operands:
    return {"T": fibers(T), "U": fibers(mixed(T))}


def _three_tensors(count: int) -> Callable[[Any], Operands]:
    return lambda T: {name: fibers(moved(T, n) if n else T) for n, name in enumerate("TUV"[:count])}


def _entries(name: str = "A", *factor: str) -> Callable[[Operands], int]:
    """Counts two operations for each stored value and each column of a factor."""
    return lambda o: 2 * references.stored(o[name]) * (o[factor[0]].shape[1] if factor else 1)


_SPMV = {"CSR": _same, "COO": scipy.sparse.coo_array, "ELL": slots, "DIA": _as_dia}
_MULTIPLIED = references.spmv
_STORAGES = {"CSF": fibers, "COO": _same}
_CONVERTED: Mapping[str, Callable[[Matrix], Any]] = {
    "pack": shuffled,
    "pack-csc": shuffled,
    "pack-hashed": shuffled,
    "pack-sorted": scipy.sparse.coo_array,
    "pack-sorted-csc": scipy.sparse.coo_array,
    "coo-to-csr": scipy.sparse.coo_array,
    "coo-to-csc": scipy.sparse.coo_array,
    **dict.fromkeys(("to-csc", "to-coo", "to-bsr", "to-dia", "to-ell"), _same),
    **dict.fromkeys(("dia-to-csr", "bsr-to-csr", "ell-to-csr", "validate"), _same),
}

KERNELS: Mapping[str, Kernel] = {
    **{f"SpMV {s}": Kernel(f"spmv-{s.lower()}", _with_x(f), _MULTIPLIED, _entries()) for s, f in _SPMV.items()},
    **{f"SpMV BSR {n} x {n}": Kernel("spmv-bsr", _with_x(_as_bsr(n)), _MULTIPLIED, _entries()) for n in (2, 3, 4, 6)},
    "call overhead": Kernel("spmv-csr", _with_x(_same), _MULTIPLIED),
    "SpMV COO by way of CSR": Kernel("spmv-coo-way", _with_x(scipy.sparse.coo_array), _MULTIPLIED),
    "residual": Kernel(
        "residual",
        lambda A: {"b": _dense(A.shape[0], seed=2), **_with_x(_same)(A)},
        lambda o: o["b"] - o["A"] @ o["x"],
        _entries(),
        lambda o: o["b"] + o["A"] @ o["x"],
    ),
    **{
        f"mattransmul {name}": Kernel(f"mattransmul-{name.lower()}", _transposed(f), references.mattransmul, _entries())
        for name, f in (("CSR", _same), ("CSC", _as_csc))
    },
    **{
        f"SpMM k = {k}": Kernel("spmm", _with_columns(k), lambda o: o["A"] @ o["X"], _entries("A", "X"))
        for k in (4, 8, 32, 128)
    },
    **{f"SDDMM k = {k}": Kernel("sddmm", _sampled(k), references.sddmm, _entries("S", "X")) for k in (8, 32, 64)},
    "SpGEMM": Kernel("spgemm", lambda A: {"A": A, "B": A}, references.product, references.product_flops),
    "SpGEMM of others": Kernel("spgemm", _with_turned("B"), references.product, references.product_flops),
    "SpGEMM, values only": Kernel("spgemm-values", _with_turned("B"), references.product),
    "triangles": Kernel("masked-spgemm", lambda L: {"L": L}, lambda o: o["L"].multiply(o["L"] @ o["L"])),
    "A + B": Kernel("add", _with_others(1), references.total, references.added),
    "A + B + C": Kernel("add-three", _with_others(1, 2), references.total, references.added),
    "A + B of others": Kernel("add", _with_turned("B"), references.total, references.added),
    "A + B + C of others": Kernel("add-three", _with_turned("BC"), references.total, references.added),
    "A + B of one structure": Kernel("add", lambda A: {"A": A, "B": 2 * A}, references.total, references.added),
    **{
        f"TTV {s}": Kernel(f"ttv-{s.lower()}", _tensor(f, ("v", 2, 0)), references.ttv, _entries("T"))
        for s, f in _STORAGES.items()
    },
    **{
        f"TTM {s}": Kernel(f"ttm-{s.lower()}", _tensor(f, ("M", 2, TTM_RANK)), references.ttm, _entries("T", "M"))
        for s, f in _STORAGES.items()
    },
    **{
        f"MTTKRP {s}": Kernel(
            f"mttkrp-{s.lower()}",
            _tensor(f, ("B", 1, MTTKRP_RANK), ("C", 2, MTTKRP_RANK)),
            references.mttkrp,
            _entries("T", "C"),
        )
        for s, f in _STORAGES.items()
    },
    "INNERPROD": Kernel("innerprod", _two_tensors, references.innerprod, references.added),
    "plus2": Kernel("plus2", _three_tensors(2), references.tensor_total, references.added),
    "plus3": Kernel("plus3", _three_tensors(3), references.tensor_total, references.added),
    **{name: Kernel(name, partial(lambda f, A: {"A": f(A)}, f), lambda o: o["A"]) for name, f in _CONVERTED.items()},
}
