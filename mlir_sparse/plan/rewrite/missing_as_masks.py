"""An operator with results only where a sparse operand has no entry is what a mask leaves: `if not M`."""

from __future__ import annotations

from mlir_sparse.notation import WITHOUT, Apply, Expr, Operator
from mlir_sparse.notation.laws import Law
from mlir_sparse.plan.rewrite.rewrite_rule import Context, Licence, Rule, WhyNot
from mlir_sparse.spec import missing

__all__ = ["MISSING_AS_MASKS"]


def _left_out(node: Expr, context: Context) -> Expr | WhyNot:
    if not isinstance(node, Apply) or node.operator.overlap is not None:
        return WhyNot("it has results where its operands have entries")
    operator, arguments = node.operator, node.arguments
    partial = [missing(argument, context.sparse) for argument in arguments]
    if operator.absent is not None and partial[0]:
        return Apply(WITHOUT, (arguments[0], operator.absent), node.span)
    region, place = (operator.right, 1) if partial[0] else (operator.left, 0)
    if sorted(partial) != [False, True] or region is None:
        return WhyNot("it is not the one sparse operand that must have no entry")
    rest = Apply(Operator(operator.name, (operator.parameters[place],), region), (arguments[place],))
    return Apply(WITHOUT, (arguments[1 - place], rest), node.span)


MISSING_AS_MASKS = Rule("missing-as-masks", "masked", (Law.DEFINITION,), Licence.EXACT, _left_out)
"""Everything is computed, and then erased where there is an entry."""
