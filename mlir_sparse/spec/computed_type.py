"""The element type that an assignment computes in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from typing import assert_never

import numpy as np

from mlir_sparse.dtypes import BYTE, COMPLEX, INTEGER, REAL, TRUTH, UNSIGNED, DType
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import (
    FUNCTIONS,
    Access,
    Apply,
    Binary,
    BinaryOp,
    Call,
    Expr,
    Extreme,
    Fold,
    Function,
    Literal,
    Negate,
    Operator,
    Reduce,
    ReduceOp,
    children,
)

__all__ = [
    "compared_dtypes",
    "excess",
    "extreme_or",
    "gives_truth",
    "inner_dtype",
    "inner_dtypes",
    "is_tested",
    "node_dtype",
    "operand_dtype",
    "operator_dtype",
    "promote",
    "result_dtype",
    "starts_anew",
]


@lru_cache(maxsize=256)
def promote(left: DType, right: DType) -> DType:
    """Returns `numpy.result_type` of two types; bf16 counts as f16, and the two of them give f32.

    >>> promote(DType("i32"), DType("f32")), promote(DType("bf16"), DType("f16"))
    (DType(name='f64'), DType(name='f32'))
    """
    if TRUTH in (left, right):
        return right if left == TRUTH else left
    if left != right and left.is_narrow and right.is_narrow:
        return left.accumulated_in
    try:
        return DType.of(np.result_type(left.numpy, right.numpy))
    except TypeError:  # NumPy knows no common type of bf16 and integers of 16 bits and more
        return promote(left.promoted_as, right.promoted_as)


def result_dtype(value: Expr, dtypes: Mapping[str, DType]) -> DType:
    """Returns the element type of an expression: NumPy's for its tensors, f64 where integers are divided.

    Literals are weak, as Python scalars in NumPy: `2 * x` has the type of x, and so has `0.5 * x` unless x has
    integers. Comparisons, logic and conditions are bool. On two bools `+` is or and `*` is and; a sum over a variable
    counts bools in i64; a bool and a number are promoted as in NumPy.

    All nodes of an expression compute in one type, except below nodes whose type does not depend on their operands
    (`starts_anew`): those operands compute in their own common type (`operand_dtype`).
    """
    return _strong(_dtype(value, dtypes))


def starts_anew(node: Expr) -> bool:
    """Returns whether a node's type does not depend on its operands': a comparison, logic, a count, a position."""
    if isinstance(node, Binary):
        return node.op.gives_truth
    if isinstance(node, Reduce):
        return node.op.gives_truth or node.op.finds or node.op is ReduceOp.COUNT
    return isinstance(node, Call) and FUNCTIONS[node.function].result != "context"


def is_tested(node: Expr, child: Expr) -> bool:
    """Returns whether a node tests an operand by itself, in the operand's own type: logic, and conditions."""
    if isinstance(node, Binary):
        return node.op.gives_truth and not node.op.compares
    return isinstance(node, Call) and node.function == "where" and child is node.arguments[0]


def gives_truth(node: Expr) -> bool:
    """Returns whether the value of a node is a truth value for any operands."""
    if isinstance(node, (Binary, Reduce)):
        return node.op.gives_truth
    return isinstance(node, Call) and FUNCTIONS[node.function].gives_truth


def inner_dtype(node: Expr, dtypes: Mapping[str, DType]) -> DType:
    """Returns the type in which the operands of a node that starts anew are computed."""
    found = operand_dtype(children(node), dtypes)
    if not isinstance(node, Call) or _result(node) == "truth":
        return found
    return _strong(_argument_dtype(FUNCTIONS[node.function], found))


def node_dtype(node: Expr, inner: DType) -> DType:
    """Returns the type of a node that starts anew and is no truth value, given that of its operands.

    >>> node_dtype(Call("abs", (Access("z"),)), DType("c64"))
    DType(name='f32')
    """
    if isinstance(node, Call) and _result(node) == "cast":
        return DType(node.function)
    return inner.part if _result(node) == "real" else inner


def _result(node: Expr) -> str:
    return FUNCTIONS[node.function].result if isinstance(node, Call) else "truth"


def operand_dtype(nodes: Sequence[Expr], dtypes: Mapping[str, DType]) -> DType:
    """Returns the common type of the operands of a node that starts anew.

    A literal integer beyond the range of the others' type is compared in i64, as in NumPy: `x(i) < 1000` holds for
    every x of i8. What i64 cannot hold is compared in u64, and u64 with a negative number in f64, where every element
    keeps its place above zero.

    Args:
        nodes: the operands, one or more.
        dtypes: the element type of every tensor in them.

    >>> from mlir_sparse.notation import parse
    >>> value = parse("y(i) = x(i) < 1000").value
    >>> operand_dtype((value.left, value.right), {"x": DType("i8")}), result_dtype(value, {"x": DType("i8")})
    (DType(name='i64'), DType(name='bool'))
    """
    dtype = _strong(reduce(_join, (_dtype(node, dtypes) for node in nodes)))
    beyond = [found for node in nodes if (found := excess(node, dtype)) is not None]
    if not beyond:
        return dtype
    if dtype == UNSIGNED:
        return REAL
    return UNSIGNED if dtype.is_unsigned and max(beyond) > INTEGER.limits[1] else INTEGER


def compared_dtypes(left: Expr, right: Expr, dtypes: Mapping[str, DType]) -> tuple[DType, DType]:
    """Returns the types in which the sides of a comparison are computed: one, but for integers that none holds.

    u64 and integers with a sign are promoted to f64, which would take numbers near 2**63 for equal; NumPy compares them
    as integers.

    >>> left, right = Access("a"), Access("b")
    >>> [dtype.name for dtype in compared_dtypes(left, right, {"a": DType("u64"), "b": DType("i8")})]
    ['u64', 'i8']
    """
    joined = operand_dtype((left, right), dtypes)
    own = operand_dtype((left,), dtypes), operand_dtype((right,), dtypes)
    apart = joined.is_real and own[0].is_integer and own[1].is_integer
    return own if apart else (joined, joined)


def inner_dtypes(node: Expr, dtypes: Mapping[str, DType]) -> tuple[DType, ...]:
    """Returns the type in which each operand of a node that starts anew is computed."""
    if isinstance(node, Binary) and node.op.compares:
        return compared_dtypes(node.left, node.right, dtypes)
    return (inner_dtype(node, dtypes),) * len(children(node))


def excess(node: Expr, dtype: DType) -> int | None:
    """Returns the value of a literal integer out of the range of an integer type; None for all else.

    >>> [excess(Literal(value), DType("i8")) for value in (-128, 128, 0.5)], excess(Negate(Literal(128)), DType("i8"))
    ([None, 128, None], None)
    """
    match node:
        case Literal(int(value)):
            pass
        case Negate(Literal(int(positive))):
            value = -positive
        case _:
            return None
    least, greatest = dtype.limits
    return None if not dtype.is_integer or least <= value <= greatest else value


# A literal has a kind ("i", "f" or "c") in place of a type until it is joined with a type.
_Weak = str
_KINDS = "bifc"


def _strong(found: DType | _Weak) -> DType:
    if isinstance(found, DType):
        return found
    return {"i": INTEGER, "f": REAL, "c": COMPLEX}[found]


def _dtype(node: Expr, dtypes: Mapping[str, DType]) -> DType | _Weak:
    if isinstance(node, Access):  # of which there are most
        return dtypes[node.tensor]
    match node:
        case Literal(value):
            return "c" if isinstance(value, complex) else "f" if isinstance(value, float) else "i"
        case Negate(operand):
            return _dtype(operand, dtypes)
        case Reduce(op, _, body):
            return _reduced(op, body, dtypes)
        case Binary(op, left, right):
            if op.gives_truth:
                return TRUTH
            joined = _join(_dtype(left, dtypes), _dtype(right, dtypes))
            return _inexact(joined) if op is BinaryOp.DIV else joined
        case Call(function, arguments):
            return _called(FUNCTIONS[function], arguments, dtypes)
        case Apply(operator, arguments):
            return operator_dtype(operator, [_dtype(argument, dtypes) for argument in arguments])
        case Fold(monoid, _, body):
            entry = _dtype(body, dtypes)
            lifted = entry if monoid.lift is None else operator_dtype(monoid.lift, [entry])
            lifted = _sum_dtype(lifted) if _is_arithmetic(monoid.operator) else lifted
            return operator_dtype(monoid.operator, [lifted, lifted])
        case _:
            assert_never(node)


def extreme_or(value: Extreme | complex, dtype: DType) -> int | float | complex:
    """Returns a number unchanged, and an extreme as the least or greatest value of an element type.

    Raises:
        UnsupportedError: for the extreme of complex numbers, which have no order.

    >>> extreme_or(Extreme.GREATEST, DType("i8")), extreme_or(Extreme.LEAST, DType("f32"))
    (127, -inf)
    """
    if not isinstance(value, Extreme):
        return value
    if dtype.is_complex:
        raise UnsupportedError(f"expected an ordered element type, but got {dtype}: pass moduli or real parts instead")
    least, greatest = dtype.limits
    return greatest if value is Extreme.GREATEST else least


def operator_dtype(operator: Operator, operands: Sequence[DType | str]) -> DType:
    """Returns the element type of an operator's results on operands of given types (or kinds of literals).

    Logic of i8 stays i8, so that code which keeps truth values as i8 gets i8.
    """
    if operator.dtype is not None:
        return DType.of(operator.dtype)
    types = dict(zip(operator.parameters, operands, strict=True))
    regions = (operator.overlap, operator.left, operator.right, operator.absent)
    # Without a region there are no entries: any type will do.
    found = reduce(_join, [_dtype(region, types) for region in regions if region is not None] or [INTEGER])  # type: ignore[arg-type]
    if not isinstance(found, DType):  # a literal alone takes the type of the operands
        found = reduce(_join, [found, *operands])
    logical = found == TRUTH and operator.name in _LOGICAL
    small = TRUTH not in operands and reduce(_join, operands) == BYTE
    return BYTE if logical and small else _strong(found)


_LOGICAL = ("or", "and", "truth")


def _is_arithmetic(operator: Operator) -> bool:
    """Returns whether an operator adds or multiplies: reductions by it count truth values."""
    return isinstance(operator.overlap, Binary) and operator.overlap.op in (BinaryOp.ADD, BinaryOp.MUL)


def _reduced(op: ReduceOp, body: Expr, dtypes: Mapping[str, DType]) -> DType | _Weak:
    if op.gives_truth:
        return TRUTH
    if op.finds or op is ReduceOp.COUNT:
        return INTEGER
    found = _dtype(body, dtypes)
    return _sum_dtype(found) if op in (ReduceOp.SUM, ReduceOp.PRODUCT) else found


def _called(function: Function, arguments: Sequence[Expr], dtypes: Mapping[str, DType]) -> DType | _Weak:
    if function.gives_truth:
        return TRUTH
    if function.result == "cast":
        return DType(function.name)
    # The condition of `where` starts anew.
    joining = arguments[1:] if function.name == "where" else arguments
    found = _argument_dtype(function, reduce(_join, (_dtype(argument, dtypes) for argument in joining)))
    if function.result != "real":
        return found
    return found.part if isinstance(found, DType) else "f" if found == "c" else found


# Functions that NumPy computes in i8 for truth values.
_OF_INTEGERS = frozenset(
    {"conj", "square", "reciprocal", "pow", "floor_divide", "remainder", "fmod", "left_shift", "right_shift"}
)


def _argument_dtype(function: Function, joined: DType | _Weak) -> DType | _Weak:
    """Returns the type in which a function computes arguments, given their common type."""
    if not function.keeps_integers:
        return _inexact(joined)
    return BYTE if joined == TRUTH and function.name in _OF_INTEGERS else joined


def _sum_dtype(dtype: DType | _Weak) -> DType | _Weak:
    """Returns the type of sums and products over variables: truth values are counted."""
    return INTEGER if dtype == TRUTH else dtype


def _kind(dtype: DType | _Weak) -> str:
    return dtype.kind if isinstance(dtype, DType) else dtype


def _inexact(dtype: DType | _Weak) -> DType | _Weak:
    if _kind(dtype) not in "bi":
        return dtype
    return REAL if isinstance(dtype, DType) else "f"


def _join(left: DType | _Weak, right: DType | _Weak) -> DType | _Weak:
    if isinstance(left, DType) and isinstance(right, DType):
        return promote(left, right)
    if not isinstance(left, DType) and not isinstance(right, DType):
        return max(left, right, key=_KINDS.index)
    strong, weak = (left, _kind(right)) if isinstance(left, DType) else (right, _kind(left))
    assert isinstance(strong, DType)
    if _KINDS.index(weak) <= _KINDS.index(strong.kind):
        return strong
    if weak == "i":  # only truth values rank below an integer
        return INTEGER
    if weak == "f":
        return REAL
    return strong.complex
