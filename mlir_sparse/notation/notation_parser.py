"""Index notation text to an Assignment, by recursive descent.

    assignment  ::= access op expression where?
    op          ::= `=` | (`+` | `*` | `max` | `min` | `or` | `and`) (`=` | `=!`)
    expression  ::= joined | joined `if` `not`? joined (`else` expression)? | joined `?` expression `:` expression
    joined      ::= operand (operator operand)*      from the loosest: `or`, `and`, `not`, `|`, `&`,
                                                       comparisons, `+ -`, `* / %`
    operand     ::= (`-` | `+` | `!`)* primary (`**` operand)?
    primary     ::= number | access | call | reduction | `(` expression `)`
    access      ::= name | name `(` subscripts? `)` | name `[` subscripts? `]`
    call        ::= (function | operator | `select`) `(` expression (`,` expression)* `)`
    reduction   ::= (`sum` | `prod` | `max` | `min` | `or` | `and` | `count` | `argmax` | `argmin`)
                    `(` name (`,` name)* `:` expression `)`

Comparisons are `< <= > >= == !=`, one between two operands; all other operators group to the left. The reductions `any`
and `all` are `or` and `and`. The clause `where` has a grammar of its own, in `ranges`. With `else`, and after `?`, a
condition chooses one of two values; without, `if M(i,j)` keeps a value where a mask has entries, and any other `if` is
a `select`. An index variable without subscripts is a value.

A name before `(` is a call where it names a function, else a tensor; before `[` it is always a tensor. Subscripts have
a grammar of their own, in `subscripts`; numbers are in `numbers`. Other spellings are read, and printed in these:
NumPy's names of functions and reductions (`maximum(x(i), 0)`), `sum(j, A(i,j))` as in TACO, `&&`, `||` and `c ? a : b`
as in C, `and`, `or` and `not` as in Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NoReturn

from mlir_sparse.errors import NotationSyntaxError
from mlir_sparse.notation.ast import (
    Access,
    Apply,
    Assignment,
    AssignOp,
    Binary,
    BinaryOp,
    Call,
    Expr,
    Fold,
    IndexVar,
    Negate,
    Reduce,
    ReduceOp,
)
from mlir_sparse.notation.check_assignment import check, check_height
from mlir_sparse.notation.divisor_comments import refuse_divisors
from mlir_sparse.notation.index_values import with_index_vectors
from mlir_sparse.notation.masks import MASK, SELECT, WITHOUT
from mlir_sparse.notation.numbers import at_number, parse_complex, parse_number
from mlir_sparse.notation.operator import Monoid, Operator
from mlir_sparse.notation.read_bounds import with_read_ranges
from mlir_sparse.notation.scalar_functions import FUNCTIONS, SPELLINGS, Function, call_of
from mlir_sparse.notation.subscripts import parse_subscripts
from mlir_sparse.notation.where_clause import parse_where
from mlir_sparse.text.cursor import Cursor
from mlir_sparse.text.lexer import Token, TokenKind
from mlir_sparse.text.source_text import Source, Span

__all__ = ["expect_end_of", "parse", "parse_access", "parse_assignment", "parse_expression", "parse_joined"]

# How tight operators bind. As in Python, `not` takes in all but `and` and `or`.
_NOT, _COMPARISON = 3, 6
# A function, as in NumPy's table of ufuncs.
_REMAINDER = "remainder"
_BINARY: dict[str, tuple[BinaryOp | str, int]] = {
    "or": (BinaryOp.OR, 1),
    "and": (BinaryOp.AND, 2),
    **dict.fromkeys(("|", "||"), (BinaryOp.OR, 4)),
    **dict.fromkeys(("&", "&&"), (BinaryOp.AND, 5)),
    **{op.value: (op, _COMPARISON) for op in BinaryOp if op.compares},
    "+": (BinaryOp.ADD, 7),
    "-": (BinaryOp.SUB, 7),
    "*": (BinaryOp.MUL, 8),
    "/": (BinaryOp.DIV, 8),
    "%": (_REMAINDER, 8),
}
_ASSIGN = {op.value: op for op in AssignOp}
_NAMED_ASSIGN = ("max", "min", "or", "and")
_REDUCTIONS = {op.value: op for op in ReduceOp} | {"any": ReduceOp.OR, "all": ReduceOp.AND}
# A tensor may have such a name too.
_SPELT_REDUCTIONS = {"maximum": ReduceOp("max"), "minimum": ReduceOp("min"), "product": ReduceOp("prod")}


def parse(text: str, operators: Mapping[str, Operator | Monoid] | None = None) -> Assignment:
    """Parses an assignment and checks it.

    Args:
        text: one assignment; `//` starts a comment.
        operators: the user's operators and monoids, by their names in the text.

    Raises:
        NotationSyntaxError: at the first place where the text breaks the grammar.
        NotationError, RankError: for an assignment without a meaning (see `check`), with the place.

    >>> assignment = parse("y(i) = b(i) - A(i,j) * x(j)")
    >>> assignment.inputs
    ('b', 'A', 'x')
    >>> print(assignment)
    y(i) = b(i) - A(i,j) * x(j)
    """
    if not isinstance(text, str):
        raise NotationSyntaxError(
            f"expected text such as `y(i) = A(i,j) * x(j)`, but got {type(text).__name__} {text!r:.60}"
        )
    cursor = Cursor(Source(text, "notation"), NotationSyntaxError)
    cursor.known = operators or {}
    parsed = parse_assignment(cursor)
    expect_end_of(cursor, "the text")
    refuse_divisors(cursor.source, parse_joined)
    check_height(parsed)
    assignment = with_index_vectors(parsed)
    check(assignment)
    return assignment


def parse_assignment(cursor: Cursor) -> Assignment:
    """Takes one assignment without checking its meaning (see `check`).

    Raises:
        NotationSyntaxError: at the first place where the text breaks the grammar.
    """
    name = cursor.expect_kind(TokenKind.NAME, "a target such as `y(i)`")
    target = parse_access(cursor, name)
    op = _assign_op(cursor)
    value = parse_expression(cursor)
    ranges, exists, read = parse_where(cursor)
    return with_read_ranges(Assignment(target, op, value, cursor.source, ranges, exists), read)


def expect_end_of(cursor: Cursor, whole: str) -> None:
    """Raises unless all tokens are taken; `whole` is what would end here."""
    if not cursor.done:
        _fail_after_operand(cursor, f"the end of {whole}")


def _fail_after_operand(cursor: Cursor, other: str) -> NoReturn:
    cursor.fail(f"expected an operator or {other}, but got {cursor.token.describe()}")


def parse_expression(cursor: Cursor) -> Expr:
    """Takes an expression, with the conditions on it."""
    value = parse_joined(cursor)
    if cursor.at("?"):
        return _chosen_by_sign(cursor, value)
    return _conditional(cursor, value) if cursor.accept("if") else value


def _chosen_by_sign(cursor: Cursor, condition: Expr) -> Expr:
    """Takes `? a : b` after a condition."""
    cursor.take()
    cursor.enter()
    then = parse_expression(cursor)
    cursor.expect(":", "an operator or `:` and the value where the condition does not hold")
    otherwise = parse_expression(cursor)
    cursor.leave()
    return Call("where", (condition, then, otherwise), _from(condition, cursor))


def _conditional(cursor: Cursor, value: Expr) -> Expr:
    """Takes a condition after `if`: a mask, what is kept, or with `else` which of two values is taken."""
    negated = cursor.accept("not")
    condition = parse_joined(cursor, _NOT if negated else 0)
    if negated and cursor.at("and", "or"):
        condition, negated = _joined_to(cursor, _negated(condition, negated), 0), None
    if cursor.accept("else"):
        cursor.enter()
        otherwise = parse_expression(cursor)
        cursor.leave()
        return Call("where", (_negated(condition, negated), value, otherwise), _from(value, cursor))
    if isinstance(condition, Access):
        return Apply(WITHOUT if negated else MASK, (condition, value), _from(value, cursor))
    return Apply(SELECT, (value, _negated(condition, negated)), _from(value, cursor))


def _negated(condition: Expr, negated: Token | None) -> Expr:
    return Call("logical_not", (condition,), condition.span) if negated else condition


def _from(first: Expr, cursor: Cursor) -> Span | None:
    """Returns the span from an expression to the token taken last."""
    return first.span.to(cursor.previous) if first.span else None


def _assign_op(cursor: Cursor) -> AssignOp:
    token = cursor.token
    named = token.text in _NAMED_ASSIGN
    text = token.text + cursor.peek(1).text if named else token.text
    if text not in _ASSIGN:
        operators = " ".join(_ASSIGN)
        way_out = "; write `= !` with a space to negate" if text == "=!" else ""
        way_out = "; pass einsum's strings to ms.einsum" if "->" in cursor.source.text else way_out
        cursor.fail(f"expected one of {operators} after the target, but got {token.describe()}{way_out}")
    cursor.take()
    if named:
        cursor.take()
    return _ASSIGN[text]


def parse_joined(cursor: Cursor, binding: int = 0) -> Expr:
    """Takes operands joined by operators that bind tighter than `binding`."""
    denied = binding < _NOT and cursor.at("not")
    return _joined_to(cursor, _denied(cursor) if denied else _operand(cursor), binding)


def _joined_to(cursor: Cursor, left: Expr, binding: int) -> Expr:
    """Takes operators that bind tighter than `binding`, and their right operands."""
    while cursor.token.text in _BINARY:
        op, precedence = _BINARY[cursor.token.text]
        if precedence <= binding:
            break
        cursor.take()
        right = parse_joined(cursor, precedence)
        span = _from(left, cursor)
        left = Call(op, (left, right), span) if isinstance(op, str) else Binary(op, left, right, span)
        if precedence == _COMPARISON:
            _refuse_chain(cursor)
    return left


def _denied(cursor: Cursor) -> Expr:
    """Takes Python's `not` and what binds tighter."""
    sign = cursor.take()
    cursor.enter()
    value = _denied(cursor) if cursor.at("not") else parse_joined(cursor, _NOT)
    cursor.leave()
    return Call("logical_not", (value,), sign.span.to(cursor.previous))


def _refuse_chain(cursor: Cursor) -> None:
    _, precedence = _BINARY.get(cursor.token.text, ("", 0))
    if precedence == _COMPARISON:
        cursor.fail(
            f"expected one comparison between two operands, but got {cursor.token.describe()} after one; "
            "join comparisons by `&`, as in `0 < x(i) & x(i) < 1`, or put one in parentheses"
        )


def _operand(cursor: Cursor) -> Expr:
    signs: list[Token] = []
    while sign := cursor.accept("-", "+", "!"):
        signs.append(sign)
    # `-2` is one literal, but `-2 ** 2` is -(2 ** 2), as in Python.
    if signs and signs[-1].text == "-" and at_number(cursor) and cursor.peek(1).text != "**":
        node: Expr = parse_number(cursor, signs.pop())
    else:
        node = _power(cursor)
    for sign in reversed(signs):
        span = sign.span.to(cursor.previous)
        if sign.text != "+":
            node = Negate(node, span) if sign.text == "-" else Call("logical_not", (node,), span)
    return node


def _power(cursor: Cursor) -> Expr:
    base = _primary(cursor)
    if not cursor.accept("**"):
        return base
    cursor.enter()
    exponent = _operand(cursor)
    cursor.leave()
    return Call("pow", (base, exponent), base.span.to(cursor.previous) if base.span else None)


def _primary(cursor: Cursor) -> Expr:
    if at_number(cursor):
        return parse_number(cursor)
    if cursor.at("("):
        return _parenthesised(cursor)
    name = cursor.expect_kind(TokenKind.NAME, "a tensor, a number, a function or `(`")
    if not cursor.at("("):
        return parse_access(cursor, name)
    if name.text == "complex":
        return parse_complex(cursor, name)
    if name.text in cursor.known:
        return _user_operator(cursor, name)
    if (name.text in _REDUCTIONS or name.text in _SPELT_REDUCTIONS) and _at_reduction_indices(cursor):
        return _reduction(cursor, name)
    if name.text == SELECT.name:
        return _applied(cursor, name, SELECT)
    if name.text in FUNCTIONS:
        return _call(cursor, name)
    if name.text in SPELLINGS and _is_call(cursor, FUNCTIONS[SPELLINGS[name.text]]):
        return _call(cursor, replace(name, text=SPELLINGS[name.text]))
    if name.text in _REDUCTIONS and cursor.peek(1).kind is TokenKind.NAME and cursor.peek(2).text == ",":
        return _reduction(cursor, name)
    if name.text in _REDUCTIONS:
        cursor.take()
        rule = f"index variables and `:`, as in `{name.text}(j : A(i,j))`,"
        cursor.fail(f"expected {rule} but got {cursor.token.describe()}")
    return parse_access(cursor, name)


def _parenthesised(cursor: Cursor) -> Expr:
    cursor.take()
    cursor.enter()
    inner = parse_expression(cursor)
    cursor.leave()
    if not cursor.accept(")"):
        _fail_after_operand(cursor, "`)`")
    return inner


def parse_access(cursor: Cursor, name: Token) -> Access:
    """Takes the subscripts of a tensor whose name is taken already."""
    subscripts = parse_subscripts(cursor, name) if cursor.at("(", "[") else ()
    return Access(name.text, subscripts, name.span.to(cursor.previous))


def _is_call(cursor: Cursor, function: Function) -> bool:
    """Returns whether its arguments follow in parentheses, and not the subscripts of a tensor: `maximum(i,j)`."""
    ahead = depth = commas = 0
    plain = True
    while (token := cursor.peek(ahead)).kind is not TokenKind.END:
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        if depth == 0:
            break
        commas += token.text == "," and depth == 1
        plain = plain and (ahead == 0 or token.text == "," or token.kind is TokenKind.NAME)
        ahead += 1
    return not plain and (commas + 1 == function.arity or (function.folds and commas >= function.arity))


def _call(cursor: Cursor, name: Token) -> Call:
    return call_of(name.text, _arguments(cursor), name.span.to(cursor.previous))


def _arguments(cursor: Cursor) -> tuple[Expr, ...]:
    """Takes the arguments of a call with their parentheses."""
    cursor.take()
    cursor.enter()
    arguments: list[Expr] = []
    if not cursor.at(")"):
        arguments.append(parse_expression(cursor))
        while cursor.accept(","):
            arguments.append(parse_expression(cursor))
    cursor.leave()
    cursor.expect(")", "an operator, `,` or `)`")
    return tuple(arguments)


def _user_operator(cursor: Cursor, name: Token) -> Expr:
    """Takes a call of a user's operator, or a reduction by a monoid."""
    known = cursor.known[name.text]
    assert isinstance(known, Operator | Monoid)
    if isinstance(known, Operator):
        return _applied(cursor, name, replace(known, name=name.text))
    if not _at_reduction_indices(cursor):
        return _applied(cursor, name, replace(known.union, name=name.text))
    monoid = replace(known, operator=replace(known.operator, name=name.text))
    indices, body = _reduced(cursor)
    return Fold(monoid, indices, body, name.span.to(cursor.previous))


def _applied(cursor: Cursor, name: Token, operator: Operator) -> Apply:
    arguments = _arguments(cursor)
    span = name.span.to(cursor.previous)
    if len(arguments) != operator.arity:
        cursor.fail(f"expected {operator.arity} operands of {operator}, but got {len(arguments)}", span)
    return Apply(operator, arguments, span)


def _at_reduction_indices(cursor: Cursor) -> bool:
    """Returns whether `(` name (`,` name)* `:` comes next, which distinguishes `max(j : ...)` from `max(a, b)`."""
    ahead = 1
    while cursor.peek(ahead).kind is TokenKind.NAME:
        follower = cursor.peek(ahead + 1).text
        if follower != ",":
            return follower == ":"
        ahead += 2
    return False


def _reduction(cursor: Cursor, name: Token) -> Reduce:
    indices, body = _reduced(cursor)
    op = _REDUCTIONS.get(name.text) or _SPELT_REDUCTIONS[name.text]
    return Reduce(op, indices, body, name.span.to(cursor.previous))


def _reduced(cursor: Cursor) -> tuple[tuple[IndexVar, ...], Expr]:
    """Takes the variables and the body of a reduction with their parentheses; TACO writes `,` for `:`."""
    indices: list[IndexVar] = []
    cursor.take()
    while not indices or (cursor.token.kind is TokenKind.NAME and cursor.peek(1).text in (",", ":")):
        index = cursor.take()
        indices.append(IndexVar(index.text, index.span))
        if cursor.take().text == ":":
            break
    cursor.enter()
    body = parse_expression(cursor)
    cursor.leave()
    cursor.expect(")", "an operator or `)`")
    return tuple(indices), body
