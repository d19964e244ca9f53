"""Variants of the text's layout: blanks, lines, comments, brackets."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np

import mlir_sparse as ms
from dialect_tests.calls import Call, Results
from fuzzing.variants.variant import NotApplicableError, Variant
from mlir_sparse.notation import Assignment
from mlir_sparse.text.lexer import tokenize
from mlir_sparse.text.source_text import Source

__all__ = ["VARIANTS"]

_BETWEEN = (" ", " ", "\n", "\t", "  \r\n ", " // x(i) = ] \n", "//\n", "\u00a0", "\u2003")


def _laid_out(call: Call, random: Random) -> Results:
    program = call.program
    if not isinstance(program, Assignment) or len(call.tensors) != len(call.operands):
        raise NotApplicableError
    texts = [token.text for token in tokenize(Source(str(program), "notation"))]
    # A comment right behind `/` would begin with it.
    other = "".join(text + " " * (text == "/") + random.choice(_BETWEEN) for text in texts)
    # `max =` and `max=` are two readings of two tokens only where a target may end.
    assert ms.parse(other) == program, f"{other!r} is not read as {program}"
    return replace(call, program=other).results()


def _as_python_numbers(call: Call, random: Random) -> Results:
    """Makes the call with Python's lists for its dense operands, where these have a type of their own."""
    plain = {
        n: v for n, v in call.tensors.items() if isinstance(v, np.ndarray) and v.dtype.name in ("float64", "int64")
    }
    fitting = {name: value.tolist() for name, value in plain.items() if value.size}
    if not fitting:
        raise NotApplicableError
    return replace(call, operands={**call.operands, **fitting}).results()


VARIANTS = (
    Variant("laid out otherwise", _laid_out, same_bits=True),
    Variant("lists of numbers", _as_python_numbers, same_bits=True),
)
