"""Text to a definition: the grammar of assignments, with any integer formula as a subscript, and conditions.

    definition  ::= access `=` joined (`if` `not`? joined (`else` expression)? | `?` expression `:` expression)?
    subscript   ::= expression                       of integers; `/` rounds down, `%` is what it leaves

An index variable may stand as a value, `1 if c(i) == j`, and names of numbers as constants, `t(i - j + n)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import NotationError, NotationSyntaxError
from mlir_sparse.notation.ast import (
    Access,
    AffineSubscript,
    Apply,
    Assignment,
    AssignOp,
    Binary,
    BinaryOp,
    Call,
    Expr,
    Fold,
    IndexVar,
    Literal,
    Negate,
    Reduce,
    Subscript,
    children,
    walk,
)
from mlir_sparse.notation.check_assignment import check
from mlir_sparse.notation.definition import Definition, IndexFormula, fresh_name
from mlir_sparse.notation.linear_subscript import add, as_affine, as_subscript, multiply, scale
from mlir_sparse.notation.masks import MASK, WITHOUT
from mlir_sparse.notation.notation_parser import expect_end_of, parse_access, parse_expression, parse_joined
from mlir_sparse.notation.rebuild import rebuild
from mlir_sparse.notation.scalar_functions import FUNCTIONS
from mlir_sparse.text.cursor import Cursor
from mlir_sparse.text.lexer import Token, TokenKind, tokenize
from mlir_sparse.text.source_text import Source

__all__ = ["parse_definition"]

Number = int | float | complex


def parse_definition(text: str, numbers: Mapping[str, Number] | None = None) -> Definition:
    """Parses the definition of a tensor and checks it.

    Args:
        text: such as `"A(i,j) = U(i,k) * V(j,k)"`.
        numbers: the values of names that stand for constants.

    Raises:
        NotationSyntaxError: at the first place where the text breaks the grammar.
        NotationError, RankError: for a definition without a meaning (see `check`).

    >>> print(parse_definition("A(i,j) = t(i - j + n)", {"n": 3}).value)
    t(i - j + 3)
    """
    source = Source(text, "notation")
    parser = _Parser(numbers or {}, {token.text for token in tokenize(source, NotationSyntaxError)})
    cursor = Cursor(source, NotationSyntaxError)
    cursor.subscript = parser.subscript
    target = parse_access(cursor, cursor.expect_kind(TokenKind.NAME, "a target such as `A(i,j)`"))
    cursor.expect("=", "`=` after the tensor that is defined")
    value = _conditional(cursor, parse_joined(cursor))
    expect_end_of(cursor, "the definition")
    return parser.definition(target, value, source)


def _conditional(cursor: Cursor, value: Expr) -> Expr:
    """Takes `if M(i,j)`, which keeps entries, or `if c(i) == j`, which compares numbers; also `not` and `else`."""
    if cursor.accept("?"):
        then = parse_expression(cursor)
        cursor.expect(":", "an operator or `:` and the value where the condition does not hold")
        return Call("where", (value, then, parse_expression(cursor)))
    if not cursor.accept("if"):
        return value
    negated = cursor.accept("not") is not None
    condition = parse_joined(cursor)
    if cursor.accept("else"):
        condition = Call("logical_not", (condition,)) if negated else condition
        return Call("where", (condition, value, parse_expression(cursor)))
    if isinstance(condition, Access) and condition.subscripts:
        return Apply(WITHOUT if negated else MASK, (condition, value))
    if negated:
        condition = Call("logical_not", (condition,))
    return Call("where", (condition, value, Literal(0)))


@dataclass
class _Parser:
    """What a text's subscripts and values are.

    Args:
        numbers: the values of names that stand for constants.
        taken: the names that no array of integers may have.
    """

    numbers: Mapping[str, Number]
    taken: set[str]
    formulas: dict[str, IndexFormula] = field(default_factory=dict)

    def subscript(self, cursor: Cursor, tensor: Token) -> Subscript:
        """Takes a subscript: a variable, a linear sum, a gather, or another formula of integers."""
        start = cursor.token.span
        node = self._with_numbers(parse_expression(cursor))
        span = start.to(cursor.previous)
        if isinstance(node, Access) and node.subscripts:
            return node
        linear = _linear(node)
        if linear is not None:
            return as_subscript(linear, span)
        if not all(map(_is_of_integers, walk(node))):
            cursor.fail(f"expected arithmetic of integers in the subscripts of `{tensor.text}`, but got `{node}`", span)
        return self._array(IndexFormula(_variables_of(node), _rounded_down(node)), "index")

    def definition(self, target: Access, value: Expr, source: Source) -> Definition:
        """Returns the definition of a target by a value."""
        for subscript in target.subscripts:
            if not isinstance(subscript, IndexVar):
                text = self.formulas[subscript.tensor].value if isinstance(subscript, Access) else subscript
                raise NotationError(
                    f"expected plain index variables in the target, but got `{text}`: substitute a variable for it "
                    "and take it apart on the right side, as in `A(i / 4, i % 4)`",
                    source=source,
                    span=target.span,
                )
        value = self._with_numbers(value)
        variables = {*target.indices, *_all_variables(value), *(v for f in self.formulas.values() for v in f.variables)}
        value = self._with_values(value, variables)
        check(Assignment(target, AssignOp.ASSIGN, value, source))
        return Definition(target, value, tuple(self.formulas.items()), source)

    def _array(self, formula: IndexFormula, name: str) -> Access:
        """Returns the access of the array of a formula's integers."""
        for known, other in self.formulas.items():
            if other == formula:
                return Access(known, formula.variables)
        self.formulas[name := fresh_name(name, self.taken)] = formula
        return Access(name, formula.variables)

    def _with_numbers(self, node: Expr) -> Expr:
        if isinstance(node, Access) and not node.subscripts and node.tensor in self.numbers:
            return Literal(self.numbers[node.tensor], node.span)
        return rebuild(node, tuple(map(self._with_numbers, children(node))))

    def _with_values(self, node: Expr, variables: set[IndexVar]) -> Expr:
        """Returns a value in which arrays of positions stand for index variables."""
        if isinstance(node, Access) and not node.subscripts and IndexVar(node.tensor) in variables:
            return self._array(IndexFormula((IndexVar(node.tensor),), Access(node.tensor)), f"{node.tensor}_values")
        return rebuild(node, tuple(self._with_values(child, variables) for child in children(node)))


def _linear(node: Expr) -> AffineSubscript | None:
    """Returns an expression as a linear sum of index variables; None for others."""
    match node:
        case Literal(int(value)):
            return as_affine(value)
        case Access(name, ()):
            return as_affine(IndexVar(name, node.span))
        case Negate(operand):
            inner = _linear(operand)
            return None if inner is None else scale(inner, -1)
        case Binary(BinaryOp.ADD | BinaryOp.SUB | BinaryOp.MUL as op, left, right):
            first, second = _linear(left), _linear(right)
            if first is None or second is None:
                return None
            if op is BinaryOp.MUL:
                return multiply(first, second)
            return add(first, second if op is BinaryOp.ADD else scale(second, -1))
        case _:
            return None


def _is_of_integers(node: Expr) -> bool:
    if isinstance(node, Call) and node.function in FUNCTIONS and FUNCTIONS[node.function].result == "cast":
        return node.function[0] in "iu"
    return not isinstance(node, Reduce | Fold | Apply | Literal) or (
        isinstance(node, Literal) and isinstance(node.value, int)
    )


def _rounded_down(node: Expr) -> Expr:
    operands = tuple(map(_rounded_down, children(node)))
    if isinstance(node, Binary) and node.op is BinaryOp.DIV:
        return Call("floor_divide", operands)
    return rebuild(node, operands)


def _variables_of(node: Expr) -> tuple[IndexVar, ...]:
    """Returns the variables of a formula: names without subscripts, and those in subscripts of what it reads."""
    found: dict[IndexVar, None] = {}
    for below in walk(node):
        if isinstance(below, Access):
            found.update(dict.fromkeys(below.indices if below.subscripts else (IndexVar(below.tensor),)))
    return tuple(found)


def _all_variables(node: Expr) -> Iterator[IndexVar]:
    for below in walk(node):
        match below:
            case Access():
                yield from below.indices
            case Reduce(_, indices) | Fold(_, indices):
                yield from indices
            case _:
                pass
