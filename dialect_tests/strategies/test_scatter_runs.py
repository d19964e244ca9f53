"""Scattered sums with runs of neighbouring coordinates: what they compute, wherever runs begin, end and wrap around."""

from __future__ import annotations

from importlib import import_module
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from dialect_tests.strategy_remarks import ADD, MASKED, NARROW, SPMV, TRANSPOSED, said_by
from mlir_sparse import pipeline
from mlir_sparse._mlir import mlir_context, parse_module
from mlir_sparse.compile.cpu_kernel import Kernel
from mlir_sparse.pipeline.own_passes import run_passes

Array = np.ndarray[Any, Any]
COLUMNS = 90


pytestmark = pytest.mark.usefixtures("one_thread_and_two")


def runs(*starts_and_lengths: tuple[int, int]) -> list[int]:
    """Returns the columns of a row."""
    return [column for start, length in starts_and_lengths for column in range(start, start + length)]


ROWS = {
    "one run": [runs((3, 8)), runs((0, 16)), runs((COLUMNS - 8, 8)), runs((0, COLUMNS))],
    "too short": [runs((3, 7)), runs((80, 5), (86, 2)), [5], []],
    "in part": [runs((0, 5), (7, 9), (20, 21), (50, 3)), [], runs((1, 3), (5, 40)), runs((2, 17))],
    "every other": [list(range(0, COLUMNS, 2)), list(range(1, 30, 3))],
    "ends alike": [[0, 1, 2, 3, 4, 5, 8, 9], [0, 2, 3, 4, 5, 6, 7, 8], [10, 11, 12, 13, 14, 15, 16, 18]],
    "same rows": [runs((10, 30))] * 9,
    "none": [[], [], []],
}


def stored(rows: list[list[int]], encoding: Any, dtype: Any = np.float64, columns: int = COLUMNS) -> tuple[Any, Array]:
    """Returns rows with the entries given, in that order, and what they come to."""
    rng = np.random.default_rng(0)
    positions = np.cumsum([0, *map(len, rows)])
    coordinates = np.array([column for row in rows for column in row], np.int64)
    values = rng.integers(1, 9, len(coordinates)).astype(dtype)
    dense = np.zeros((len(rows), columns), dtype)
    np.add.at(dense, (np.repeat(np.arange(len(rows)), np.diff(positions)), coordinates), values)
    kind = ms.encoding(encoding)
    wide: Any = {32: np.int32, 64: np.int64, 16: np.uint16, 8: np.uint8}
    lists = coordinates.astype(wide[kind.crd_width or 64]), positions.astype(wide[kind.pos_width or 64])
    return ms.SparseTensor.from_levels(kind, dense.shape, [None, lists[1]], [None, lists[0]], values), dense


CSR = ms.encoding("CSR").with_widths(32, 32)


@pytest.mark.parametrize("dtype", ["f32", "f64", "i32", "c128"])
@pytest.mark.parametrize("name", ROWS)
def test_runs_of_columns(name: str, dtype: str) -> None:
    A, dense = stored(ROWS[name], CSR, ms.DType(dtype).numpy)
    rng = np.random.default_rng(1)
    x, z = (rng.integers(1, 9, n).astype(A.dtype) for n in dense.shape)
    found = ms.evaluate("y(j) = 3 * A(i,j) * x(i) + 2 * z(j)", A=A, x=x, z=z)
    np.testing.assert_array_equal(found, 3 * (dense.T @ x) + 2 * z)
    np.testing.assert_array_equal(ms.evaluate("y(j) = z(j) - A(i,j)", A=A, z=z), z - dense.sum(0))
    np.testing.assert_array_equal(ms.evaluate("y(j) = A(i,j) * A(i,j)", A=A), (dense * dense).sum(0))
    if dtype != "c128":  # which have no order
        found = ms.evaluate("y(j) = max(A(i,j), 3) * abs(A(i,j))", A=A)
        np.testing.assert_array_equal(found, (np.maximum(dense, 3) * abs(dense)).sum(0))


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("widths", [(64, 64), (32, 16), (16, 8), (0, 0)])
def test_all_widths(name: str, widths: tuple[int, int]) -> None:
    A, dense = stored(ROWS[name], ms.encoding("CSR").with_widths(*widths))
    x = np.arange(1.0, len(dense) + 1)
    np.testing.assert_array_equal(ms.evaluate("y(j) = A(i,j) * x(i)", A=A, x=x), dense.T @ x)


@pytest.mark.parametrize("scatters", [False, True])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("name", ROWS)
def test_what_is_left_of_rows_by_scatters_and_without(name: str, dtype: str, scatters: bool) -> None:
    A, dense = stored(ROWS[name], CSR, ms.DType(dtype).numpy)
    x = np.arange(1, len(dense) + 1).astype(A.dtype)
    passes = import_module("mlir_sparse.pipeline.sparsifier_passes")
    with (
        patch.object(passes, "vector_options", lambda: MASKED),
        patch.object(pipeline, "scatters_fast", lambda: scatters),
    ):
        kernel = Kernel(ms.compile(TRANSPOSED, A=A, x=x, optimize="off").spec)  # not one that was made before
        np.testing.assert_array_equal(kernel(A, x), dense.T @ x)
        assert ("vector.scatter" in kernel.ir("sparsified")) == scatters


def test_nothing_is_scattered_whose_coordinates_may_repeat() -> None:
    encoding = "(i, j) -> (i : dense, j : compressed(nonunique))"
    passes = import_module("mlir_sparse.pipeline.sparsifier_passes")
    with patch.object(passes, "vector_options", lambda: MASKED), patch.object(pipeline, "scatters_fast", lambda: True):
        for text, kinds in (
            (TRANSPOSED, {"A": f"f64[?,?] {encoding}", "x": "f64[?]"}),
            ("y(j) = A(i,j)", {"A": "f64[?,?] CSR"}),
        ):
            kernel = Kernel(ms.compile(text, tensors=kinds, optimize="off").spec)
            assert "vector.scatter" not in kernel.ir("sparsified")


def test_columns_in_any_order_and_more_than_once() -> None:
    encoding = ms.encoding(
        "#sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed(nonunique, nonordered)),"
        " posWidth = 32, crdWidth = 32 }>"
    )
    rows = [
        runs((5, 8))[::-1],
        [3, 3, 4, 5, 6, 7, 8, 9],
        [9, 10, 11, 12, 13, 14, 15, 15],
        runs((4, 8), (4, 8)),
        [7] * 20,
    ]
    A, dense = stored(rows, encoding)
    x = np.arange(1.0, len(rows) + 1)
    np.testing.assert_array_equal(ms.evaluate("y(j) = A(i,j) * x(i)", A=A, x=x), dense.T @ x)


def test_narrow_coordinates_do_not_count_beyond_their_greatest() -> None:
    encoding = ms.encoding(
        "#sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed(nonordered)),"
        " posWidth = 32, crdWidth = 8 }>"
    )
    A, dense = stored([[252, 253, 254, 255, 0, 1, 2, 3]], encoding, columns=256)
    np.testing.assert_array_equal(ms.evaluate("y(j) = A(i,j)", A=A), dense[0])


def test_sums_are_rounded_as_entry_by_entry() -> None:
    A, dense = stored(ROWS["in part"], CSR)
    values, x = np.random.default_rng(2).random(A.nse), np.random.default_rng(3).random(len(dense))
    A.storage.values[:] = values
    expected = np.zeros(COLUMNS)
    at = 0
    for row, columns in enumerate(ROWS["in part"]):
        for column in columns:
            expected[column] += values[at] * x[row]
            at += 1
    np.testing.assert_array_equal(ms.evaluate("y(j) = A(i,j) * x(i)", A=A, x=x, threads=1), expected)


SCATTER = """
func.func @kernel(%positions: memref<?xi32>, %columns: memref<?xi32>, %values: memref<?xf64>, %x: memref<?xf64>,
                  %y: memref<?xf64>, %n: index, %which: i1) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  {choice}
  scf.for %i = %c0 to %n step %c1 {{
    %factor = memref.load %x[%i] : memref<?xf64>
    %first = memref.load %positions[%i] : memref<?xi32>
    %begin = arith.index_castui %first : i32 to index
    %next = arith.addi %i, %c1 : index
    %last = memref.load %positions[%next] : memref<?xi32>
    %end = arith.index_castui %last : i32 to index
    scf.for %p = %begin to %end step %c1 {{
      %column = memref.load %columns[%p] : memref<?xi32>
      %j = arith.index_castui %column : i32 to index
      %so_far = memref.load {target}[%j] : memref<?xf64>
      %a = memref.load %values[%p] : memref<?xf64>
      %more = arith.mulf %a, %factor : f64
      %sum = arith.addf %so_far, %more : f64
      memref.store %sum, {target}[%j] : memref<?xf64>
    }}
  }}
  return
}}
"""
UNKNOWN = """%some = scf.if %which -> (memref<?xf64>) {
    scf.yield %y : memref<?xf64>
  } else {
    scf.yield %values : memref<?xf64>
  }"""


@pytest.mark.parametrize(("choice", "target", "runs"), [("", "%y", True), (UNKNOWN, "%some", False)])
def test_results_of_which_it_is_not_known_where_they_lie_stay_as_they_are(choice: str, target: str, runs: bool) -> None:
    with mlir_context():
        module = parse_module(SCATTER.format(choice=choice, target=target))
        run_passes(module, "builtin.module(scatter-runs{every=true})")
        assert ("vector" in str(module)) == runs


@pytest.mark.parametrize(
    ("text", "stored"), [(TRANSPOSED, "CSR"), (SPMV, "CSC"), ("y(j) = abs(A(i,j)) * max(A(i,j), 0) * x(i)", "CSR")]
)
def test_it_says_that_runs_are_looked_for(text: str, stored: str) -> None:
    assert said_by("scatter-runs", text, A=stored, x="") == [f"applied to {'j' if stored == 'CSR' else 'i'}"]


@pytest.mark.parametrize(
    ("text", "kinds", "reason"),
    [
        (TRANSPOSED, {"dtype": "c128"}, "it adds up c128, which vectors do not hold"),
        (TRANSPOSED, {"options": NARROW}, "vectors here have no masks, or lanes were asked for"),
        ("y(j) = sin(A(i,j)) * x(i)", {}, "it does more than sums, products and quotients of its entries"),
        (
            TRANSPOSED,
            {"A": "COO"},
            "it reads more for each entry than values, a coordinate and one element of the result",
        ),
    ],
)
def test_it_says_why_entries_are_added_one_by_one(text: str, kinds: dict[str, Any], reason: str) -> None:
    assert said_by("scatter-runs", text, **{"A": "CSR", "x": "", **kinds}) == [f"j: {reason}"]


def test_it_says_why_entries_of_matrices_are_added_one_by_one() -> None:
    said = said_by("scatter-runs", ADD, out="dense", A="CSR", B="CSR")
    assert set(said) == {"j: its coordinates do not say by themselves which elements are added to"}


def test_it_says_nothing_of_sums_of_rows() -> None:
    assert said_by("scatter-runs", SPMV, A="CSR", x="") == []


def test_rows_of_like_and_unlike_lengths_take_turns() -> None:
    """Loops go over to scatters where lengths vary, and back: both add the same to the same."""
    rng, rows = np.random.default_rng(5), []
    for number in range(400):
        length = 5 if number // 80 % 2 == 0 else int(rng.integers(0, 30))
        rows.append(np.sort(rng.choice(60, length, replace=False)))
    starts = np.cumsum([0, *map(len, rows)])
    A = scipy.sparse.csr_array((rng.integers(1, 9, starts[-1]).astype(float), np.concatenate(rows), starts), (400, 60))
    x = rng.integers(-3, 4, 400).astype(float)
    for fast in (False, True):
        with patch.object(pipeline, "scatters_fast", lambda fast=fast: fast):
            kernel = Kernel(ms.compile(TRANSPOSED, A="f64[?,?] CSR", x="f64[?]", optimize="off").spec)
            np.testing.assert_array_equal(kernel(A=ms.tensor(A), x=x), A.T @ x)
