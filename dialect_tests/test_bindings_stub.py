"""The stub of MLIR's `ir` says only what the bindings have."""

from __future__ import annotations

from mlir_sparse._mlir import bindings, mlir_context, parse_module
from mlir_sparse._mlir.needed_names import missing_names, needed_names


def test_classes_have_what_the_stub_says() -> None:
    assert len(needed_names()) > 30
    assert missing_names() == []


def test_operations_of_their_own_class_answer_as_plain_ones_do() -> None:
    view = bindings().ir.OpView
    assert {one for one in needed_names()["Operation"] - {"block", "create"} if not hasattr(view, one)} == set()


def test_lists_of_parts_have_a_length_and_items() -> None:
    """Asked of objects: classes of some bindings show neither method."""
    with mlir_context():
        module = parse_module("func.func @f(%a: i32) -> i32 { %0 = arith.addi %a, %a : i32 return %0 : i32 }")
        function = module.body.operations[0].operation
        block = function.regions[0].blocks[0]
        op = block.operations[0].operation
        for parts, count in (
            (op.operands, 2),
            (op.results, 1),
            (function.regions, 1),
            (block.arguments, 1),
            (block.operations, 2),
            (function.regions[0].blocks, 1),
        ):
            assert len(parts) == len(list(parts)) == count, type(parts)
            assert parts[count - 1] == list(parts)[-1], type(parts)
