"""Loops that merge two operands, a branch for each way they meet: what they compute, and which loops are split."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.strategy_remarks import ADD, SPMV, said_by
from mlir_sparse.pipeline.run_passes import run_here

MARK = "llvm.inline_asm"
SHAPE = (23, 40)


def _random(density: float, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(SHAPE) < density, rng.integers(1, 9, SHAPE), 0).astype(np.float64)


def _rows(first: int, step: int) -> Any:
    """Returns a matrix with entries in every so many columns, and nothing in every third row."""
    found = np.zeros(SHAPE)
    found[:, first::step] = np.arange(1, found[:, first::step].size + 1).reshape(SHAPE[0], -1)
    found[::3] = 0
    return found


PATTERNS = {
    "random": (_random(0.3, 1), _random(0.3, 2)),
    "equal": (_random(0.4, 3), 2 * _random(0.4, 3)),
    "shifted": (_random(0.3, 4), np.roll(_random(0.3, 4), 1, axis=1)),
    "by turns": (_rows(0, 2), _rows(1, 2)),
    "far sparser": (_random(0.8, 5), _random(0.03, 6)),
    "one after the other": (_rows(0, 1) * (np.arange(40) < 20), _rows(0, 1) * (np.arange(40) >= 20)),
    "empty": (_random(0.3, 7), np.zeros(SHAPE)),
    "last column": (_random(0.3, 8) * (np.arange(40) < 39), np.ones(SHAPE) * (np.arange(40) == 39)),
}
MERGED = {
    "C(i,j) = A(i,j) + B(i,j)": lambda A, B: A + B,
    "C(i,j) = A(i,j) - B(i,j)": lambda A, B: A - B,
    "C(i,j) = A(i,j) * B(i,j)": lambda A, B: A * B,
    "c = A(i,j) * B(i,j)": lambda A, B: (A * B).sum(),
    "c = A(i,j) + B(i,j)": lambda A, B: (A + B).sum(),
    "y(i) = A(i,j) * B(i,j)": lambda A, B: (A * B).sum(1),
}


@pytest.mark.parametrize(
    ("text", "stored"), [*((text, "CSR") for text in MERGED), ("C(i,j) = A(i,j) - B(i,j)", "DCSR")]
)
def test_all_ways_to_meet(text: str, stored: str) -> None:
    out = {"out": stored} if text.startswith("C") else {}
    kernel = None
    for A, B in PATTERNS.values():
        operands = {"A": ms.tensor(A, stored), "B": ms.tensor(B, stored)}
        kernel = kernel or ms.compile(text, tensors=operands, **out)
        found = kernel(**operands)
        found = found.to_numpy() if isinstance(found, ms.SparseTensor) else found
        np.testing.assert_array_equal(found, MERGED[text](A, B))


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.complex128])
def test_element_types(dtype: Any) -> None:
    A, B = (x.astype(dtype) for x in PATTERNS["random"])
    found = ms.evaluate("C(i,j) = A(i,j) + B(i,j)", A=ms.tensor(A, "CSR"), B=ms.tensor(B, "CSR"), out="CSR")
    np.testing.assert_array_equal(found.to_numpy(), A + B)


def test_coordinates_with_their_highest_bit_set() -> None:
    at, beyond = (1 << 31) + 5, (1 << 32) - 3
    a = ms.SparseTensor.from_levels(
        "(i) -> (i : compressed)",
        (1 << 32,),
        [np.array([0, 2], np.uint32)],
        [np.array([3, at], np.uint32)],
        np.array([2.0, 3.0]),
    )
    b = ms.SparseTensor.from_levels(
        "(i) -> (i : compressed)",
        (1 << 32,),
        [np.array([0, 2], np.uint32)],
        [np.array([at, beyond], np.uint32)],
        np.array([5.0, 7.0]),
    )
    assert ms.evaluate("s = a(i) * b(i)", a=a, b=b) == 15.0
    assert ms.evaluate("s = a(i) + b(i)", a=a, b=b) == 17.0


def _loops(text: str) -> str:
    return ms.compile(text, **dict.fromkeys("ABC"[: text.count("(i,j)")], "f64[?,?] CSR")).ir("sparsified")


def _split(text: str) -> str:
    outcome = run_here(text, "builtin.module(split-merges)", as_text=True)
    assert not outcome.diagnostics
    assert isinstance(outcome.module, bytes)
    return outcome.module.decode()


def test_two_operands_are_split_and_three_are_not() -> None:
    two = _loops("y(i) = A(i,j) * B(i,j)")
    assert two.count("scf.while") == 1
    assert _split(two).count(MARK) == 2
    three = _loops("y(i) = A(i,j) * B(i,j) * C(i,j)")
    assert three.count("scf.while") == 1
    assert MARK not in _split(three)


def test_a_way_to_meet_has_only_what_it_takes() -> None:
    sums = _split(_loops("C(i,j) = A(i,j) + B(i,j)"))
    # Where one operand alone has an entry nothing is added, and no branch is left that would choose.
    assert sums.count("arith.addf") == 1
    assert "scf.if %true" not in sums
    assert "scf.if %false" not in sums


def test_llvm_leaves_what_follows_a_merge_alone() -> None:
    text = ms.compile("C(i,j) = A(i,j) + B(i,j)", A="f64[?,?] CSR", B="f64[?,?] CSR").ir("llvmir")
    assert "llvm.loop.unroll.disable" in text


@pytest.mark.parametrize(
    ("text", "kind", "scalar"),
    [
        ("C(i,j) = A(i,j) + B(i,j)", "f64[?,?] CSR", True),
        ("C(i,j) = A(i,j) + B(i,j)", "c128[?,?] CSR", False),  # two parts of a number are two lanes
        ("C(i,j) = A(i,k) * B(k,j)", "f64[?,?] CSR", False),  # rows are gathered in a workspace
    ],
)
def test_lanes_are_looked_for_where_there_may_be_any(text: str, kind: str, scalar: bool) -> None:
    kernel = ms.compile(text, A=kind, B=kind, out=kind.partition(" ")[2])
    assert ("noimplicitfloat" in kernel.ir("llvmir")) == scalar


def test_it_says_which_merges_are_split() -> None:
    assert said_by("split-merges", ADD, "CSR", A="CSR", B="CSR") == ["applied to j"]
    outer = "i: loops are inside: the order of its iterations is not what takes the time"
    assert said_by("split-merges", ADD, "DCSR", A="DCSR", B="DCSR") == ["applied to j", outer]


def test_it_says_why_merges_of_three_are_not() -> None:
    said = said_by("split-merges", "C(i,j) = (A(i,j) + B(i,j)) * D(i,j)", "CSR", A="CSR", B="CSR", D="CSR")
    assert said[:1] == ["j: more than two operands meet: of the ways that they do most are rare"]


def test_it_says_nothing_where_nothing_is_merged() -> None:
    assert said_by("split-merges", SPMV, A="CSR", x="") == []
