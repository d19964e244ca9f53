"""Rewritten statements compute what the statements as written do, whatever their sketches say."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests import crossing
from dialect_tests.statement_cases import RandomStatement, lied, matrix, random_statement
from mlir_sparse.compile import Kernel
from mlir_sparse.plan.algebra.choose_rewriting import choose_rewriting
from mlir_sparse.plan.algebra.part_store import TensorFacts
from mlir_sparse.runtime import operand_check
from mlir_sparse.tensor.sketch_of import sketch_of


def ways(case: RandomStatement, *, lies: bool, seed: int) -> tuple[Kernel, Kernel | None]:
    """Returns the kernel of the statement as written, and of the cheapest other way if it has one."""
    kernel = ms.compile(case.text, tensors=case.operands, out="dense", optimize="off")
    assert isinstance(kernel, Kernel)
    values = {name: operand_check.value_of(name, one) for name, one in case.operands.items()}
    facts = {name: TensorFacts(operand_check.type_of(one), sketch_of(one)) for name, one in values.items()}
    found = choose_rewriting(kernel.spec.explicit, lied(facts, random.Random(seed)) if lies else facts, always=True)
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
