"""Sparse operands that loops read from copies in arrays: when, and that results are those of the operands."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.crossing import crossed
from dialect_tests.statement_cases import matrix, rewritten, vector
from mlir_sparse.compile import Kernel
from mlir_sparse.encoding import TensorType
from mlir_sparse.encoding.sketch import AxisSketch, Sketch
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts

RNG = np.random.default_rng(0)


def drawn(*shape: int, share: float = 0.3) -> np.ndarray[Any, Any]:
    return np.where(RNG.random(shape) < share, RNG.integers(1, 4, shape), 0)


def cube(*shape: int, entries: float) -> TensorFacts:
    axes = tuple(AxisSketch(n, 4 * entries / n, entries * (entries / n + 1)) for n in shape)
    return TensorFacts(TensorType.parse("f64[?,?,?] CSF"), Sketch(shape, entries, axes))


T, C, D = drawn(60, 60, 40, share=0.2), drawn(60, 16), drawn(40, 16)
A, B, M = drawn(1500, 200, share=0.1), drawn(200, 24, share=0.8), drawn(1500, 200, share=0.2)
MTTKRP = "O(i,r) = T(i,j,k) * C(j,r) * D(k,r)"
TEXTS = {
    MTTKRP: lambda: np.einsum("ijk,jr,kr->ir", T, C, D),
    "O(j,r) = T(i,j,k) * E(i,r) * D(k,r)": lambda: np.einsum("ijk,ir,kr->jr", T, VALUES["E"], D),
    "Y(i,k) = A(i,j) * B(j,k) * w(k)": lambda: (A @ B) * W,
    "Y(k,i) = A(i,j) * B(j,k) * w(k)": lambda: ((A @ B) * W).T,
    "s = A(i,j) * M(i,j) * B(j,k)": lambda: np.einsum("ij,ij,jk->", A, M, B, optimize=True),
    "Y(i,k) = 2 * A(i,j) * B(j,k) * M(i,j) + F(i,k)": lambda: 2 * (A * M) @ B + F,
}
W, F = RNG.integers(1, 4, 24), RNG.integers(1, 4, (1500, 24))
VALUES = {"T": T, "C": C, "D": D, "E": drawn(60, 16), "A": A, "B": B, "M": M, "w": W, "F": F}


def operands_of(text: str, storage: str, dtype: str) -> dict[str, Any]:
    """Returns the operands of a statement: matrices in a storage."""
    found: dict[str, Any] = {}
    for name, value in VALUES.items():
        if f"{name}(" in text.partition("=")[2]:
            typed = value.astype(dtype)
            found[name] = typed if name in "wF" else ms.tensor(typed, storage if value.ndim == 2 else "CSF")
    return found


@crossed(
    text=list(TEXTS),
    storage=["CSR", "CSC", "COO", "DCSR", "BSR(2,2)", "ELL"],
    dtype=["int8", "int64", "float32", "float64", "complex128"],
    threads=[1, 2, 3],
)
def test_in_each_storage(text: str, storage: str, dtype: str, threads: int) -> None:
    """An operand, or one times what is read with it, is an array; integers of eight bits wrap to the same bits."""
    operands = operands_of(text, storage, dtype)
    kernel = ms.compile(text, tensors=operands, out="dense", threads=threads)
    written = ms.compile(text, tensors=operands, out="dense", optimize="off")
    assert isinstance(kernel, Kernel)
    if kernel.spec.rewriting is None:  # of columns of f32 in few slices, entries take as long
        assert (storage, dtype) == ("CSC", "float32")
        return
    assert any(not estimate.is_sparse for part in kernel.spec.rewriting.parts if (estimate := part.estimate))
    found = kernel(**operands)
    np.testing.assert_array_equal(found, written(**operands))
    if dtype != "int8":
        np.testing.assert_array_equal(found, TEXTS[text]())


def test_both_factors_of_a_tensor_are_copied() -> None:
    facts = {"T": cube(2000, 2000, 200, entries=5e5), "C": matrix(2000, 64, 12), "D": matrix(200, 64, 12)}
    found = rewritten(MTTKRP, facts, out="dense")
    assert found is not None
    assert [(str(part), part.is_array) for part in found.parts] == [
        ("O.part(j,r) = C(j,r)", True),
        ("O.part.2(k,r) = D(k,r)", True),
    ]
    assert str(found.value) == "sum(j, k : T(i,j,k) * O.part(j,r) * O.part.2(k,r))"


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        # An array would have a thousand times as many elements as there are entries.
        (MTTKRP, {"T": cube(200, 200, 200, entries=1e5), "C": matrix(200, 9000, 2), "D": matrix(200, 9000, 2)}),
        # One of 3,000 by 3,000 takes more than 64 MiB.
        ("s = A(i,j) * A(j,k) * A(k,i)", {"A": matrix(3000, 3000, 20)}),
        ("y(i) = A(i,j) * B(i,j) * x(j)", {"A": matrix(900, 900, 9), "B": vector(900, 900), "x": vector(900)}),
    ],
)
def test_what_gains_nothing_is_not_copied(text: str, facts: dict[str, TensorFacts]) -> None:
    found = rewritten(text, facts, out="dense", always=True)
    assert found is not None
    assert not any(str(part.value) in ("A(i,j)", "B(i,j)", "C(j,r)", "D(k,r)") for part in found.parts)


def test_sparse_results_have_the_entries_that_operands_give() -> None:
    """Of an array each element would be an entry."""
    facts = {"T": cube(2000, 2000, 200, entries=5e5), "C": matrix(2000, 64, 12), "D": matrix(200, 64, 12)}
    found = rewritten(MTTKRP, facts, out="CSR", always=True)
    assert found is None or not any(part.is_array for part in found.parts)


def test_one_copy_is_read_in_several_places() -> None:
    facts = {"T": cube(500, 500, 500, entries=1e6), "C": matrix(500, 64, 12)}
    found = rewritten("O(i,r) = T(i,j,k) * C(j,r) * C(k,r)", facts, out="dense")
    assert found is not None
    assert [str(part) for part in found.parts] == ["O.part(j,r) = C(j,r)"]
    assert str(found.value) == "sum(j, k : T(i,j,k) * O.part(j,r) * O.part(k,r))"


def test_rows_that_loops_go_over_are_last() -> None:
    """Whatever the order of an operand's dimensions, vectors read neighbours."""
    facts = {"T": cube(2000, 2000, 200, entries=5e5), "C": matrix(64, 2000, 400), "D": matrix(64, 200, 40)}
    found = rewritten("O(i,r) = T(i,j,k) * C(r,j) * D(r,k)", facts, out="dense")
    assert found is not None
    assert [str(part) for part in found.parts] == ["O.part(j,r) = C(r,j)", "O.part.2(k,r) = D(r,k)"]


def test_vectors_are_copied_too() -> None:
    x = TensorFacts(TensorType.parse("f64[?] SparseVector"), Sketch((20_000,), 9000.0, (AxisSketch(9000, 1, 9000),)))
    found = rewritten("y(i) = A(i,j) * x(j) * z(j)", {"A": matrix(20_000, 20_000, 30), "x": x, "z": vector(20_000)})
    assert found is not None
    assert not any(part.estimate and part.estimate.is_sparse for part in found.parts)


@pytest.mark.parametrize("shape", [(0, 0, 0), (0, 3, 2), (2, 0, 3), (1, 1, 1), (3, 2, 0)])
def test_other_extents_than_it_was_planned_for(shape: tuple[int, int, int]) -> None:
    _, j, k = shape
    kernel = ms.compile(MTTKRP, tensors=operands_of(MTTKRP, "CSR", "float64"), out="dense")
    small = [np.ones(shape), np.ones((j, 4)), np.zeros((k, 4))]
    for last in (small[2], small[2] + 1):
        made = [ms.tensor(small[0], "CSF"), ms.tensor(small[1], "CSR"), ms.tensor(last, "CSR")]
        np.testing.assert_array_equal(kernel(*made), np.einsum("ijk,jr,kr->ir", small[0], small[1], last))


def test_infinity_meets_the_zeros_of_a_copy() -> None:
    """As it does in NumPy, and in parts that are arrays; numbers that are finite never notice."""
    operands = operands_of(MTTKRP, "CSR", "float64")
    kernel = ms.compile(MTTKRP, tensors=operands, out="dense")
    infinite = T.astype(float)
    infinite[3, 4, 5] = np.inf
    found = kernel(**{**operands, "T": ms.tensor(infinite, "CSF")})
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found[3], np.einsum("jk,jr,kr->r", infinite[3], C, D))
    np.testing.assert_array_equal(np.delete(found, 3, 0), np.delete(TEXTS[MTTKRP](), 3, 0))
    written = ms.evaluate(MTTKRP, tensors={**operands, "T": ms.tensor(infinite, "CSF")}, out="dense", optimize="off")
    assert not np.isnan(written).any()


@pytest.mark.parametrize("value", ["log(P(i,j))", "sqrt(P(i,j) - 0.5)", "(1 / P(i,j))", "P(i,j) ** -1"])
@pytest.mark.parametrize("target", ["y", "y(i)"])
def test_no_zero_of_a_copy_meets_what_a_function_makes(target: str, value: str) -> None:
    """Finite operands whose loops as written give finite results, as M leaves out where the function has no value."""
    P = RNG.random((300, 300)) + 0.5
    P[::7, ::5] = 0
    thin = np.where(RNG.random(P.shape) < 0.05, 1.0, 0.0)
    operands = {"A": ms.tensor(thin, "CSR"), "M": ms.tensor((P > 0).astype(float), "CSR"), "P": P}
    text = f"{target} = A(i,j) * M(i,j) * {value}"
    found, written = (ms.evaluate(text, tensors=operands, optimize=mode) for mode in ("auto", "off"))
    assert np.isfinite(written).all()
    np.testing.assert_allclose(found, written, rtol=1e-12)


def test_no_zero_of_a_copy_meets_what_a_statement_before_makes() -> None:
    P = RNG.random((300, 300)) + 0.5
    P[::7, ::5] = 0
    thin = np.where(RNG.random(P.shape) < 0.05, 1.0, 0.0)
    operands = {"A": ms.tensor(thin, "CSR"), "M": ms.tensor((P > 0).astype(float), "CSR"), "P": P}
    text = """def f(double(N,K) A, double(N,K) M, double(N,K) P) -> (y) {
      L(i,j) = log(P(i,j))
      y(i) +=! A(i,j) * M(i,j) * L(i,j)
    }"""
    found, written = (ms.compile(text, tensors=operands, optimize=mode)(**operands) for mode in ("auto", "off"))
    assert np.isfinite(written).all()
    np.testing.assert_allclose(found, written, rtol=1e-12)


def test_the_target_may_be_among_the_operands() -> None:
    operands = operands_of("= A(i,j) * M(i,j) * B(j,k)", "CSR", "float64")
    Y = F.astype(float)
    found = ms.evaluate("Y(i,k) += A(i,j) * M(i,j) * B(j,k)", tensors={**operands, "Y": Y}, out=Y)
    np.testing.assert_array_equal(found, F + (A * M) @ B)


def test_numbers_in_halves_are_copied_wide() -> None:
    """4,000 ones in a row would stop at 2,048 in f16."""
    operands = {
        "A": ms.tensor(np.ones((40, 4000), np.float16), "CSR"),
        "B": ms.tensor(np.ones((4000, 16), np.float16), "CSR"),
        "w": np.ones(16, np.float16),
    }
    kernel = ms.compile("Y(i,k) = A(i,j) * B(j,k) * w(k)", tensors=operands, out="dense")
    np.testing.assert_array_equal(np.asarray(kernel(**operands), float), np.full((40, 16), 4000.0))


def test_no_copy_under_a_semiring() -> None:
    """Infinity is what is missing there, and no array has it."""
    operands = operands_of(MTTKRP, "CSR", "int64")
    for name in ("min_max", "min_plus"):
        kernel = ms.compile(MTTKRP, tensors=operands, semiring=name)
        assert isinstance(kernel, Kernel)
        written = ms.compile(MTTKRP, tensors=operands, semiring=name, optimize="off")
        assert not any(part.is_array for part in (kernel.spec.rewriting.parts if kernel.spec.rewriting else ()))
        left, right = kernel(**operands), written(**operands)
        np.testing.assert_array_equal(np.asarray(left.to_numpy()), np.asarray(right.to_numpy()))


def test_each_alternative_with_copies_computes_the_same() -> None:
    operands = operands_of(MTTKRP, "CSR", "int64")
    kernel = ms.compile(MTTKRP, tensors=operands, out="dense")
    assert isinstance(kernel, Kernel)
    for way in kernel.alternatives(**operands):
        found = Kernel(replace(kernel.spec, rewriting=way.spec.rewriting))
        np.testing.assert_array_equal(found(**operands), TEXTS[MTTKRP]())


def test_statements_share_one_copy() -> None:
    text = """
        def f(f64(N,N) A) -> (s, t) {
          s = A(i,j) * A(j,k) * A(k,i)
          t(i) = A(i,j) * A(j,k) * A(k,i)
        }
    """
    value = drawn(500, 500, share=0.04).astype(float)
    kernel: Any = ms.compile(text, A=ms.tensor(value, "CSR"))
    explained = kernel.explain()
    assert "s.part is made once, and read by t too" in explained
    assert explained.count("s.part(i,j) += A(i,j)") == 1
    assert "s.part: f64[?,?] dense (result)" in explained
    whole, each = kernel(A=ms.tensor(value, "CSR"))
    expected = np.einsum("ij,jk,ki->i", value, value, value, optimize=True)
    np.testing.assert_array_equal(each, expected)
    assert whole == expected.sum()
