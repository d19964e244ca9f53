"""Operands that a loop nest reads from a copy in other storage, as that takes less time, the copy included.

Loops over entries of several sparse operands meet their rows entry by entry. An array is looked up, or gone over by
vectors: where a sparse operand is small or nearly full, a copy of it as an array takes less time than its meetings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlir_sparse.classes import dataclass
from mlir_sparse.machine import MachineTimes
from mlir_sparse.notation import Binary, BinaryOp, Call, Expr, Literal, walk
from mlir_sparse.plan.algebra.estimates import EntrySet, Estimates

__all__ = ["CopiedOperand", "CopiedOperands", "makes_finite", "with_copies"]

# Functions that are finite for all finite arguments, and not by their range alone as `exp` is.
_FINITE = frozenset(("abs", "atan", "ceil", "conj", "cos", "erf", "floor", "imag", "max", "min", "real", "relu"))
_FINITE |= frozenset(("round", "sign", "sin", "square", "stored", "tanh", "trunc", "where"))


@dataclass(slots=True, eq=False)
class CopiedOperand:
    """An operand, and what it is in other storage.

    Args:
        operand: the operand.
        copy: what loops read in its place.
        nanoseconds: the time of copying.
    """

    operand: EntrySet
    copy: EntrySet
    nanoseconds: float


class CopiedOperands:
    """Which operands may be copied, each copied once.

    Args:
        estimates: estimates for the variables.
        machine: the times of steps.
        fits: whether a part with a result fits in memory.
    """

    def __init__(self, estimates: Estimates, machine: MachineTimes, fits: Callable[[EntrySet], bool]) -> None:
        self._estimates = estimates
        self._machine = machine
        self._fits = fits
        self._known: dict[int, CopiedOperand | None] = {}
        # What the keys name; it lives as long as they do.
        self._named: list[EntrySet] = []

    def among(self, relations: Sequence[EntrySet], most: float) -> list[CopiedOperand]:
        """Returns the operands that loops meet with others, of which a copy takes less than a time to make."""
        sparse = [relation for relation in relations if relation.sparse]
        if len(sparse) < 2:
            return []
        met = (one for one in sparse if any(one.variables & other.variables for other in sparse if other is not one))
        found = (self._copy_of(one) for one in met)
        return [copied for copied in found if copied is not None and copied.nanoseconds < most]

    def _copy_of(self, operand: EntrySet) -> CopiedOperand | None:
        key = id(operand)
        if key not in self._known:
            self._known[key] = self._array_of(operand)
            self._named.append(operand)
        return self._known[key]

    def _array_of(self, operand: EntrySet) -> CopiedOperand | None:
        machine, space = self._machine, self._estimates.space(operand.variables)
        array = EntrySet(operand.variables, space, False, {}, {})
        if not operand.in_memory or not self._fits(array):
            return None
        write = machine.write if space < machine.kept else machine.fresh_write
        time = machine.call + operand.entries * (machine.walk + machine.look_up) + space * write
        return CopiedOperand(operand, array, time)


def with_copies(relations: Sequence[EntrySet], copied: Sequence[CopiedOperand]) -> list[EntrySet]:
    """Returns operands with copies in the place of those that are copied."""
    copies = {id(one.operand): one.copy for one in copied}
    return [copies.get(id(relation), relation) for relation in relations]


def makes_finite(node: Expr) -> bool:
    """Returns whether an expression makes no infinity and no NaN of finite numbers, but where products overflow.

    Where one is made beside a missing entry, loops over entries skip it; zero of an array times it is NaN.

    >>> from mlir_sparse.notation import parse
    >>> makes_finite(parse("y = A(i,j) * M(i,j) * abs(P(i,j))").value)
    True
    >>> makes_finite(parse("y = A(i,j) * M(i,j) * log(P(i,j))").value)
    False
    """
    return all(map(_is_finite, walk(node)))


def _is_finite(node: Expr) -> bool:
    match node:
        case Call("pow", (_, Literal(int(power)))):
            return power >= 0
        case Call(function):
            return function in _FINITE
        case Binary(BinaryOp.DIV, _, right):
            return isinstance(right, Literal) and right.value != 0
        case _:
            return True
