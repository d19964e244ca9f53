"""The eager operations that are measured, as each library writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

import mlir_sparse as ms
from benchmarks.eager.eager_operands import STORAGES, Operands

__all__ = ["OPERATIONS", "Operation"]

_Call = Callable[[Operands], Any]
_CSR, _CSC, _COO = STORAGES
_LINES = (_CSR, _CSC)


@dataclass(frozen=True)
class Operation:
    """An operation of tensors and the same of a peer.

    Args:
        ours: on tensors.
        theirs: on the peer's arrays.
        peer: the library.
        storages: those in which the peer has it.
        orders: whether it needs numbers with an order: no complex ones.
    """

    ours: _Call
    theirs: _Call
    peer: str = "scipy.sparse"
    storages: tuple[str, ...] = STORAGES
    orders: bool = False


def _same(call: _Call, storages: tuple[str, ...] = STORAGES, *, orders: bool = False) -> Operation:
    return Operation(call, call, storages=storages, orders=orders)


def _pydata(call: _Call, theirs: _Call | None = None, *, orders: bool = False) -> Operation:
    """Returns an operation that SciPy has not."""
    return Operation(call, theirs or call, "sparse", (_CSR, _COO), orders)


def _middle(o: Operands) -> slice:
    return slice(o.A.shape[0] // 4, o.A.shape[0] // 2)


def _with(matrix: Any, key: Any, value: Any) -> Any:
    """Returns SciPy's way to `ms.assign`: a copy that is written to."""
    found = matrix.copy()
    found[key] = value
    return found


def _theirs_of(triples: tuple[Any, Any, Any], o: Operands) -> Any:
    rows, columns, values = triples
    found = scipy.sparse.coo_array((values, (rows, columns)), shape=o.A.shape)
    found.sum_duplicates()  # as ours has it: each entry once, by rows
    return found.asformat(o.storage.lower())


def _ours_of(triples: tuple[Any, Any, Any], o: Operands) -> Any:
    rows, columns, values = triples
    return ms.tensor(((rows, columns), values), o.storage, shape=o.A.shape)


def _converted(to: str) -> Operation:
    others = tuple(storage for storage in STORAGES if storage != to)
    return Operation(lambda o: o.A.convert(to), lambda o: o.A.asformat(to.lower(), copy=True), storages=others)


def _assigned(key: Callable[[Operands], Any], value: Callable[[Operands], Any]) -> Operation:
    return Operation(
        lambda o: ms.assign(o.A, key(o), value(o)), lambda o: _with(o.A, key(o), value(o)), storages=_LINES
    )


_PARTS: Mapping[str, Operation] = {
    "A[i, j]": _same(lambda o: o.A[3, 4], _LINES),
    "A[i]": _same(lambda o: o.A[3], _LINES),
    "A[:, j]": _same(lambda o: o.A[:, 3], _LINES),
    "A[a:b]": _same(lambda o: o.A[_middle(o)], _LINES),
    "A[:, a:b]": _same(lambda o: o.A[:, _middle(o)], _LINES),
    "A[a:b, a:b]": _same(lambda o: o.A[_middle(o), _middle(o)], _LINES),
    "A[::2]": _same(lambda o: o.A[::2], _LINES),
    "A[:, ::2]": _same(lambda o: o.A[:, ::2], _LINES),
    "A[::-1]": _same(lambda o: o.A[::-1], _LINES),
    "A[:, ::-1]": _same(lambda o: o.A[:, ::-1], _LINES),
    "A[rows]": _same(lambda o: o.A[o.picked], _LINES),
    "A[:, cols]": _same(lambda o: o.A[:, o.picked], _LINES),
    "A[mask]": _same(lambda o: o.A[o.column[:, 0].real > 2], _LINES),
    "A[rows, cols]": _same(lambda o: o.A[o.picked, o.picked], _LINES),
    "A.diagonal()": _same(lambda o: o.A.diagonal()),
    "A.diagonal(1)": _same(lambda o: o.A.diagonal(1)),
    "A.trace()": _same(lambda o: o.A.trace()),
    "tril": Operation(lambda o: np.tril(o.A), lambda o: scipy.sparse.tril(o.A, format=o.storage.lower())),
    "triu, k = 1": Operation(lambda o: np.triu(o.A, 1), lambda o: scipy.sparse.triu(o.A, 1, format=o.storage.lower())),
    "A.nonzero()": _same(lambda o: o.A.nonzero()),
    "A[i, j] = x": _assigned(lambda o: (3, 4), lambda o: 7),
    "A[a:b, a:b] = x": _assigned(lambda o: (slice(2, 6), slice(2, 6)), lambda o: 7),
    "A[i] = array": _assigned(lambda o: 3, lambda o: o.row[0]),
}
_SHAPES: Mapping[str, Operation] = {
    "A.T": _same(lambda o: o.A.T),
    "A.copy()": _same(lambda o: o.A.copy()),
    "reshape, folding rows": _same(lambda o: o.A.reshape((o.A.shape[0] // 2, o.A.shape[1] * 2))),
    "reshape, to one row": _same(lambda o: o.A.reshape((1, -1))),
    "vstack": Operation(
        lambda o: np.vstack([o.A, o.B]), lambda o: scipy.sparse.vstack([o.A, o.B], format=o.storage.lower())
    ),
    "hstack": Operation(
        lambda o: np.hstack([o.A, o.B]), lambda o: scipy.sparse.hstack([o.A, o.B], format=o.storage.lower())
    ),
    "block": Operation(
        lambda o: ms.block([[o.A, None], [o.B, o.A]]),
        lambda o: scipy.sparse.block_array([[o.A, None], [o.B, o.A]], format=o.storage.lower()),
    ),
    "kron": Operation(lambda o: np.kron(o.A, o.S), lambda o: scipy.sparse.kron(o.A, o.S, format=o.storage.lower())),
    "flip": _pydata(lambda o: np.flip(o.A, 0), lambda o: o.A[::-1]),
    "roll": _pydata(lambda o: np.roll(o.A, 3, 0), lambda o: o.library.roll(o.library.COO(o.A), 3, 0)),
}
_CONVERSIONS: Mapping[str, Operation] = {
    **{f"to {to}": _converted(to) for to in STORAGES},
    # From other storage: SciPy's returns itself from its own.
    "tocsr()": _same(lambda o: o.A.tocsr(), (_CSC, _COO)),
    "tocsc()": _same(lambda o: o.A.tocsc(), (_CSR, _COO)),
    "tocoo()": _same(lambda o: o.A.tocoo(), _LINES),
    "todense()": Operation(lambda o: o.F.todense(), lambda o: o.F.toarray()),
    "of an array": Operation(
        lambda o: ms.tensor(o.dense, o.storage),
        lambda o: getattr(scipy.sparse, f"{o.storage.lower()}_array")(o.dense),
    ),
    "of triples": Operation(lambda o: _ours_of(o.triples, o), lambda o: _theirs_of(o.triples, o)),
    "of sorted triples": Operation(lambda o: _ours_of(o.sorted_triples, o), lambda o: _theirs_of(o.sorted_triples, o)),
    "astype": _same(lambda o: o.A.astype(np.complex64)),
}
_ELEMENTS: Mapping[str, Operation] = {
    "A + B": _same(lambda o: o.A + o.B),
    "A - B": _same(lambda o: o.A - o.B),
    "A * B": Operation(lambda o: o.A * o.B, lambda o: o.A.multiply(o.B)),
    "maximum(A, B)": Operation(lambda o: np.maximum(o.A, o.B), lambda o: o.A.maximum(o.B), orders=True),
    "A * 2": _same(lambda o: o.A * 2),
    "A / 2": _same(lambda o: o.A / 2),
    "-A": _same(lambda o: -o.A),
    "abs(A)": _same(lambda o: abs(o.A)),
    "A ** 2": _same(lambda o: o.A**2),
    "sin(A)": Operation(lambda o: np.sin(o.A), lambda o: o.A.sin()),
    "A > 50": _same(lambda o: o.A > 50, orders=True),
    "A != 0": _same(lambda o: o.A != 0),
    "A == 1": _same(lambda o: o.A == 1),
    "A > B": _same(lambda o: o.A > o.B, orders=True),
    "A != B": _same(lambda o: o.A != o.B),
    "A * array": Operation(lambda o: o.F * o.dense, lambda o: o.F.multiply(o.dense)),
    "A * row": Operation(lambda o: o.A * o.row, lambda o: o.A.multiply(o.row)),
    "A * column": Operation(lambda o: o.A * o.column, lambda o: o.A.multiply(o.column)),
    "A + array": _same(lambda o: o.F + o.dense),
    "clip": _pydata(lambda o: np.clip(o.A, -50, 50), lambda o: o.A.clip(-50, 50), orders=True),
    "where": _pydata(
        lambda o: np.where(o.A > 50, o.A, o.B),
        lambda o: o.library.where(o.library.COO(o.A > 50), o.library.COO(o.A), o.library.COO(o.B)),
        orders=True,
    ),
}
_REDUCTIONS: Mapping[str, Operation] = {
    "A.sum()": _same(lambda o: o.A.sum()),
    "A.sum(0)": _same(lambda o: o.A.sum(axis=0)),
    "A.sum(1)": _same(lambda o: o.A.sum(axis=1)),
    "A.mean()": _same(lambda o: o.A.mean()),
    "A.mean(0)": _same(lambda o: o.A.mean(axis=0)),
    "A.max()": _same(lambda o: o.A.max(), orders=True),
    "A.max(0)": Operation(lambda o: o.A.max(axis=0), lambda o: o.A.max(axis=0).toarray(), orders=True),
    "A.min(1)": Operation(lambda o: o.A.min(axis=1), lambda o: o.A.min(axis=1).toarray(), orders=True),
    "A.argmax()": _same(lambda o: o.A.argmax(), orders=True),
    "A.argmax(0)": _same(lambda o: o.A.argmax(axis=0), orders=True),
    "A.argmin(1)": _same(lambda o: o.A.argmin(axis=1), orders=True),
    "A.count_nonzero()": _same(lambda o: o.A.count_nonzero()),
    "count_nonzero(A, 1)": _same(lambda o: o.A.count_nonzero(axis=1)),
    "norm": Operation(lambda o: np.linalg.norm(o.A), lambda o: scipy.sparse.linalg.norm(o.A)),
    "prod": _pydata(lambda o: o.A.prod(axis=0)),
    "any": _pydata(lambda o: (o.A != 0).any(axis=1)),
    "var": _pydata(lambda o: o.A.var(axis=0), orders=True),
    "sort": _pydata(lambda o: np.sort(o.A, axis=1), lambda o: o.library.sort(o.library.COO(o.A), axis=1), orders=True),
    "unique": _pydata(lambda o: np.unique(o.A), lambda o: o.library.unique_values(o.library.COO(o.A)), orders=True),
}
OPERATIONS: Mapping[str, Operation] = {**_PARTS, **_SHAPES, **_CONVERSIONS, **_ELEMENTS, **_REDUCTIONS}
