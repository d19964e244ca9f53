"""Plans as `linalg.generic` on encoded tensors: verified, and what MLIR reads back."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from dialect_tests.crossing import crossed
from dialect_tests.generated import FAMILY, needs_order, places
from mlir_sparse import lower, plan
from mlir_sparse._mlir import mlir_context, parse_module
from mlir_sparse.notation import reads

CSR, MATRIX, VECTOR = "f64[?,?] CSR", "f64[?,?]", "f64[?]"


def lowered(text: str, out: str | None = None, **types: str) -> lower.LoweredProgram:
    return lower.lower(plan.plan(ms.compile(text, out=out, tensors=types, optimize="off").spec))


@crossed(
    {"text": lambda text: len(ms.parse(text).inputs), "dtype": lambda dtype: dtype.rstrip("0123456789")},
    text=[text for text in FAMILY if not needs_order(ms.parse(text))],
    dtype=["i8", "i64", "f16", "bf16", "f32", "f64", "c64", "c128"],
)
def test_mlir_reads_back_and_verifies_every_kernel(text: str, dtype: str) -> None:
    assignment = ms.parse(text)
    nodes = [assignment.target, *reads(assignment.value)]
    ranks = {node.tensor: len(node.subscripts) for node in nodes}
    names = ("", "SparseVector", "CSR", "CSF")
    types = {}
    for name in assignment.inputs:
        storage = "" if assignment.op.reads_target else names[ranks[name]]
        kind = "i32" if name in places(assignment) else dtype
        types[name] = f"{kind}[{','.join('?' * ranks[name])}] {storage}".strip()
    made = lower.lower(plan.plan(ms.compile(text, tensors=types, optimize="off").spec))
    with mlir_context():
        assert str(parse_module(made.text)) == made.text
        module = parse_module(made.bytecode)
        assert module.operation.verify()
        assert str(module) == made.text
    started = sum(function.step.start is not None for function in made.functions)
    assert made.text.count("linalg.generic") == len(made.functions) + started


def test_functions_have_c_interfaces_and_dynamic_shapes() -> None:
    text = lowered("C(i,j) = A(i,k) * B(k,j)", A=CSR, B=CSR).text
    assert text.count("llvm.emit_c_interface") == 1
    assert "tensor<?x?xf64, #sparse" in text
    assert not re.search(r"tensor<\d", text)


def test_loops_are_in_the_order_planned() -> None:
    text = lowered("C(i,j) = A(i,k) * B(k,j)", A=CSR, B=CSR).text
    assert 'iterator_types = ["parallel", "reduction", "parallel"]' in text
    assert "affine_map<(d0, d1, d2) -> (d0, d1)>" in text
    assert "sorted = true" in text


def test_blocked_loops_are_left_to_the_sparsifier() -> None:
    assert "sorted" not in lowered("y(i) = A(i,j) * x(j)", A="f64[?,?] BSR(2, 2)", x=VECTOR).text


def test_a_dense_result_starts_from_the_identity() -> None:
    text = lowered("y(i) = A(i,j) * x(j)", A=CSR, x=VECTOR).text
    assert "linalg.fill" in text
    assert "arith.constant 0.000000e+00 : f64" in text
    assert "0xFFF0000000000000" in lowered("y(i) = max(j : A(i,j))", A=MATRIX).text


def test_subtraction_is_one_operation() -> None:
    text = lowered("y(i) = b(i) - A(i,j) * x(j)", A=CSR, x=VECTOR, b=VECTOR).text
    assert text.count("arith.subf") == 1
    assert "arith.negf" not in text


def test_a_sparse_result_has_the_extents_of_its_operands() -> None:
    text = lowered("C(i,j) = A(i,k) * B(k,j)", A=CSR, B=CSR).text
    assert text.count("tensor.dim") == 2
    assert "tensor.empty" in text


def test_steps_become_functions_in_order() -> None:
    made = lowered("y(i) = A(i,j) * (B(j,k) * x(k))", A=CSR, B=CSR, x=VECTOR)
    assert [function.name for function in made.functions] == ["kernel_0", "kernel_1"]
    assert [function.step.result for function in made.functions] == ["t.1", "y"]
    assert [tuple(access.tensor for access in function.operands) for function in made.functions] == [
        ("B", "x"),
        ("A", "t.1"),
    ]


def test_the_same_operand_twice_is_one_argument() -> None:
    (function,) = lowered("C(i,j) = A(i,j) * A(i,j)", A=CSR).functions
    assert len(function.operands) == 1


def test_casts_follow_numpy() -> None:
    assert "arith.extf" in lowered("y(i) = A(i,j) * x(j)", A="f32[?,?] CSR", x=VECTOR).text
    assert "arith.sitofp" in lowered("y(i) = A(i,j) * x(j)", A="i32[?,?] CSR", x=VECTOR).text
    assert "arith.extsi" in lowered("y(i) = A(i,j) * x(j)", A="i8[?,?] CSR", x="i32[?]").text
    assert "complex.create" in lowered("y(i) = A(i,j) * x(j)", A=MATRIX, x="c128[?]").text


def test_text_is_deterministic() -> None:
    types = {"A": CSR, "B": "f64[?,?] CSC", "D": "f64[?,?] DCSR"}
    first, second = (lowered("C(i,j) = A(i,j) + B(i,j) * D(i,j)", "CSR", **types) for _ in range(2))
    assert first.text == second.text


@pytest.mark.parametrize("dtype", ["i8", "i64", "bool", "c64", "c128", "f64"])
@pytest.mark.parametrize("text", ["C(i,j) = A(i,j)", "C(i,j) = 1 * A(i,j)"])
def test_a_copy_of_any_type_reads_entries_only(dtype: str, text: str) -> None:
    """MLIR erases what only copies, which is no arithmetic that cancels its operand."""
    kernel = ms.compile(text, out="CSR", tensors={"A": f"{dtype}[?,?] CSR"}, optimize="off")
    assert "convert" not in kernel.explain().partition("runs on")[0].replace("with A converted", "")


def test_copies_are_their_own() -> None:
    """No shape is too large for a copy, and what is written to one is not read in the other."""
    entries = scipy.sparse.coo_array(([3, 4], ([0, 1_999_999], [1, 5])), shape=(2_000_000, 2_000_000))
    A = ms.tensor(entries.tocsr())
    C = ms.evaluate("C(i,j) = A(i,j)", out="CSR", A=A)
    assert C.storage.values.tolist() == [3, 4]
    assert not np.shares_memory(C.storage.values, A.storage.values)
