"""The stub of MLIR's `ir` says only what the bindings have."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import mlir_sparse._mlir
from mlir_sparse._mlir import bindings

STUB = Path(mlir_sparse._mlir.__file__).with_name("ir.pyi")
CLASSES = {
    node.name: node
    for node in ast.parse(STUB.read_text()).body
    if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
}


def _members(name: str) -> set[str]:
    """Returns the names that a class has in the stub, those of its own bases there included."""
    found = set()
    for node in CLASSES[name].body:
        match node:
            case ast.FunctionDef(name=member):
                found.add(member)
            case ast.Assign(targets=[ast.Name(id=member)]) | ast.AnnAssign(target=ast.Name(id=member)):
                found.add(member)
    return found


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_has_what_its_stub_says(name: str) -> None:
    found = getattr(bindings().ir, name)
    # Python iterates over what has items by number.
    assert {one for one in _members(name) - {"__iter__"} if one not in dir(found)} == set()


def test_operations_of_their_own_class_answer_as_plain_ones_do() -> None:
    view = bindings().ir.OpView
    assert {one for one in _members("Operation") - {"block", "create"} if not hasattr(view, one)} == set()


def test_lists_of_parts_have_a_length_and_items() -> None:
    ir = bindings().ir
    for name in ("OpOperandList", "OpResultList", "RegionSequence", "BlockArgumentList", "OperationList", "BlockList"):
        assert hasattr(getattr(ir, name), "__len__"), name
        assert hasattr(getattr(ir, name), "__getitem__"), name
