"""Emits an expression as the payload of a `linalg.generic`.

The sparsifier analyses few operations. Other operations on sparse operands go into regions of `sparse_tensor.unary` and
`sparse_tensor.binary`, which hold for the places where operands are stored. Within a region no value is sparse, and
dense operands are read as outside.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, assert_never

from mlir_sparse._mlir import ir
from mlir_sparse.dtypes import DType
from mlir_sparse.lower import arithmetic_ops, function_ops, truth_ops
from mlir_sparse.lower.arrays_in_regions import take_arrays_apart
from mlir_sparse.lower.mlir_types import element_type
from mlir_sparse.lower.notation_locations import Locations, Unlocated
from mlir_sparse.notation import (
    Access,
    Apply,
    Binary,
    BinaryOp,
    Call,
    Expr,
    Fold,
    Literal,
    Negate,
    Reduce,
    ReduceOp,
    children,
    rebuild,
    walk,
)
from mlir_sparse.plan import Regions, is_native, regions_of
from mlir_sparse.spec import (
    compared_dtypes,
    depends_on,
    gives_truth,
    inner_dtype,
    is_tested,
    node_dtype,
    operand_dtype,
    starts_anew,
)

__all__ = ["Arguments", "Region", "emit_payload", "sparse_operation"]

# The element types of a region's arguments, and a function from these to the value that the region yields.
Region = tuple[tuple[DType, ...], Callable[..., "ir.Value"]]


class Arguments(NamedTuple):
    """The values that a payload reads.

    Args:
        values: the value and element type of each access: a block argument, or a part that is already emitted.
        sparse: the tensors that leave out zeros.
        locations: where operations come from.
    """

    values: Mapping[Access, tuple[ir.Value, DType]]
    sparse: Collection[str]
    locations: Locations = Unlocated()

    @property
    def dtypes(self) -> Mapping[str, DType]:
        """Returns the element types by tensor."""
        return {access.tensor: dtype for access, (_, dtype) in self.values.items()}


def emit_payload(
    body: Expr, arguments: Arguments, present: ir.Value | None, combine: ReduceOp, dtype: DType
) -> ir.Value:
    """Emits a payload at the insertion point.

    Args:
        body: the computation, free of reductions.
        arguments: the values that it reads.
        present: the output's block argument where the payload accumulates, else None.
        combine: the operator of the accumulation.
        dtype: the element type of the output.

    Returns:
        the value to yield.
    """
    if present is None:
        return _emit(body, arguments, dtype)
    # The sparsifier knows a subtraction, but not the addition of a negative.
    subtracts = isinstance(body, Negate) and combine is ReduceOp.SUM
    value = _emit(body.operand if isinstance(body, Negate) and subtracts else body, arguments, dtype)
    with arguments.locations.accumulating:
        if subtracts:
            return arithmetic_ops.binary(BinaryOp.SUB, present, value, dtype)
        return arithmetic_ops.reduce(combine, present, value, dtype)


def _emit(node: Expr, arguments: Arguments, dtype: DType) -> ir.Value:
    """Emits an expression as a value of an element type; it computes in that type unless it starts anew."""
    with arguments.locations.at(node):
        return _emit_node(node, arguments, dtype)


def _emit_node(node: Expr, arguments: Arguments, dtype: DType) -> ir.Value:
    if depends_on(node, arguments.sparse) and not is_native(node, arguments.sparse, dtype.kind):
        found = regions_of(node, arguments.sparse)
        assert found is not None, f"the plan makes {node} one of at most two sparse parts"
        return _regions(node, found, arguments, dtype)
    if gives_truth(node):
        return truth_ops.number(_truth(node, arguments), dtype)
    if starts_anew(node):
        inner = inner_dtype(node, arguments.dtypes)
        return arithmetic_ops.cast(_called(node, arguments, inner), node_dtype(node, inner), dtype)
    match node:
        case Access():
            return _access(node, arguments, dtype)
        case Literal(value):
            return arithmetic_ops.constant(value, dtype)
        case Negate(operand):
            return arithmetic_ops.negate(_emit(operand, arguments, dtype), dtype)
        case Binary(op, left, right):
            return arithmetic_ops.binary(op, _emit(left, arguments, dtype), _emit(right, arguments, dtype), dtype)
        case Call("where", (condition, then, otherwise)):
            chosen = _truth(condition, arguments)
            return truth_ops.select(chosen, _emit(then, arguments, dtype), _emit(otherwise, arguments, dtype), dtype)
        case Call():
            return _called(node, arguments, dtype)
        case Reduce() | Fold() | Apply():
            raise AssertionError("the plan makes loop nests of reductions, and operators are regions")
        case _:
            assert_never(node)


def _called(node: Expr, arguments: Arguments, dtype: DType) -> ir.Value:
    """Emits a function of operands computed in a type."""
    assert isinstance(node, Call)
    return function_ops.call(node.function, [_emit(operand, arguments, dtype) for operand in node.arguments], dtype)


def _access(node: Access, arguments: Arguments, dtype: DType) -> ir.Value:
    value, source = arguments.values[node]
    if node.tensor in arguments.sparse and dtype.is_complex and source != dtype:
        # The sparsifier accepts a cast to complex in a region only.
        def compute(values: Sequence[ir.Value | None]) -> ir.Value:
            (entry,) = values
            stored = arithmetic_ops.constant(0, source) if entry is None else entry
            return arithmetic_ops.cast(stored, source, dtype)

        return _region([(value, source)], dtype, compute)
    return arithmetic_ops.cast(value, source, dtype)


def _truth(node: Expr, arguments: Arguments) -> ir.Value:
    """Emits whether an expression is not zero, as a value of one bit."""
    match node:
        case Binary(BinaryOp.AND | BinaryOp.OR as op, left, right):
            return truth_ops.join(op, _truth(left, arguments), _truth(right, arguments))
        case Binary(op, left, right) if op.compares:
            dtypes = compared_dtypes(left, right, arguments.dtypes)
            sides = _emit(left, arguments, dtypes[0]), _emit(right, arguments, dtypes[1])
            if dtypes[0] != dtypes[1]:
                return truth_ops.compare_signs(op, *sides, dtypes)
            return truth_ops.compare(op, *sides, dtypes[0])
        case Call("logical_not", (operand,)):
            return truth_ops.invert(_truth(operand, arguments))
        case Call() if gives_truth(node):
            return _called(node, arguments, inner_dtype(node, arguments.dtypes))
        case _:
            dtype = operand_dtype((node,), arguments.dtypes)
            return truth_ops.nonzero(_emit(node, arguments, dtype), dtype)


# -- regions ------------------------------------------------------------------------------------------------------


def _regions(node: Expr, found: Regions, arguments: Arguments, dtype: DType) -> ir.Value:
    """Emits an expression as a function of one or two sparse parts."""
    parts = [_part(operand, node, arguments, dtype) for operand in found.operands]
    names = [operand if isinstance(operand, Access) else Access(f"#{n}") for n, operand in enumerate(found.operands)]
    whole = _with_parts(node, dict(zip(found.operands, names, strict=True)))

    def compute(values: Sequence[ir.Value | None]) -> ir.Value:
        inner = dict(arguments.values)
        for name, value, (_, kind) in zip(names, values, parts, strict=True):
            inner[name] = (arithmetic_ops.constant(0, kind) if value is None else value, kind)
        return _emit(whole, Arguments(inner, (), arguments.locations), dtype)

    return _region(parts, dtype, compute, found.left, found.right)


def _part(operand: Expr, node: Expr, arguments: Arguments, dtype: DType) -> tuple[ir.Value, DType]:
    """Emits a part of an expression in the type that the expression takes."""
    if isinstance(operand, Access):
        return arguments.values[operand]
    kind = inner_dtype(node, arguments.dtypes) if starts_anew(node) else dtype
    if is_tested(node, operand):
        kind = operand_dtype((operand,), arguments.dtypes)
    if isinstance(node, Binary) and node.op.compares:
        dtypes = compared_dtypes(node.left, node.right, arguments.dtypes)
        kind = dtypes[0] if operand in walk(node.left) else dtypes[1]
    return _emit(operand, arguments, kind), kind


def _with_parts(node: Expr, names: Mapping[Expr, Access]) -> Expr:
    """Returns an expression with names in place of the parts that are already emitted."""
    if node in names:
        return names[node]
    return rebuild(node, tuple(_with_parts(child, names) for child in children(node)))


def _region(
    operands: list[tuple[ir.Value, DType]],
    dtype: DType,
    compute: Callable[[Sequence[ir.Value | None]], ir.Value],
    left: bool = False,
    right: bool = False,
) -> ir.Value:
    """Emits `sparse_tensor.unary` or `.binary`: `compute` gives the value from those of the operands, None for none."""
    kinds = tuple(kind for _, kind in operands)
    regions: list[Region | None] = [(kinds, lambda *values: compute(values)), None]
    if len(operands) == 2:
        regions[1] = ((kinds[0],), lambda value: compute((value, None))) if left else None
        regions.append(((kinds[1],), lambda value: compute((None, value))) if right else None)
    name = "sparse_tensor.binary" if len(operands) == 2 else "sparse_tensor.unary"
    return sparse_operation(name, [value for value, _ in operands], dtype, regions)


def sparse_operation(name: str, operands: list[ir.Value], dtype: DType, regions: Sequence[Region | None]) -> ir.Value:
    """Emits an operation with regions; those that are None stay empty."""
    op = ir.Operation.create(name, results=[element_type(dtype)], operands=operands, regions=len(regions))
    computed = any(isinstance(operand, ir.OpResult) for operand in operands)
    for region, given in zip(op.regions, regions, strict=True):
        if given is None:
            continue
        kinds, compute = given
        types = [element_type(kind) for kind in kinds]
        block = region.blocks.append(*types, arg_locs=[ir.Location.unknown()] * len(types))
        with ir.InsertionPoint(block):
            ir.Operation.create("sparse_tensor.yield", operands=[compute(*block.arguments)])
        take_arrays_apart(block, computed=computed)
    return op.result
