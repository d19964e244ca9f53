"""The text of a tensor comprehension to its value (Vasilache et al. 2018, section 3).

    comprehension ::= `def` name `(` parameters? `)` `->` `(` outputs `)` `{` (assignment `;`?)* `}`
    parameters    ::= parameter (`,` parameter)*
    parameter     ::= type (`(` size (`,` size)* `)`)? name
    outputs       ::= output (`,` output)*
    output        ::= name | parameter
    size          ::= name | integer

Comments start with `#` or `//`. Functions also have the names of C's math library (`fmaxf`, `expf`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mlir_sparse.dtypes import DType
from mlir_sparse.errors import NotationSyntaxError
from mlir_sparse.notation.ast import Assignment, AssignOp
from mlir_sparse.notation.comprehension import ELEMENT_TYPES, Comprehension, Parameter
from mlir_sparse.notation.index_values import with_index_vectors
from mlir_sparse.notation.notation_parser import parse_assignment
from mlir_sparse.notation.numbers import integer_value
from mlir_sparse.notation.operator import Monoid, Operator
from mlir_sparse.notation.scalar_functions import FUNCTIONS
from mlir_sparse.process.first_use import import_at_first_call
from mlir_sparse.text.cursor import Cursor
from mlir_sparse.text.lexer import TokenKind
from mlir_sparse.text.source_text import Source

if TYPE_CHECKING:
    from mlir_sparse.notation.check_comprehension import check_comprehension
else:
    import_at_first_call(__name__, {"notation.check_comprehension": ("check_comprehension",)})

__all__ = ["is_comprehension", "parse_comprehension"]

# `def max= x(i)` assigns to a tensor named `def`.
_WORDS = "|".join(sorted({op.value.rstrip("=!") for op in AssignOp if op.value[0].isalpha()}))
_DEFINITION = rf"(?:\s|//[^\n]*|\#[^\n]*)*+def\s+(?!(?:{_WORDS})\s*=)\w"
# C's names; single precision adds an `f`.
_OF_C = {"fabs": "abs"} | {named: dtype for dtype in DType.NAMES for named in DType(dtype).c_names}
_CALLS = {name: known for name, known in _OF_C.items() if name not in FUNCTIONS}
_CALLS |= {f"{name}f": _CALLS.get(name, name) for name in (*FUNCTIONS, *_OF_C) if f"{name}f" not in FUNCTIONS}


def is_comprehension(text: str) -> bool:
    """Returns whether a text begins like a comprehension.

    >>> is_comprehension("def f(float(N) x) -> (y) { y(i) = x(i) }"), is_comprehension("def(i) = x(i)")
    (True, False)
    """
    return "def" in text and re.match(_DEFINITION, text) is not None


def parse_comprehension(text: str, operators: Mapping[str, Operator | Monoid] | None = None) -> Comprehension:
    """Parses a comprehension and checks it.

    Raises:
        NotationSyntaxError: at the first place where the text breaks the grammar.
        NotationError, RankError: for a definition without a meaning (see `check_comprehension`), with the place.

    >>> mv = parse_comprehension("def mv(float(M,K) A, float(K) x) -> (C) { C(i) +=! A(i,k) * x(k) }")
    >>> mv.inputs, mv.sizes
    (('A', 'x'), ('M', 'K'))
    """
    cursor = Cursor(Source(text, "comprehension"), NotationSyntaxError, comprehension=True)
    cursor.known = operators or {}
    cursor.expect("def")
    name = cursor.expect_kind(TokenKind.NAME, "a name after `def`").text
    parameters = _parameters(cursor)
    cursor.expect("->", "`->` and the outputs, as in `-> (C)`")
    outputs = _outputs(cursor)
    header = Comprehension(name, parameters, outputs, ())
    cursor.symbols, cursor.tensors = header.symbols, frozenset(header.inputs + header.results)
    cursor.rename_calls({call: known for call, known in _CALLS.items() if call not in header.inputs + header.results})
    comprehension = Comprehension(name, parameters, outputs, _statements(cursor), cursor.source)
    if not cursor.done:
        way_out = "; put each definition in a text of its own" if cursor.at("def") else ""
        cursor.fail(f"expected the end of the text, but got {cursor.token.describe()}{way_out}")
    check_comprehension(comprehension)
    return comprehension


def _parameters(cursor: Cursor) -> tuple[Parameter, ...]:
    cursor.expect("(", "`(` and the parameters")
    found: list[Parameter] = []
    if cursor.accept(")"):
        return ()
    while True:
        found.append(_parameter(cursor))
        if not cursor.accept(","):
            cursor.expect(")", "`,` or `)` after a parameter")
            return tuple(found)


def _outputs(cursor: Cursor) -> tuple[Parameter, ...]:
    cursor.expect("(", "`(` and the outputs")
    found: list[Parameter] = []
    while True:
        if cursor.peek(1).text in (",", ")") and cursor.token.kind is TokenKind.NAME:
            token = cursor.take()
            found.append(Parameter(token.text, span=token.span))
        else:
            found.append(_parameter(cursor))
        if not cursor.accept(","):
            cursor.expect(")", "`,` or `)` after an output")
            return tuple(found)


def _parameter(cursor: Cursor) -> Parameter:
    kind = cursor.expect_kind(TokenKind.NAME, "an element type and a name, as in `float(M,K) A`")
    if kind.text not in ELEMENT_TYPES:
        known = " ".join(ELEMENT_TYPES)
        cursor.fail(f"expected one of the element types {known}, but got `{kind.text}`", kind.span)
    sizes: list[str | int] = []
    if cursor.accept("("):
        while not cursor.accept(")"):
            if sizes:
                cursor.expect(",", "`,` or `)` after a size")
            sizes.append(_size(cursor))
    name = cursor.expect_kind(TokenKind.NAME, "the name of a tensor after its type")
    return Parameter(name.text, ELEMENT_TYPES[kind.text], tuple(sizes), kind.span.to(name.span))


def _size(cursor: Cursor) -> str | int:
    token = cursor.token
    if token.kind is TokenKind.INTEGER:
        cursor.take()
        return integer_value(cursor, token)
    return cursor.expect_kind(TokenKind.NAME, "a size, by name or number").text


def _statements(cursor: Cursor) -> tuple[Assignment, ...]:
    cursor.expect("{", "`{` and the statements")
    found: list[Assignment] = []
    while not cursor.accept("}"):
        if cursor.done:
            cursor.fail("expected a statement or `}`, but got the end of the text")
        found.append(with_index_vectors(parse_assignment(cursor)))
        cursor.accept(";")
    return tuple(found)
