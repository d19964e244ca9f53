"""Small blocks written out, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.strategy_remarks import SPMM, SPMV, TRANSPOSED, said_by

Array = np.ndarray[Any, Any]


def _matrix(rows: int, columns: int, dtype: str) -> Array:
    random = np.random.default_rng(rows * columns)
    dense = random.integers(-4, 5, (rows, columns)) * (random.random((rows, columns)) < 0.2)
    dense[rows // 3 : rows // 3 + 5] = 0  # rows of blocks without any
    return dense.astype(ms.DType(dtype).numpy)


@pytest.mark.parametrize("blocks", ["2, 2", "3, 3", "4, 4", "2, 4", "3, 2", "4, 3", "1, 4", "5, 3", "8, 8"])
@pytest.mark.parametrize("shape", [(24, 24), (23, 17), (1, 30), (0, 6)])
def test_multiplications(blocks: str, shape: tuple[int, int]) -> None:
    dense = _matrix(*shape, "f64") if shape[0] else np.zeros(shape)
    x = np.arange(1.0, shape[1] + 1)
    a = ms.tensor(dense, f"BSR({blocks})")
    multiply = ms.compile("y(i) = A(i,j) * x(j)", tensors={"A": a, "x": x}, out="dense")
    for _ in range(2):
        np.testing.assert_array_equal(multiply(a, x), dense @ x)
    z = np.arange(shape[0]) * 1.0
    added = ms.evaluate("y(i) = z(i) - 2 * A(i,j) * x(j)", z=z, A=a, x=x, out="dense")
    np.testing.assert_array_equal(added, z - 2 * dense @ x)


@pytest.mark.parametrize("dtype", ["i8", "i32", "i64", "f16", "bf16", "f32", "c64", "c128", "bool"])
def test_element_types(dtype: str) -> None:
    dense = _matrix(20, 19, dtype)
    x = np.arange(19).astype(dense.dtype) % np.asarray(3, dense.dtype) if dtype[0] != "c" else np.arange(19) * (1 + 1j)
    x = x.astype(dense.dtype)
    a = ms.tensor(dense, "BSR(3, 3)")
    found = ms.evaluate("y(i) = A(i,j) * x(j)", A=a, x=x, out="dense")
    np.testing.assert_allclose(found.astype(complex), dense.astype(complex) @ x.astype(complex), rtol=1e-2)


def test_results_that_are_added_to_and_maxima() -> None:
    dense = np.abs(_matrix(21, 21, "f64"))
    x, y = np.ones(21), np.arange(21.0)
    a = ms.tensor(dense, "BSR(3, 3)")
    accumulate = ms.compile("y(i) += A(i,j) * x(j)", tensors={"A": a, "x": x, "y": y}, out="dense")
    np.testing.assert_array_equal(accumulate(A=a, x=x, y=y), y + dense @ x)
    largest = ms.compile("y(i) max= A(i,j) * x(j)", tensors={"A": a, "x": x, "y": y}, out="dense")
    np.testing.assert_array_equal(largest(A=a, x=x, y=y), np.maximum(y, (dense * x).max(axis=1)))


def test_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    dense, x = _matrix(61, 43, "f64"), np.arange(43.0)
    a = ms.tensor(dense, "BSR(3, 3)")
    for threads in (1, 2, 3):
        multiply = ms.compile("y(i) = A(i,j) * x(j)", tensors={"A": a, "x": x}, out="dense", threads=threads)
        np.testing.assert_array_equal(multiply(a, x), dense @ x)


@pytest.mark.parametrize("dtype", ["f64", "i32"])
@pytest.mark.parametrize("blocks", ["2, 2", "3, 3", "4, 4", "3, 2"])
def test_it_says_which_blocks_are_written_out(blocks: str, dtype: str) -> None:
    assert said_by("unroll-blocks", SPMV, dtype=dtype, A=f"BSR({blocks})", x="") == ["applied to loop 2 of 4"]


def test_it_says_why_blocks_stay_loops() -> None:
    large = "loop 2 of 4: its blocks have 5 rows and 15 entries: up to 4 and 16 are written out"
    assert said_by("unroll-blocks", SPMV, A="BSR(5, 3)", x="") == [large]
    no_sum = "a row of a block is not one scalar sum of the result"
    assert said_by("unroll-blocks", TRANSPOSED, A="BSR(2, 2)", x="") == [f"loop 2 of 4: {no_sum}"]
    # Blocks times rows are written out before, in tiles.
    assert said_by("unroll-blocks", SPMM, A="BSR(2, 2)", B="") == []


def test_it_says_nothing_where_there_are_no_blocks() -> None:
    assert said_by("unroll-blocks", SPMV, A="CSR", x="") == []
