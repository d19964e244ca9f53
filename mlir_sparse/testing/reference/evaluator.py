"""Evaluates an Assignment in NumPy, directly from its meaning, as the reference for kernels.

It shares only the syntax tree with the compiler: the summation rule is written a second time. Sparse operands stay
coordinates, so that a tensor of 2425 x 10816 x 29567 with 100,000 entries is checked in seconds. `compare` splits
larger problems along an index of the target.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import assert_never

import numpy as np

from mlir_sparse.dtypes import TRUTH, DType
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation.ast import (
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
    walk,
)
from mlir_sparse.testing.reference.named_arrays import Array, Relation, combine, densify, multiply, reduce
from mlir_sparse.testing.reference.read_elements import Block, Mode, access
from mlir_sparse.testing.reference.reference_sums import with_sums
from mlir_sparse.testing.reference.reference_truth import is_truth

__all__ = ["evaluate", "on_columns", "value_of"]


def evaluate(assignment: Assignment, block: Block) -> Relation:
    """Evaluates an assignment over a block, in int64, float64 or complex128.

    Returns:
        The target's value, a Relation over the target's variables.

    Raises:
        TooManyValues: if the block must be smaller.
        UnsupportedError: for a function that NumPy lacks.
    """
    with np.errstate(all="ignore"):
        value = _expression(with_sums(assignment), block)
    if not assignment.op.reads_target:
        return value
    function: dict[AssignOp, Callable[..., Array]] = {
        AssignOp.ADD: np.add,
        AssignOp.MUL: np.multiply,
        AssignOp.MAX: np.maximum,
        AssignOp.MIN: np.minimum,
        AssignOp.OR: _numeric(np.logical_or),
        AssignOp.AND: _numeric(np.logical_and),
    }
    return combine(function[assignment.op], [access(assignment.target, block), value], block.within)


# Values

_REDUCTIONS: dict[ReduceOp, np.ufunc] = {
    ReduceOp.SUM: np.add,
    ReduceOp.PRODUCT: np.multiply,
    ReduceOp.MAX: np.maximum,
    ReduceOp.MIN: np.minimum,
}


def _numeric(function: Callable[..., Array]) -> Callable[..., Array]:
    """Returns a function of truth values that returns numbers."""
    return lambda *values: np.asarray(function(*values)).astype(np.int64)


def _in_type(dtype: DType, values: Array) -> Array:
    """Returns values rounded to an element type, as wide numbers."""
    with np.errstate(invalid="ignore", over="ignore"):
        found = values.astype(dtype.numpy)
    return found.astype(values.dtype if values.dtype.kind == "c" or not dtype.is_complex else np.complex128)


# Exact, unless the operands differ by no more than their rounding.
_TRUTHS: dict[BinaryOp, Callable[..., Array]] = {
    BinaryOp.LT: _numeric(np.less),
    BinaryOp.LE: _numeric(np.less_equal),
    BinaryOp.GT: _numeric(np.greater),
    BinaryOp.GE: _numeric(np.greater_equal),
    BinaryOp.EQ: _numeric(np.equal),
    BinaryOp.NE: _numeric(np.not_equal),
    BinaryOp.AND: _numeric(np.logical_and),
    BinaryOp.OR: _numeric(np.logical_or),
}

_ON_COLUMNS: dict[BinaryOp, Callable[..., Array]] = {
    BinaryOp.ADD: np.add,
    BinaryOp.SUB: np.subtract,
    BinaryOp.MUL: np.multiply,
    BinaryOp.DIV: np.divide,
    **_TRUTHS,
}

# Where NumPy's name is not the notation's.
_FUNCTIONS: dict[str, Callable[..., Array]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "max": np.maximum,
    "min": np.minimum,
    "pow": np.power,
    "relu": lambda x: np.maximum(x, 0),
    "round": np.round,
    "reciprocal": lambda x: np.asarray(
        np.where(x == 0, 0, np.reciprocal(x)) if x.dtype.kind in "iu" else np.reciprocal(x)
    ),
    **{
        name: _numeric(getattr(np, name))
        for name in ("logical_not", "logical_xor", "isnan", "isinf", "isfinite", "signbit")
    },
    "where": lambda c, a, b: np.asarray(np.where(c != 0, a, b)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    TRUTH.name: lambda x: np.asarray(x != 0).astype(np.int64),
    **{name: partial(_in_type, DType(name)) for name in DType.NAMES if name != TRUTH.name},
}


def _expression(node: Expr, block: Block) -> Relation:
    match node:
        case Access():
            return access(node, block)
        case Literal(value):
            number = np.asarray(1 if block.mode is Mode.COUNT else value)
            return Relation.of_dense((), number if block.mode is Mode.VALUE else np.abs(number))
        case Negate(operand):
            inner = _expression(operand, block)
            return inner.map(np.negative) if block.mode is Mode.VALUE else inner
        case Binary(BinaryOp.MUL, left, right):
            return multiply(_expression(left, block), _expression(right, block))
        case Binary(BinaryOp.DIV, left, right):
            return _quotient(left, right, block)
        case Binary(op, left, right) if op.gives_truth:
            return _apply(_TRUTHS[op], (left, right), block)
        case Binary(BinaryOp.ADD, left, right) if is_truth(node, block):
            return _apply(_TRUTHS[BinaryOp.OR], (left, right), block)
        case Binary(op, left, right):
            function = np.subtract if op is BinaryOp.SUB and block.mode is Mode.VALUE else np.add
            return combine(function, [_expression(left, block), _expression(right, block)], block.within)
        case Call("stored", (body,)):
            return _stored(body, block)
        case Call("invert", (body,)) if is_truth(body, block):
            return _call("logical_not", (body,), block)
        case Call(name, arguments):
            return _call(name, arguments, block)
        case Reduce(op, indices, body):
            return _reduction(op, frozenset(variable.name for variable in indices), body, block)
        case Apply() | Fold():
            raise UnsupportedError(f"expected operators outside of arithmetic to check, but got `{node}` inside it")
    assert_never(node)


def value_of(node: Expr, block: Block) -> Relation:
    """Returns the value of an expression whose sums are explicit."""
    return _expression(node, block)


def on_columns(node: Expr, columns: Mapping[str, Array]) -> Array:
    """Evaluates an expression of scalars on each row of columns, which are named like its accesses."""
    match node:
        case Access():
            return columns[str(node)]
        case Literal(value):
            return np.asarray(value)
        case Negate(operand):
            return np.asarray(-on_columns(operand, columns))
        case Binary(op, left, right):
            return _ON_COLUMNS[op](on_columns(left, columns), on_columns(right, columns))
        case Call(name, arguments):
            function = _FUNCTIONS.get(name) or getattr(np, name)
            return np.asarray(function(*(on_columns(argument, columns) for argument in arguments)))
        case _:
            raise UnsupportedError(f"expected an operator of scalars to check, but got `{node}`")


def _quotient(left: Expr, right: Expr, block: Block) -> Relation:
    above, below = _expression(left, block), _reciprocal(right, block)
    if not below.sparse:  # a missing entry stays zero for any divisor
        return multiply(above, below)
    names = tuple(sorted(above.variables | below.variables))
    dense = [Relation.of_dense(names, densify(side, names, block.within)) for side in (above, below)]
    return multiply(dense[0], dense[1])


def _reciprocal(node: Expr, block: Block) -> Relation:
    """Returns 1/v, or its magnitude (1 + m/|v|) / |v|, which accounts for v's rounding and its own magnitude m."""
    value = _expression(node, block)
    if block.mode is Mode.COUNT:
        return value
    if block.mode is Mode.VALUE:
        return _dense(value, block).map(lambda v: np.asarray(1 / v))
    exact = _dense(_expression(node, replace(block, mode=Mode.VALUE)), block).map(np.abs)
    return combine(lambda v, m: (1 + m / v) / v, [exact, _dense(value, block)], block.within)


def _dense(value: Relation, block: Block) -> Relation:
    names = value.sparse + value.dense
    return Relation.of_dense(names, densify(value, names, block.within))


def _stored(body: Expr, block: Block) -> Relation:
    """Returns the body at places where every tensor in it has an entry."""
    accesses = dict.fromkeys(below for below in walk(body) if isinstance(below, Access))
    value = _dense(_expression(body, block), block)
    for node in accesses:
        value = multiply(access(node, block).map(np.ones_like), value)
    return value


def _call(name: str, arguments: tuple[Expr, ...], block: Block) -> Relation:
    function = _FUNCTIONS.get(name) or getattr(np, name, None)
    if function is None:
        raise UnsupportedError(f"expected a function that NumPy can check, but got '{name}'")
    return _apply(function, arguments, block)


def _apply(function: Callable[..., Array], arguments: tuple[Expr, ...], block: Block) -> Relation:
    exact = [_expression(argument, replace(block, mode=Mode.VALUE)) for argument in arguments]
    others = [] if block.mode is Mode.VALUE else [_expression(argument, block) for argument in arguments]
    parts = exact + others
    if function(*(np.zeros((), value.values.dtype) for value in exact)) != 0:
        names = tuple(sorted(frozenset().union(*(part.variables for part in parts))))
        parts = [Relation.of_dense(names, densify(part, names, block.within)) for part in parts]
    match block.mode:
        case Mode.VALUE:
            return combine(function, parts, block.within)
        case Mode.COUNT:
            return combine(lambda *values: np.maximum.reduce(values[len(exact) :]), parts, block.within)
        case Mode.MAGNITUDE:
            return combine(lambda *values: _sensitivity(function, values), parts, block.within)


def _sensitivity(function: Callable[..., Array], values: tuple[Array, ...]) -> Array:
    """Returns |f(v)| + |f'(v)| m for values v of magnitudes m, the derivative by a difference."""
    exact, magnitudes = values[: len(values) // 2], values[len(values) // 2 :]
    step = 1e-7
    at = function(*exact)
    total: Array = np.abs(at)
    for place, magnitude in enumerate(magnitudes):
        moved = (*exact[:place], exact[place] + step * magnitude, *exact[place + 1 :])
        change = np.abs(function(*moved) - at) / step
        total = total + np.where(np.isfinite(change), change, 0.0)
    return total


def _reduction(op: ReduceOp, names: frozenset[str], body: Expr, block: Block) -> Relation:
    if op in (ReduceOp.OR, ReduceOp.AND, ReduceOp.COUNT):
        # Of truth values, `or` is the greatest, `and` the least, and `count` the sum.
        body = Binary(BinaryOp.NE, body, Literal(0))
        if op is not ReduceOp.COUNT and any(block.within[name] == 0 for name in names):
            return Relation.of_dense((), np.array(int(op is ReduceOp.AND)))
        op = {ReduceOp.OR: ReduceOp.MAX, ReduceOp.AND: ReduceOp.MIN, ReduceOp.COUNT: ReduceOp.SUM}[op]
    if op.finds:
        return _position(op, names, body, block)
    match op, body:
        case ReduceOp.SUM, Binary(BinaryOp.MUL, left, right):
            sides = _expression(left, block), _expression(right, block)
            # Dense factors are contracted directly: a matrix product needs no array of i x j x k.
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


def _position(op: ReduceOp, names: frozenset[str], body: Expr, block: Block) -> Relation:
    """Returns the first position of the greatest or least value, which counts as exact."""
    value = _expression(body, replace(block, mode=Mode.VALUE))
    (name,) = names
    kept = tuple(other for other in value.sparse + value.dense if other != name)
    if block.within[name] == 0 or name not in value.variables:
        return Relation.of_dense((), np.array(0))
    whole = densify(value, (*kept, name), block.within)
    found = (np.argmax if op is ReduceOp.ARGMAX else np.argmin)(whole, axis=-1) + block.offset(name)
    return Relation.of_dense(kept, np.asarray(found))


def _contract(names: frozenset[str], left: Relation, right: Relation) -> Relation:
    order = tuple(dict.fromkeys(left.dense + right.dense))
    kept = tuple(name for name in order if name not in names)
    axes = [[order.index(name) for name in part] for part in (left.dense, right.dense, kept)]
    value = np.einsum(left.values[0], axes[0], right.values[0], axes[1], axes[2], optimize=True)
    return Relation.of_dense(kept, np.asarray(value))
