"""The grammar of subscripts: `i`, `2*i + k - 1`.

subscripts  ::= subscript (`,` subscript)*
subscript   ::= sum                              a linear sum of names (`linear_parser`), or
                                                 of one gather, with integers
gather      ::= name `(` subscripts `)` | name `[` subscripts `]`
"""

from __future__ import annotations

from typing import NoReturn

from mlir_sparse.notation.ast import Access, AffineSubscript, IndexVar, ReduceOp, Subscript
from mlir_sparse.notation.linear_parser import LinearParser, size
from mlir_sparse.notation.linear_subscript import as_affine, as_subscript
from mlir_sparse.notation.scalar_functions import FUNCTIONS, function_hint, is_misspelt
from mlir_sparse.notation.shifted_gathers import shifted_access
from mlir_sparse.text.cursor import Cursor
from mlir_sparse.text.identifiers import generated_name
from mlir_sparse.text.lexer import Token, TokenKind

__all__ = ["parse_subscripts"]

_CLOSING = {"(": ")", "[": "]"}


def parse_subscripts(cursor: Cursor, tensor: Token) -> tuple[Subscript, ...]:
    """Takes the subscripts of a tensor with their parentheses or brackets.

    Args:
        cursor: at `(` or `[`.
        tensor: the tensor's name, for errors.
    """
    opening = cursor.take().text
    closing = _CLOSING[opening]
    if cursor.accept(closing):
        return ()
    found = [_subscript(cursor, tensor, opening)]
    while cursor.accept(","):
        found.append(_subscript(cursor, tensor, opening))
    if not cursor.at(closing):
        _refuse_after_subscript(cursor, tensor, closing)
    cursor.take()
    return tuple(found)


def _subscript(cursor: Cursor, tensor: Token, opening: str) -> Subscript:
    if cursor.subscript is not None:
        found = cursor.subscript(cursor, tensor)
        assert isinstance(found, IndexVar | AffineSubscript | Access)
        return found
    if cursor.at_alone(TokenKind.NAME) and cursor.token.text not in cursor.symbols:
        token = cursor.take()
        return IndexVar(token.text, token.span)
    start = cursor.token.span
    read: dict[IndexVar, Access] = {}
    total = LinearParser(cursor, "a subscript", lambda: _leaf(cursor, tensor, opening, read)).sum()
    span = start.to(cursor.previous)
    if not read:
        return as_subscript(total, span)
    found = shifted_access(read, total, span)
    if found is None:
        cursor.fail(
            f"expected a subscript of `{tensor.text}` with one element of a tensor, times an integer and plus one, but "
            "got others; give the sum a name by an assignment of its own",
            span,
        )
    return found


def _is_call(cursor: Cursor, tensor: Token, opening: str) -> bool:
    """Returns whether a tensor subscripted by a tensor is more likely a misspelt function: `sine(x(i))`.

    A name before `[` is certainly a tensor: `sine[x(i)]`.
    """
    called = cursor.token.text in FUNCTIONS and cursor.peek(1).text == "("
    return called or (opening == "(" and tensor.text not in cursor.tensors and is_misspelt(tensor.text))


def _gather(cursor: Cursor) -> Access:
    name = cursor.take()
    cursor.enter()
    subscripts = parse_subscripts(cursor, name)
    cursor.leave()
    return Access(name.text, subscripts, name.span.to(cursor.previous))


def _leaf(cursor: Cursor, tensor: Token, opening: str, read: dict[IndexVar, Access]) -> AffineSubscript:
    """Takes a factor; an element of a tensor is noted in `read`, under the variable that stands for it."""
    token = cursor.token
    subscripted = token.kind is TokenKind.NAME and cursor.peek(1).text in ("(", "[")
    if subscripted and not _is_call(cursor, tensor, opening):
        stands = IndexVar(generated_name(token.text, "gathered", {one.name for one in read}), token.span)
        read[stands] = _gather(cursor)
        return as_affine(stands)
    if token.kind is not TokenKind.NAME or cursor.peek(1).text in ("(", "["):
        _refuse_factor(cursor, tensor)
    cursor.take()
    return size(token) if token.text in cursor.symbols else as_affine(IndexVar(token.text, token.span))


def _refuse_factor(cursor: Cursor, tensor: Token) -> NoReturn:
    token, got = cursor.token, cursor.token.describe()
    if token.kind is TokenKind.NAME:
        # `sine(x(i))` is more likely a misspelt function than a gather.
        cursor.fail(
            f"expected index variables in the subscripts of the tensor `{tensor.text}`, but got the expression "
            f"`{token.text}{cursor.peek(1).text}...`; as a function, {function_hint(tensor.text)}"
        )
    way_out = f"; write `{token.text[:-1]}*j`" if token.kind is TokenKind.REAL and token.text.endswith("j") else ""
    cursor.fail(
        f"expected an index variable or an integer in the subscripts of `{tensor.text}`, but got {got}{way_out}"
    )


def _refuse_after_subscript(cursor: Cursor, tensor: Token, closing: str) -> NoReturn:
    got = cursor.token.describe()
    if cursor.at(":"):
        names = ", ".join(op.value for op in ReduceOp)
        cursor.fail(f"expected one of the reductions {names} before `(`, but got `{tensor.text}`", tensor.span)
    if cursor.at("/", "**"):
        cursor.fail(f"expected a subscript linear in the index variables, but got {got}")
    cursor.fail(f"expected `,` or `{closing}` after a subscript of `{tensor.text}`, but got {got}")
