"""The ways out that messages name, read out of the package's sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import mlir_sparse

__all__ = ["Hint", "calls_of", "messages"]

PACKAGE = Path(mlir_sparse.__file__).parent
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_CALL = re.compile(r"(?<![\w.{])(?:ms|mlir_sparse|[A-Za-z])\.[A-Za-z_][\w.]*")


@dataclass(frozen=True, slots=True)
class Hint:
    """A text of the sources, with the name `_` for each value that it is filled with.

    Args:
        text: what it says.
        place: the file and line.
    """

    text: str
    place: str


def messages() -> Iterator[Hint]:
    """Yields each text of the package that is no docstring and no name."""
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        left_out = {id(value) for node in ast.walk(tree) for value in _parts_and_docstring(node)}
        for node in ast.walk(tree):
            if id(node) in left_out:
                continue
            if isinstance(node, ast.JoinedStr):
                text = "".join(_text(part) for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            else:
                continue
            if " " in text:
                yield Hint(text, f"{path.relative_to(PACKAGE.parent)}:{node.lineno}")


def _parts_and_docstring(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.JoinedStr):
        return list(node.values)
    if isinstance(node, _DOCUMENTED) and node.body and isinstance(node.body[0], ast.Expr):
        return [node.body[0].value]
    return []


def _text(part: ast.expr) -> str:
    return str(part.value) if isinstance(part, ast.Constant) else "_"


def calls_of(text: str) -> Iterator[tuple[str, ast.Call | None]]:
    """Yields each dotted name of a text that begins with the package or one letter, with its call if it is called."""
    for found in _CALL.finditer(text):
        name = found[0].rstrip(".")
        yield name, _call(text, found.start(), found.start() + len(name))


def _call(text: str, start: int, end: int) -> ast.Call | None:
    """Returns the call that a name at a place begins, up to the parenthesis that closes it."""
    if text[end : end + 1] != "(":
        return None
    depth = 0
    for at in range(end, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if not depth:
            node = ast.parse(text[start : at + 1], mode="eval").body
            assert isinstance(node, ast.Call)
            return node
    raise AssertionError(f"a call without an end in {text}")
