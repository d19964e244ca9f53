"""The laws of sums and products, asked of what declares them: semirings, monoids and operators."""

from __future__ import annotations

from enum import Enum
from typing import assert_never

from mlir_sparse.notation.operator import Number
from mlir_sparse.notation.semiring import Semiring, semiring

__all__ = ["PLUS_TIMES", "Law", "holds"]

PLUS_TIMES = semiring("plus_times")
"""The sums and products of numbers."""


class Law(Enum):
    """What a rewriting relies on; each holds of exact numbers."""

    DEFINITION = "by definition"
    SUM_ORDER = "+ is associative and commutative"
    ZERO = "0 is the identity of +"
    ANNIHILATES = "* with the identity of + gives it"
    MINUS = "- distributes over + and goes to either factor of *"
    LEFT = "* distributes over + in its left factor"
    RIGHT = "* distributes over + in its right factor"
    GROUPS = "* is associative"
    SWAPS = "* is commutative"


def holds(law: Law, ring: Semiring) -> bool:
    """Returns whether a law holds where `+` and `*` are those of a semiring.

    >>> [holds(law, semiring("plus_first")) for law in (Law.SUM_ORDER, Law.LEFT, Law.RIGHT)]
    [True, True, False]
    """
    match law:
        case Law.DEFINITION | Law.SUM_ORDER:  # a monoid is associative and commutative
            return True
        case Law.ZERO:
            return isinstance(ring.add.identity, Number) and ring.add.identity == 0
        case Law.ANNIHILATES:
            return ring.multiply.annihilator == ring.add.identity
        case Law.MINUS:
            return ring.laws.minus
        case Law.LEFT:
            return ring.laws.left
        case Law.RIGHT:
            return ring.laws.right
        case Law.GROUPS:
            return ring.multiply.associative
        case Law.SWAPS:
            return ring.multiply.commutative
        case _:
            assert_never(law)
