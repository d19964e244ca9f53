"""Kernels that other libraries have too, and the inputs that they are timed on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

import mlir_sparse as ms
from benchmarks import sparse_results
from benchmarks.data import Operands, poisson, shuffled_coo, sorted_coo, uniform, with_dense
from benchmarks.peers import Call, Prepare

__all__ = ["CONTESTS", "KERNELS", "Contest", "Kernel", "error_of"]


@dataclass(frozen=True, slots=True)
class Kernel:
    """One computation.

    Args:
        prepare: from operands to our call.
        reference: from operands to the result; multilinear, so that on absolute values it bounds the rounding.
    """

    prepare: Prepare
    reference: Callable[[Operands], Any]


@dataclass(frozen=True, slots=True)
class Contest:
    """A kernel on one input.

    Args:
        kernel: a name in KERNELS.
        operands: makes the input.
        bound: the largest time relative to the fastest peer's that will do; None to report only.
        threads: the numbers of threads to time us on, each held against the bound; none for as many as there are.
        gains: whether more of them must be faster than one.
    """

    kernel: str
    operands: Callable[[], Operands]
    bound: float | None = None
    threads: tuple[int, ...] = ()
    gains: bool = True


def _compiled(text: str) -> Prepare:
    """Returns what compiles a kernel with a dense result and calls it by position, A first."""

    def prepare(operands: Operands) -> Call:
        arguments = [ms.tensor(o) if scipy.sparse.issparse(o) else o for o in operands.values()]
        kernel = ms.compile(text, tensors=dict(zip(operands, arguments, strict=True)), out="dense")
        return lambda: kernel(*arguments)

    return prepare


def _spmv_out(operands: Operands) -> Call:
    A, x, y = ms.tensor(operands["A"]), operands["x"], np.empty(operands["A"].shape[0])
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x)
    return lambda: kernel(A, x, out=y)


def _spmv_coo(operands: Operands) -> Call:
    """Multiplies straight from coordinates."""
    A, x = ms.tensor(operands["A"], "COO"), operands["x"]
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x)
    return lambda: kernel(A, x)


def _packed(encoding: str) -> Prepare:
    """Returns what packs A's coordinates and values."""

    def prepare(operands: Operands) -> Call:
        A = operands["A"]
        return lambda: ms.tensor((A.coords, A.data), encoding, shape=A.shape)

    return prepare


def _converted(encoding: str, source: str | None = None) -> Prepare:
    """Returns what converts A, stored as in SciPy or in another encoding."""

    def prepare(operands: Operands) -> Call:
        A = ms.tensor(operands["A"])
        A = A if source is None else A.convert(source)
        return lambda: A.convert(encoding)

    return prepare


KERNELS: Mapping[str, Kernel] = {
    "spmv": Kernel(_compiled("y(i) = A(i,j) * x(j)"), lambda o: o["A"] @ o["x"]),
    "spmv-out": Kernel(_spmv_out, lambda o: o["A"] @ o["x"]),
    "spmv-coo": Kernel(_spmv_coo, lambda o: o["A"] @ o["x"]),
    "spmm": Kernel(_compiled("Y(i,k) = A(i,j) * X(j,k)"), lambda o: o["A"] @ o["X"]),
    "pack": Kernel(_packed("CSR"), lambda o: o["A"].tocsr()),
    "pack-csc": Kernel(_packed("CSC"), lambda o: o["A"].tocsc()),
    "pack-hashed": Kernel(_packed("HashedRows"), lambda o: o["A"].tocsr()),
    "coo-to-csr": Kernel(_converted("CSR", "COO"), lambda o: o["A"].tocsr()),
    "coo-to-csc": Kernel(_converted("CSC", "COO"), lambda o: o["A"].tocsc()),
    "to-csc": Kernel(_converted("CSC"), lambda o: o["A"].tocsc()),
    "to-coo": Kernel(_converted("COO"), lambda o: o["A"].tocoo()),
    "to-bsr": Kernel(_converted("BSR(4, 4)"), lambda o: o["A"].tobsr((4, 4))),
    "to-dia": Kernel(_converted("DIA"), lambda o: o["A"].todia()),
    "to-ell": Kernel(_converted("SlotELL"), lambda o: o["A"]),
    "dia-to-csr": Kernel(_converted("CSR", "DIA"), lambda o: o["A"]),
    "bsr-to-csr": Kernel(_converted("CSR", "BSR(4, 4)"), lambda o: o["A"]),
    "ell-to-csr": Kernel(_converted("CSR", "SlotELL"), lambda o: o["A"]),
    "validate": Kernel(lambda o: lambda: ms.tensor(o["A"]), lambda o: o["A"]),
    **{name: Kernel(prepare, sparse_results.REFERENCES[name]) for name, prepare in sparse_results.OURS.items()},
}

# What is converted: 5 M entries, spread evenly, or beside the diagonal.
_CONVERSIONS: tuple[tuple[str, str, Callable[[], Operands]], ...] = (
    ("sorted COO to CSR", "coo-to-csr", lambda: {"A": sorted_coo(250_000, 20)}),
    ("sorted COO to CSC", "coo-to-csc", lambda: {"A": sorted_coo(250_000, 20)}),
    ("CSR to CSC", "to-csc", lambda: {"A": uniform(250_000, 20)}),
    ("CSR to CSC, Poisson", "to-csc", lambda: {"A": poisson(1000)}),
    ("CSR to COO", "to-coo", lambda: {"A": uniform(250_000, 20)}),
    ("CSR to BSR 4 x 4", "to-bsr", lambda: {"A": poisson(1000)}),
    ("CSR to DIA", "to-dia", lambda: {"A": poisson(1000)}),
    ("CSR to ELL", "to-ell", lambda: {"A": uniform(250_000, 20)}),
    ("DIA to CSR", "dia-to-csr", lambda: {"A": poisson(1000)}),
    ("BSR 4 x 4 to CSR", "bsr-to-csr", lambda: {"A": poisson(1000)}),
    ("ELL to CSR", "ell-to-csr", lambda: {"A": uniform(250_000, 20)}),
)
_PACKED: tuple[tuple[str, str, Callable[[], Operands]], ...] = (
    ("sorted COO to CSR", "pack", lambda: {"A": sorted_coo(250_000, 20)}),
    ("unsorted COO to CSR", "pack", lambda: {"A": shuffled_coo(250_000, 20)}),
    ("sorted COO to CSC", "pack-csc", lambda: {"A": sorted_coo(250_000, 20)}),
    ("unsorted COO to CSC", "pack-csc", lambda: {"A": shuffled_coo(250_000, 20)}),
)
# No more than memory is copied, which one thread does as fast as two.
_COPIES = ("CSR to COO",)
_THREADS = (1, 2)

CONTESTS: Mapping[str, Contest] = {
    "call overhead, SpMV 8 x 8, out=": Contest("spmv-out", lambda: with_dense(uniform(8, 3), "x"), 1.0),
    "SpMV uniform 1e5 x 20": Contest("spmv", lambda: with_dense(uniform(100_000, 20), "x"), 1.0),
    "SpMV Poisson 1000 x 1000": Contest("spmv", lambda: with_dense(poisson(1000), "x")),
    "SpMV straight from COO": Contest(
        "spmv-coo", lambda: with_dense(sorted_coo(250_000, 20), "x"), 1.0, _THREADS, False
    ),
    "SpMM Poisson 1000 x 1000, k = 32": Contest("spmm", lambda: with_dense(poisson(1000), "X", 32)),
    **{f"pack {name}": Contest(kernel, operands, 1.0, _THREADS) for name, kernel, operands in _PACKED},
    "pack unsorted COO to hash tables": Contest(
        "pack-hashed", lambda: {"A": shuffled_coo(100_000, 20)}, None, _THREADS
    ),
    **{
        f"convert {name}": Contest(kernel, operands, 1.0, _THREADS, name not in _COPIES)
        for name, kernel, operands in _CONVERSIONS
    },
    "validate CSR, 5 M entries": Contest("validate", lambda: {"A": uniform(250_000, 20)}),
    **{name: Contest(kernel, operands, bound) for name, kernel, operands, bound in sparse_results.INPUTS},
}


def error_of(kernel: Kernel, operands: Operands, result: Any) -> float:
    """Returns the largest error relative to the sum of the absolute values that were added up."""
    found, expected = _plain(result), _plain(kernel.reference(operands))
    # Of copies: SciPy's abs of a COO array sorts that array itself.
    scale = _plain(kernel.reference({name: abs(value.copy()) for name, value in operands.items()}))
    error, largest = abs(found - expected), scale.max()
    if scipy.sparse.issparse(error):
        return float(error.max() / largest)
    # A row without entries has scale 0 and must be exact.
    return float(np.max(error / np.maximum(scale, np.finfo(float).tiny * largest), initial=0.0))


def _plain(result: Any) -> Any:
    plain = result.to_scipy() if isinstance(result, ms.SparseTensor) else result
    return plain.tocsr() if scipy.sparse.issparse(plain) else plain  # what not all of SciPy's formats can do, csr can
