"""Kernels with sparse results, the inputs that they are timed on, and what other libraries do for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse

import mlir_sparse as ms
from benchmarks.data import Operands, poisson, uniform

__all__ = ["INPUTS", "OURS", "PEERS", "REFERENCES"]

Call = Callable[[], Any]
Prepare = Callable[[Operands], Call]

PRODUCT, MASKED = "C(i,j) = A(i,k) * B(k,j)", "C(i,j) = L(i,j) * (L(i,k) * L(k,j))"


def _sparse(text: str) -> Prepare:
    """Returns what compiles a kernel with a result in CSR and calls it by position."""

    def prepare(operands: Operands) -> Call:
        arguments = [ms.tensor(o) if scipy.sparse.issparse(o) else o for o in operands.values()]
        kernel = ms.compile(text, tensors=dict(zip(operands, arguments, strict=True)), out="CSR")
        return lambda: kernel(*arguments)

    return prepare


def _computed(operands: Operands) -> Call:
    """Computes the values of a product whose structure is there."""
    A, B = (ms.tensor(o) for o in operands.values())
    kernel = ms.compile(PRODUCT, A=A, B=B, out="CSR")
    C = kernel.assemble(A, B)
    return lambda: kernel.compute(A, B, out=C)


def _product_first(operands: Operands) -> Call:
    """Forms the whole product, then takes the entries of the mask from it."""
    L = ms.tensor(operands["L"])
    product = ms.compile(PRODUCT, A=L, B=L, out="CSR")
    masked = ms.compile("C(i,j) = A(i,j) * B(i,j)", A=L, B=L, out="CSR")
    return lambda: masked(L, product(L, L))


def _sorted(matrix: Any) -> Any:
    matrix.sort_indices()
    return matrix


def _at_entries(operands: Operands) -> Call:
    """Multiplies rows and columns at the entries, all of them gathered first, in NumPy."""
    S, X, Y = operands["S"].tocoo(), operands["X"], np.ascontiguousarray(operands["Y"].T)

    def call() -> Any:
        values = S.data * np.einsum("ek,ek->e", X[S.row], Y[S.col])
        return scipy.sparse.coo_array((values, (S.row, S.col)), shape=S.shape)

    return call


def power_law(rows: int, entries: int) -> scipy.sparse.csr_array:
    """Draws edges of a graph with a few vertices of many neighbours, as a lower triangle."""
    rng, weights = np.random.default_rng(3), np.arange(1, rows + 1) ** -0.75
    ends = rng.choice(rows, (2, entries), p=weights / weights.sum())
    ends = ends[:, ends[0] != ends[1]]
    graph = scipy.sparse.coo_array((np.ones(ends.shape[1]), (ends.max(0), ends.min(0))), shape=(rows, rows)).tocsr()
    graph.data[:] = 1
    return _narrow(graph)


def triangulated(side: int) -> scipy.sparse.csr_array:
    """Builds the lower triangle of a grid whose squares have one diagonal each."""
    ones, size = np.ones(side * side), side * side
    offsets = [-1, -side, -side - 1]
    return _narrow(scipy.sparse.diags_array([ones] * 3, offsets=offsets, shape=(size, size), format="csr"))


def _narrow(matrix: Any) -> scipy.sparse.csr_array:
    matrix.sort_indices()
    index = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return scipy.sparse.csr_array((matrix.data, *index), shape=matrix.shape)


def _turned(matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    return _narrow(matrix.T.tocsr())


def _with(rows: int, per_row: int, more: str) -> Operands:
    """Returns A and other matrices of its size and number of entries, each elsewhere."""
    A = uniform(rows, per_row)
    others = (_turned(A), _narrow(A[::-1]))
    return {"A": A, **dict(zip(more, others, strict=False))}


def _sampled(per_row: int) -> Operands:
    rng, S = np.random.default_rng(4), uniform(20_000, per_row)
    return {"S": S, "X": rng.random((20_000, 32)), "Y": rng.random((32, 20_000))}


OURS: Mapping[str, Prepare] = {
    "add": _sparse("C(i,j) = A(i,j) + B(i,j)"),
    "add-three": _sparse("D(i,j) = A(i,j) + B(i,j) + C(i,j)"),
    "spgemm": _sparse(PRODUCT),
    "spgemm-values": _computed,
    "masked-spgemm": _sparse(MASKED),
    "sddmm": _sparse("C(i,j) = S(i,j) * X(i,k) * Y(k,j)"),
}
REFERENCES: Mapping[str, Callable[[Operands], Any]] = {
    "add": lambda o: o["A"] + o["B"],
    "add-three": lambda o: o["A"] + o["B"] + o["C"],
    "spgemm": lambda o: o["A"] @ o["B"],
    "spgemm-values": lambda o: o["A"] @ o["B"],
    "masked-spgemm": lambda o: o["L"].multiply(o["L"] @ o["L"]),
    "sddmm": lambda o: _at_entries(o)(),
}
# By peer, then by kernel.
PEERS: Mapping[str, Mapping[str, Prepare]] = {
    "SciPy": {
        "add": lambda o: lambda: o["A"] + o["B"],
        "add-three": lambda o: lambda: o["A"] + o["B"] + o["C"],
        "spgemm": lambda o: lambda: _sorted(o["A"] @ o["B"]),
        "spgemm-values": lambda o: lambda: _sorted(o["A"] @ o["B"]),
        "masked-spgemm": lambda o: lambda: o["L"].multiply(o["L"] @ o["L"]),
    },
    "NumPy": {"sddmm": _at_entries},
    "product first": {"masked-spgemm": _product_first},
    "assembled anew": {"spgemm-values": _sparse(PRODUCT)},
}
# Name, kernel, operands, and the largest time relative to the fastest peer's.
INPUTS: tuple[tuple[str, str, Callable[[], Operands], float | None], ...] = (
    ("A + B, uniform 1e5 x 10", "add", lambda: _with(100_000, 10, "B"), 1.0),
    ("A + B, one structure, Poisson", "add", lambda: {"A": poisson(500), "B": 2 * poisson(500)}, None),
    ("A + B + C, uniform 1e5 x 10", "add-three", lambda: _with(100_000, 10, "BC"), 1.0),
    ("SpGEMM, uniform 1e5 x 8", "spgemm", lambda: _with(100_000, 8, "B"), 1.0),
    ("SpGEMM, Poisson 500 x 500", "spgemm", lambda: {"A": poisson(500), "B": poisson(500)}, 1.0),
    (
        "SpGEMM, power law 1e5",
        "spgemm",
        lambda: {"A": power_law(100_000, 300_000), "B": power_law(100_000, 300_000)},
        1.0,
    ),
    ("SpGEMM, values only, uniform 1e5 x 8", "spgemm-values", lambda: _with(100_000, 8, "B"), 1.0),
    ("triangles, power law 1e5", "masked-spgemm", lambda: {"L": power_law(100_000, 300_000)}, 1.0),
    ("triangles, grid 400 x 400", "masked-spgemm", lambda: {"L": triangulated(400)}, 1.0),
    ("SDDMM, 20000 x 20000, k = 32, 2e5 entries", "sddmm", lambda: _sampled(10), None),
    ("SDDMM, 20000 x 20000, k = 32, 8e5 entries", "sddmm", lambda: _sampled(40), None),
)
