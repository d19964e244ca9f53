"""The grammar of linear sums of index variables, for subscripts and for bounds of ranges.

sum     ::= product ((`+` | `-`) product)*
product ::= factor (`*` factor)*                  at most one factor with index variables
factor  ::= (`-` | `+`)* (integer | leaf | `(` sum `)`)
"""

from __future__ import annotations

from collections.abc import Callable

from mlir_sparse.classes import dataclass
from mlir_sparse.notation.ast import AffineSubscript
from mlir_sparse.notation.linear_subscript import LARGEST_INTEGER, add, as_affine, multiply, scale
from mlir_sparse.notation.numbers import integer_value
from mlir_sparse.text.cursor import Cursor
from mlir_sparse.text.lexer import Token, TokenKind

__all__ = ["LinearParser", "size"]


@dataclass(frozen=True, slots=True)
class LinearParser:
    """Parses linear sums.

    Args:
        cursor: the text to read.
        what: their name in errors, such as "a subscript".
        leaf: parses a factor that is neither an integer nor in parentheses, or fails.
    """

    cursor: Cursor
    what: str
    leaf: Callable[[], AffineSubscript]

    def sum(self) -> AffineSubscript:
        """Takes a sum."""
        total = self._product()
        while operator := self.cursor.accept("+", "-"):
            product = self._product()
            total = self._in_range(add(total, product if operator.text == "+" else scale(product, -1)))
        return total

    def _product(self) -> AffineSubscript:
        product = self._factor()
        while self.cursor.accept("*"):
            start = self.cursor.token.span
            found = multiply(product, self._factor())
            if found is None:
                self.cursor.fail(f"expected {self.what} linear in the index variables, but got a product of two", start)
            product = self._in_range(found)
        return product

    def _factor(self) -> AffineSubscript:
        sign, cursor = 1, self.cursor
        while operator := cursor.accept("-", "+"):
            sign = -sign if operator.text == "-" else sign
        token = cursor.token
        if cursor.accept("("):
            cursor.enter()
            inner = self.sum()
            cursor.leave()
            cursor.expect(")")
            return scale(inner, sign)
        if token.kind is TokenKind.INTEGER:
            cursor.take()
            return as_affine(integer_value(cursor, token, sign))
        return scale(self.leaf(), sign)

    def _in_range(self, affine: AffineSubscript) -> AffineSubscript:
        coefficients = (*(factor for factor, _ in affine.terms), *(factor for factor, _, _ in affine.symbolic))
        if any(abs(number) > LARGEST_INTEGER for number in (affine.constant, *coefficients)):
            self.cursor.fail(f"expected {self.what} with numbers of 64 bits, but got larger ones", self.cursor.previous)
        return affine


def size(name: Token) -> AffineSubscript:
    """Returns a size or integer parameter by name; its value is not known yet."""
    return AffineSubscript((), 0, symbolic=((1, (name.text,), None),))
