"""The rules that statements are rewritten by: the laws that make each true, and what it may change in numbers."""

from __future__ import annotations

from mlir_sparse.classes import dataclass
from mlir_sparse.notation.laws import Law
from mlir_sparse.plan.rewrite.rewrite_rule import Licence

__all__ = [
    "ADD_EQUAL",
    "ASSOCIATE",
    "CANCEL",
    "COPY",
    "EXPAND",
    "EXPAND_DIFFERENCE",
    "EXPAND_SQUARE",
    "FACTOR",
    "HOIST",
    "IN_PLACE",
    "KEEP_MASK",
    "MERGE_SUMS",
    "PUSH_SUMS",
    "SHARE",
    "SQUARE",
    "TRANSPOSE",
    "AlgebraRule",
]


@dataclass(frozen=True, slots=True, eq=False)  # there is one of each
class AlgebraRule:
    """A rule on whole statements.

    Args:
        name: how `explain()` calls it.
        laws: what must hold of `+` and `*`.
        licence: what it may change where numbers round. `Licence.CANCELS` is given by `optimize="algebra"` alone, or by
            integers, where nothing rounds.
    """

    name: str
    laws: tuple[Law, ...]
    licence: Licence

    def __str__(self) -> str:
        return f"{self.name} (law: {', '.join(law.value for law in self.laws)}; may change {self.licence.value})"


_DISTRIBUTES = (Law.LEFT, Law.RIGHT)

ASSOCIATE = AlgebraRule("associativity of *", (Law.GROUPS, Law.SWAPS), Licence.ROUNDS_OTHERWISE)
"""`a * (b * c)` as `(c * a) * b`: which factors a part has."""

PUSH_SUMS = AlgebraRule("sums into products", _DISTRIBUTES, Licence.ROUNDS_OTHERWISE)
"""`sum(i, j : a(i) * b(j))` as `sum(i : a(i)) * sum(j : b(j))`: a part sums over what it alone has."""

MERGE_SUMS = AlgebraRule("sums of sums", (Law.SUM_ORDER, *_DISTRIBUTES), Licence.ROUNDS_OTHERWISE)
"""`sum(i : a(i) * sum(j : b(i,j)))` as `sum(i, j : a(i) * b(i,j))`: one loop nest in place of two."""

EXPAND = AlgebraRule("sums multiplied out", _DISTRIBUTES, Licence.ROUNDS_OTHERWISE)
"""`a * (b + c)` as `a * b + a * c`, for a sum without a minus."""

FACTOR = AlgebraRule("common factors", (Law.SUM_ORDER, *_DISTRIBUTES), Licence.ROUNDS_OTHERWISE)
"""`a * b + a * c` as `a * (b + c)`."""

ADD_EQUAL = AlgebraRule("equal terms added", (Law.SUM_ORDER, *_DISTRIBUTES), Licence.REASSOCIATES)
"""`t + t` as `2 * t`, where terms are equal up to the names of variables."""

SQUARE = AlgebraRule("squares as products", (Law.GROUPS, Law.SWAPS), Licence.ROUNDS_OTHERWISE)
"""`(a * b) ** 2` as `a * a * b * b`."""

EXPAND_DIFFERENCE = AlgebraRule("differences multiplied out", (*_DISTRIBUTES, Law.MINUS), Licence.CANCELS)
"""`a * (b - c)` as `a * b - a * c`."""

EXPAND_SQUARE = AlgebraRule("squares multiplied out", (*_DISTRIBUTES, Law.MINUS), Licence.CANCELS)
"""`(a - b) * (c + d)` as four products, and `(a - b) ** 2` as three."""

CANCEL = AlgebraRule("equal terms cancelled", (Law.SUM_ORDER, Law.MINUS), Licence.CANCELS)
"""`t - t` as nothing, even where t is infinite."""

SHARE = AlgebraRule("equal parts once", (Law.DEFINITION,), Licence.EXACT)
"""Parts that are equal up to the names of variables and the order of factors are one."""

HOIST = AlgebraRule("functions first", (Law.DEFINITION,), Licence.EXACT)
"""A function, or a sum of arrays, is computed once for each of its places."""

IN_PLACE = AlgebraRule("entries in place", (Law.DEFINITION,), Licence.EXACT)
"""`f(x(i,j) - p(i,j))` with a sparse x reads an array that p is, and the entries of x are subtracted from."""

KEEP_MASK = AlgebraRule("mask in the product", (Law.SUM_ORDER, *_DISTRIBUTES), Licence.ROUNDS_OTHERWISE)
"""`m(i,k) * sum(j : a(i,j) * b(j,k))` is one part that has the entries of m."""

TRANSPOSE = AlgebraRule("symmetric matrices", (Law.DEFINITION,), Licence.EXACT)
"""`A(j,i)` as `A(i,j)`, where a matrix is its own transpose, bit for bit."""

COPY = AlgebraRule("operands copied into other storage", (Law.DEFINITION,), Licence.ROUNDS_OTHERWISE)
"""A sparse operand is read from an array, which has zeros where it has no entry: they may meet infinity."""
