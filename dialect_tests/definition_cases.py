"""Defined tensors of each kind, with the array that each stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import mlir_sparse as ms

__all__ = ["DEFINITIONS", "STATEMENTS", "Defined", "sparse_array"]

Array = np.ndarray[Any, Any]
Defined = tuple[ms.DefinedTensor, Array]
Rng = np.random.Generator


def sparse_array(rng: Rng, *shape: int) -> Array:
    """Returns an array of whole numbers with zeros in most places."""
    return np.where(rng.random(shape) < 0.4, rng.integers(1, 9, shape), 0).astype(float)


def _whole(rng: Rng, *shape: int) -> Array:
    return rng.integers(-4, 5, shape).astype(float)


def low_rank(rng: Rng, n: int) -> Defined:
    U, V = _whole(rng, n, 2), _whole(rng, n, 2)
    return ms.define("A(i,j) = U(i,k) * V(j,k)", U=U, V=V), U @ V.T


def sparse_plus_low_rank(rng: Rng, n: int) -> Defined:
    S, U, V = sparse_array(rng, n, n), _whole(rng, n, 2), _whole(rng, n, 2)
    return ms.define("A(i,j) = S(i,j) + U(i,k) * V(j,k)", S=ms.tensor(S), U=U, V=V), S + U @ V.T


def diagonal_plus_border(rng: Rng, n: int) -> Defined:
    d, u, v = _whole(rng, n), _whole(rng, n), _whole(rng, n)
    text = "A(i,j) = where(i == j, d(i), 0) + where(j == 0 & i > 0, u(i), 0) + where(i == 0 & j > 0, v(j), 0)"
    expected = np.diag(d)
    expected[1:, :1] += u[1:, None]
    expected[:1, 1:] += v[1:]
    return ms.define(text, d=d, u=u, v=v, shape=(n, n)), expected


def permuted(rng: Rng, n: int) -> Defined:
    B, P = sparse_array(rng, n, n), rng.permutation(n)
    return ms.define("A(i,j) = B(P(i), j)", B=ms.tensor(B), P=P), B[P]


def gathered_both_ways(rng: Rng, n: int) -> Defined:
    B, P, Q = _whole(rng, n, n), rng.integers(0, max(n, 1), n), rng.integers(0, max(n, 1), n)
    return ms.define("A(i,j) = B(P(i), Q(j))", B=B, P=P.astype(np.int32), Q=Q), B[np.ix_(P, Q)]


def scaled(rng: Rng, n: int) -> Defined:
    B, d, e = sparse_array(rng, n, n), _whole(rng, n), _whole(rng, n)
    return ms.define("A(i,j) = d(i) * B(i,j) * e(j)", B=ms.tensor(B), d=d, e=e), d[:, None] * B * e


def one_hot(rng: Rng, n: int) -> Defined:
    c = rng.integers(-1, n + 1, n)  # a category out of range is none
    return ms.define("A(i,j) = 1.0 if c(i) == j", c=c, shape=(None, n)), (c[:, None] == np.arange(n)).astype(float)


def packed_triangle(rng: Rng, n: int) -> Defined:
    t, expected = _whole(rng, n * (n + 1) // 2), np.zeros((n, n))
    expected[np.tril_indices(n)] = t
    return ms.define("A(i,j) = t(i*(i+1)/2 + j) if j <= i", t=t, shape=(n, n)), expected


def toeplitz(rng: Rng, n: int) -> Defined:
    t = _whole(rng, 2 * n + 3)
    places = np.arange(n)[:, None] - np.arange(n) + n
    return ms.define("A(i,j) = t(i - j + n)", t=t, n=n, shape=(n, n)), t[places]


def banded(rng: Rng, n: int) -> Defined:
    b, (i, j) = _whole(rng, 3, n), np.indices((n, n))
    expected = np.where(abs(i - j) <= 1, b[np.clip(i - j + 1, 0, 2), j], 0.0)
    return ms.define("A(i,j) = b(i - j + 1, j) if abs(i - j) <= 1", b=b, shape=(n, n)), expected


def kronecker(rng: Rng, n: int) -> Defined:
    A, B = _whole(rng, n, n), _whole(rng, 2, 2)
    text = "K(i,j) = A(i / 2, j / 2) * B(i % 2, j % 2)"
    return ms.define(text, A=A, B=B, shape=(2 * n, 2 * n)), np.kron(A, B)


def khatri_rao(rng: Rng, n: int) -> Defined:
    U, V = _whole(rng, 2, n), _whole(rng, 3, n)
    expected = np.einsum("ir,jr->ijr", U, V).reshape(6, n)
    return ms.define("K(i,r) = U(i / m, r) * V(i % m, r)", U=U, V=V, m=3, shape=(6, None)), expected


def join_of_joins(rng: Rng, n: int) -> Defined:
    R, S, w = sparse_array(rng, n, n), sparse_array(rng, n, n), _whole(rng, n)
    joined = ms.define("J(i,k) = R(i,j) * S(j,k)", R=ms.tensor(R), S=ms.tensor(S))
    weighed = ms.define("W(i,k) = w(i) * J(i,k) * w(k)", J=joined, w=w)
    return ms.define("A(i,j) = W(i,k) * J(j,k)", W=weighed, J=joined), (w[:, None] * (R @ S) * w) @ (R @ S).T


DEFINITIONS: tuple[Callable[[Rng, int], Defined], ...] = (
    low_rank,
    sparse_plus_low_rank,
    diagonal_plus_border,
    permuted,
    gathered_both_ways,
    scaled,
    one_hot,
    packed_triangle,
    toeplitz,
    banded,
    kronecker,
    khatri_rao,
    join_of_joins,
)

# By statement, what it is in NumPy of the tensor A, a vector x of its columns and z of its rows, matrices X and S.
STATEMENTS: dict[str, Callable[[Array, Array, Array, Array, Array], Any]] = {
    "y(i) = A(i,j) * x(j)": lambda A, x, z, X, S: A @ x,
    "y(j) = z(i) * A(i,j)": lambda A, x, z, X, S: z @ A,
    "Y(i,k) = A(i,j) * X(j,k)": lambda A, x, z, X, S: A @ X,
    "Y(i,j) = A(i,j) * S(i,j)": lambda A, x, z, X, S: A * S,
    "s = A(i,j)": lambda A, x, z, X, S: A.sum(),
    "y(k) = A(i,j) * A(i,k) * x(j)": lambda A, x, z, X, S: A.T @ (A @ x),
    "y(i) = A(i,i)": lambda A, x, z, X, S: np.diag(A),
    "Y(j,i) = A(i,j)": lambda A, x, z, X, S: A.T,
    "y(i) = abs(A(i,j)) * x(j)": lambda A, x, z, X, S: abs(A) @ x,
}
