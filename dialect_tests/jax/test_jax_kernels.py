"""`mlir_sparse.jax`: values, gradients of both orders, jit, vmap and what is refused, beside JAX's own arithmetic."""

from __future__ import annotations

import importlib
import subprocess
import sys

import numpy as np
import pytest

import mlir_sparse as ms

jax = pytest.importorskip("jax", reason="expected JAX (extra jax)")

import jax.numpy as jnp  # noqa: E402 - where JAX is there
from jax.test_util import check_grads  # noqa: E402

import mlir_sparse.jax as msj  # noqa: E402

RNG = np.random.default_rng(20)
A = ms.tensor(np.where(RNG.random((6, 5)) < 0.5, RNG.standard_normal((6, 5)), 0).astype(np.float32))
V, X = jnp.asarray(A.storage.values), jnp.asarray(RNG.standard_normal(5), jnp.float32)


def test_gradients_are_on_the_pattern() -> None:
    spmv = msj.kernel("y(i) = A(i,j) * x(j)", A=A)
    np.testing.assert_allclose(spmv(V, X), A.to_numpy() @ np.asarray(X), rtol=1e-5)
    of_v, of_x = jax.jit(jax.grad(lambda v, x: (spmv(v, x) ** 2).sum(), argnums=(0, 1)))(V, X)
    y = 2 * (A.to_numpy() @ np.asarray(X))
    rows, columns = A.to_coo()[0]
    np.testing.assert_allclose(of_v, y[rows] * np.asarray(X)[columns], rtol=1e-4)
    np.testing.assert_allclose(of_x, A.to_numpy().T @ y, rtol=1e-4)


@pytest.mark.parametrize("text", ["y(i) = A(i,j) * x(j)", "s = tanh(A(i,j) * x(j))", "y(i) = max(j : A(i,j) * x(j))"])
def test_derivatives_of_both_orders(text: str) -> None:
    check_grads(msj.kernel(text, A=A), (V, X), order=2, modes=["rev"], atol=2e-2, rtol=2e-2)


def test_batches_run_one_by_one() -> None:
    spmv = msj.kernel("y(i) = A(i,j) * x(j)", A=A)
    batch = jnp.stack([X, 2 * X])
    np.testing.assert_allclose(jax.vmap(spmv, (None, 0))(V, batch), np.asarray(batch) @ A.to_numpy().T, rtol=1e-5)


def test_gathers_by_integers_and_patterns_as_results() -> None:
    gathered = msj.kernel("y(i) = x(I(i))")
    rows = jnp.asarray([1, 1, 4])
    np.testing.assert_array_equal(jax.grad(lambda x: gathered(x, rows).sum())(X), [0, 2, 0, 0, 1])
    sampled = msj.kernel("S(i,j) = u(i) * x(j)", out=A)
    assert sampled(jnp.ones(6, jnp.float32), X).shape == V.shape


def test_complex_gradients_are_those_of_jax() -> None:
    z = jnp.asarray(RNG.standard_normal(5) + 1j * RNG.standard_normal(5), jnp.complex64)
    W = jnp.asarray(RNG.standard_normal((3, 5)) + 1j * RNG.standard_normal((3, 5)), jnp.complex64)
    ours = jax.grad(lambda w, x: jnp.abs(msj.kernel("y(i) = W(i,j) * x(j)")(w, x)).sum(), argnums=(0, 1))(W, z)
    theirs = jax.grad(lambda w, x: jnp.abs(w @ x).sum(), argnums=(0, 1))(W, z)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4)


def test_bad_input_is_refused_by_name() -> None:
    with pytest.raises(ms.UnsupportedError, match="the semiring min_plus"):
        msj.kernel("y(i) = A(i,j) * x(j)", semiring="min_plus")
    with pytest.raises(ms.UnsupportedError, match="pass out='dense'"):
        msj.kernel("C(i,j) = 2 * A(i,j)", A=A)(V)
    with pytest.raises(ms.UnknownTensorError, match="each operand of A, x once"):
        msj.kernel("y(i) = A(i,j) * x(j)", A=A)(V)
    with pytest.raises(ms.OperandError, match="as the structure of A"):
        msj.kernel("y(i) = A(i,j) * x(j)", A=np.eye(3))
    with pytest.raises(ms.UnsupportedError, match="but got a comprehension"):
        msj.kernel("def f(float(N) x) -> (y) { y(i) = x(i) }")


@pytest.mark.parametrize("kind", ["BCOO", "BCSR", "scipy"])
def test_sparse_operands_are_refused_by_name(kind: str) -> None:
    """JAX's own words would be of sequences as elements of arrays."""
    sparse = importlib.import_module("jax.experimental.sparse")
    spmv, dense = msj.kernel("y(i) = A(i,j) * x(j)"), jnp.eye(3)
    given = A.to("scipy") if kind == "scipy" else getattr(sparse, kind).fromdense(dense)
    for call in (spmv, *([] if kind == "scipy" else [jax.jit(spmv)])):
        with pytest.raises(ms.OperandError, match=r"expected an array for A, but got .*: pass ms.tensor\(A\)"):
            call(given, jnp.ones(3))


def test_importing_the_package_does_not_import_jax() -> None:
    code = "import mlir_sparse as ms, sys; ms.jax.kernel; print('jax' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
