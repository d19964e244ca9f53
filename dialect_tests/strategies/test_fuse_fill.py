"""The pass that starts rows from what the result would be filled with: what it computes, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from dialect_tests.strategy_remarks import SPMM, SPMV, said_by
from mlir_sparse.pipeline.run_passes import run_here

TTV = "Y(i,j) = T(i,j,k) * v(k)"
RESIDUAL = "y(i) = b(i) - A(i,j) * x(j)"
SCALED = "y(j) = alpha * A(i,j) * x(i) + beta * z(j)"


def matrix(rows: int, columns: int, dtype: Any = np.float64) -> Any:
    made = scipy.sparse.random_array((rows, columns), density=0.3, rng=np.random.default_rng(0), format="csr")
    made.data = np.ceil(made.data * 5)
    return made.astype(dtype)


def vector(size: int, seed: int = 1, dtype: Any = np.float64) -> Any:
    return np.random.default_rng(seed).integers(1, 9, size).astype(dtype)


@pytest.fixture
def pieces() -> Iterator[None]:
    """Cuts whatever can be cut."""
    threads = ms.get_num_threads()
    ms.set_num_threads(2)
    yield
    ms.set_num_threads(threads)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.complex128])
@pytest.mark.parametrize("stored", ["CSR", "CSC", "DCSR", "COO", "ELL", "BSR(2, 3)"])
def test_rows_start_from_their_addends(stored: str, dtype: Any) -> None:
    A, b, x = matrix(12, 9, dtype), vector(12, 1, dtype), vector(9, 2, dtype)
    found = ms.evaluate(RESIDUAL, A=ms.tensor(A).convert(stored), b=b, x=x)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, b - A @ x, rtol=1e-5)


@pytest.mark.parametrize("stored", ["CSR", "CSC"])
@pytest.mark.parametrize(("rows", "columns"), [(0, 0), (0, 5), (5, 0), (1, 1), (17, 6)])
def test_all_extents(stored: str, rows: int, columns: int) -> None:
    A, x, z = matrix(rows, columns), vector(rows), vector(columns, 2)
    found = ms.evaluate(SCALED, A=ms.tensor(A).convert(stored), x=x, z=z, alpha=3.0, beta=-2.0)
    np.testing.assert_allclose(found, 3 * (A.T @ x) - 2 * z)


@pytest.mark.parametrize(("text", "expected"), [("max", 5.0), ("min", 0.0), ("prod", 0.0)])
def test_other_reductions_start_from_their_identities(text: str, expected: float) -> None:
    A = matrix(8, 40)
    kinds = {"max": np.max, "min": np.min, "prod": np.prod}
    found = ms.evaluate(f"y(i) = {text}(j : A(i,j))", A=ms.tensor(A))
    np.testing.assert_array_equal(found, kinds[text](A.toarray(), axis=1))
    assert found[0] == expected


@pytest.mark.usefixtures("whatever_can_be_cut", "one_thread_and_two")
@pytest.mark.parametrize("stored", ["CSR", "CSC", "DCSR", "ELL", "BSR(2, 3)"])
def test_rows_of_a_matrix_are_written_once_wherever_they_are(stored: str) -> None:
    A = matrix(12, 9).toarray()
    A[[0, 5, 11]] = 0  # nothing is stored in some rows, the last among them
    operand = ms.tensor(A, stored)
    kernel = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=operand.type, B="f64[?,?]")
    for columns in (0, 1, 7, 8, 31, 200):
        B, out = vector(9 * columns).reshape(9, columns), np.full((12, columns), np.nan)
        assert kernel(operand, B, out=out) is out
        np.testing.assert_array_equal(out, A @ B)


def test_what_the_result_held_counts_only_where_it_is_read() -> None:
    A, b, x = matrix(12, 9), vector(12), vector(9, 2)
    out = np.full(12, np.nan)
    kernel = ms.compile(RESIDUAL, A=ms.tensor(A).type, b="f64[?]", x="f64[?]")
    assert kernel(A=ms.tensor(A), b=b, x=x, out=out) is out
    np.testing.assert_array_equal(out, b - A @ x)
    held = b.copy()
    kernel(A=ms.tensor(A), b=held, x=x, out=held)
    np.testing.assert_array_equal(held, b - A @ x)


def test_an_operand_looked_up_may_be_the_result() -> None:
    A, x = matrix(9, 9), vector(9)
    held = x.copy()
    ms.compile(RESIDUAL, A=ms.tensor(A).type, b="f64[?]", x="f64[?]")(A=ms.tensor(A), b=x, x=held, out=held)
    np.testing.assert_array_equal(held, x - A @ x)


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize("stored", ["CSR", "DCSR", "CSC", "ELL"])
def test_pieces_start_their_own_rows(stored: str) -> None:
    A, b, x = scipy.sparse.random_array((60_000, 90), density=0.1, rng=1, format="csr"), vector(60_000), vector(90)
    kernel = ms.compile(RESIDUAL, A=ms.tensor(A).convert(stored).type, b="f64[?]", x="f64[?]")
    np.testing.assert_allclose(kernel(A=ms.tensor(A).convert(stored), b=b, x=x), b - A @ x)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.complex128])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("semiring", [None, "min_plus"])
def test_elements_that_loops_come_to_once(dtype: Any, threads: int, semiring: str | None) -> None:
    if semiring and np.dtype(dtype).kind == "c":
        pytest.skip("complex numbers have no order")
    rng = np.random.default_rng(4)
    T = (rng.integers(1, 9, (70, 50, 9)) * (rng.random((70, 50, 9)) < 0.1)).astype(dtype)
    T[3] = T[:, 7] = 0
    v = vector(9, 5, dtype)
    A = ms.tensor(T, "CSF")
    kernel = ms.compile(TTV, T=A, v=v, out="dense", semiring=semiring, threads=threads)
    expected = np.asarray(T @ v)
    if semiring:
        nothing = np.inf if np.dtype(dtype).kind == "f" else np.iinfo(dtype).max
        expected = np.where(T != 0, T + v, dtype(nothing)).min(2)
    out = np.full((70, 50), 77, dtype)
    np.testing.assert_array_equal(kernel(T=A, v=v, out=out), expected)
    np.testing.assert_array_equal(ms.evaluate("Y(i,j) += T(i,j,k) * v(k)", Y=np.ones_like(out), T=A, v=v), 1 + T @ v)


@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.complex128])
@pytest.mark.parametrize("semiring", [None, "max_plus"])
@pytest.mark.parametrize("stored", ["COO", "CSF"])
def test_results_larger_than_the_caches(dtype: Any, semiring: str | None, stored: str) -> None:
    if semiring and np.dtype(dtype).kind == "c":
        pytest.skip("complex numbers have no order")
    columns = (36 << 20) // np.dtype(dtype).itemsize // 3 + 5  # of a result of 36 MB
    at = np.array([[0, 0, 2], [1, columns - 1, 7], [0, 1, 0]])
    T = ms.tensor((at, np.array([3, 4, 5], dtype)), stored, shape=(3, columns, 2))
    nothing = 0 if semiring is None else -np.inf if np.dtype(dtype).kind == "f" else np.iinfo(dtype).min
    for threads in (1, 2):
        out = np.full((3, columns), 9, dtype)
        ms.evaluate(TTV, T=T, v=np.ones(2, dtype), semiring=semiring, out=out, threads=threads)
        expected = np.full((3, columns), nothing, dtype)
        expected[at[0], at[1]] = np.array([3, 4, 5], dtype) + (0 if semiring is None else 1)
        np.testing.assert_array_equal(out, expected)
        odd = np.full(3 * columns + 1, 9, dtype)[1:].reshape(3, columns)  # it begins where no vector does
        ms.evaluate(TTV, T=T, v=np.ones(2, dtype), semiring=semiring, out=odd, threads=threads)
        np.testing.assert_array_equal(odd, expected)


def test_the_plan_says_where_rows_start() -> None:
    told = ms.compile(RESIDUAL, A="f64[?,?] CSR", b="f64[?]", x="f64[?]").explain()
    assert "y(i) += -(A(i,j) * x(j)), from b(i)" in told
    assert "because: accumulates from the operands that are dense, elementwise" in told
    assert "step 2" not in told


LOOPS = """
func.func @kernel(%b: memref<?xf64>, %pos: memref<?xindex>, %val: memref<?xf64>, %y: memref<?xf64>, %n: index,
                  %m: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}}
      ins({start} : memref<?xf64>) outs(%y : memref<?xf64>) {{
  ^bb0(%in: f64, %out: f64):
    {filling}
  }}
  {between}
  scf.for %i = {lower} to %n step {step} {{
    %begin = memref.load %pos[%i] : memref<?xindex>
    %next = arith.addi %i, %c1 : index
    %end = memref.load %pos[%next] : memref<?xindex>
    %first = memref.load %y[{read}] : memref<?xf64>
    {inside}
    %last = scf.for %p = %begin to %end step %c1 iter_args(%sum = %first) -> f64 {{
      %a = memref.load {factor}[%p] : memref<?xf64>
      %more = arith.addf %sum, %a : f64
      scf.yield %more : f64
    }}
    memref.store %last, %y[{write}] : memref<?xf64>
  }}
  return
}}
"""
PLAIN = {
    "start": "%b",
    "filling": "linalg.yield %in : f64",
    "between": "",
    "lower": "%c0",
    "step": "%c1",
    "read": "%i",
    "inside": "",
    "factor": "%val",
    "write": "%i",
}


def started(**changes: str) -> str:
    text = LOOPS.format(**{**PLAIN, **changes})
    outcome = run_here(text, "builtin.module(fuse-fill)", as_text=True)
    assert outcome.module is not None, outcome.diagnostics
    return outcome.module.decode()


def test_a_vector_without_hindrance_is_started_in_the_loop() -> None:
    text = started(between="%unused = memref.load %val[%m] : memref<?xf64>")
    assert "linalg.generic" not in text
    assert "memref.load %arg3" not in text
    assert text.count("memref.store") == 2  # rows behind the last of the loop, if any, are written after it


def test_a_vector_that_is_only_written_is_not_filled() -> None:
    read = "%first = memref.load %y[{read}] : memref<?xf64>"
    assert read in LOOPS
    text = LOOPS.replace(read, "%first = arith.constant 0.0 : f64").format(**PLAIN)
    outcome = run_here(text, "builtin.module(fuse-fill)", as_text=True)
    assert outcome.module is not None, outcome.diagnostics
    assert b"linalg.generic" not in outcome.module


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"lower": "%c1"}, id="leaves out the first row"),
        pytest.param({"step": "%c2"}, id="leaves out every other row"),
        pytest.param({"read": "%next"}, id="reads another row"),
        pytest.param({"write": "%next"}, id="writes another row"),
        pytest.param({"factor": "%y"}, id="looks rows up in what it writes"),
        pytest.param({"start": "%y"}, id="starts from what the result holds"),
        pytest.param({"filling": "linalg.yield %out : f64"}, id="keeps what the result holds"),
        pytest.param({"inside": "memref.store %first, %b[%next] : memref<?xf64>"}, id="changes what rows start from"),
        pytest.param({"inside": "memref.store %first, %y[%i] : memref<?xf64>"}, id="writes a row twice"),
        pytest.param({"between": "%v = memref.cast %y : memref<?xf64> to memref<*xf64>"}, id="has another name for it"),
        pytest.param(
            {"between": "%v = memref.load %y[%m] : memref<?xf64> memref.store %v, %val[%c0] : memref<?xf64>"},
            id="reads the result before",
        ),
        pytest.param(
            {"between": "%v = arith.constant 1.0 : f64 memref.store %v, %b[%c0] : memref<?xf64>"},
            id="changes what rows start from before",
        ),
        pytest.param(
            {"between": "%v = arith.constant 1.0 : f64 memref.store %v, %y[%c0] : memref<?xf64>"},
            id="writes the result before",
        ),
    ],
)
def test_what_is_filled_first_where_it_must_be(changes: dict[str, str]) -> None:
    assert "linalg.generic" in started(**changes)


ROWS = """
func.func @kernel(%pos: memref<?xindex>, %val: memref<?xf64>, %b: memref<?xf64>, %y: memref<?x?xf64>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f64
  %m = memref.dim %b, %c0 : memref<?xf64>
  {before}
  linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}} ins(%zero : f64) outs(%y : memref<?x?xf64>) {{
  ^bb0(%in: f64, %out: f64):
    linalg.yield %in : f64
  }}
  scf.for %i = {lower} to %n step {step} {{
    %begin = memref.load %pos[%i] : memref<?xindex>
    %next = arith.addi %i, %c1 : index
    %end = memref.load %pos[%next] : memref<?xindex>
    {inside}
    scf.for %p = %begin to %end step %c1 {{
      %a = memref.load %val[%p] : memref<?xf64>
      scf.for %j = {first} to %m step %c1 {{
        %old = memref.load %y[{row}, %j] : memref<?x?xf64>
        %new = memref.load %b[%j] : memref<?xf64>
        %scaled = arith.mulf %a, %new : f64
        %sum = arith.addf %old, %scaled : f64
        memref.store %sum, %y[{row}, %j] : memref<?x?xf64>
      }}
    }}
  }}
  {after}
  return
}}
"""
PLAIN_ROWS = {"before": "", "lower": "%c0", "step": "%c1", "inside": "", "first": "%c0", "row": "%i", "after": ""}


def rows_started(**changes: str) -> str:
    text = ROWS.format(**{**PLAIN_ROWS, **changes})
    outcome = run_here(text, "builtin.module(register-tile{bits=512 tile=8 masks=true fma=true})", as_text=True)
    assert outcome.module is not None, outcome.diagnostics
    return outcome.module.decode()


def test_rows_of_a_matrix_without_hindrance_start_in_registers() -> None:
    text = rows_started()
    assert "linalg.generic" not in text
    assert "%arg3[%" not in "".join(line for line in text.splitlines() if "load" in line)
    assert text.count("memref.store") == 2  # what the loops do not reach, if anything: ends of rows, and rows behind


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"lower": "%c1"}, id="leaves out the first row"),
        pytest.param({"step": "%c2"}, id="leaves out every other row"),
        pytest.param({"first": "%c1"}, id="leaves out the first column"),
        pytest.param({"row": "%next"}, id="writes another row"),
        pytest.param({"row": "%c1"}, id="writes one row"),
        pytest.param({"inside": "memref.store %zero, %y[%i, %c0] : memref<?x?xf64>"}, id="writes a row twice"),
        pytest.param(
            {"inside": "%v = memref.load %y[%next, %c0] : memref<?x?xf64> memref.store %v, %val[%c0] : memref<?xf64>"},
            id="reads another row",
        ),
        pytest.param(
            {
                "before": "%other = memref.cast %y : memref<?x?xf64> to memref<?x?xf64>",
                "inside": "memref.store %zero, %other[%i, %c0] : memref<?x?xf64>",
            },
            id="has another name for it",
        ),
    ],
)
def test_what_of_a_matrix_is_filled_first_where_it_must_be(changes: dict[str, str]) -> None:
    assert "linalg.generic" in rows_started(**changes)


@pytest.mark.parametrize("stored", ["CSR", "ELL"])
def test_it_says_that_rows_start_in_their_loop(stored: str) -> None:
    assert said_by("fuse-fill", SPMV, A=stored, x="") == ["applied to i"]
    assert said_by("fuse-fill", RESIDUAL, A=stored, b="", x="") == ["applied to i"]


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        ("COO", "its elements are added to in the order of stored entries, not row by row"),
        ("CSC", "its loop adds to an element in several iterations, or to none in some"),
    ],
)
def test_it_says_why_results_are_filled_first(stored: str, reason: str) -> None:
    assert said_by("fuse-fill", SPMV, A=stored, x="") == [reason]


def test_it_says_that_elements_come_to_once_are_not_read() -> None:
    assert said_by("fuse-fill", SPMV, A="DCSR", x="") == ["applied to i"]
    assert said_by("fuse-fill", TTV, "dense", T="CSF", v="") == ["applied to i"]
    said = said_by("fuse-fill", SPMV, A="DCSR", x="(i) -> (i : compressed)")
    assert said == ["the loop that adds to the result does not go through all of its rows"]


def test_it_says_who_starts_rows_of_matrices() -> None:
    said = said_by("fuse-fill", SPMM, A="CSR", B="")
    assert said == ["its result is no vector: register-tile sees to what rows of a matrix start from"]


def test_it_says_nothing_where_nothing_is_added() -> None:
    assert said_by("fuse-fill", "y(i) = x(i) + 2 * z(i)", x="", z="") == []
