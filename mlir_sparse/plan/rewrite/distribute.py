"""`(a + b) * c` is `a * c + b * c`, and `(a + b) / c` is `a / c + b / c`."""

from __future__ import annotations

from mlir_sparse.notation import Binary, BinaryOp, Expr
from mlir_sparse.notation.laws import Law
from mlir_sparse.plan.rewrite.rewrite_rule import MADE_FIRST, Context, Licence, Rule, WhyNot
from mlir_sparse.plan.rewrite.sum_of_terms import needs_distribution, total
from mlir_sparse.spec import depends_on

__all__ = ["DISTRIBUTE"]


def _multiplied_out(node: Expr, context: Context) -> Expr | WhyNot:
    match node:
        case Binary(BinaryOp.MUL | BinaryOp.DIV, left, right):
            sums = [needs_distribution(factor, context.sparse) for factor in (left, right)]
        case _:
            return WhyNot("it is no product")
    if not any(sums):
        return WhyNot("loops take each factor as it is")
    divides = node.op is BinaryOp.DIV
    # Multiplied out, numbers would be too large or too small where the sum is neither: `10 * (a - b)`. But the sum with
    # a factor that leaves out entries is made for those alone.
    dense = not depends_on(right if sums[0] else left, context.sparse)
    if context.rounds and not context.summed and (divides or all(sums) or dense):
        return WhyNot(MADE_FIRST)
    if divides:
        divisor = context.closed(right)
        return total((Binary(BinaryOp.DIV, term, divisor), negative) for term, negative in context.terms(left))
    lefts, rights = context.terms(left), context.terms(right)
    return total((Binary(BinaryOp.MUL, a, b), minus != other) for a, minus in lefts for b, other in rights)


DISTRIBUTE = Rule(
    "distribute", "multiplied out", (Law.LEFT, Law.RIGHT, Law.MINUS), Licence.ROUNDS_OTHERWISE, _multiplied_out
)
"""A sum that loops cannot unite is multiplied term by term, where the text leaves that open."""
