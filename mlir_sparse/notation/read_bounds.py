"""Ranges that end where a tensor says: `y(i) = A(i,k) where k in 0:N(i)`, `where k in P(i):P(i + 1)`.

Such a range is a condition on its variable, and is written as one: `sum(k : A(i,k) if k < N(i))`. The variable still
runs over the axes that it subscripts, so that a range beyond an axis ends with it, as a slice does in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import NotationError, UnsupportedError
from mlir_sparse.notation.ast import Access, Apply, Assignment, Binary, BinaryOp, Expr, Fold, IndexVar, Reduce, ReduceOp
from mlir_sparse.notation.ast import children as children_of
from mlir_sparse.notation.masks import SELECT
from mlir_sparse.notation.rebuild import rebuild
from mlir_sparse.notation.summation import with_explicit_sums
from mlir_sparse.text.source_text import Span

__all__ = ["ReadRange", "with_read_ranges"]

_ADDS_NOTHING = (ReduceOp.SUM, ReduceOp.OR, ReduceOp.COUNT)
"""Reductions that zeros change nothing of."""


@dataclass(frozen=True, slots=True)
class ReadRange:
    """A range with a bound that is read from a tensor.

    Args:
        variable: the index variable.
        low: the first value; None for 0.
        high: the value after the last one.
    """

    variable: IndexVar
    low: Expr | None
    high: Expr
    span: Span | None = None

    @property
    def condition(self) -> Expr:
        """Returns what holds for values of the variable in the range."""
        variable = Access(self.variable.name, (), self.variable.span)
        ends: Expr = Binary(BinaryOp.LT, variable, self.high, self.span)
        if self.low is None:
            return ends
        return Binary(BinaryOp.AND, Binary(BinaryOp.GE, variable, self.low, self.span), ends, self.span)

    def __str__(self) -> str:
        return f"{self.variable} in {0 if self.low is None else self.low}:{self.high}"


def with_read_ranges(statement: Assignment, ranges: Sequence[ReadRange]) -> Assignment:
    """Returns a statement with conditions in place of ranges that are read from tensors.

    Raises:
        NotationError: for a range of a variable that the statement does not have.
        UnsupportedError: for reductions that zeros change, such as `max`.
    """
    for one in ranges:
        if one.variable not in statement.indices:
            raise NotationError(
                f"expected a range of an index variable of the statement, but got `{one}`",
                source=statement.source,
                span=one.variable.span,
            )
        if one.variable in statement.target.indices:
            value: Expr = Apply(SELECT, (statement.value, one.condition), one.span)
        else:
            statement = with_explicit_sums(statement)
            value = _within(statement.value, one, statement)
        statement = replace(statement, value=value)
    return statement


def _within(node: Expr, one: ReadRange, statement: Assignment) -> Expr:
    """Returns an expression whose reductions of a variable stop where its range ends."""
    if isinstance(node, Access):
        return node
    found = rebuild(node, tuple(map(partial(_within, one=one, statement=statement), children_of(node))))
    if not isinstance(found, Reduce | Fold) or one.variable not in found.indices:
        return found
    if not (isinstance(found, Reduce) and found.op in _ADDS_NOTHING):
        name = found.op.value if isinstance(found, Reduce) else found.monoid.name
        raise UnsupportedError(
            f"expected a sum over {one.variable}, whose range is read from a tensor, but got {name}: write the range "
            f"as a condition with the value that does not count, as in `{name}({one.variable} : x({one.variable}) if "
            f"{one.condition} else 0)`",
            source=statement.source,
            span=one.span,
        )
    return replace(found, body=Apply(SELECT, (found.body, one.condition), found.body.span))
