"""The operations of each element type: those that NumPy refuses are refused here, by name and place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from mlir_sparse.dtypes import TRUTH, DType
from mlir_sparse.errors import DTypeError, LiteralError, UnsupportedError
from mlir_sparse.notation import (
    FUNCTIONS,
    Access,
    Apply,
    Assignment,
    AssignOp,
    Binary,
    BinaryOp,
    Call,
    Expr,
    Extreme,
    Fold,
    Literal,
    Negate,
    Operator,
    Reduce,
    ReduceOp,
    children,
    reads,
    shifted_gather_of,
    walk,
)
from mlir_sparse.spec.computed_type import (
    excess,
    inner_dtype,
    is_tested,
    operand_dtype,
    operator_dtype,
    result_dtype,
    starts_anew,
)

__all__ = ["check_element_types"]

_ORDERED = (BinaryOp.LT, BinaryOp.LE, BinaryOp.GT, BinaryOp.GE)
_ORDERING = (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.ARGMAX, ReduceOp.ARGMIN)
# Pairs of a computed type and that of a result, or an operator's `dtype=`, that no conversion joins.
_LOSING = {("f", "i"), ("c", "i"), ("c", "f")}
_KINDS = {"b": "truth values", "i": "integers", "f": "real numbers", "c": "complex numbers"}


def check_element_types(assignment: Assignment, dtypes: Mapping[str, DType], dtype: DType) -> None:
    """Raises unless all operations, with explicit reductions, exist for the element type that they compute in.

    Raises:
        UnsupportedError: for a function that the type lacks, and for the order of complex numbers.
        DTypeError: for gathers at places that are no integers, differences of truth values, numbers for a result of
            bool, real numbers for one of integers, and complex ones for either.
    """
    if assignment.op in (AssignOp.MAX, AssignOp.MIN) and dtype.is_complex:
        _refuse_order(assignment, assignment.op.value, assignment.value, dtype)
    found = result_dtype(assignment.value, dtypes)
    asks_truth = assignment.op in (AssignOp.OR, AssignOp.AND)  # numbers count by whether they are nonzero
    if dtype == TRUTH != found and not asks_truth and not isinstance(assignment.value, Literal):
        raise DTypeError(
            f"expected truth values for {assignment.target}, whose type is bool, but got {found}: "
            "compare them, as in `a != 0`, or ask for another type",
            source=assignment.source,
            span=assignment.value.span,
        )
    if (found.kind, dtype.kind) in _LOSING and not asks_truth:
        raise DTypeError(
            f"expected {_KINDS[dtype.kind]} for {assignment.target}, whose type is {dtype}, but got {found}: "
            f"ask for a result of {found}, and convert that",
            source=assignment.source,
            span=assignment.value.span,
        )
    _check_places(assignment, dtypes)
    _check(assignment, assignment.value, dtypes, operand_dtype((assignment.value,), dtypes) if asks_truth else dtype)


def _check_places(assignment: Assignment, dtypes: Mapping[str, DType]) -> None:
    for access in reads(assignment.value):
        for place in access.subscripts:
            if isinstance(place, Access) and not dtypes[place.tensor].is_integer:
                shifted = shifted_gather_of(place.tensor)
                name = place.tensor if shifted is None else shifted.tensor
                raise DTypeError(
                    f"expected integers as the places to gather {access.tensor} from, but got "
                    f"{dtypes[place.tensor]} in {place}: convert {name} to i64",
                    source=assignment.source,
                    span=place.span,
                )


def _check(assignment: Assignment, node: Expr, dtypes: Mapping[str, DType], dtype: DType) -> None:
    if isinstance(node, Access):
        return
    if (too_large := excess(node, dtype)) is not None:
        _refuse_literal(assignment, node, too_large, dtype)
    if isinstance(node, Negate) and isinstance(node.operand, Literal):
        return  # the least integer is not the negative of another
    below = children(node)
    inner = inner_dtype(node, dtypes) if starts_anew(node) else dtype
    match node:
        case Binary(op) if op in _ORDERED and inner.is_complex:
            _refuse_order(assignment, f"`{op.value}`", node, inner)
        case Reduce(op) if op in _ORDERING and inner.is_complex:
            _refuse_order(assignment, op.value, node, inner)
        case Negate() | Binary(BinaryOp.SUB) if result_dtype(node, dtypes) == TRUTH:
            _refuse_difference(assignment, node)
        case Call("sign") if operand_dtype(below, dtypes) == TRUTH:
            _refuse_function(assignment, node, TRUTH)
        case Call(function):
            if inner.kind.replace("b", "i") not in FUNCTIONS[function].kinds:
                _refuse_function(assignment, node, inner)
        case Apply(operator, arguments):
            _check_regions(assignment, operator, [result_dtype(argument, dtypes) for argument in arguments], node)
        case Fold(monoid):
            computed = result_dtype(node, dtypes)
            _check_regions(assignment, monoid.operator, [computed, computed], node)
            _check_identity(assignment, node, computed)
        case _:
            pass
    for child in below:
        _check(assignment, child, dtypes, _type_of_operand(node, child, dtypes, inner))


def _check_regions(assignment: Assignment, operator: Operator, operands: Sequence[DType], node: Expr) -> None:
    kinds = dict(zip(operator.parameters, operands, strict=True))
    dtype = operator_dtype(operator, operands)
    for region in (operator.overlap, operator.left, operator.right, operator.absent):
        if region is None:
            continue
        computed = result_dtype(region, kinds)
        if (computed.kind, dtype.kind) in _LOSING:
            raise DTypeError(
                f"expected results of {operator.name} that {dtype} holds, but got {computed} from `{region}`: "
                f"take their parts or leave dtype= out",
                source=assignment.source,
                span=node.span,
            )
        # A literal alone has the type of the results, and is checked in the assignment.
        alone = not any(isinstance(below, Access) for below in walk(region))
        if alone and (too_large := excess(region, dtype)) is not None:
            _refuse_literal(assignment, node, too_large, dtype)
        _check(assignment, region, kinds, computed)


def _check_identity(assignment: Assignment, node: Fold, dtype: DType) -> None:
    identity = node.monoid.identity
    if isinstance(identity, Extreme) or dtype.is_complex or (dtype.is_real and not isinstance(identity, complex)):
        return
    if isinstance(identity, complex) or identity != identity or identity != int(identity):
        raise LiteralError(
            f"expected an identity of {node.monoid.name} that {dtype} holds, but got {identity}: "
            "convert the operands to a type that does",
            source=assignment.source,
            span=node.span,
        )
    if (too_large := excess(Literal(int(identity)), dtype)) is not None:
        _refuse_literal(assignment, node, too_large, dtype)


def _type_of_operand(node: Expr, child: Expr, dtypes: Mapping[str, DType], inner: DType) -> DType:
    """Returns the type in which an operand computes: logic converts each operand to a truth value by itself."""
    return operand_dtype((child,), dtypes) if is_tested(node, child) else inner


def _refuse_order(assignment: Assignment, what: str, node: Expr, dtype: DType) -> NoReturn:
    raise UnsupportedError(
        f"expected an ordered element type for {what}, but got {dtype} in {node}: compare moduli or real parts instead",
        source=assignment.source,
        span=node.span,
    )


def _refuse_literal(assignment: Assignment, node: Expr, value: int, dtype: DType) -> NoReturn:
    least, greatest = dtype.limits
    raise LiteralError(
        f"expected an integer of {dtype}, from {least} to {greatest}, but got {value}: "
        f"write {value}.0 to compute in real numbers, or convert the operands to a wider type",
        source=assignment.source,
        span=node.span,
    )


def _refuse_difference(assignment: Assignment, node: Expr) -> NoReturn:
    raise DTypeError(
        f"expected numbers for `-`, but got truth values in {node}: write logical_xor(a, b) for a difference, "
        "!a for what is not so, or 1 * a for numbers",
        source=assignment.source,
        span=node.span,
    )


def _refuse_function(assignment: Assignment, node: Call, dtype: DType) -> NoReturn:
    kinds = FUNCTIONS[node.function].kinds
    if dtype == TRUTH:
        way_out = f"write {node.function}(1 * a) for numbers"
    elif dtype.is_complex:
        way_out = "take the parts apart before the call"
    else:
        way_out = f"{node.function} takes {' and '.join(_KINDS[kind] for kind in kinds)}; convert the operands first"
    raise UnsupportedError(
        f"expected a function that {_KINDS[dtype.kind]} have, but got {node.function} of {dtype} in {node}: {way_out}",
        source=assignment.source,
        span=node.span,
    )
