"""Operators and monoids on stored entries, as values.

An operator has regions, as the dialect's `sparse_tensor.binary`: the result where both operands have an entry
(`overlap`), where only the first has one (`left`), and where only the second has one (`right`). With one operand, as
`sparse_tensor.unary`, it has the result where there is an entry and where there is none (`absent`). The result has no
entry where a region is missing. Dense arrays have an entry everywhere. The regions alone decide which loops run.
"""

from __future__ import annotations

from dataclasses import field, replace
from enum import Enum
from math import copysign
from typing import TYPE_CHECKING

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import NotationError
from mlir_sparse.process.first_use import in_hints
from mlir_sparse.text.shown_text import PrintedValue

if TYPE_CHECKING:
    from mlir_sparse.notation.ast import Expr
else:
    Expr = in_hints("mlir_sparse.notation.ast", "Expr")

__all__ = ["ARITHMETIC", "Distribution", "Extreme", "Monoid", "Number", "Operator"]

Number = int | float | complex


class Extreme(Enum):
    """The least or greatest value of an element type: an infinity, or an extreme integer."""

    LEAST = "least"
    GREATEST = "greatest"


@dataclass(frozen=True, slots=True)
class Distribution:
    """The places that a sum may move into without changing the result.

    Args:
        left: the left factor of a product: `a*c + b*c` is `(a + b)*c`.
        right: the right factor: `a*b + a*c` is `a*(b + c)`.
        minus: the operand of a minus: `-a + -b` is `-(a + b)`.
    """

    left: bool = False
    right: bool = False
    minus: bool = False


ARITHMETIC = Distribution(left=True, right=True, minus=True)
"""What holds of the sums and products of numbers."""


@dataclass(frozen=True, slots=True)
class Operator(PrintedValue):
    """An operator on entries; its regions are expressions over its parameters as scalars.

    Args:
        name: its name in notation.
        parameters: the names of its one or two operands.
        overlap: the result where every operand has an entry; None for no entry.
        left: the result where only the first operand of two has an entry.
        right: the result where only the second has an entry.
        absent: with one operand, the result where it has no entry.
        dtype: the element type of results; None for the type of the expressions.
        commutative: whether operands may be swapped.
        associative: whether operands may be grouped at will.
        identity: the value that leaves every other unchanged.
        annihilator: the value that makes every result itself. If it is an extreme, integers, which have no infinities,
            follow the same rule: the extreme stays as it is.
    """

    name: str
    parameters: tuple[str, ...]
    overlap: Expr | None
    left: Expr | None = None
    right: Expr | None = None
    absent: Expr | None = None
    dtype: str | None = None
    commutative: bool = False
    associative: bool = False
    identity: Number | Extreme | None = None
    annihilator: Number | Extreme | None = None

    def __post_init__(self) -> None:
        if self.overlap is None and self.intersects:
            where = "absent=" if self.arity == 1 else "left= and right="
            raise NotationError(
                f"expected a result of the operator {self.name} somewhere, but got None where there are entries; "
                f"return a value there, or say by {where} what it is where there are none"
            )

    @property
    def arity(self) -> int:
        """Returns the number of operands."""
        return len(self.parameters)

    @property
    def intersects(self) -> bool:
        """Returns whether the result has an entry only where every operand has one."""
        return self.left is None and self.right is None and self.absent is None

    def __str__(self) -> str:
        def shown(region: Expr | None) -> str:
            return "nothing" if region is None else str(region)

        head = f"{self.name}({', '.join(self.parameters)}) = {shown(self.overlap)}"
        if self.arity == 1:
            return head if self.absent is None else f"{head}; absent: {self.absent}"
        if self.intersects:
            return head
        return f"{head}; left: {shown(self.left)}; right: {shown(self.right)}"


@dataclass(frozen=True, slots=True)
class Monoid(PrintedValue):
    """An associative, commutative operator with an identity, for reductions of entries.

    Args:
        operator: the operator, whose overlap combines two values.
        identity: the value of a reduction over no entries.
        lift: a function applied to each entry before it is combined; None for none.

    Monoids with the identities 0.0 and -0.0 are unequal: kernels are cached by what they compute.
    """

    operator: Operator
    identity: Number | Extreme
    lift: Operator | None = None
    _signs: tuple[float, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        signs = () if isinstance(self.identity, Extreme) or self.identity != 0 else _signs(self.identity)
        object.__setattr__(self, "_signs", signs)
        if self.operator.arity != 2 or self.operator.overlap is None:
            raise NotationError(f"expected an operator of two operands to reduce by, but got {self.operator}")

    @property
    def name(self) -> str:
        """Returns the name of the reduction in notation."""
        return self.operator.name

    @property
    def gives_zero(self) -> bool:
        """Returns whether a reduction over no entries gives positive zero, the value that is not stored."""
        return bool(self._signs) and min(self._signs) > 0

    @property
    def takes_last(self) -> bool:
        """Returns whether the result is the last entry, as `any`'s: the identity beside an entry would take its place.

        So it does not combine results of parts, of which some have no entry.
        """
        from mlir_sparse.notation.ast import Access, walk  # ast imports this module for annotations

        assert self.operator.overlap is not None
        first = self.operator.parameters[0]
        return all(not isinstance(node, Access) or node.tensor != first for node in walk(self.operator.overlap))

    @property
    def union(self) -> Operator:
        """Returns the operator that combines two values, and returns the one value where the other is missing."""
        return _passing(self.operator) if self.operator.intersects else self.operator

    def __str__(self) -> str:
        identity = self.identity.value if isinstance(self.identity, Extreme) else self.identity
        return f"{self.operator}, identity {identity}"


def _signs(zero: Number) -> tuple[float, ...]:
    parts = (zero.real, zero.imag) if isinstance(zero, complex) else (zero,)
    return tuple(copysign(1.0, part) for part in parts)


def _passing(operator: Operator) -> Operator:
    from mlir_sparse.notation.ast import Access  # ast imports this module for annotations

    left, right = (Access(parameter) for parameter in operator.parameters)
    return replace(operator, left=left, right=right)
