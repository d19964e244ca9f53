"""Nests that differ only in what they read: what they compute as one, and which become one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.strategy_remarks import ADD, said_by
from mlir_sparse.pipeline.run_passes import run_here

SHAPE = (6, 7, 8)


def _random(density: float, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(SHAPE) < density, rng.integers(1, 9, SHAPE), 0).astype(np.float64)


def _only(*rows: int) -> Any:
    return _random(0.5, 11) * np.isin(np.arange(SHAPE[0]), rows)[:, None, None]


PAIRS = {
    "random": (_random(0.3, 1), _random(0.3, 2)),
    "fibres of one alone": (_random(0.05, 3), _random(0.05, 4)),
    "rows by turns": (_only(0, 2, 4), _only(1, 3, 5)),
    "the one ends before": (_only(0, 1), _only(1, 2, 5)),
    "the other ends before": (_only(3, 5), _only(0, 3)),
    "columns of one alone": (_random(0.5, 5) * (np.arange(7) < 3)[:, None], _random(0.5, 6)),
    "one empty": (_random(0.3, 7), np.zeros(SHAPE)),
    "the other empty": (np.zeros(SHAPE), _random(0.3, 8)),
    "both empty": (np.zeros(SHAPE), np.zeros(SHAPE)),
}


@pytest.mark.parametrize("stored", ["CSF", "(i, j, k) -> (i : dense, j : compressed, k : compressed)"])
@pytest.mark.parametrize("operator", ["+", "-"])
def test_sums_of_many_levels(stored: str, operator: str) -> None:
    text = f"A(i,j,k) = T(i,j,k) {operator} U(i,j,k)"
    kernel = None
    for T, U in PAIRS.values():
        operands = {"T": ms.tensor(T, stored), "U": ms.tensor(U, stored)}
        kernel = kernel or ms.compile(text, tensors=operands, out=stored)
        np.testing.assert_array_equal(kernel(**operands).to_numpy(), T + U if operator == "+" else T - U)


def test_sums_into_dense_results() -> None:
    kernel = None
    for T, U in PAIRS.values():
        operands = {"T": ms.tensor(T, "CSF"), "U": ms.tensor(U, "CSF")}
        kernel = kernel or ms.compile("y(i) = T(i,j,k) + U(i,j,k)", tensors=operands)
        np.testing.assert_allclose(kernel(**operands), (T + U).sum((1, 2)))


COPIES = """func.func @f(%a: memref<?xf64>, %b: memref<?xf64>, %out: memref<?xf64>, %n: index, %m: index,
    %p: i1, %q: i1) -> index {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  {body}
}}
"""
LOOP = """%{result} = scf.for %i = %c0 to %{upper} step %c1 iter_args(%at = %{start}) -> (index) {{
    {inside}
  }}"""
NEST = """%r = scf.for %k = %c0 to %{upper} step %c1 iter_args(%s = %at) -> (index) {{
      %v = memref.load %{source}[%k] : memref<?xf64>
      memref.store %v, %out[%s] : memref<?xf64>
      %t = arith.addi %s, {step} : index
      scf.yield %t : index
    }}
    scf.yield %r : index"""


def _behind_each_other(first: dict[str, str], second: dict[str, str]) -> str:
    given = {"upper": "n", "source": "a", "step": "%c1"}
    nests = [NEST.format(**{**given, **changes}) for changes in (first, {"source": "b", "upper": "m", **second})]
    body = LOOP.format(result="x", upper="n", start=first.get("start", "c0"), inside=nests[0])
    body += LOOP.format(result="y", upper="m", start=second.get("start", "x"), inside=nests[1])
    return COPIES.format(body=f"{body}\n  return %y : index")


def _passed(text: str) -> str:
    outcome = run_here(text, "builtin.module(share-equal-nests)", as_text=True)
    assert outcome.module is not None, outcome.diagnostics
    return outcome.module.decode()


def test_nests_behind_each_other_become_loops_to_close_a_loop() -> None:
    found = _passed(_behind_each_other({}, {}))
    assert found.count("memref.store") == 1
    assert found.count("scf.for") == 3
    assert found.count("arith.select") == 2  # what is read, and how far: twice the same
    assert "loop_annotation = " in found  # LLVM is not to write both iterations out


def test_what_else_differs_is_selected_too() -> None:
    found = _passed(_behind_each_other({}, {"step": "%m"}))
    assert found.count("memref.store") == 1
    assert found.count("arith.select") == 3


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {"start": "c0"}),  # does not go on where the other ends
        ({"upper": "i"}, {"upper": "m"}),  # the bound is an iteration of the one, and not of the other
        ({}, {"step": "%x"}),  # what the other makes is not there before it
    ],
)
def test_nests_behind_each_other_that_stay(first: dict[str, str], second: dict[str, str]) -> None:
    assert _passed(_behind_each_other(first, second)).count("memref.store") == 2


BRANCHES = """%x = scf.if %p -> (index) {{
    {first}
  }} else {{
    {before}
    %y = scf.if %q -> (index) {{
      {second}
    }} else {{
      scf.yield %n : index
    }}
    scf.yield %y : index
  }}
  return %x : index"""


def _branches(before: str = "", **second: str) -> str:
    given = {"upper": "n", "source": "a", "step": "%c1"}
    first, other = (NEST.format(**{**given, **one}).replace("%at", "%c0") for one in ({}, {"source": "b", **second}))
    return COPIES.format(body=BRANCHES.format(first=first, second=other, before=before))


def test_branches_of_the_same_loops_become_one() -> None:
    found = _passed(_branches())
    assert found.count("memref.store") == 1
    assert found.count("scf.if") == 1
    assert found.count("arith.select") == 1
    assert "arith.ori" in found
    assert "scf.yield %arg3" in found  # where neither holds


def test_branches_with_more_beside_them_stay() -> None:
    assert _passed(_branches("%w = arith.addi %n, %m : index", step="%w")).count("memref.store") == 2


def test_it_says_which_nests_become_one() -> None:
    assert said_by("share-equal-nests", ADD, "DCSR", A="DCSR", B="DCSR") == ["applied to j", "applied to i"]
    said = said_by("share-equal-nests", "A(i,j,k) = T(i,j,k) + U(i,j,k)", "CSF", T="CSF", U="CSF")
    assert said == ["applied to k", "applied to j", "applied to i"]


def test_it_says_nothing_where_no_two_nests_are_the_same() -> None:
    assert said_by("share-equal-nests", ADD, "CSR", A="CSR", B="CSR") == []
    assert said_by("share-equal-nests", ADD, "DCSR", A="DCSR", B="CSR") == []
