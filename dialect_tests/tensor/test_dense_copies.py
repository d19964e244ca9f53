"""What makes a tensor dense: on request, with a warning, or not at all."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph
import scipy.sparse.linalg as sl

import mlir_sparse as ms

DENSE = np.diag([1.0, 2.0, 3.0]) + np.eye(3, k=1)
S = sp.csr_array(DENSE + np.eye(3, k=-1))


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.coo_array, sp.dia_array, sp.csr_matrix, sp.bsr_array])
@pytest.mark.parametrize("op", [operator.matmul, operator.mul, operator.add, operator.sub])
def test_scipys_operators_stay_sparse(kind: Any, op: Callable[[Any, Any], Any]) -> None:
    left, right = kind(S), ms.tensor(DENSE)
    if op is operator.mul and kind is sp.csr_matrix:  # which means the product by it
        with pytest.raises(ms.OperandError, match="expected @ for the product"):
            op(left, right)
        return
    wanted = op(S.toarray(), DENSE)
    found = op(left, right)
    assert isinstance(found, ms.SparseTensor)
    np.testing.assert_allclose(found.to_numpy(), wanted)


def test_scipys_comparisons_and_quotients_are_ours() -> None:
    A = ms.tensor(DENSE)
    np.testing.assert_array_equal(np.asarray(S == A), S.toarray() == DENSE)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(np.asarray(S / A), S.toarray() / DENSE)
    assert isinstance(S.dot(A), ms.SparseTensor)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "csr_array": sp.csr_array,
    "coo_array": sp.coo_array,
    "dia_array": sp.dia_array,
    "lil_array": sp.lil_array,
    "hstack": lambda A: sp.hstack([S, A]),
    "kron": lambda A: sp.kron(S, A),
    "tril": sp.tril,
    "find": sp.find,
    "multiply": lambda A: S.multiply(A),
    "maximum": lambda A: S.maximum(A),
    "spsolve": lambda A: sl.spsolve(A, np.ones(3)),
    "right sides": lambda A: sl.spsolve(S, A),
    "splu": sl.splu,
    "expm": sl.expm,
    "csgraph": scipy.sparse.csgraph.connected_components,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_scipys_functions_refuse_by_name(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)
        with pytest.raises((ms.SparseError, ValueError, TypeError)) as caught:
            FUNCTIONS[name](ms.tensor(DENSE))
    # SciPy's constructors put an error of their own before it.
    said = " ".join(map(str, (caught.value, caught.value.__cause__, caught.value.__context__)))
    assert "A.to_scipy()" in said or (name == "maximum" and "Operands not compatible" in said)  # by SciPy before 1.16


def test_scipys_functions_take_what_is_advised() -> None:
    A = ms.tensor(DENSE)
    assert np.shares_memory(sp.csr_array(A.to_scipy()).data, A.storage.values)
    np.testing.assert_allclose(sl.spsolve(A.to_scipy().tocsc(), DENSE @ np.ones(3)), np.ones(3))


def test_a_large_identity_of_scipys_warns_with_the_way_out() -> None:
    rows = np.arange(700)
    A = ms.tensor(((rows, rows), np.ones(700)), "CSR", shape=(700, 700))
    with pytest.warns(ms.DenseCopyWarning, match=r"of 3920000 bytes .* pass scipy.*aslinear") as caught:
        found = sl.expm_multiply(A, rows)
    assert caught[0].filename == __file__
    np.testing.assert_allclose(found, np.e * rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(sl.expm_multiply(sl.aslinearoperator(A), rows, traceA=A.trace()), np.e * rows)


def test_a_large_dense_copy_warns_with_the_way_out() -> None:
    A = ms.tensor(([[5], [7]], [1.0]), "CSR", shape=(700, 800))
    with pytest.warns(
        ms.DenseCopyWarning, match=r"4480000 bytes is made of .* 2816 bytes: pass A\.to_scipy\(\)"
    ) as caught:
        np.asarray(A)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", ms.DenseCopyWarning)
        A.to_numpy()
        np.asarray(ms.tensor(DENSE))
        np.asarray(ms.tensor(RNG_DENSE))


RNG_DENSE = np.random.default_rng(0).random((400, 400)) * (np.random.default_rng(1).random((400, 400)) < 0.1)
