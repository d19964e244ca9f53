"""`h(j : a) if M` is `h(j : a if M)`: what a mask leaves out is left out before it is folded."""

from __future__ import annotations

from dataclasses import replace

from mlir_sparse.notation import MASK, Apply, Expr, Fold
from mlir_sparse.notation.laws import Law
from mlir_sparse.plan.rewrite.rewrite_rule import Context, Licence, Rule, WhyNot

__all__ = ["MASKS_INTO_FOLDS"]


def _moved_in(node: Expr, _: Context) -> Expr | WhyNot:
    match node:
        case Apply(operator, (mask, Fold() as fold)) if operator == MASK:
            return replace(fold, body=replace(node, arguments=(mask, fold.body)))
        case _:
            return WhyNot("it is no fold under a mask")


MASKS_INTO_FOLDS = Rule("masks-into-folds", "masked", (Law.DEFINITION,), Licence.EXACT, _moved_in)
"""Loops over the mask then make the entries that it keeps, and no others."""
