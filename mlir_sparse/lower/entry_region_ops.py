"""Emits operators on stored entries as `sparse_tensor.unary`, `binary`, `select` and `reduce`.

A dense array or a number has an entry everywhere. A region reads it where an operator joins it with a sparse operand,
so that loops run over sparse operands only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.dtypes import TRUTH, DType
from mlir_sparse.lower import arithmetic_ops, truth_ops
from mlir_sparse.lower.scalar_region import Arguments, Region, emit_payload, sparse_operation
from mlir_sparse.notation import SELECT, Access, Apply, BinaryOp, Expr, Extreme, Monoid, Negate, Operator, ReduceOp
from mlir_sparse.notation.entry_functions import is_arithmetic, only_chooses
from mlir_sparse.spec import depends_on, extreme_or, logic_of, operand_entry_dtype, promote, result_dtype

__all__ = ["emit_entries"]


def emit_entries(
    body: Expr,
    arguments: Arguments,
    present: ir.Value | None,
    monoid: Monoid | None,
    identity: ir.Value | None,
    dtype: DType,
) -> ir.Value:
    """Emits a payload of operators at the insertion point.

    Args:
        body: accesses, numbers and operators on them.
        arguments: the values that it reads.
        present: the output's block argument where the payload accumulates, else None.
        monoid: the monoid that it accumulates by.
        identity: the monoid's identity, made outside the payload.
        dtype: the element type of the output.

    Returns:
        the value to yield.
    """
    value = _Emitter(arguments).emit(body, dtype)
    if present is None:
        return value
    assert monoid is not None

    def combine(a: ir.Value, b: ir.Value) -> ir.Value:
        return _computed(monoid.operator, monoid.operator.overlap, [(a, dtype), (b, dtype)], dtype)

    with arguments.locations.accumulating:
        if is_addition(monoid) or not depends_on(body, arguments.sparse):
            return combine(present, value)
        assert identity is not None
        return sparse_operation("sparse_tensor.reduce", [present, value, identity], dtype, [((dtype, dtype), combine)])


def is_addition(monoid: Monoid) -> bool:
    """Returns whether a monoid is the addition that the sparsifier accumulates by itself."""
    left, right = monoid.operator.parameters
    return monoid.gives_zero and str(monoid.operator.overlap) == f"{left} + {right}"


class _Emitter:
    def __init__(self, arguments: Arguments) -> None:
        self._arguments = arguments
        self._types = {access.tensor: dtype for access, (_, dtype) in arguments.values.items()}

    def emit(self, node: Expr, wanted: DType | None = None) -> ir.Value:
        """Emits a node in the wanted element type, or in its own if none is wanted."""
        with self._arguments.locations.at(node):
            return self._emit(node, wanted)

    def _emit(self, node: Expr, wanted: DType | None) -> ir.Value:
        own = result_dtype(node, self._types)
        dtype = wanted or own
        if not depends_on(node, self._arguments.sparse):
            return self._inline(node, dtype)
        if isinstance(node, Access):
            value, _ = self._arguments.values[node]
            return value if own == dtype else _unary(value, own, dtype, lambda x: arithmetic_ops.cast(x, own, dtype))
        assert isinstance(node, Apply)
        if node.operator == SELECT:
            return self._select(node, dtype)
        if len(self._sparse(node)) == 2:
            return self._binary(node, dtype)
        return self._unary(node, dtype)

    def _sparse(self, node: Apply) -> list[Expr]:
        """Returns the operands without an entry everywhere; of a selection, the tensor that it selects from."""
        if node.operator.name == SELECT.name:
            return [node.arguments[0]]
        return [argument for argument in node.arguments if depends_on(argument, self._arguments.sparse)]

    def _unary(self, node: Apply, dtype: DType) -> ir.Value:
        """Emits nested operators with one sparse operand in one region, because nested regions do not lower."""
        base, kind = self._inside(node, dtype)
        while isinstance(base, Apply) and len(self._sparse(base)) == 1 and base.operator != SELECT:
            base, kind = self._inside(base, kind)
        value = self.emit(base, kind)

        def compute(entry: ir.Value) -> ir.Value:
            inner = self._with_entry(base, entry, kind)
            return inner.within(node, base, (entry, kind), dtype)

        return _unary(value, kind, dtype, compute)

    def _inside(self, node: Apply, dtype: DType) -> tuple[Expr, DType]:
        """Returns the one sparse operand of an operator, and the element type that it is computed in."""
        (operand,) = self._sparse(node)
        return operand, self._kind(operand, node, dtype)

    def within(self, node: Expr, base: Expr, entry: tuple[ir.Value, DType], dtype: DType | None = None) -> ir.Value:
        """Emits a node inside a region, in which `entry` stands for its one sparse operand."""
        if node is base:
            return entry[0]
        dtype = dtype or result_dtype(node, self._types)
        if not isinstance(node, Apply):
            return self._inline(node, dtype)
        kinds = [self._kind(argument, node, dtype) for argument in node.arguments]
        values = [
            self.within(argument, base, entry, kind) for argument, kind in zip(node.arguments, kinds, strict=True)
        ]
        return _computed(node.operator, node.operator.overlap, list(zip(values, kinds, strict=True)), dtype)

    def _binary(self, node: Apply, dtype: DType) -> ir.Value:
        kinds = [self._kind(argument, node, dtype) for argument in node.arguments]
        operands = [self.emit(argument, kind) for argument, kind in zip(node.arguments, kinds, strict=True)]
        known = node.operator
        first, second = known.parameters

        def region(expr: Expr | None, names: Sequence[str]) -> Region | None:
            if expr is None:
                return None
            types = tuple(kind for kind, name in zip(kinds, known.parameters, strict=True) if name in names)

            def compute(*values: ir.Value) -> ir.Value:
                given = dict(zip(names, zip(values, types, strict=True), strict=True))
                # A region of one operand does not read the other; the first value only fills its place.
                both = [given.get(name) or given[names[0]] for name in known.parameters]
                return _computed(known, expr, both, dtype)

            return types, compute

        regions = [region(known.overlap, (first, second)), region(known.left, (first,)), region(known.right, (second,))]
        return sparse_operation("sparse_tensor.binary", operands, dtype, regions)

    def _select(self, node: Apply, dtype: DType) -> ir.Value:
        value, condition = node.arguments
        found = self.emit(value, dtype)

        def compute(entry: ir.Value) -> ir.Value:
            inner = self._with_entry(value, entry, dtype)._arguments
            return truth_ops.nonzero(emit_payload(condition, inner, None, ReduceOp.SUM, TRUTH), TRUTH)

        return sparse_operation("sparse_tensor.select", [found], dtype, [((dtype,), compute)])

    def _with_entry(self, operand: Expr, entry: ir.Value, dtype: DType) -> _Emitter:
        """Returns an emitter for the inside of a region, in which `entry` stands for an operand."""
        values = dict(self._arguments.values)
        if isinstance(operand, Access):
            values[operand] = (entry, dtype)
        return _Emitter(Arguments(values, (), self._arguments.locations))

    def _kind(self, argument: Expr, node: Apply, dtype: DType) -> DType:
        """Returns the element type that an operand of a node is computed in, itself computed in another."""
        return operand_entry_dtype(argument, node.operator, dtype, self._types)

    def _inline(self, node: Expr, dtype: DType) -> ir.Value:
        """Emits a node that reads dense arrays only, as plain arithmetic."""
        if not isinstance(node, Apply):
            return emit_payload(
                node, Arguments(self._arguments.values, (), self._arguments.locations), None, ReduceOp.SUM, dtype
            )
        assert node.operator.overlap is not None
        kinds = [self._kind(argument, node, dtype) for argument in node.arguments]
        given = [(self._inline(argument, kind), kind) for argument, kind in zip(node.arguments, kinds, strict=True)]
        return _computed(node.operator, node.operator.overlap, given, dtype)


def _computed(
    known: Operator, region: Expr | None, operands: Sequence[tuple[ir.Value, DType]], dtype: DType
) -> ir.Value:
    """Emits a region of an operator on values."""
    assert region is not None
    names = [Access(name) for name in known.parameters]
    arguments = Arguments(dict(zip(names, operands, strict=True)), ())
    own = result_dtype(region, arguments.dtypes)
    if own.is_narrow and dtype == own.accumulated_in:
        own = dtype  # values that are summed in f32 are not rounded before
    if is_arithmetic(known) and (own != TRUTH or isinstance(region, Negate)):
        own = promote(own, dtype)
    result = emit_payload(logic_of(region, arguments.dtypes), arguments, None, ReduceOp.SUM, own)
    result = arithmetic_ops.cast(result, own, dtype)
    absorbs = isinstance(known.annihilator, Extreme) and not only_chooses(known)  # of two numbers `min` is the less
    if region is not known.overlap or not absorbs or not dtype.is_integer:
        return result
    for value, kind in operands:
        if kind == TRUTH:
            continue  # neither false nor true stands for an infinity
        assert known.annihilator is not None
        stays = arithmetic_ops.constant(extreme_or(known.annihilator, kind), kind)
        extreme = arithmetic_ops.constant(extreme_or(known.annihilator, dtype), dtype)
        result = truth_ops.select(truth_ops.compare(BinaryOp.EQ, value, stays, kind), extreme, result, dtype)
    return result


def _unary(operand: ir.Value, kind: DType, dtype: DType, compute: Callable[[ir.Value], ir.Value]) -> ir.Value:
    return sparse_operation("sparse_tensor.unary", [operand], dtype, [((kind,), compute), None])
