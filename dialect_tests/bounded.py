"""What arithmetic gives on any numbers, and how far from it a right answer may be.

Every value is computed in higher precision, and carries the sum of the absolute values of its terms (Higham 2002,
section 3.1): a result is right within so many roundings of that sum, and within what underflow takes from each
product. Where the text as written leaves the range of the element type, nothing is judged; where it stays inside,
an answer that overflowed or vanished is wrong. What is not stored is zero whatever it is multiplied by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from mlir_sparse.notation import (
    Access,
    Assignment,
    AssignOp,
    Binary,
    BinaryOp,
    Call,
    Expr,
    IndexVar,
    Literal,
    Negate,
    Reduce,
    ReduceOp,
    walk,
)
from mlir_sparse.testing.reference.reference_sums import with_sums

__all__ = ["Operand", "assert_within", "evaluate", "is_bounded"]

Array = np.ndarray[Any, Any]

_WIDE = np.longdouble
_COMPARED: dict[BinaryOp, Callable[[Array, Array], Array]] = {
    BinaryOp.LT: np.less,
    BinaryOp.LE: np.less_equal,
    BinaryOp.GT: np.greater,
    BinaryOp.GE: np.greater_equal,
    BinaryOp.EQ: np.equal,
    BinaryOp.NE: np.not_equal,
}
_CALLS = ("abs", "relu", "max", "min", "where")
_REDUCED = (ReduceOp.SUM, ReduceOp.MAX, ReduceOp.MIN)
_ASSIGNED = (AssignOp.ASSIGN, AssignOp.ADD, AssignOp.REDUCE_ADD, AssignOp.REDUCE_MAX, AssignOp.REDUCE_MIN)


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor's elements.

    Args:
        values: the elements.
        stored: where it has an entry.
        padded: where it may have one or not: zeros in storage that cannot tell them from padding.
        sparse: whether its storage leaves out entries.
    """

    values: Array
    stored: Array
    padded: Array
    sparse: bool = False


@dataclass(frozen=True, slots=True)
class _Value:
    """A value of the text, on the grid.

    Args:
        value: what it is.
        size: the sum of the absolute values of its terms; those that are not finite count nothing.
        tiny: what underflow may have taken, or given.
        lost: where the text as written leaves the range, or what is not known decides.
        absent: where there is no entry.
        padded: where there may be none.
        roundings: how many.
        summed: whether it is a sum of terms.
    """

    value: Array
    size: Array
    tiny: Array
    lost: Array
    absent: Array
    padded: Array
    roundings: int = 0
    summed: bool = False

    def error(self, eps: float) -> Array:
        """Returns how far a right answer may be."""
        return np.asarray(self.roundings * eps * self.size + self.tiny)


def is_bounded(assignment: Assignment) -> bool:
    """Returns whether an assignment is arithmetic of which `evaluate` knows the bounds."""
    return assignment.op in _ASSIGNED and not assignment.ranges and all(map(_is_known, walk(assignment.value)))


def _is_known(node: Expr) -> bool:
    match node:
        case Access(_, subscripts):
            return all(isinstance(one, IndexVar) for one in subscripts)
        case Literal(value):
            return not isinstance(value, complex)
        case Binary(op):
            return op not in (BinaryOp.AND, BinaryOp.OR)
        case Call(name):
            return name in _CALLS
        case Reduce(op):
            return op in _REDUCED
        case Negate():
            return True
    return False


@dataclass(frozen=True, slots=True)
class _Grid:
    operands: Mapping[str, Operand]
    axes: Mapping[str, int]
    extents: Mapping[str, int]
    eps: float
    least: float
    largest: float
    dtype: np.dtype[Any]
    # Whether nothing may be multiplied out: no operand leaves out entries, and no sum stands inside another.
    as_written: bool

    def checked(self, found: _Value) -> _Value:
        """Returns a value that is lost where it may leave the range."""
        return replace(found, lost=found.lost | (found.size > self.largest))

    def constant(self, number: float) -> _Value:
        shape = [1] * len(self.axes)
        value = np.asarray(number).astype(self.dtype).astype(_wide(self.dtype)).reshape(shape)
        no = np.zeros(shape, bool)
        return _Value(value, np.abs(value), np.zeros(shape, _WIDE), no, no, no)

    def read(self, access: Access) -> _Value:
        held = self.operands[access.tensor]
        names = [subscript.name for subscript in access.subscripts if isinstance(subscript, IndexVar)]

        def laid(array: Array) -> Array:
            indices = [self.places(name) for name in names]
            return np.asarray(
                array[tuple(np.broadcast_arrays(*indices))] if names else array.reshape([1] * len(self.axes))
            )

        value = laid(held.values).astype(_wide(self.dtype))
        size = np.where(np.isfinite(value), np.abs(value), 0)
        shape = value.shape
        stored, padded = laid(held.stored), laid(held.padded)
        return _Value(value, size, np.zeros(shape, _WIDE), np.zeros(shape, bool), ~stored & ~padded, padded)

    def places(self, name: str) -> Array:
        shape = [1] * len(self.axes)
        shape[self.axes[name]] = self.extents[name]
        return np.arange(self.extents[name]).reshape(shape)

    # -- the meaning of nodes ----------------------------------------------------------------------------------

    def of(self, node: Expr) -> _Value:
        match node:
            case Access():
                return self.read(node)
            case Literal(number):
                return self.constant(float(number.real))
            case Negate(operand):
                inner = self.of(operand)
                return replace(inner, value=-inner.value)
            case Binary(BinaryOp.ADD, left, right):
                return self.sum_of_two(self.of(left), self.of(right))
            case Binary(BinaryOp.SUB, left, right):
                other = self.of(right)
                return self.sum_of_two(self.of(left), replace(other, value=-other.value))
            case Binary(BinaryOp.MUL, left, right):
                return self.product(self.of(left), self.of(right))
            case Binary(BinaryOp.DIV, left, right):
                return self.quotient(self.of(left), self.of(right))
            case Binary(op, left, right):
                return self.comparison(_COMPARED[op], self.of(left), self.of(right))
            case Call("abs", (operand,)):
                inner = self.of(operand)
                return replace(inner, value=np.abs(inner.value))
            case Call("relu", (operand,)):
                return self.chosen(np.maximum, self.of(operand), self.constant(0))
            case Call("max" | "min" as name, (left, right)):
                return self.chosen(np.maximum if name == "max" else np.minimum, self.of(left), self.of(right))
            case Call("where", (condition, then, otherwise)):
                return self.choice(self.of(condition), self.of(then), self.of(otherwise))
            case Reduce(ReduceOp.SUM, indices, body):
                return self.summed(indices, self.of(body))
            case Reduce(op, indices, body):
                return self.extreme(op, indices, self.of(body))
        raise AssertionError(node)

    def sum_of_two(self, a: _Value, b: _Value) -> _Value:
        found = _Value(
            a.value + b.value,
            a.size + b.size,
            a.tiny + b.tiny,
            a.lost | b.lost,
            a.absent & b.absent,
            a.padded & b.padded,
            max(a.roundings, b.roundings) + 1,
            True,
        )
        return self.checked(found)

    def product(self, a: _Value, b: _Value) -> _Value:
        absent = a.absent | b.absent
        odd_a, odd_b = ~np.isfinite(a.value), ~np.isfinite(b.value)
        # Multiplied out, it is infinity times each term of a sum, which is another matter.
        out_a, out_b = (one.summed and not self.as_written for one in (a, b))
        unsure = (odd_a & (b.padded | self.maybe_zero(b) | out_b)) | (odd_b & (a.padded | self.maybe_zero(a) | out_a))
        found = _Value(
            np.where(absent, 0, a.value * b.value),
            np.where(absent, 0, a.size * b.size),
            np.where(absent, 0, a.size * b.tiny + b.size * a.tiny + a.tiny * b.tiny + self.least),
            (a.lost | b.lost | unsure) & ~absent,
            absent,
            (a.padded | b.padded) & ~absent,
            a.roundings + b.roundings + 1,
            a.summed | b.summed,
        )
        return self.checked(found)

    def maybe_zero(self, a: _Value) -> Array:
        """Returns where rounding decides whether a value is zero, and of what sign."""
        error = a.error(self.eps)
        return np.asarray((error > 0) & (np.abs(a.value) <= error))

    def quotient(self, a: _Value, b: _Value) -> _Value:
        # By what is not finite, or may be zero, nothing is judged: signs of zeros have tests of their own.
        below = np.abs(b.value)
        lost = a.lost | b.lost | ~np.isfinite(b.value) | ~np.isfinite(a.value) | (below <= 2 * b.error(self.eps))
        lost = lost | (below == 0)
        # But a sum of nothing, or of nothing but zeros that are stored, by zero is no number.
        exact = [one.error(self.eps) + np.abs(one.value) == 0 for one in (a, b)]
        neither = exact[0] & exact[1] & ~(a.lost | b.lost) & self.as_written
        safe = np.where(lost, 1, below)
        share = b.size / safe
        found = _Value(
            np.where(neither, np.nan, np.where(lost, 0, a.value / np.where(lost, 1, b.value))),
            a.size * share / safe,
            (a.tiny + a.size * b.tiny / safe) / safe + self.least,
            lost & ~neither,
            np.zeros(np.broadcast_shapes(a.value.shape, b.value.shape), bool),
            np.zeros(np.broadcast_shapes(a.value.shape, b.value.shape), bool),
            a.roundings + b.roundings + 1,
        )
        return self.checked(found)

    def undecided(self, a: _Value, b: _Value) -> Array:
        """Returns where rounding decides which of two values is the larger."""
        error = a.error(self.eps) + b.error(self.eps)
        return np.asarray((error > 0) & (np.abs(a.value - b.value) <= error))

    def comparison(self, function: Callable[[Array, Array], Array], a: _Value, b: _Value) -> _Value:
        value = function(a.value, b.value).astype(_WIDE)
        no = np.zeros(value.shape, bool)
        return _Value(value, value, no.astype(_WIDE), a.lost | b.lost | self.undecided(a, b), no, no)

    def chosen(self, function: Callable[[Array, Array], Array], a: _Value, b: _Value) -> _Value:
        value = function(a.value, b.value)
        no = np.zeros(value.shape, bool)
        roundings = max(a.roundings, b.roundings)
        return _Value(value, a.size + b.size, a.tiny + b.tiny, a.lost | b.lost, no, no, roundings)

    def choice(self, condition: _Value, then: _Value, otherwise: _Value) -> _Value:
        true = condition.value != 0

        def pick(one: Array, other: Array) -> Array:
            return np.where(true, one, other)

        return _Value(
            pick(then.value, otherwise.value),
            pick(then.size, otherwise.size),
            pick(then.tiny, otherwise.tiny),
            condition.lost | pick(then.lost, otherwise.lost) | self.maybe_zero(condition),
            np.zeros(true.shape, bool),
            np.zeros(true.shape, bool),
            max(then.roundings, otherwise.roundings),
        )

    def summed(self, indices: tuple[IndexVar, ...], body: _Value) -> _Value:
        axis, count, body = self.spread(indices, body)
        found = _Value(
            body.value.sum(axis=axis, keepdims=True),
            body.size.sum(axis=axis, keepdims=True),
            body.tiny.sum(axis=axis, keepdims=True),
            body.lost.any(axis=axis, keepdims=True),
            # Whether a sum over no entries is one is left open: temporaries may be sparse or not.
            np.zeros_like(body.absent.all(axis=axis, keepdims=True)),
            (body.padded | body.absent).all(axis=axis, keepdims=True),
            body.roundings + count,
            True,
        )
        return self.checked(found)

    def extreme(self, op: ReduceOp, indices: tuple[IndexVar, ...], body: _Value) -> _Value:
        axis, _, body = self.spread(indices, body)
        function, start = (np.max, -np.inf) if op is ReduceOp.MAX else (np.min, np.inf)
        value = function(body.value, axis=axis, keepdims=True, initial=start)
        no = np.zeros(value.shape, bool)
        return replace(
            body,
            value=value,
            size=body.size.max(axis=axis, keepdims=True, initial=0),
            tiny=body.tiny.max(axis=axis, keepdims=True, initial=0),
            lost=body.lost.any(axis=axis, keepdims=True),
            absent=no,
            padded=no,
        )

    def spread(self, indices: tuple[IndexVar, ...], body: _Value) -> tuple[tuple[int, ...], int, _Value]:
        """Returns the axes to reduce over, how many elements these have, and the value as long as they are."""
        axis = tuple(self.axes[index.name] for index in indices)
        shape = list(body.value.shape)
        for index in indices:
            shape[self.axes[index.name]] = self.extents[index.name]
        fields = ("value", "size", "tiny", "lost", "absent", "padded")
        wide = {name: np.broadcast_to(getattr(body, name), shape) for name in fields}
        return axis, int(np.prod([shape[at] for at in axis])), replace(body, **wide)


def _wide(dtype: np.dtype[Any]) -> Any:
    return np.clongdouble if dtype.kind == "c" else _WIDE


def _limits(dtype: np.dtype[Any]) -> tuple[float, float, float]:
    """Returns epsilon, the least number above zero and the largest one of an element type."""
    if dtype == ml_dtypes.bfloat16:
        about = ml_dtypes.finfo(dtype)
        # x86 has an instruction that rounds to bf16, and takes what is below the normal numbers for zero.
        return float(about.eps), float(about.tiny), float(about.max)
    about = np.finfo(dtype)
    return float(about.eps), float(about.smallest_subnormal), float(about.max)


def evaluate(assignment: Assignment, operands: Mapping[str, Operand], extents: Mapping[str, int]) -> _Value:
    """Returns the target's value, with its bounds.

    Args:
        assignment: arithmetic, as `is_bounded` says.
        operands: what it reads, all of one element type: floating-point or complex.
        extents: how far index variables run.
    """
    dtype = next(iter(operands.values())).values.dtype
    axes = {index.name: axis for axis, index in enumerate(assignment.indices)}
    value = with_sums(assignment)
    sums = [node for node in walk(value) if isinstance(node, Reduce)]
    as_written = not any(one.sparse for one in operands.values()) and not any(
        isinstance(below, Reduce) for one in sums for below in walk(one.body)
    )
    grid = _Grid(operands, axes, extents, *_limits(dtype), dtype, as_written)
    with np.errstate(all="ignore"):
        found = grid.of(value)
        if assignment.op is AssignOp.ADD:
            found = grid.sum_of_two(grid.read(assignment.target), found)
        shape = tuple(extents[index.name] for index in assignment.target.indices)
        fields = ("value", "size", "tiny", "lost", "absent", "padded")
        laid = {}
        for name in fields:
            array = getattr(found, name)
            laid[name] = np.broadcast_to(array.reshape(array.shape[: len(shape)]), shape)
        return replace(found, **laid)


def assert_within(found: Array, wanted: _Value) -> None:
    """Raises AssertionError unless a result is as near as rounding allows, wherever the text stays in range."""
    assert found.shape == wanted.value.shape, f"expected shape {wanted.value.shape}, but got {found.shape}"
    eps, least, _ = _limits(found.dtype)
    with np.errstate(all="ignore"):
        values = found.astype(_wide(found.dtype))
        allowed = eps * (2 * wanted.roundings + 4) * wanted.size + 2 * wanted.tiny + least
        near = np.abs(values - wanted.value) <= allowed
        same = np.where(np.isnan(wanted.value), np.isnan(values), values == wanted.value)
        right = np.where(np.isfinite(wanted.value), near, same) | wanted.lost
    if not right.all():
        at = tuple(int(place) for place in np.argwhere(~right)[0])
        raise AssertionError(
            f"expected {wanted.value[at]!r} within {allowed[at]!r} at {at}, but got {found[at]!r}; "
            f"{int((~right).sum())} of {right.size} are wrong"
        )
