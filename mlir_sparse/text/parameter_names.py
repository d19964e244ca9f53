"""The names of functions' parameters, which MLIR forgets when it parses a module."""

from __future__ import annotations

import keyword
import re

from mlir_sparse.text.lexer import is_name

__all__ = ["FUNCTION", "named_parameters", "parameter_names"]

_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*')
FUNCTION = re.compile(r'\s*(?:func|llvm|gpu)\.func\b[^@]*@(?P<name>"[^"]*"|[\w.$-]+)')
"""The head of a function in a line of a module's text."""

_OPENED, _CLOSED = "(<[{", ")>]}"


def parameter_names(text: str, function: str, count: int) -> tuple[str, ...]:
    """Returns the names of a function's parameters in a module's text; arg0 and so on where it names none.

    Those that are words of Python's end in _.

    >>> parameter_names("func.func @spmv(%A: tensor<?x?xf64>, %x: tensor<?xf64>) { return }", "spmv", 2)
    ('A', 'x')
    """
    plain = _COMMENT.sub(lambda found: found[0] if found[0].startswith('"') else "", text)
    head = re.search(rf'func\.func\s+(?:public\s+)?@"?{re.escape(function)}"?\s*\(', plain)
    found = [] if head is None else _names(plain, head.end())
    names = [f"{name}_" if keyword.iskeyword(name) else name for name in found]
    known = len(names) == count and len(set(names)) == count and all(map(is_name, names))
    return tuple(names) if known else tuple(f"arg{number}" for number in range(count))


def named_parameters(text: str) -> dict[str, tuple[str, ...]]:
    """Returns the names of the parameters of all functions in a module's text, by symbol.

    >>> named_parameters("func.func @spmv(%A: tensor<?x?xf64>, %x: tensor<?xf64>) { return }")
    {'spmv': ('A', 'x')}
    """
    plain = _COMMENT.sub(lambda found: found[0] if found[0].startswith('"') else "", text)
    heads = re.finditer(rf"{FUNCTION.pattern}\s*\(", plain)
    return {head["name"].strip('"'): tuple(_names(plain, head.end())) for head in heads}


def _names(text: str, start: int) -> list[str]:
    """Returns what stands behind each % at the top of a list that is open."""
    names, depth, at = [], 0, start
    while at < len(text) and depth >= 0:
        character = text[at]
        if text.startswith("->", at):  # of a map: it closes nothing
            at += 1
        elif character in _OPENED:
            depth += 1
        elif character in _CLOSED:
            depth -= 1
        elif character == "%" and depth == 0:
            names.append(re.match(r"[\w$.-]*", text[at + 1 :])[0])  # type: ignore[index]  # it may be empty
        at += 1
    return names
