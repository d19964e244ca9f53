"""What expressions about stored entries mean, on dense arrays with a mark for each element that is an entry.

It shares the nodes with the compiler and nothing after them: regions of operators, monoids and
semirings are given to it as NumPy functions, and the summation rule is that of `tools.reference`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mlir_sparse import SparseTensor
from mlir_sparse.notation import (
    Access,
    Apply,
    Assignment,
    AssignOp,
    Binary,
    BinaryOp,
    Call,
    Expr,
    Fold,
    Literal,
    Negate,
    Reduce,
    ReduceOp,
)
from mlir_sparse.testing.reference.reference_sums import Sides, with_sums

__all__ = ["Entries", "Meaning", "Regions", "entries_of", "evaluate"]

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]


class Entries(NamedTuple):
    """Values, and where there is one."""

    values: Array
    present: Array


class Regions(NamedTuple):
    """What an operator does, in NumPy: None for no entry."""

    overlap: Function | None
    left: Function | None = None
    right: Function | None = None
    absent: object | None = None


@dataclass(frozen=True)
class Meaning:
    """What names mean.

    Args:
        add: the addition of two values, and its identity.
        multiply: the multiplication of two values.
        operators: what operators do, by name.
        monoids: (function, identity) by name.
        lift: what happens to each value before it is added.
        sides: what sums go into.
    """

    add: Function = np.add
    zero: object = 0
    multiply: Function = np.multiply
    operators: Mapping[str, Regions] = field(default_factory=dict)
    monoids: Mapping[str, tuple[Function, object]] = field(default_factory=dict)
    lift: Function = np.asarray
    sides: Sides = field(default_factory=Sides)


def entries_of(tensor: SparseTensor | Array) -> Entries:
    """Returns a tensor's entries: all elements of an array, what is stored of a sparse tensor."""
    if not isinstance(tensor, SparseTensor):
        array = np.asarray(tensor)
        return Entries(array, np.ones(array.shape, bool))
    coordinates, values = tensor.to_coo()
    dense, present = np.zeros(tensor.shape, tensor.dtype), np.zeros(tensor.shape, bool)
    dense[tuple(coordinates)] = values
    present[tuple(coordinates)] = True
    return Entries(dense, present)


def evaluate(
    assignment: Assignment,
    tensors: Mapping[str, SparseTensor | Array],
    meaning: Meaning,
    dtype: Any,
    dense_masks: Collection[str] = (),
) -> Entries:
    """Returns the target's values, the zero of the semiring where there is no entry, and where there are entries.

    Args:
        assignment: the statement, before anything is rewritten in it.
        tensors: the operands.
        meaning: what sums, products and names mean.
        dtype: the element type to compute in.
        dense_masks: the masks that are arrays, whose elements are in it where they are not zero.
    """
    held = {name: entries_of(tensor) for name, tensor in tensors.items()}
    axes = {index.name: axis for axis, index in enumerate(assignment.indices)}
    sizes: dict[str, int] = {}
    grid = _Grid(held, axes, meaning, np.dtype(dtype), frozenset(dense_masks), sizes)
    with np.errstate(all="ignore"):
        found = grid.entries(with_sums(assignment, meaning.sides))
        if assignment.op is AssignOp.ADD:
            found = grid.union(grid.read(assignment.target), found)
        found = Entries(meaning.lift(found.values), found.present)
        rank = len(assignment.target.subscripts)
        shape = tuple(sizes[index.name] for index in assignment.target.indices)
        present = np.broadcast_to(found.present.reshape(found.present.shape[:rank]), shape)
        values = np.broadcast_to(found.values.reshape(found.values.shape[:rank]), shape)
        zero = np.asarray(meaning.zero).astype(dtype)
        return Entries(np.where(present, values, zero).astype(dtype), present)


@dataclass(frozen=True)
class _Grid:
    held: Mapping[str, Entries]
    axes: Mapping[str, int]
    meaning: Meaning
    dtype: np.dtype[Any]
    dense_masks: frozenset[str]
    sizes: dict[str, int]

    def read(self, access: Access) -> Entries:
        values, present = self.held[access.tensor]
        names = [subscript.name for subscript in access.subscripts]  # type: ignore[union-attr]
        for name, size in zip(names, values.shape, strict=True):
            self.sizes[name] = size
        order = sorted(range(len(names)), key=lambda at: self.axes[names[at]])
        shape = [1] * len(self.axes)
        for name, size in zip(names, values.shape, strict=True):
            shape[self.axes[name]] = size
        return Entries(values.transpose(order).reshape(shape), present.transpose(order).reshape(shape))

    def entries(self, node: Expr) -> Entries:
        meaning = self.meaning
        one = np.ones([1] * len(self.axes), bool)
        match node:
            case Access():
                return self.read(node)
            case Literal(value):
                return Entries(np.full(one.shape, value), one)
            case Negate(operand):
                values, present = self.entries(operand)
                return Entries(-values, present)
            case Binary(BinaryOp.ADD, left, right):
                return self.union(self.entries(left), self.entries(right))
            case Binary(BinaryOp.MUL, left, right):
                a, b = self.entries(left), self.entries(right)
                return Entries(np.asarray(meaning.multiply(a.values, b.values)), a.present & b.present)
            case Reduce(ReduceOp.SUM, indices, body):
                return self.folded(meaning.add, meaning.zero, indices, self.entries(body), meaning.lift)
            case Fold(monoid, indices, body):
                function, identity = meaning.monoids[monoid.name]
                return self.folded(function, identity, indices, self.entries(body), lambda a: a)
            case Call(function, (operand,)):
                values, present = self.entries(operand)
                return Entries(getattr(np, function)(values), present)
            case Apply(operator, (mask, body)) if operator.name in ("if", "if not"):
                kept, (values, present) = self.entries(mask), self.entries(body)
                here = self.truth(mask, kept)
                return Entries(values, present & (here if operator.name == "if" else ~here))
            case Apply(operator, (body, condition)) if operator.name == "select":
                values, present = self.entries(body)
                return Entries(values, present & (self.plain(condition) != 0))
            case Apply(operator, arguments):
                return self.applied(meaning.operators[operator.name], [self.entries(a) for a in arguments])
        raise AssertionError(node)

    def truth(self, mask: Expr, kept: Entries) -> Array:
        assert isinstance(mask, Access)
        return kept.values != 0 if mask.tensor in self.dense_masks else kept.present

    def plain(self, node: Expr) -> Array:
        match node:
            case Access():
                return self.read(node).values
            case Literal(value):
                return np.full([1] * len(self.axes), value)
            case Binary(op, left, right):
                return np.asarray(_PLAIN[op](self.plain(left), self.plain(right)))
        raise AssertionError(node)

    def union(self, a: Entries, b: Entries) -> Entries:
        lift = self.meaning.lift
        both = self.meaning.add(lift(a.values), lift(b.values))
        values = np.where(a.present & b.present, both, np.where(a.present, lift(a.values), lift(b.values)))
        return Entries(values, a.present | b.present)

    def folded(self, function: Function, identity: object, indices: Any, body: Entries, lift: Function) -> Entries:
        axis = tuple(self.axes[index.name] for index in indices)
        shape = list(np.broadcast_shapes(body.values.shape, body.present.shape))
        values, present = np.broadcast_to(lift(body.values), shape), np.broadcast_to(body.present, shape)
        order = [at for at in range(len(shape)) if at not in axis] + list(axis)
        kept = [size for at, size in enumerate(shape) if at not in axis]
        rows = values.transpose(order).reshape(int(np.prod(kept)), -1)
        marks = present.transpose(order).reshape(int(np.prod(kept)), -1)
        dtype = rows.dtype if rows.dtype == bool else self.dtype
        start = np.asarray(identity).astype(dtype)
        found = np.full(len(rows), start, dtype)
        for number, (row, mark) in enumerate(zip(rows, marks, strict=True)):
            first = True
            for value in row[mark]:
                found[number] = value if first else function(found[number], value)
                first = False
        final = [1 if at in axis else size for at, size in enumerate(shape)]
        return Entries(found.reshape(final), marks.any(axis=1).reshape(final))

    def applied(self, regions: Regions, operands: list[Entries]) -> Entries:
        if len(operands) == 1:
            ((values, present),) = operands
            if regions.overlap is None:
                return Entries(np.full(values.shape, regions.absent), ~present)
            inside = np.asarray(regions.overlap(values))
            if regions.absent is None:
                return Entries(inside, present)
            return Entries(np.where(present, inside, regions.absent), np.ones_like(present))
        a, b = operands
        shape = np.broadcast_shapes(a.present.shape, b.present.shape)
        values: Array = np.zeros(shape)
        found = np.zeros(shape, bool)
        parts = (
            (a.present & b.present, regions.overlap, (a.values, b.values)),
            (a.present & ~b.present, regions.left, (a.values,)),
            (~a.present & b.present, regions.right, (b.values,)),
        )
        for where, function, given in parts:
            if function is not None:
                values = np.where(where, function(*given), values)
                found = found | where
        return Entries(values, found)


_PLAIN = {
    BinaryOp.ADD: np.add,
    BinaryOp.SUB: np.subtract,
    BinaryOp.MUL: np.multiply,
    BinaryOp.LT: np.less,
    BinaryOp.LE: np.less_equal,
    BinaryOp.GT: np.greater,
    BinaryOp.GE: np.greater_equal,
    BinaryOp.EQ: np.equal,
    BinaryOp.NE: np.not_equal,
}
