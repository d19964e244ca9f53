"""The pass that takes the entries of a list one by one: what it computes, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.crossing import crossed
from dialect_tests.strategy_remarks import SPMM, SPMV, said_by
from mlir_sparse.pipeline.run_passes import run_here

LISTS = ["COO", "SoA-COO", "NonuniqueCOO", "ColumnMajorCOO", "UnorderedCOO"]
LOOKS_FOR_ENDS = "scf.while"


def entries(shape: tuple[int, ...], count: int, dtype: Any = np.float64, seed: int = 0) -> Any:
    """Returns a dense array with runs of all lengths, empty rows and one long row among them."""
    rng = np.random.default_rng(seed)
    full = np.zeros(shape, dtype)
    at = tuple((size * rng.random(count) ** 3).astype(int) for size in shape)
    full[at] = rng.integers(1, 9, count)
    return full


def stored(full: Any, encoding: str) -> Any:
    return ms.tensor(full, "COO").convert(encoding)


def loops(text: str, **operands: Any) -> str:
    return ms.compile(text, **operands).ir("sparsified")


PRODUCTS = {
    "y(i) = A(i,j) * x(j)": lambda A, b, x: A @ x,
    "y(i) = b(i) - A(i,j) * x(j)": lambda A, b, x: b - A @ x,
    "y(j) = A(i,j) * b(i)": lambda A, b, x: A.T @ b,
}


@crossed(encoding=LISTS, dtype=[np.float64, np.float32, np.int32, np.int8, np.complex128], text=PRODUCTS)
def test_products_with_vectors(encoding: str, dtype: Any, text: str) -> None:
    full, b, x = entries((40, 30), 200, dtype), np.arange(40).astype(dtype), np.arange(1, 31).astype(dtype)
    operands = {name: array for name, array in (("b", b), ("x", x)) if f"{name}(" in text}
    found = ms.evaluate(text, A=stored(full, encoding), **operands)
    np.testing.assert_allclose(found, PRODUCTS[text](full, b, x), rtol=1e-5)


@pytest.mark.parametrize("encoding", ["COO", "SoA-COO"])
def test_sums_onto_what_there_is(encoding: str) -> None:
    full, x, y = entries((40, 30), 200), np.arange(30.0), np.arange(40.0)
    kernel = ms.compile("y(i) += A(i,j) * x(j)", A=stored(full, encoding).type, x="f64[?]", y="f64[?]")
    out = y.copy()
    np.testing.assert_allclose(kernel(A=stored(full, encoding), x=x, y=out, out=out), y + full @ x)


@pytest.mark.parametrize(("text", "expected"), [("max", np.max), ("min", np.min), ("sum", np.sum)])
def test_other_reductions(text: str, expected: Any) -> None:
    full = entries((40, 30), 200)
    np.testing.assert_array_equal(ms.evaluate(f"y(i) = {text}(j : A(i,j))", A=stored(full, "COO")), expected(full, 1))


@pytest.mark.parametrize("rows", [0, 1, 5])
@pytest.mark.parametrize("count", [0, 1])
def test_hardly_any_entries(rows: int, count: int) -> None:
    full = entries((rows, 4), count if rows else 0)
    np.testing.assert_array_equal(
        ms.evaluate("y(i) = A(i,j) * x(j)", A=stored(full, "COO"), x=np.ones(4)), full.sum(axis=1)
    )


def test_tensors() -> None:
    full, v = entries((9, 8, 7), 150), np.arange(7.0)
    T = stored(full, "COO3")
    np.testing.assert_allclose(ms.evaluate("C(i,j) = T(i,j,k) * v(k)", T=T, v=v), full @ v)
    B = np.arange(16.0).reshape(8, 2)
    np.testing.assert_allclose(
        ms.evaluate("C(i,r) = T(i,j,k) * v(k) * B(j,r)", T=T, v=v, B=B), np.einsum("ijk,k,jr->ir", full, v, B)
    )


def test_not_finite() -> None:
    full, x = entries((40, 30), 200), np.full(30, np.inf)
    x[::2] = np.nan
    with np.errstate(invalid="ignore"):
        expected = np.array([(row[row != 0] * x[row != 0]).sum() for row in full])
    np.testing.assert_array_equal(ms.evaluate("y(i) = A(i,j) * x(j)", A=stored(full, "COO"), x=x), expected)


@pytest.mark.parametrize("widths", ["", ", posWidth = 32, crdWidth = 32", ", posWidth = 16, crdWidth = 8"])
def test_entries_are_taken_one_by_one(widths: str) -> None:
    encoding = "#sparse_tensor.encoding<{ map = (i, j) -> (i : compressed(nonunique), j : singleton)" + widths + " }>"
    assert LOOKS_FOR_ENDS not in loops("y(i) = A(i,j) * x(j)", A=f"f64[?,?] {encoding}", x="f64[?]")
    full = entries((40, 30), 200)
    found = ms.evaluate("y(i) = A(i,j) * x(j)", A=stored(full, encoding), x=np.ones(30))
    np.testing.assert_allclose(found, full.sum(axis=1))


def test_runs_stay_where_rows_are_held() -> None:
    assert LOOKS_FOR_ENDS in loops("C(i,k) = A(i,j) * B(j,k)", A="f64[?,?] COO", B="f64[?,?]")


RUNS = """
func.func @kernel(%rows: memref<?xindex>, %other_rows: memref<?xindex>, %val: memref<?xf64>, %y: memref<?xf64>,
                  %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %false = arith.constant false
  %first = scf.while (%q = %c0) : (index) -> index {{
    %inside = arith.cmpi ult, %q, %n : index
    %same = scf.if %inside -> (i1) {{
      %row = memref.load %rows[%c0] : memref<?xindex>
      %other = memref.load %rows[%q] : memref<?xindex>
      %equal = arith.cmpi eq, %row, %other : index
      scf.yield %equal : i1
    }} else {{
      scf.yield %false : i1
    }}
    scf.condition(%same) %q : index
  }} do {{
  ^bb0(%q: index):
    %next = arith.addi %q, %c1 : index
    scf.yield %next : index
  }}
  %all:2 = scf.while (%p = %c0, %e = %first) : (index, index) -> (index, index) {{
    %inside = arith.cmpi {compared}, %p, %n : index
    scf.condition(%inside) %p, %e : index, index
  }} do {{
  ^bb0(%p: index, %e: index):
    %i = memref.load {rows}[%p] : memref<?xindex>
    %begin = memref.load %y[{read}] : memref<?xf64>
    {between}
    %sum = scf.for %q = %p to %e step {step} iter_args(%held = %begin) -> (f64) {{
      %a = memref.load {factor}[{at}] : memref<?xf64>
      {inside}
      %more = arith.addf %held, %a : f64
      scf.yield %more : f64
    }}
    memref.store %sum, %y[%i] : memref<?xf64>
    {after}
    %end = scf.while (%q = %e) : (index) -> index {{
      %inside = arith.cmpi ult, %q, %n : index
      %same = scf.if %inside -> (i1) {{
        %row = memref.load %rows[{of}] : memref<?xindex>
        %other = memref.load %rows[%q] : memref<?xindex>
        %equal = arith.cmpi eq, %row, %other : index
        scf.yield %equal : i1
      }} else {{
        scf.yield %false : i1
      }}
      scf.condition(%same) %q : index
    }} do {{
    ^bb0(%q: index):
      %next = arith.addi %q, %c1 : index
      scf.yield %next : index
    }}
    scf.yield %e, %end : index, index
  }}
  return
}}
"""
PLAIN = {
    "compared": "ult",
    "rows": "%rows",
    "read": "%i",
    "between": "",
    "step": "%c1",
    "factor": "%val",
    "at": "%q",
    "inside": "",
    "after": "",
    "of": "%e",
}


def joined(**changes: str) -> str:
    outcome = run_here(RUNS.format(**{**PLAIN, **changes}), "builtin.module(join-segments)", as_text=True)
    assert outcome.module is not None, outcome.diagnostics
    return outcome.module.decode()


def test_runs_of_found_elements_are_joined() -> None:
    text = joined(between="%b = memref.load %val[%i] : memref<?xf64>", inside="%c = arith.mulf %a, %b : f64")
    assert LOOKS_FOR_ENDS not in text
    assert text.count("scf.for") == 1


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"compared": "ule"}, id="goes beyond the list"),
        pytest.param({"rows": "%other_rows"}, id="of other rows than are compared"),
        pytest.param({"read": "%p"}, id="starts from another element"),
        pytest.param({"step": "%n"}, id="leaves out entries"),
        pytest.param({"factor": "%y"}, id="reads what it writes"),
        pytest.param({"at": "%p"}, id="reads the first of a run for all"),
        pytest.param({"at": "%e"}, id="reads beyond a run"),
        pytest.param({"between": "memref.store %begin, %val[%i] : memref<?xf64>"}, id="writes before a run"),
        pytest.param({"inside": "memref.store %a, %val[%i] : memref<?xf64>"}, id="writes elsewhere"),
        pytest.param({"after": "memref.store %sum, %val[%i] : memref<?xf64>"}, id="uses a sum twice"),
        pytest.param({"of": "%p"}, id="compares with another entry"),
    ],
)
def test_runs_that_are_something_else_stay(changes: dict[str, str]) -> None:
    assert joined(**changes).count(LOOKS_FOR_ENDS) == 3


@pytest.mark.parametrize("stored", ["COO", "SoA-COO"])
def test_it_says_that_runs_are_joined(stored: str) -> None:
    assert said_by("join-segments", SPMV, A=stored, x="") == ["applied to i"]


def test_it_says_why_runs_stay() -> None:
    why = "more is written for a run than one sum, or its row of the result is held"
    assert said_by("join-segments", SPMM, A="COO", B="") == [f"i: {why}"]


def test_it_says_nothing_where_coordinates_do_not_repeat() -> None:
    assert said_by("join-segments", SPMV, A="CSR", x="") == []
