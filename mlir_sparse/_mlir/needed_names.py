"""The names of MLIR's `ir` that this package uses: those in the stub beside this file."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from mlir_sparse._mlir.provider import bindings

__all__ = ["missing_names", "needed_names"]


def needed_names() -> Mapping[str, frozenset[str]]:
    """Returns the classes in the stub, and the members of each that it has itself."""
    stub = ast.parse(Path(__file__).with_name("ir.pyi").read_text(encoding="utf-8"))
    classes = (node for node in stub.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_"))
    return {node.name: frozenset(_members(node)) for node in classes}


def _members(node: ast.ClassDef) -> Iterator[str]:
    for one in node.body:
        match one:
            case ast.FunctionDef(name=member):
                yield member
            case ast.Assign(targets=[ast.Name(id=member)]) | ast.AnnAssign(target=ast.Name(id=member)):
                yield member


def missing_names() -> list[str]:
    """Returns what the bindings' `ir` lacks of what the stub has, as `Class` or `Class.member`."""
    missing = []
    for name, members in needed_names().items():
        found = getattr(bindings().ir, name, None)
        if found is None:
            missing.append(name)
            continue
        # Python iterates over what has items by number.
        missing += [f"{name}.{one}" for one in sorted(members - {"__iter__"}) if one not in dir(found)]
    return missing
