"""What a rule on expressions is: a rewriting, the laws that make it true, and what it may change in numbers."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from mlir_sparse.classes import dataclass
from mlir_sparse.notation import Expr
from mlir_sparse.notation.laws import PLUS_TIMES, Law, holds
from mlir_sparse.notation.semiring import Semiring
from mlir_sparse.plan.rewrite.sum_of_terms import Signed, addends

__all__ = ["MADE_FIRST", "Context", "Licence", "Rule", "WhyNot"]

MADE_FIRST = "a sum is made before it is multiplied or divided, as it is written"


class Licence(Enum):
    """What a rule may change where numbers round; integers wrap, and every rule is exact on them."""

    EXACT = "no bit of the result"
    REORDERS = "the order in which the terms of a sum are added"
    SIGN_OF_ZERO = "the sign of zeros"
    REASSOCIATES = "which partial sums are rounded, and may be too large"
    ROUNDS_OTHERWISE = "which products are rounded, may be too large or small, or multiply infinity by zero"
    CANCELS = "how many digits are right, where terms nearly cancel"

    @property
    def is_explained(self) -> bool:
        """Returns whether `explain()` tells of what is rewritten so: a sum has no order that the text could give."""
        return self not in (Licence.EXACT, Licence.REORDERS)


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why a rule leaves an expression as it is.

    Args:
        reason: what stands in the way, in the user's words.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Context:
    """What a rule knows beside the expression that it looks at.

    Args:
        sparse: the tensors that leave out zeros.
        rounds: whether it computes in numbers that round.
        summed: whether the expression is a term of a sum over index variables, and may be multiplied out.
        terms: the terms of a factor or of what is summed, each with whether it is subtracted.
        closed: an expression as one factor, its reductions made beforehand.
        ring: what `+` and `*` are.
    """

    sparse: frozenset[str] = frozenset()
    rounds: bool = True
    summed: bool = False
    terms: Callable[[Expr], tuple[Signed, ...]] = addends
    closed: Callable[[Expr], Expr] = lambda node: node
    ring: Semiring = PLUS_TIMES


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule on expressions.

    Args:
        name: how the list of rules calls it.
        participle: what `explain()` says was done, such as "multiplied out".
        laws: what must hold of `+` and `*`.
        licence: what it may change where numbers round.
        rewrite: the rewriting of one expression, at its root.
    """

    name: str
    participle: str
    laws: tuple[Law, ...]
    licence: Licence
    rewrite: Callable[[Expr, Context], Expr | WhyNot]

    def apply(self, node: Expr, context: Context) -> Expr | WhyNot:
        """Returns an equal expression, or why the rule has none."""
        for law in self.laws:
            if not holds(law, context.ring):
                return WhyNot(f"`{law.value}` does not hold under {context.ring.name}")
        return self.rewrite(node, context)

    def __str__(self) -> str:
        return f"{self.name} (law: {', '.join(law.value for law in self.laws)}; may change {self.licence.value})"
