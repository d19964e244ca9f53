"""What an assignment means, on dense arrays: every result is compared with this.

It shares the parser and the nodes with the compiler and nothing after them: the
summation rule, the types and the arithmetic are written here once more, in the
most literal way. Every value is an array with one axis for each index variable
of the assignment (of length 1 where the value does not depend on it).

Types: the whole assignment is computed in one type, `result_dtype`, but for the operands
of comparisons, logic, counts and positions, which have a type of their own, and expressions of
truth values, which NumPy computes as bool. Integers wrap around in it; f16, bf16 and f32 are
computed in f64 (c64 in c128) and rounded once, at the end, so that the oracle is the more
accurate side of any comparison.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from mlir_sparse.dtypes import DType
from mlir_sparse.notation import (
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
    Subscript,
    index_vectors,
    parse,
    walk,
)

__all__ = ["assert_close", "evaluate", "result_dtype", "tolerance"]

Array = np.ndarray[Any, Any]

BF16 = np.dtype(ml_dtypes.bfloat16)
# Real numbers that NumPy lacks, each with the distance from 1 to the next.
_ADDED = {BF16: 2.0**-7, np.dtype(ml_dtypes.float8_e4m3fn): 2.0**-3, np.dtype(ml_dtypes.float8_e5m2): 2.0**-2}

_erf = np.vectorize(math.erf, otypes=[np.float64])

# The functions that map integers to integers; all others compute integers in f64.
_ON_INTEGERS: dict[str, Callable[..., Array]] = {
    "abs": np.abs,
    "sign": np.sign,
    "conj": np.conj,
    "real": np.real,
    "imag": np.imag,
    "relu": lambda x: np.maximum(x, np.zeros((), x.dtype)),
    "square": np.square,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "trunc": np.trunc,
    "max": np.maximum,
    "min": np.minimum,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "pow": np.power,
    "floor_divide": np.floor_divide,
    "remainder": np.remainder,
    "fmod": np.fmod,
    # NumPy's own 1/0 depends on the width: 0 or the least integer.
    "reciprocal": lambda x: np.where(x == 0, 0, np.reciprocal(x)) if x.dtype.kind in "iu" else np.reciprocal(x),
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "invert": np.invert,
    "left_shift": np.left_shift,
    "right_shift": np.right_shift,
    "stored": lambda x: x,
}
_ON_REALS: dict[str, Callable[..., Array]] = {
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": np.cbrt,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": _erf,
    "sinc": np.sinc,
    "deg2rad": np.deg2rad,
    "rad2deg": np.rad2deg,
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "copysign": np.copysign,
    "heaviside": np.heaviside,
    "logaddexp": np.logaddexp,
    "logaddexp2": np.logaddexp2,
    "angle": np.angle,
}
# The functions that say whether something holds, whatever the type of their arguments.
_TESTS: dict[str, Callable[..., Array]] = {
    "logical_not": np.logical_not,
    "logical_xor": np.logical_xor,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "signbit": np.signbit,
    "bool": lambda x: x != 0,
}
# The functions that compute in the type of their own arguments, and those that give a real number for a complex one.
_REAL = frozenset({"abs", "real", "imag", "angle"})
# Casts by the types that they are named by; of NaN and what an integer type does not hold the result is its least.
_CASTS = {name: DType(name).numpy for name in DType.NAMES if name != "bool"}
_OWN = frozenset({"reciprocal", "floor_divide", "remainder", "fmod", "invert"}) | _REAL | _CASTS.keys()


def _cast_to(dtype: np.dtype[Any]) -> Callable[[Array], Array]:
    def cast(values: Array) -> Array:
        if dtype.kind not in "iu" or values.dtype.kind in "biu":
            return values.astype(dtype)
        limits, wide = np.iinfo(dtype), np.trunc(values.astype(np.float64))
        inside = (wide >= float(limits.min)) & (wide < float(limits.max) + 1.0)
        inside &= wide <= limits.max if dtype.itemsize < 8 else True
        return np.where(inside, np.where(inside, wide, 0).astype(dtype), limits.min).astype(dtype)

    return cast


_BITS = frozenset({"bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"})


def evaluate(
    text_or_assignment: str | Assignment,
    tensors: Mapping[str, ArrayLike],
    *,
    target: ArrayLike | None = None,
    extents: Mapping[str, int] | None = None,
    stored: Mapping[str, ArrayLike] | None = None,
) -> Array:
    """Returns the target's value.

    Args:
        text_or_assignment: what to compute.
        tensors: the operands, dense; names that the assignment does not have are ignored.
        target: the target's present value, for `+=` and its like (or under its name in `tensors`); for
            other assignments only its shape counts, where no operand gives it (`a(i) = 1.0`).
        extents: extents of index variables that nothing else gives.
        stored: for tensors that leave out entries, where they store one: what `stored(...)` asks.

    Raises:
        KeyError: for an operand that is not there.
        ValueError: for an extent that is unknown or given twice, and a subscript out of bounds.

    >>> evaluate("y(i) = b(i) - A(i,j) * x(j)", {"A": np.eye(2), "x": [1.0, 2.0], "b": [5.0, 5.0]})
    array([4., 3.])
    """
    assignment = parse(text_or_assignment) if isinstance(text_or_assignment, str) else text_or_assignment
    arrays = {name: np.asarray(value) for name, value in tensors.items()}
    own = assignment.target.tensor
    if target is not None:
        arrays[own] = np.asarray(target)
    positions = index_vectors(assignment)
    if positions:
        known = _extents(assignment, arrays, extents or {})
        arrays |= {name: np.arange(known[variable.name]) for name, variable in positions.items()}
    dtypes = {name: arrays[name].dtype for name in assignment.inputs}
    dtype = result_dtype(assignment, dtypes)
    sizes = _extents(assignment, arrays, extents or {})
    axes = {index.name: axis for axis, index in enumerate(assignment.indices)}
    grid = _Grid(arrays, axes, sizes, _computed_in(dtype), dtypes, _masks(stored or {}))
    with np.errstate(all="ignore"):
        result = _assigned(assignment, grid)
        shape = tuple(sizes[index.name] for index in assignment.target.indices)
        # The target's variables are the first axes; the others have been reduced away.
        return np.broadcast_to(result.reshape(result.shape[: len(shape)]), shape).astype(dtype)


def result_dtype(assignment: str | Assignment, dtypes: Mapping[str, DTypeLike]) -> np.dtype[Any]:
    """Returns the element type of the result, which is that of the whole computation.

    It is NumPy's common type of all tensors read, literals counting as Python numbers
    (`2.5 * A` is f32 for an f32 tensor, f64 for an i32 one); f64 for integers where the
    assignment divides or calls a function such as `exp`. bf16 and types of 8 bits promote as f16
    does, and two of them give f32.
    """
    assignment = parse(assignment) if isinstance(assignment, str) else assignment
    known = {name: np.dtype(dtype) for name, dtype in dtypes.items()}
    kept = {index.name for index in assignment.target.indices}
    summed = frozenset(_names(assignment.value) - kept)
    op = _NAMED.get(assignment.op)
    if op in (ReduceOp.OR, ReduceOp.AND):
        return np.dtype(np.bool_)
    kind = _Kind.of(assignment.value, known, summed if op is None else frozenset())
    if summed and op in (ReduceOp.SUM, ReduceOp.PRODUCT):
        kind = kind.counted()
    if assignment.op.reads_target:
        kind = _Kind.joined([_Kind.of(assignment.target, known), kind])
    return kind.dtype


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a value's type follows from: the types of tensors in it, Python numbers, and whether it is real."""

    strong: tuple[np.dtype[Any], ...] = ()
    weak: tuple[int | float | complex, ...] = ()
    real: bool = False

    @staticmethod
    def joined(kinds: list[_Kind]) -> _Kind:
        return _Kind(
            tuple(d for kind in kinds for d in kind.strong),
            tuple(w for kind in kinds for w in kind.weak),
            any(kind.real for kind in kinds),
        )

    @property
    def truth(self) -> bool:
        return self.dtype == np.bool_

    def counted(self) -> _Kind:
        """Returns the kind of a sum: truth values are counted, with Python's integers as factors too."""
        of_truth = bool(self.strong) and all(dtype == np.bool_ for dtype in self.strong)
        return _INTEGER if self.truth or (of_truth and self.dtype.kind == "i") else self

    def parts(self) -> _Kind:
        """Returns the kind of the real parts."""
        strong = tuple(np.zeros((), d).real.dtype for d in self.strong)
        return replace(self, strong=strong, weak=tuple(w.real if isinstance(w, complex) else w for w in self.weak))

    @property
    def dtype(self) -> np.dtype[Any]:
        common = _promoted(list(self.strong), list(self.weak))
        return np.dtype(np.float64) if self.real and common.kind in "biu" else common

    @staticmethod
    def of(node: Expr, dtypes: Mapping[str, np.dtype[Any]], summed: frozenset[str] = frozenset()) -> _Kind:
        """Returns the kind of an expression, summed over variables: NumPy's types, node by node.

        Raises:
            TypeError: for differences of truth values.
        """
        summed = summed & _names(node)

        def under(*nodes: Expr) -> _Kind:
            return _Kind.joined([_Kind.of(below, dtypes) for below in nodes])

        match node:
            case Negate(operand):
                found = _Kind.of(operand, dtypes, summed)
            case Binary(BinaryOp.ADD | BinaryOp.SUB, left, right):
                found = _Kind.joined([_Kind.of(left, dtypes, summed), _Kind.of(right, dtypes, summed)])
            case Binary(BinaryOp.MUL | BinaryOp.DIV as op, left, right):
                both = summed & _names(right) & (_names(left) if op is BinaryOp.MUL else summed)
                sides = [_Kind.of(side, dtypes, summed - both) for side in (left, right)]
                found = replace(_Kind.joined(sides), real=op is BinaryOp.DIV or any(side.real for side in sides))
                found = found.counted() if both else found
            case Reduce(ReduceOp.SUM, _, body):  # a sum around it moves into it, and may count there
                found = _Kind.of(body, dtypes, summed).counted()
            case Reduce(ReduceOp.PRODUCT, _, body):
                found = under(body).counted()
            case _:
                found = _Kind._apart(node, dtypes, under)
                found = found.counted() if summed else found
        if found.truth and isinstance(node, Negate | Binary) and getattr(node, "op", None) in (None, BinaryOp.SUB):
            raise TypeError(f"NumPy has no difference of truth values: {node}")
        return found

    @staticmethod
    def _apart(node: Expr, dtypes: Mapping[str, np.dtype[Any]], under: Callable[..., _Kind]) -> _Kind:
        """Returns the kind of a node around which, not in which, sums stand."""
        match node:
            case Access(tensor):
                return _Kind((dtypes[tensor],))
            case Literal(value):
                return _Kind(weak=(type(value)(0),))
            case Binary() | Reduce(ReduceOp.OR | ReduceOp.AND):
                return _TRUTH
            case Call(function) if function in _TESTS:
                return _TRUTH
            case Reduce(ReduceOp.COUNT | ReduceOp.ARGMAX | ReduceOp.ARGMIN):
                return _INTEGER
            case Reduce(_, _, body):
                return under(body)
            case Call("where", (_, then, otherwise)):
                return under(then, otherwise)
            case Call(function) if function in _CASTS:
                return _Kind((_CASTS[function],))
            case Call("angle", arguments):
                return replace(under(*arguments).parts(), real=True)
            case Call(function, arguments) if function in _ON_REALS:
                return replace(under(*arguments), real=True)
            case Call(function, arguments):
                found = under(*arguments)
                if found.truth:
                    return _Kind((_of_truth(function, len(arguments)),))
                return found.parts() if function in _REAL else found
        raise AssertionError(node)


_TRUTH = _Kind((np.dtype(np.bool_),))
_INTEGER = _Kind((np.dtype(np.int64),))


def _of_truth(function: str, arguments: int) -> np.dtype[Any]:
    """Returns NumPy's type of a function of truth values; those that NumPy rounds in half precision stay as they are.

    Raises:
        TypeError: for a function that NumPy does not have of them.
    """
    with np.errstate(all="ignore"):
        found = _ON_INTEGERS[function](*[np.zeros(1, np.bool_)] * arguments).dtype
    return np.dtype(np.bool_) if found == np.float16 else found


def _own_dtype(nodes: tuple[Expr, ...], grid: _Grid) -> np.dtype[Any]:
    """Returns the type that operands meet in where it is their own; integers too large for it are compared in i64."""
    dtype = _Kind.joined([_Kind.of(node, grid.dtypes) for node in nodes]).dtype
    large = [n.value for n in nodes if isinstance(n, Literal) and isinstance(n.value, int)]
    if dtype.kind in "iu" and any(not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max for value in large):
        return np.dtype(np.int64)
    return dtype


def kind_of(dtype: DTypeLike) -> str:
    """Returns "b", "i", "f" or "c": what sort of numbers an element type has."""
    dtype = np.dtype(dtype)
    return "f" if dtype in _ADDED else dtype.kind.replace("u", "i")


def tolerance(dtype: DTypeLike, terms: int = 1) -> float:
    """Returns the relative error to allow in a result of `terms` roundings; 0 for integers."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iub":
        return 0.0
    eps = _ADDED[dtype] if dtype in _ADDED else float(np.finfo(dtype).eps)
    # What is stored alone is computed in f32, and rounded once.
    return eps if dtype.itemsize == 1 else eps * (4 + 2 * terms)


def assert_close(actual: ArrayLike, expected: ArrayLike, *, terms: int = 1) -> None:
    """Raises AssertionError unless shapes and types agree, and values up to rounding.

    Errors count relative to the largest expected magnitude, as sums may cancel.

    Args:
        actual: what the compiler gave.
        expected: what the oracle gave.
        terms: how many values are added up, at most, in one element.
    """
    found, wanted = np.asarray(actual), np.asarray(expected)
    assert found.dtype == wanted.dtype, f"expected dtype {wanted.dtype}, but got {found.dtype}"
    assert found.shape == wanted.shape, f"expected shape {wanted.shape}, but got {found.shape}"
    allowed = tolerance(wanted.dtype, terms)
    if allowed == 0.0:
        np.testing.assert_array_equal(found, wanted)
        return
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    found, wanted = found.astype(wide), wanted.astype(wide)
    finite = np.abs(wanted[np.isfinite(wanted)])
    np.testing.assert_allclose(found, wanted, rtol=allowed, atol=allowed * float(np.max(finite, initial=0.0)))


@dataclass(frozen=True, slots=True)
class _Grid:
    """The operands and the axes that every value is laid out on."""

    arrays: Mapping[str, Array]
    axes: Mapping[str, int]
    extents: Mapping[str, int]
    dtype: np.dtype[Any]
    dtypes: Mapping[str, np.dtype[Any]]
    stored: Mapping[str, Array]

    def variable(self, name: str) -> Array:
        """Returns the values of an index variable, along its axis."""
        shape = [1] * len(self.axes)
        shape[self.axes[name]] = self.extents[name]
        return np.arange(self.extents[name]).reshape(shape)

    def constant(self, value: object) -> Array:
        """Returns one number, which depends on no variable."""
        return np.array(value).astype(self.dtype).reshape([1] * len(self.axes))


def _masks(stored: Mapping[str, ArrayLike]) -> dict[str, Array]:
    return {name: np.asarray(mask).astype(np.int8) for name, mask in stored.items()}


def _assigned(assignment: Assignment, grid: _Grid) -> Array:
    """Returns the right side, reduced and combined with the target, on the grid."""
    kept = {index.name for index in assignment.target.indices}
    summed = frozenset(_names(assignment.value) - kept)
    op = _NAMED.get(assignment.op)
    if op in (ReduceOp.OR, ReduceOp.AND):
        value = _tested(op, assignment.value, summed, grid)
        if assignment.op in _COMBINED:
            value = _COMBINED[assignment.op](_truth(assignment.target, grid), value)
        return np.asarray(value).astype(grid.dtype)
    if op is None:
        value = _value(assignment.value, summed, grid)
    else:
        # Reduced over no variables a value stays as it is: NumPy would combine it with the identity.
        value = _value(assignment.value, frozenset(), grid)
        value = _reduced(op, value, summed, grid) if summed else value
    return _COMBINED[assignment.op](_read(assignment.target, grid), value) if assignment.op in _COMBINED else value


_NAMED = {
    AssignOp.MUL: ReduceOp.PRODUCT,
    AssignOp.MAX: ReduceOp.MAX,
    AssignOp.MIN: ReduceOp.MIN,
    AssignOp.OR: ReduceOp.OR,
    AssignOp.AND: ReduceOp.AND,
    AssignOp.REDUCE_ADD: ReduceOp.SUM,
    AssignOp.REDUCE_MUL: ReduceOp.PRODUCT,
    AssignOp.REDUCE_MAX: ReduceOp.MAX,
    AssignOp.REDUCE_MIN: ReduceOp.MIN,
    AssignOp.REDUCE_OR: ReduceOp.OR,
    AssignOp.REDUCE_AND: ReduceOp.AND,
}
_COMBINED: dict[AssignOp, Callable[[Array, Array], Array]] = {
    AssignOp.ADD: np.add,
    AssignOp.MUL: np.multiply,
    AssignOp.MAX: np.maximum,
    AssignOp.MIN: np.minimum,
    AssignOp.OR: np.logical_or,
    AssignOp.AND: np.logical_and,
}
_COMPARED: dict[str, Callable[[Array, Array], Array]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
_FOUND: dict[ReduceOp, Callable[..., Array]] = {ReduceOp.ARGMAX: np.argmax, ReduceOp.ARGMIN: np.argmin}


def _names(node: Expr) -> set[str]:
    """Returns the variables on which a node's value depends."""
    match node:
        case Access():
            return {index.name for index in node.indices}
        case Literal():
            return set()
        case Negate(operand):
            return _names(operand)
        case Binary(_, left, right):
            return _names(left) | _names(right)
        case Call(_, arguments):
            return set().union(*map(_names, arguments))
        case Reduce(_, indices, body):
            return _names(body) - {index.name for index in indices}


def _value(node: Expr, summed: frozenset[str], grid: _Grid) -> Array:
    """Returns a node's value, summed over those of the variables that it depends on."""
    summed = summed & _names(node)
    if grid.dtype != np.bool_ and not summed and not isinstance(node, Access | Literal) and _is_truth(node, grid):
        return _value(node, summed, replace(grid, dtype=np.dtype(np.bool_))).astype(grid.dtype)
    match node:
        case Access():
            return _sum(_read(node, grid), summed, grid)
        case Literal(number):
            return grid.constant(number)
        case Negate(operand):
            return np.asarray(-_value(operand, summed, grid))
        case Binary(op) if op.value in _COMPARED or op.value in ("&", "|"):
            return _sum(_truth(node, grid).astype(grid.dtype), summed, grid)
        case Call(function) if function in _TESTS:
            return _sum(_truth(node, grid).astype(grid.dtype), summed, grid)
        case Call("stored", (body,)):
            value = _value(body, frozenset(), grid)
            for access in (below for below in walk(body) if isinstance(below, Access)):
                if access.tensor in grid.stored:
                    value = np.where(_read(access, replace(grid, arrays=grid.stored)) != 0, value, 0)
            return _sum(value, summed, grid)
        case Call(function, arguments) if function in _OWN | _BITS:
            own = replace(grid, dtype=_computed_in(_inner_dtype(node, grid)))
            values = (_value(argument, frozenset(), own) for argument in arguments)
            called = (_cast_to(_CASTS[function]) if function in _CASTS else (_ON_INTEGERS | _ON_REALS)[function])(
                *values
            )
            return _sum(np.asarray(called).astype(grid.dtype), summed, grid)
        case Call("where", (condition, then, otherwise)):
            sides = _value(then, frozenset(), grid), _value(otherwise, frozenset(), grid)
            return _sum(np.where(_truth(condition, grid), *sides), summed, grid)
        case Binary(BinaryOp.ADD, left, right):
            return np.asarray(_value(left, summed, grid) + _value(right, summed, grid))
        case Binary(BinaryOp.SUB, left, right):
            return np.asarray(_value(left, summed, grid) - _value(right, summed, grid))
        case Binary(BinaryOp.MUL, left, right):
            both = summed & _names(left) & _names(right)
            product = _value(left, summed - both, grid) * _value(right, summed - both, grid)
            return _sum(product, both, grid)
        case Binary(BinaryOp.DIV, left, right):
            below = summed & _names(right)
            quotient = _value(left, summed - below, grid) / _value(right, frozenset(), grid)
            return _sum(quotient, below, grid)
        case Call(function, arguments):
            values = (_value(argument, frozenset(), grid) for argument in arguments)
            called = (_ON_INTEGERS | _ON_REALS)[function](*values)
            return _sum(np.asarray(called).astype(grid.dtype), summed, grid)
        case Reduce(op, indices, body):
            bound = frozenset(index.name for index in indices)
            if op is ReduceOp.SUM:
                return _sum(_value(body, summed, grid), bound, grid)
            if op in (ReduceOp.OR, ReduceOp.AND, ReduceOp.COUNT):
                return _sum(_tested(op, body, bound, grid).astype(grid.dtype), summed, grid)
            if op in _FOUND:
                return _sum(_position(op, body, bound, grid).astype(grid.dtype), summed, grid)
            return _sum(_reduced(op, _value(body, frozenset(), grid), bound, grid), summed, grid)
    raise AssertionError(node)


def _is_truth(node: Expr, grid: _Grid) -> bool:
    return _Kind.of(node, grid.dtypes).truth


def _own(grid: _Grid, *nodes: Expr) -> _Grid:
    """Returns the grid to compute operands on that have a type of their own."""
    return replace(grid, dtype=_computed_in(_own_dtype(nodes, grid)))


def _inner_dtype(node: Call, grid: _Grid) -> np.dtype[Any]:
    dtype = _own_dtype(node.arguments, grid)
    if dtype == np.bool_ and node.function not in ("angle", *_CASTS):
        return _of_truth(node.function, len(node.arguments))
    return np.dtype(np.float64) if node.function == "angle" and dtype.kind in "biu" else dtype


def _truth(node: Expr, grid: _Grid) -> Array:
    """Returns whether a node is not zero."""
    match node:
        case Binary(op, left, right) if op.value in _COMPARED:
            own = _own(grid, left, right)
            return _COMPARED[op.value](_value(left, frozenset(), own), _value(right, frozenset(), own))
        case Binary(BinaryOp.AND, left, right):
            return np.asarray(_truth(left, grid) & _truth(right, grid))
        case Binary(BinaryOp.OR, left, right):
            return np.asarray(_truth(left, grid) | _truth(right, grid))
        case Call(function, arguments) if function in _TESTS:
            own = _own(grid, *arguments)
            return np.asarray(_TESTS[function](*(_value(argument, frozenset(), own) for argument in arguments)))
        case _:
            return np.asarray(_value(node, frozenset(), _own(grid, node)) != 0)


def _tested(op: ReduceOp, body: Expr, names: frozenset[str], grid: _Grid) -> Array:
    """Returns whether any value, or every one, is not zero, or how many are."""
    axis = tuple(sorted(grid.axes[name] for name in names))
    test = _spread(_truth(body, grid), names, grid)
    function = {ReduceOp.OR: np.any, ReduceOp.AND: np.all, ReduceOp.COUNT: np.sum}[op]
    return np.asarray(function(test, axis=axis, keepdims=True))


def _position(op: ReduceOp, body: Expr, names: frozenset[str], grid: _Grid) -> Array:
    """Returns the first position of the greatest or least value; 0 where there is none."""
    (axis,) = (grid.axes[name] for name in names)
    value = _spread(_value(body, frozenset(), _own(grid, body)), names, grid)
    if not value.shape[axis]:
        return np.zeros([1 if n == axis else size for n, size in enumerate(value.shape)], np.int64)
    return np.asarray(np.expand_dims(_FOUND[op](value, axis=axis), axis))


def _spread(value: Array, names: frozenset[str], grid: _Grid) -> Array:
    """Returns a value with its axes of the variables as long as these run."""
    shape = list(value.shape)
    for name in names:
        shape[grid.axes[name]] = grid.extents[name]
    return np.broadcast_to(value, shape)


def _sum(value: Array, names: frozenset[str], grid: _Grid) -> Array:
    if not names:  # NumPy's sum over no axis makes 0.0 of -0.0
        return value
    return _reduced(ReduceOp.SUM, value, names, grid)


def _reduced(op: ReduceOp, value: Array, names: frozenset[str], grid: _Grid) -> Array:
    axis = tuple(sorted(grid.axes[name] for name in names))
    match op:
        case ReduceOp.SUM:
            return np.asarray(np.sum(value, axis=axis, keepdims=True, dtype=grid.dtype))
        case ReduceOp.PRODUCT:
            return np.asarray(np.prod(value, axis=axis, keepdims=True, dtype=grid.dtype))
        case ReduceOp.MAX:
            return np.asarray(np.max(value, axis=axis, keepdims=True, initial=_limit(grid.dtype, -1)))
        case ReduceOp.MIN:
            return np.asarray(np.min(value, axis=axis, keepdims=True, initial=_limit(grid.dtype, 1)))


def _limit(dtype: np.dtype[Any], sign: int) -> float | int:
    """Returns the identity of max (sign -1) or min (sign 1)."""
    if dtype.kind == "c":
        raise TypeError("complex numbers have no order")
    if dtype.kind == "f":
        return sign * math.inf
    if dtype.kind == "b":
        return int(sign > 0)
    return np.iinfo(dtype).min if sign < 0 else np.iinfo(dtype).max


def _read(access: Access, grid: _Grid) -> Array:
    """Returns a tensor's elements at its subscripts, as they vary over the grid."""
    array = grid.arrays[access.tensor].astype(grid.dtype)
    if not access.subscripts:
        return array.reshape([1] * len(grid.axes))
    coordinates = [_coordinates(subscript, grid) for subscript in access.subscripts]
    for axis, coordinate in enumerate(coordinates):
        if coordinate.size and not (coordinate.min() >= 0 and coordinate.max() < array.shape[axis]):
            raise ValueError(f"`{access}` leaves the {array.shape[axis]} elements of axis {axis}")
    # An index array for each axis, all of the grid's rank: the element for every point of the grid.
    return np.asarray(array[tuple(np.broadcast_arrays(*coordinates))])


def _coordinates(subscript: Subscript, grid: _Grid) -> Array:
    if isinstance(subscript, IndexVar):
        return grid.variable(subscript.name)
    if isinstance(subscript, Access):
        return _read(subscript, replace(grid, dtype=np.dtype(np.int64)))
    total: Array = np.full([1] * len(grid.axes), subscript.constant)
    for coefficient, variable in subscript.terms:
        total = total + coefficient * grid.variable(variable.name)
    return total


def _computed_in(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind in "biu":
        return dtype
    return np.dtype(np.complex128 if dtype.kind == "c" else np.float64)


def _promoted(strong: list[np.dtype[Any]], weak: list[int | float | complex]) -> np.dtype[Any]:
    if not _ADDED.keys() & strong:
        return np.result_type(*strong, *weak)
    half = np.dtype(np.float16)
    common = np.result_type(*(half if d in _ADDED else d for d in strong), *weak)
    if common != half:
        return common
    narrow = {d for d in strong if d in _ADDED or d == half}
    return np.dtype(np.float32) if len(narrow) > 1 else narrow.pop()


def _extents(assignment: Assignment, arrays: Mapping[str, Array], given: Mapping[str, int]) -> dict[str, int]:
    found = dict(given)
    # A target's array, where there is one, also gives extents (`a(i) = 1.0`).
    pairs = [pair for access in _accesses(assignment) for pair in _paired(access, arrays)]
    for subscript, extent in pairs:
        if isinstance(subscript, IndexVar) and found.setdefault(subscript.name, extent) != extent:
            raise ValueError(f"index variable `{subscript}` has two extents, {found[subscript.name]} and {extent}")
    affine = [(subscript, extent) for subscript, extent in pairs if isinstance(subscript, AffineSubscript)]
    wanted = {index.name for index in assignment.indices}
    while missing := wanted - found.keys():
        limits = {name: _inferred(name, affine, found) for name in sorted(missing)}
        known = {name: limit for name, limit in limits.items() if limit is not None}
        if not known:
            raise ValueError(f"the extents of {sorted(missing)} are unknown")
        # One at a time: each one found may bound the others.
        name, limit = next(iter(known.items()))
        found[name] = limit
    return found


def _accesses(assignment: Assignment) -> Iterator[Access]:
    yield assignment.target
    yield from (access for node in walk(assignment.value) if isinstance(node, Access) for access in _nested(node))


def _nested(access: Access) -> Iterator[Access]:
    yield access
    for subscript in access.subscripts:
        if isinstance(subscript, Access):
            yield from _nested(subscript)


def _paired(access: Access, arrays: Mapping[str, Array]) -> list[tuple[Subscript, int]]:
    if access.tensor not in arrays:
        return []
    shape = arrays[access.tensor].shape
    if len(shape) != len(access.subscripts):
        raise ValueError(f"`{access}` has {len(access.subscripts)} subscripts for shape {shape}")
    return list(zip(access.subscripts, shape, strict=True))


def _inferred(name: str, affine: list[tuple[AffineSubscript, int]], found: Mapping[str, int]) -> int | None:
    """Returns the largest extent that keeps `name` in bounds wherever it is the only unknown, if anywhere."""
    limits = []
    for subscript, extent in affine:
        factors = {variable.name: coefficient for coefficient, variable in subscript.terms}
        own = factors.pop(name, 0)
        if own == 0 or not factors.keys() <= found.keys():
            continue
        ends = [c * max(found[other] - 1, 0) for other, c in factors.items()]
        highest = subscript.constant + sum(end for end in ends if end > 0)
        lowest = subscript.constant + sum(end for end in ends if end < 0)
        limits.append(((extent - 1 - highest) // own if own > 0 else lowest // -own) + 1)
    return max(0, min(limits)) if limits else None
