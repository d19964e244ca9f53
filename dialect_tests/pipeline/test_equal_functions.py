"""Functions that are the same but for their names: which those are, and that each computes what it did."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from dialect_tests.conditions import needs_objects
from mlir_sparse import _native
from mlir_sparse._mlir import mlir_context, parse_module
from mlir_sparse.pipeline.equal_functions import erase_equal_functions
from mlir_sparse.pipeline.run_passes import run_here

FUNCTION = """func.func @{name}({argument}: memref<?xf64>, %i: index) -> memref<?xf64> attributes {{{attributes}}} {{
  %0 = memref.load {argument}[%i] : memref<?xf64>
  %1 = {operation} %0, %0 : f64
  memref.store %1, {argument}[%i] : memref<?xf64>
  return {argument} : memref<?xf64>
}}
"""
INTERFACE = "llvm.emit_c_interface"


def _function(name: str, argument: str = "%a", operation: str = "arith.addf", attributes: str = INTERFACE) -> str:
    return FUNCTION.format(name=name, argument=argument, operation=operation, attributes=attributes)


@pytest.mark.parametrize(
    ("other", "twins"),
    [
        (_function("g"), {"g": "f"}),
        (_function("g", argument="%other"), {"g": "f"}),
        (_function("g", operation="arith.mulf"), {}),
        (_function("g", attributes=f"{INTERFACE}, rows = 1 : index"), {}),
        (_function("g", attributes=""), {}),
        ("func.func private @g(memref<?xf64>, index) -> memref<?xf64>", {}),
        (_function("g") + _function("h", operation="arith.mulf") + _function("k"), {"g": "f", "k": "f"}),
    ],
)
def test_functions_that_are_the_same(other: str, twins: dict[str, str]) -> None:
    with mlir_context():
        module = parse_module(_function("f") + other)
        assert erase_equal_functions(module) == twins
        left = str(module)
    for name in ("f", "g", "h", "k"):
        assert (f"@{name}(" in left) == (f"@{name}(" in _function("f") + other and name not in twins)


def _code(text: str, functions: tuple[str, ...]) -> bytes:
    outcome = run_here(text, "builtin.module(expand-strided-metadata,convert-to-llvm)", functions=functions)
    assert outcome.module is not None, outcome.diagnostics
    return outcome.module


@needs_objects
def test_each_name_leads_to_code() -> None:
    text = _function("f") + _function("g") + _function("h", operation="arith.mulf")
    code = _native.Code(_code(text, ("f", "g", "h")), [f"_mlir__mlir_ciface_{name}" for name in "fgh"])
    assert len(set(code.addresses.values())) == 3


@pytest.mark.parametrize("stored", ["CSR", "DCSR", "COO"])
def test_sums_of_many_in_steps_of_two(stored: str) -> None:
    rng = np.random.default_rng(0)
    operands = {n: ms.tensor(scipy.sparse.random_array((40, 30), density=0.1, rng=rng), stored) for n in "ABCD"}
    kernel = ms.compile("S(i,j) = A(i,j) + B(i,j) + C(i,j) + D(i,j)", tensors=operands, out=stored)
    expected = sum(one.to_numpy() for one in operands.values())
    np.testing.assert_allclose(kernel(**operands).to_numpy(), expected)


def test_differences_are_not_sums() -> None:
    rng = np.random.default_rng(1)
    operands = {n: ms.tensor(scipy.sparse.random_array((40, 30), density=0.1, rng=rng), "CSR") for n in "ABC"}
    A, B, C = (one.to_numpy() for one in operands.values())
    for text, expected in (
        ("S(i,j) = A(i,j) + B(i,j) - C(i,j)", A + B - C),
        ("S(i,j) = A(i,j) - B(i,j) + C(i,j)", A - B + C),
        ("S(i,j) = A(i,j) - B(i,j) - C(i,j)", A - B - C),
    ):
        np.testing.assert_allclose(ms.evaluate(text, tensors=operands, out="CSR").to_numpy(), expected)
