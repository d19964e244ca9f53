"""Blocks times rows of a dense operand, in tiles of several rows of the result, against NumPy."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.strategy_remarks import MASKED, NARROW, SPMM, said_by

Array = np.ndarray[Any, Any]

PLAIN = (("bits", 128), ("masks", False), ("fma", False))
EXTENTS = (0, 1, 2, 3, 4, 5, 8, 11, 17, 40)


def _matrix(rows: int, columns: int, dtype: str = "f64") -> Array:
    random = np.random.default_rng(rows * columns)
    dense = random.integers(-4, 5, (rows, columns)) * (random.random((rows, columns)) < 0.2)
    dense[rows // 3 : rows // 3 + 5] = 0  # rows of blocks without any
    return dense.astype(ms.DType(dtype).numpy)


def _operand(rows: int, columns: int, dtype: Any = np.float64) -> Array:
    return np.random.default_rng(rows + columns).integers(-3, 4, (rows, columns)).astype(dtype)


@pytest.mark.parametrize("blocks", ["2, 2", "3, 3", "4, 2", "5, 3", "6, 6", "7, 2", "16, 16", "1, 4"])
@pytest.mark.parametrize("shape", [(48, 24), (23, 17), (1, 30), (0, 6)])
def test_blocks_and_extents(blocks: str, shape: tuple[int, int]) -> None:
    dense = _matrix(*shape) if shape[0] else np.zeros(shape)
    stored = ms.tensor(dense, f"BSR({blocks})")
    kernel = ms.compile(SPMM, A=stored.type, B="f64[?,?]")
    for columns in EXTENTS:
        operand = _operand(shape[1], columns)
        np.testing.assert_array_equal(kernel(stored, operand), dense @ operand)


@pytest.mark.parametrize("options", [MASKED, NARROW, PLAIN], ids=["AVX-512", "AVX2", "NEON"])
@pytest.mark.parametrize("dtype", ["f32", "i8", "bf16"])
def test_vectors_of_other_machines(options: Any, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("mlir_sparse.pipeline.sparsifier_passes"), "vector_options", lambda: options)
    monkeypatch.setenv("MLIR_SPARSE_CACHE", "off")
    dense = _matrix(24, 18, dtype)
    stored = ms.tensor(dense, "BSR(6, 3)")
    kernel = ms.compile(SPMM, A=stored.type, B=f"{dtype}[?,?]")
    for columns in EXTENTS:
        operand = _operand(18, columns, dense.dtype)
        expected = dense.astype(np.float64) @ operand.astype(np.float64)
        np.testing.assert_array_equal(kernel(stored, operand).astype(np.float64), expected)


@pytest.mark.parametrize("dtype", ["f16", "i64", "c128", "bool"])
def test_element_types(dtype: str) -> None:
    dense, operand = _matrix(21, 18, dtype), _operand(18, 7).astype(ms.DType(dtype).numpy)
    found = ms.evaluate(SPMM, A=ms.tensor(dense, "BSR(3, 3)"), B=operand)
    expected = dense.astype(complex) @ operand.astype(complex)  # truth values are counted
    np.testing.assert_array_equal(found.astype(complex), expected)


def test_results_that_are_added_to_and_several_threads() -> None:
    dense, operand = _matrix(63, 42), _operand(42, 9)
    stored, start = ms.tensor(dense, "BSR(3, 3)"), _operand(63, 9)
    found = ms.evaluate("C(i,j) += A(i,k) * B(k,j)", A=stored, B=operand, C=start)
    np.testing.assert_array_equal(found, start + dense @ operand)
    taken = ms.evaluate("C(i,j) = D(i,j) - 2 * A(i,k) * B(k,j)", A=stored, B=operand, D=start, out="dense")
    np.testing.assert_array_equal(taken, start - 2 * dense @ operand)
    kernel = ms.compile(SPMM, A=stored.type, B="f64[?,?]")
    for threads in (1, 2, 3):
        np.testing.assert_array_equal(kernel.within(threads, deterministic=False)(stored, operand), dense @ operand)


def test_signs_of_zeros_and_what_is_not_finite() -> None:
    stored = ms.tensor(np.kron(np.eye(4), np.full((3, 3), 1.0)), "BSR(3, 3)")
    start, operand = np.full((12, 5), -0.0), np.zeros((12, 5))
    operand[3:6], operand[6, 1], operand[9, 2] = -0.0, np.nan, np.inf
    found = ms.evaluate("C(i,j) += A(i,k) * B(k,j)", A=stored, B=operand, C=start)
    expected = np.zeros((12, 5))
    expected[3:6], expected[6:9, 1], expected[9:, 2] = -0.0, np.nan, np.inf
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found[3:6]), True)


def test_it_says_that_rows_stay_in_registers() -> None:
    for options in (MASKED, NARROW, PLAIN):
        assert said_by("register-tile", SPMM, A="BSR(3, 3)", B="", options=options) == ["applied to loop 5 of 5"]


def test_several_rows_are_in_registers() -> None:
    """A row of B is loaded once for the rows of a block, of which each has a vector."""
    kernel = ms.compile(SPMM, A="f64[?,?] BSR(3, 3)", B="f64[?,?]")
    assert "iter_args" in kernel.ir("sparsified")
    carried = [text for text in kernel.ir("sparsified").splitlines() if "iter_args" in text and "vector<" in text]
    assert carried
    assert all(text.count("vector<") == 3 for text in carried)


# Results that lack the row, and what each is in NumPy.
SHARED = {
    "y(l) = A(k,j) * T(k,j,l)": "kj,kjl->l",
    "y(l) = A(k,j) * T(k,l)": "kj,kl->l",
    "y(j,l) = A(k,j) * T(k,l)": "kj,kl->jl",
}


@pytest.mark.parametrize("text", SHARED)
@pytest.mark.parametrize("storage", ["BSR(2, 2)", "BSR(3, 4)", "BSR(1, 2)", "BSR(8, 2)"])
@pytest.mark.parametrize("dtype", ["f64", "f32", "i32"])
def test_rows_of_a_block_that_add_to_one_row_of_the_result(text: str, storage: str, dtype: str) -> None:
    """Each had a register of its own, of which the last was stored: sums of the other rows were lost."""
    dense, random = _matrix(21, 18, dtype), np.random.default_rng(0)
    array = "?,?,?" if "T(k,j,l)" in text else "?,?"
    kernel = ms.compile(text, A=f"{dtype}[?,?] {storage}", T=f"{dtype}[{array}]")
    for columns in EXTENTS:
        operand = random.integers(-3, 4, (*dense.shape[: array.count("?") - 1], columns)).astype(dense.dtype)
        found = kernel(A=ms.tensor(dense, storage), T=operand)
        np.testing.assert_array_equal(found, np.einsum(SHARED[text], dense, operand))


def test_dense_levels_below_a_list_are_no_rows_of_the_result() -> None:
    encoding = "(i, j, k) -> (i : dense, j : compressed, k : dense)"
    random = np.random.default_rng(1)
    dense = random.integers(-3, 4, (5, 6, 2)).astype(float) * (random.random((5, 6, 1)) < 0.4)
    T = random.integers(-3, 4, (6, 2, 7)).astype(float)
    for text, subscripts in (
        ("y(i,l) = A(i,j,k) * T(j,k,l)", "ijk,jkl->il"),
        ("y(l) = A(i,j,k) * T(j,k,l)", "ijk,jkl->l"),
    ):
        found = ms.evaluate(text, A=ms.tensor(dense, encoding), T=T)
        np.testing.assert_array_equal(found, np.einsum(subscripts, dense, T))
