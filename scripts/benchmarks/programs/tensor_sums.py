"""Tensors of three dimensions with factors, sampled products, and the loss of a factorisation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.entries import Fibers
from benchmarks.programs.drawn import Array, Tensor, Uniform
from benchmarks.programs.workload import Step, Workload
from benchmarks.references import mttkrp, sddmm, ttm

__all__ = ["WORKLOADS"]

_T, _R = Tensor((2000, 2000, 200), 500_000), 16
_C, _D = Array((2000, _R), seed=2), Array((200, _R), seed=3, narrow=100)
_FIBRES = "(i, j, s) -> (i : compressed, j : compressed, s : dense)"
_MTTKRP = "O(i,r) = T(i,j,k) * C(j,r) * D(k,r)"


def _step_of_als(step: Step, T: Any, C: Any, D: Any, G: Any) -> Any:
    return step("M(i,s) = T(i,j,k) * C(j,s) * D(k,s)", T=T, C=C, D=D) @ G


def _by_fibres(step: Step, T: Any, C: Any, D: Any) -> Any:
    P = step("P(i,j,s) = T(i,j,k) * D(k,s)", out=_FIBRES, T=T, D=D)
    return step("O(i,s) = P(i,j,s) * C(j,s)", P=P, C=C)


def _chain_of_ttm(step: Step, T: Any, C: Any, D: Any) -> Any:
    P = step("P(i,j,s) = T(i,j,k) * D(k,s)", out=_FIBRES, T=T, D=D)
    return step("O(i,r,s) = P(i,j,s) * C(j,r)", P=P, C=C)


def _chain_through_rows(step: Step, T: Any, C: Any, D: Any) -> Any:
    """Makes T C first, as an array over i, k and r."""
    P = step("P(i,k,r) = T(i,j,k) * C(j,r)", T=T, C=C)
    return step("O(i,r,s) = P(i,k,r) * D(k,s)", P=P, D=D)


def _chain_by_blas(step: Step, T: Any, C: Any, D: Any) -> Any:
    P = step("P(i,r,k) = T(i,j,k) * C(j,r)", T=T, C=C)
    return (P.reshape(-1, P.shape[2]) @ D).reshape(*P.shape[:2], -1)


def _expected_chain(T: Fibers, C: Any, D: Any) -> Any:
    i, j, k = _coordinates(T)
    found = np.zeros((T.shape[0], C.shape[1], D.shape[1]))
    for r in range(C.shape[1]):
        for s in range(D.shape[1]):
            found[:, r, s] = np.bincount(i, T.values * C[j, r] * D[k, s], T.shape[0])
    return found


def _coordinates(T: Fibers) -> tuple[Any, Any, Any]:
    lines = np.diff(T.pos[1])
    i = np.repeat(np.repeat(T.crd[0], np.diff(T.pos[0])), lines)
    return i, np.repeat(T.crd[1], lines), T.crd[2]


def _by_arrays(step: Step, T: Any, C: Any, D: Any) -> Any:
    """Reads factors as arrays, however few entries they have."""
    return step("O(i,r) = T(i,j,k) * E(j,r) * F(k,r)", T=T, E=C.to_numpy(), F=D.to_numpy())


def _loss(step: Step, X: Any, U: Any, V: Any) -> Any:
    """Makes the product of the factors by BLAS, and takes the difference from it in place."""
    R = U @ V.T
    starts, columns = X.storage.positions[1], X.storage.coordinates[1]
    rows = np.repeat(np.arange(X.shape[0]), np.diff(starts))
    R[rows, columns] -= X.storage.values
    return np.dot(R.ravel(), R.ravel())


def _loss_by_blocks(step: Step, X: Any, U: Any, V: Any) -> Any:
    """Does so for some rows at a time, which stay in the cache."""
    starts, columns, values = X.storage.positions[1], X.storage.coordinates[1], X.storage.values
    rows, found = np.repeat(np.arange(X.shape[0]), np.diff(starts)), 0.0
    for begin in range(0, X.shape[0], 100):
        end = min(begin + 100, X.shape[0])
        R, some = U[begin:end] @ V.T, slice(starts[begin], starts[end])
        R[rows[some] - begin, columns[some]] -= values[some]
        found += np.dot(R.ravel(), R.ravel())
    return found


def _expanded_loss(step: Step, X: Any, U: Any, V: Any) -> Any:
    squares = np.dot(X.storage.values, X.storage.values)
    mixed = step("s = X(i,j) * U(i,k) * V(j,k)", X=X, U=U, V=V)
    return squares - 2 * mixed + np.vdot(U.T @ U, V.T @ V)


def _expected_loss(X: Any, U: Any, V: Any) -> Any:
    return ((X.toarray() - U @ V.T) ** 2).sum()


def _scale_of_loss(X: Any, U: Any, V: Any) -> Any:
    return ((X.toarray() + U @ V.T) ** 2).sum()


_LOSS = "s = sum(i, j : (X(i,j) - sum(k : U(i,k) * V(j,k))) ** 2)"
_RATED = {"X": Uniform(2000, 2000, 10), "U": Array((2000, _R)), "V": Array((2000, _R), seed=2)}

WORKLOADS: Mapping[str, Workload] = {
    "ALS loss": Workload(_LOSS, _RATED, (_loss, _loss_by_blocks), _expected_loss, scale=_scale_of_loss),
    'ALS loss, "algebra"': Workload(
        _LOSS, _RATED, (_expanded_loss, _loss_by_blocks), _expected_loss, scale=_scale_of_loss, optimize="algebra"
    ),
    "SDDMM": Workload(
        "C(i,j) = S(i,j) * X(i,k) * Y(j,k)",
        {"S": Uniform(20_000, 20_000, 20), "X": Array((20_000, 32)), "Y": Array((20_000, 32), seed=2)},
        (lambda step, S, X, Y: step("C(i,j) = S(i,j) * X(i,k) * Y(j,k)", out="CSR", S=S, X=X, Y=Y),),
        lambda **o: sddmm(o),
        out="CSR",
    ),
    "TTM": Workload(
        "P(i,j,s) = T(i,j,k) * M(k,s)",
        {"T": _T, "M": _D},
        (lambda step, T, M: step("P(i,j,s) = T(i,j,k) * M(k,s)", out="CompressedCompressedDense", T=T, M=M),),
        lambda T, M: ttm({"T": T, "M": M}),
        out="CompressedCompressedDense",
    ),
    "TTM chain": Workload(
        "O(i,r,s) = T(i,j,k) * C(j,r) * D(k,s)",
        {"T": _T, "C": _C, "D": _D},
        (_chain_of_ttm, _chain_through_rows, _chain_by_blas),
        _expected_chain,
    ),
    "MTTKRP": Workload(
        _MTTKRP,
        {"T": _T, "C": _C, "D": _D},
        (lambda step, T, C, D: step(_MTTKRP, T=T, C=C, D=D), _by_fibres),
        lambda T, C, D: mttkrp({"T": T, "B": C, "C": D}),
    ),
    "MTTKRP, sparse factors": Workload(
        _MTTKRP,
        {"T": _T, "C": Uniform(2000, 64, 12, seed=2), "D": Uniform(200, 64, 12, seed=3)},
        (lambda step, T, C, D: step(_MTTKRP, T=T, C=C, D=D), _by_arrays),
        lambda T, C, D: mttkrp({"T": T, "B": C.toarray(), "C": D.toarray()}),
    ),
    "CP-ALS step": Workload(
        "O(i,r) = T(i,j,k) * C(j,s) * D(k,s) * G(s,r)",
        {"T": _T, "C": _C, "D": _D, "G": Array((_R, _R), seed=4)},
        (_step_of_als,),
        lambda T, C, D, G: mttkrp({"T": T, "B": C, "C": D}) @ G,
    ),
}
