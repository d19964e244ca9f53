"""Rewritten statements compute what the statements as written do, whatever their sketches say."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests import crossing
from dialect_tests.statement_cases import RandomStatement, lied, matrix, random_statement, rewritten
from mlir_sparse.compile import Kernel
from mlir_sparse.plan.algebra.choose_rewriting import choose_rewriting
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts
from mlir_sparse.runtime import operand_check
from mlir_sparse.spec import Part, Rewriting
from mlir_sparse.tensor.sketch_of import sketch_of


def ways(case: RandomStatement, *, lies: bool, seed: int) -> tuple[Kernel, Kernel | None]:
    """Returns the kernel of the statement as written, and of the cheapest other way if it has one."""
    kernel = ms.compile(case.text, tensors=case.operands, out="dense", optimize="off")
    assert isinstance(kernel, Kernel)
    values = {name: operand_check.value_of(name, one) for name, one in case.operands.items()}
    facts = {name: TensorFacts(operand_check.type_of(one), sketch_of(one)) for name, one in values.items()}
    facts = lied(facts, random.Random(seed)) if lies else facts
    found = choose_rewriting(kernel.spec.explicit, facts, always=True, into_array=True)
    return kernel, None if found is None else Kernel(replace(kernel.spec, rewriting=found))


@pytest.mark.parametrize("seed", crossing.seeds(24))
def test_random_statements(seed: int) -> None:
    case = random_statement(seed, ("int64", "int32", "int8")[seed % 3])
    written, other = ways(case, lies=seed % 2 == 1, seed=seed)
    if other is not None:
        np.testing.assert_array_equal(other(**case.operands), written(**case.operands), err_msg=case.text)


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64", "c64", "c128"])
def test_parts_are_made_in_the_type_of_the_statement(dtype: str) -> None:
    rng = np.random.default_rng(0)
    numpy = ms.DType(dtype).numpy
    A, B = (ms.tensor(np.where(rng.random((9, 9)) < 0.4, rng.integers(1, 4, (9, 9)), 0).astype(numpy)) for _ in "AB")
    x = rng.integers(1, 4, 9).astype(numpy)
    case = RandomStatement("y(i) = A(i,j) * B(j,k) * x(k)", {"A": A, "B": B, "x": x})
    written, other = ways(case, lies=False, seed=0)
    assert other is not None
    assert other.output.dtype == written.output.dtype
    np.testing.assert_array_equal(other(**case.operands), written(**case.operands))


@pytest.mark.parametrize("out", ["CSR", "CSC", "COO", "DCSR"])
def test_sparse_results(out: str) -> None:
    rng = np.random.default_rng(1)
    made = {n: np.where(rng.random((7, 7)) < 0.3, rng.integers(1, 4, (7, 7)), 0).astype(float) for n in "ABC"}
    operands = {name: ms.tensor(array) for name, array in made.items()}
    kernel = ms.compile("D(i,l) = A(i,j) * B(j,k) * C(k,l)", tensors=operands, out=out, optimize="off")
    large, empty = matrix(20_000, 20_000, 20).sketch, matrix(20_000, 20_000, 0.001).sketch
    kinds = {name: operand_check.type_of(one) for name, one in operands.items()}
    facts = {name: TensorFacts(kind, empty if name == "C" else large) for name, kind in kinds.items()}
    found = choose_rewriting(kernel.spec.explicit, facts, always=True)
    assert found is not None
    assert found.parts
    result = Kernel(replace(kernel.spec, rewriting=found))(**operands)
    assert result.encoding == kernel(**operands).encoding
    np.testing.assert_array_equal(result.to_numpy(), made["A"] @ made["B"] @ made["C"])


def test_static_extents_reach_renamed_variables() -> None:
    """A Gram matrix needs two names for one variable of the text."""
    rng = np.random.default_rng(2)
    A = np.where(rng.random((8, 6)) < 0.5, rng.integers(1, 4, (8, 6)), 0).astype(float)
    x = rng.integers(1, 4, 6).astype(float)
    text = "s = sum(i : sum(j : A(i,j) * x(j)) * sum(j : A(i,j) * x(j)))"
    kernel = ms.compile(text, A="f64[8,6] CSR", x="f64[6]")
    facts = {"A": TensorFacts(kernel.spec.type_of("A"), sketch_of(ms.tensor(A)))}
    facts["x"] = TensorFacts(kernel.spec.type_of("x"), sketch_of(x))
    found = choose_rewriting(kernel.spec.explicit, facts, always=True)
    assert found is not None
    assert Kernel(replace(kernel.spec, rewriting=found))(A=ms.tensor(A), x=x) == ((A @ x) ** 2).sum()


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_parts_of_halves_are_summed_wide(dtype: str) -> None:
    """Parts accumulate, even where what reads them does not: 3,000 terms of 1 would stop at 2,048 in f16."""
    numpy = ms.DType(dtype).numpy
    operands = {"A": ms.tensor(np.ones((2, 2), numpy)), "B": np.ones((2, 3000), numpy), "d": np.ones(2, numpy)}
    kernel = ms.compile("y(i) = sum(k : B(i,k)) * d(i) * sum(j : A(i,j))", tensors=operands, optimize="off")
    values = {name: operand_check.value_of(name, one) for name, one in operands.items()}
    facts = {name: TensorFacts(operand_check.type_of(one), sketch_of(one)) for name, one in values.items()}
    found = choose_rewriting(kernel.spec.explicit, facts, always=True)
    assert found is not None
    result = Kernel(replace(kernel.spec, rewriting=found))(**operands)
    np.testing.assert_array_equal(result, np.full(2, 6000, numpy))


@pytest.mark.parametrize(
    "text",
    [
        "y(i) = sum(j : A(i,j) * x(j) * z(j)) < sum(j : B(i,j) * x(j) * z(j))",
        "y(i) = z(i) * (sum(j : A(i,j) * x(j) * z(j)) & sum(j : B(i,j) * x(j) * z(j)))",
        "y(i) = where(sum(j : A(i,j) * x(j) * z(j)), n(i), 2 * n(i))",
        "y(i) = count(j : A(i,j) * sum(k : B(j,k) * x(k) * z(k)))",
        "y(i) = argmax(j : A(i,j) * sum(k : B(j,k) * x(k) * z(k)))",
        "y(i) = n(i) * isnan(sum(j : A(i,j) * x(j) * z(j)))",
        "y(i) = abs(sum(j : A(i,j) * x(j) * c(j))) + abs(sum(j : B(i,j) * x(j) * c(j)))",
    ],
)
def test_parts_have_the_type_of_the_sums_in_what_is_compared(text: str) -> None:
    """A part of 0.75 is no truth value, nor the integer that a count is."""
    rng = np.random.default_rng(3)
    made = {name: np.where(rng.random((6, 6)) < 0.5, rng.integers(-3, 4, (6, 6)) / 4, 0) for name in "AB"}
    vectors = {name: rng.integers(-3, 4, 6) / 4 for name in "xz"}
    others = {"n": rng.integers(1, 4, 6), "c": rng.integers(1, 4, 6) + 2j}
    given = {**{name: ms.tensor(array) for name, array in made.items()}, **vectors, **others}
    case = RandomStatement(text, {name: given[name] for name in ms.parse(text).inputs})
    written, other = ways(case, lies=False, seed=0)
    assert other is not None
    assert other.spec.rewriting is not None
    assert other.spec.rewriting.parts
    np.testing.assert_array_equal(other(**case.operands), written(**case.operands))


def test_functions_of_sparse_tensors_and_others_have_all_their_variables() -> None:
    """`remainder(D(k,j), E(k,i))` is zero where D has no entry; i is its variable all the same, which nothing sums."""
    rng = np.random.default_rng(4)
    D, E = rng.integers(0, 3, (5, 6)) * 7, rng.integers(1, 9, (5, 4))
    a = rng.integers(1, 4, 6)
    operands = {"D": ms.tensor(D), "E": E, "a": a}
    written, other = ways(RandomStatement("y(i) = a(j) * remainder(D(k,j), E(k,i))", operands), lies=False, seed=0)
    assert other is not None
    want = (a[None, None, :] * (D[:, None, :] % E[:, :, None])).sum(axis=(0, 2))
    np.testing.assert_array_equal(written(**operands), want)
    np.testing.assert_array_equal(other(**operands), want)


@pytest.mark.parametrize(
    "text",
    [
        "y(i) = x(i) * sum(k : max(j : A(i,j) * B(j,k)) * x(k))",
        "y = max(j : B(j,k) * A(j,i)) * x(i) * x(k)",
        "y(i) = sqrt(A(i,j) * x(k)) * x(j) * x(k)",
    ],
)
def test_variables_inside_of_functions(text: str) -> None:
    rng = np.random.default_rng(2)
    A, B = (
        ms.tensor(np.where(rng.random((8, 8)) < 0.4, rng.integers(1, 4, (8, 8)) ** 2, 0).astype(float)) for _ in "AB"
    )
    operands = {"A": A, "B": B, "x": rng.integers(1, 4, 8).astype(float) ** 2}
    case = RandomStatement(text, {name: one for name, one in operands.items() if f"{name}(" in text})
    written, other = ways(case, lies=False, seed=0)
    assert other is not None
    np.testing.assert_array_equal(other(**case.operands), written(**case.operands))


@pytest.mark.parametrize("extent", [0, 1])
@pytest.mark.parametrize(
    "text", ["y(i) = A(i,j) * B(j,k) * x(k)", "s = A(i,j) * A(j,k) * A(k,i)", "y(i) = (A(i,j) + B(i,j)) * x(j) * x(i)"]
)
def test_extents_that_sketches_lie_about(extent: int, text: str) -> None:
    operands = {"A": ms.tensor(np.ones((extent, extent))), "B": ms.tensor(np.ones((extent, extent)), "COO")}
    case = RandomStatement(text, {n: ({"x": np.ones(extent)} | operands)[n] for n in ms.parse(text).inputs})
    for seed in range(4):
        written, other = ways(case, lies=True, seed=seed)
        assert other is not None
        np.testing.assert_array_equal(other(**case.operands), written(**case.operands))


def test_no_estimate_leaves_the_range_of_numbers() -> None:
    facts = matrix(1000, 10**60, 5)
    assert rewritten("s = " + " * ".join(f"A(i{place},j)" for place in range(8)), {"A": facts}, always=True) is not None


@pytest.mark.parametrize("text", ["s = A(i,j) * A(i,j) * B(i,k) * C(k,j)", "s = A(i,j) * A(j,k) * A(k,i) * A(i,j)"])
def test_a_mask_that_is_there_twice_counts_twice(text: str) -> None:
    rng = np.random.default_rng(5)
    made = {name: ms.tensor(rng.integers(0, 2, (6, 6)) * rng.integers(-3, 4, (6, 6))) for name in "ABC"}
    case = RandomStatement(text, {name: made[name] for name in ms.parse(text).inputs})
    for lies in (False, True):
        written, other = ways(case, lies=lies, seed=1)
        assert other is not None
        assert other(**case.operands) == written(**case.operands)


def test_parts_have_zeros_where_rows_are_empty() -> None:
    """Beside what is not finite these zeros give NaN where the statement as written skips it, and nowhere else."""
    rng = np.random.default_rng(6)
    A = rng.integers(1, 4, (6, 6)) * (rng.random((6, 6)) < 0.6).astype(float)
    A[2] = 0
    z, x = np.array([1, np.inf, np.inf, np.nan, 2, 3]), np.arange(1.0, 7.0)
    operands = {"A": ms.tensor(A), "z": z, "x": x}
    kernel = ms.compile("y(i) = z(i) * A(i,j) * A(i,k) * x(k)", tensors=operands, optimize="off")
    assert isinstance(kernel, Kernel)
    p, q, rest = (
        ms.parse(text)
        for text in ("p(i) = sum(j : A(i,j))", "q(i) = sum(k : A(i,k) * x(k))", "y(i) = z(i) * p(i) * q(i)")
    )
    found = Rewriting((Part(p.target, p.value), Part(q.target, q.value)), rest.value)
    with np.errstate(invalid="ignore"):
        dense = z * A.sum(axis=1) * (A @ x)
    np.testing.assert_array_equal(Kernel(replace(kernel.spec, rewriting=found))(**operands), dense)
    np.testing.assert_array_equal(np.delete(kernel(**operands), 2), np.delete(dense, 2))
    assert kernel(**operands)[2] == 0
