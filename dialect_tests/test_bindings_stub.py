"""The stub of MLIR's `ir` says only what the bindings have."""

from __future__ import annotations

from mlir_sparse._mlir import bindings
from mlir_sparse._mlir.needed_names import missing_names, needed_names


def test_classes_have_what_the_stub_says() -> None:
    assert len(needed_names()) > 30
    assert missing_names() == []


def test_operations_of_their_own_class_answer_as_plain_ones_do() -> None:
    view = bindings().ir.OpView
    assert {one for one in needed_names()["Operation"] - {"block", "create"} if not hasattr(view, one)} == set()


def test_lists_of_parts_have_a_length_and_items() -> None:
    ir = bindings().ir
    for name in ("OpOperandList", "OpResultList", "RegionSequence", "BlockArgumentList", "OperationList", "BlockList"):
        assert hasattr(getattr(ir, name), "__len__"), name
        assert hasattr(getattr(ir, name), "__getitem__"), name
