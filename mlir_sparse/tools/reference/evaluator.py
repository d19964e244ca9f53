"""Evaluates an Assignment in NumPy, straight from its meaning, to check kernels against.

Shares nothing with the compiler after the syntax tree: the summation rule is
written here a second time. Sparse operands stay coordinates, so that a tensor
of 2425 x 10816 x 29567 with 100,000 entries is checked in seconds, and
`compare` splits what is too large at an index of the target.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

import numpy as np

from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation.ast import (
    Access,
    AffineSubscript,
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
)
from mlir_sparse.tools.reference.relation import (
    LIMIT,
    Array,
    Relation,
    TooManyValues,
    combine,
    densify,
    multiply,
    reduce,
)
from mlir_sparse.tools.reference.sums import with_sums

__all__ = ["Block", "Operand", "evaluate"]


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor to compute with: an array, or coordinates a dimension and a value an entry.

    Args:
        values: the array, or the values of the entries.
        shape: the extent of each dimension.
        coordinates: None for an array; otherwise an int64 array a dimension, no entry twice.
    """

    values: Array
    shape: tuple[int, ...]
    coordinates: tuple[Array, ...] | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """What to evaluate: the tensors, the extents, and the range of one variable to keep to.

    Args:
        operands: the tensors by name.
        extents: the extent of each index variable.
        variable: the variable kept to `low <= value < high`, or None for all of it.
        absolute: whether to take absolute values throughout, which bounds how far rounding can carry.
    """

    operands: Mapping[str, Operand]
    extents: Mapping[str, int]
    variable: str | None = None
    low: int = 0
    high: int = 0
    absolute: bool = False
    within: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kept = {} if self.variable is None else {self.variable: self.high - self.low}
        object.__setattr__(self, "within", {**self.extents, **kept})

    def offset(self, name: str) -> int:
        """Returns the first value of a variable within the block."""
        return self.low if name == self.variable else 0


def evaluate(assignment: Assignment, block: Block) -> Relation:
    """Evaluates an assignment over a block, in int64, float64 or complex128.

    Returns:
        The target's value, a Relation over the target's variables.

    Raises:
        TooManyValues: where the block must be made smaller.
        UnsupportedError: for a function that NumPy has no counterpart of.
    """
    value = _expression(with_sums(assignment), block)
    if not assignment.op.reads_target:
        return value
    function = {AssignOp.ADD: np.add, AssignOp.MUL: np.multiply, AssignOp.MAX: np.maximum, AssignOp.MIN: np.minimum}
    return combine(function[assignment.op], [_access(assignment.target, block), value], block.within)


# Values

_REDUCTIONS: dict[ReduceOp, np.ufunc] = {
    ReduceOp.SUM: np.add,
    ReduceOp.PRODUCT: np.multiply,
    ReduceOp.MAX: np.maximum,
    ReduceOp.MIN: np.minimum,
}

# Where NumPy's name is not the notation's.
_FUNCTIONS: dict[str, Callable[..., Array]] = {
    "acos": np.arccos,
    "asin": np.arcsin,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "max": np.maximum,
    "min": np.minimum,
    "pow": np.power,
    "relu": lambda x: np.maximum(x, 0),
    "round": np.round,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}


def _expression(node: Expr, block: Block) -> Relation:
    match node:
        case Access():
            return _access(node, block)
        case Literal(value):
            number = np.asarray(value)
            return Relation.of_dense((), np.abs(number) if block.absolute else number)
        case Negate(operand):
            inner = _expression(operand, block)
            return inner if block.absolute else inner.map(np.negative)
        case Binary(BinaryOp.MUL, left, right):
            return multiply(_expression(left, block), _expression(right, block))
        case Binary(BinaryOp.DIV, left, right):
            return _quotient(_expression(left, block), _expression(right, block), block)
        case Binary(op, left, right):
            function = np.add if op is BinaryOp.ADD or block.absolute else np.subtract
            return combine(function, [_expression(left, block), _expression(right, block)], block.within)
        case Call(name, arguments):
            return _call(name, [_expression(argument, block) for argument in arguments], block)
        case Reduce(op, indices, body):
            return _reduction(op, frozenset(variable.name for variable in indices), body, block)
    assert_never(node)


def _quotient(left: Relation, right: Relation, block: Block) -> Relation:
    if not right.sparse:  # an entry that is not stored stays zero, whatever divides it
        return multiply(left, right, _divide)
    names = tuple(sorted(left.variables | right.variables))
    parts = [Relation.of_dense(names, densify(side, names, block.within)) for side in (left, right)]
    return combine(_divide, parts, block.within)


def _divide(left: Array, right: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(left / right)


def _call(name: str, arguments: list[Relation], block: Block) -> Relation:
    function = _FUNCTIONS.get(name) or getattr(np, name, None)
    if function is None:
        raise UnsupportedError(f"expected a function that NumPy can check, but got '{name}'")
    with np.errstate(all="ignore"):
        at_zero = function(*(np.zeros((), argument.values.dtype) for argument in arguments))
        if at_zero != 0:
            names = tuple(sorted(frozenset().union(*(argument.variables for argument in arguments))))
            arguments = [Relation.of_dense(names, densify(part, names, block.within)) for part in arguments]
        value = combine(function, arguments, block.within)
    return value.map(np.abs) if block.absolute else value


def _reduction(op: ReduceOp, names: frozenset[str], body: Expr, block: Block) -> Relation:
    match op, body:
        case ReduceOp.SUM, Binary(BinaryOp.MUL, left, right):
            sides = _expression(left, block), _expression(right, block)
            # Two dense factors never meet entry by entry: a matrix product needs no array of i x j x k.
            if not sides[0].sparse and not sides[1].sparse and names <= sides[0].variables | sides[1].variables:
                return _contract(names, *sides)
            value = multiply(*sides)
        case _:
            value = _expression(body, block)
    if op in (ReduceOp.MAX, ReduceOp.MIN) and any(block.within[name] == 0 for name in names):
        return Relation.of_dense((), np.array(-math.inf if op is ReduceOp.MAX else math.inf))
    unused = math.prod(block.within[name] for name in names - value.variables)
    value = reduce(_REDUCTIONS[op], names & value.variables, value, block.within)
    match op:
        case ReduceOp.SUM if unused != 1:
            return value.map(lambda values: values * unused)
        case ReduceOp.PRODUCT if unused != 1:
            return value.map(lambda values: values**unused)
        case _:
            return value


def _contract(names: frozenset[str], left: Relation, right: Relation) -> Relation:
    order = tuple(dict.fromkeys(left.dense + right.dense))
    kept = tuple(name for name in order if name not in names)
    axes = [[order.index(name) for name in part] for part in (left.dense, right.dense, kept)]
    value = np.einsum(left.values[0], axes[0], right.values[0], axes[1], axes[2], optimize=True)
    return Relation.of_dense(kept, np.asarray(value))


# Accesses


def _access(node: Access, block: Block) -> Relation:
    operand = block.operands[node.tensor]
    values = _wide(operand.values)
    if block.absolute:
        values = np.abs(values)
    if operand.coordinates is None:
        return _gather(node, values, block)
    if any(isinstance(subscript, AffineSubscript) for subscript in node.subscripts):
        return _gather(node, _scatter(values, operand.shape, operand.coordinates), block)
    return _select(node, values, operand.coordinates, block)


def _wide(values: Array) -> Array:
    """Widens to the type to compute in, so that only the kernel rounds or wraps."""
    if values.dtype.kind in "biu":
        return values.astype(np.int64)
    return values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)


def _gather(node: Access, values: Array, block: Block) -> Relation:
    """Reads an array at every value of its variables."""
    names = tuple(variable.name for variable in node.indices)
    if names == tuple(s.name for s in node.subscripts if isinstance(s, IndexVar)) and len(names) == values.ndim:
        ranges = tuple(slice(block.offset(n), block.offset(n) + block.within[n]) for n in names)
        return Relation.of_dense(names, values[ranges])
    if math.prod(block.within[name] for name in names) > LIMIT:
        raise TooManyValues
    axes = np.ogrid[tuple(slice(block.offset(n), block.offset(n) + block.within[n]) for n in names)]
    at = dict(zip(names, axes, strict=True))
    return Relation.of_dense(names, values[tuple(_subscript(s, at) for s in node.subscripts)])


def _subscript(subscript: IndexVar | AffineSubscript, at: Mapping[str, Any]) -> Any:
    match subscript:
        case IndexVar(name):
            return at[name]
        case AffineSubscript(terms, constant):
            return sum((factor * at[variable.name] for factor, variable in terms), start=np.int64(constant))


def _select(node: Access, values: Array, coordinates: tuple[Array, ...], block: Block) -> Relation:
    """Keeps the entries whose coordinates the subscripts can have."""
    columns: dict[str, Array] = {}
    keep = np.ones(len(values), bool)
    for subscript, column in zip(node.subscripts, coordinates, strict=True):
        assert isinstance(subscript, IndexVar)
        if subscript.name in columns:
            keep &= columns[subscript.name] == column
            continue
        columns[subscript.name] = column
        if subscript.name == block.variable:
            keep &= (column >= block.low) & (column < block.high)
    shifted = [column[keep] - block.offset(name) for name, column in columns.items()]
    stacked = np.stack(shifted, axis=1) if shifted else np.zeros((len(values), 0), np.int64)
    return Relation(tuple(columns), (), stacked.astype(np.int64), values[keep])


def _scatter(values: Array, shape: tuple[int, ...], coordinates: tuple[Array, ...]) -> Array:
    if math.prod(shape) > LIMIT:
        raise TooManyValues
    full = np.zeros(shape, values.dtype)
    full[coordinates] = values
    return full
