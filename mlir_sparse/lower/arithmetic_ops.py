"""Scalar arithmetic in MLIR: the operation of each operator, by the kind of element type."""

from __future__ import annotations

from mlir_sparse._mlir import ir
from mlir_sparse.dtypes import DType
from mlir_sparse.lower.mlir_types import element_type
from mlir_sparse.notation import BinaryOp, ReduceOp

__all__ = ["binary", "cast", "constant", "negate", "operation", "reduce"]

_BINARY = {
    ("i", BinaryOp.ADD): "arith.addi",
    ("i", BinaryOp.SUB): "arith.subi",
    ("i", BinaryOp.MUL): "arith.muli",
    ("f", BinaryOp.ADD): "arith.addf",
    ("f", BinaryOp.SUB): "arith.subf",
    ("f", BinaryOp.MUL): "arith.mulf",
    ("f", BinaryOp.DIV): "arith.divf",
    ("b", BinaryOp.ADD): "arith.ori",
    ("b", BinaryOp.MUL): "arith.andi",
    ("c", BinaryOp.ADD): "complex.add",
    ("c", BinaryOp.SUB): "complex.sub",
    ("c", BinaryOp.MUL): "complex.mul",
    ("c", BinaryOp.DIV): "complex.div",
}
_EXTREMES = {
    ("f", ReduceOp.MAX): "arith.maximumf",
    ("f", ReduceOp.MIN): "arith.minimumf",
    ("i", ReduceOp.MAX): "arith.maxsi",
    ("i", ReduceOp.MIN): "arith.minsi",
    ("u", ReduceOp.MAX): "arith.maxui",
    ("u", ReduceOp.MIN): "arith.minui",
    ("b", ReduceOp.MAX): "arith.ori",
    ("b", ReduceOp.MIN): "arith.andi",
}


def operation(name: str, result: ir.Type, *operands: ir.Value, **attributes: ir.Attribute) -> ir.Value:
    """Returns the result of an operation of one result, built at the insertion point."""
    return ir.Operation.create(name, results=[result], operands=list(operands), attributes=attributes).result


def constant(value: int | float | complex, dtype: DType) -> ir.Value:
    """Returns a constant of an element type."""
    kind = element_type(dtype)
    if dtype.is_complex:
        number = complex(value)
        part = ir.ComplexType(kind).element_type
        parts = ir.ArrayAttr.get([ir.FloatAttr.get(part, number.real), ir.FloatAttr.get(part, number.imag)])
        return operation("complex.constant", kind, value=parts)
    if dtype.is_real:
        return operation("arith.constant", kind, value=ir.FloatAttr.get(kind, float(value.real)))
    number = int(value != 0) if dtype.is_truth else _wrapped(int(value.real), dtype.bits)
    return operation("arith.constant", kind, value=ir.IntegerAttr.get(kind, number))


def _wrapped(value: int, bits: int) -> int:
    """Returns an integer in the two's complement of a type: `-128` is an i8, but the 128 in it is none."""
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


def cast(value: ir.Value, source: DType, target: DType) -> ir.Value:
    """Returns a value in another element type."""
    if source == target:
        return value
    kind = element_type(target)
    if target.is_complex:
        return _to_complex(value, source, target)
    if target.is_truth:
        return _to_truth(value, source, target)
    if source.is_truth and target.bits == source.bits:
        return value
    if source.is_exact and target.is_integer:
        if source.bits == target.bits:  # of the other sign: the same bits
            return value
        wider = "arith.extui" if source.is_unsigned else "arith.extsi"
        return operation(wider if source.bits < target.bits else "arith.trunci", kind, value)
    if source.is_exact:
        return operation("arith.uitofp" if source.is_unsigned else "arith.sitofp", kind, value)
    if target.is_narrow and source != target.accumulated_in and not source.is_narrow:
        # From f64 through f32, as sums are made: processors have no instruction, and the compiler no function, for it.
        return cast(cast(value, source, target.accumulated_in), target.accumulated_in, target)
    if source.bits == target.bits:  # from f16 to bf16 or back, through f32
        return operation("arith.truncf", kind, operation("arith.extf", element_type(source.accumulated_in), value))
    return operation("arith.extf" if source.bits < target.bits else "arith.truncf", kind, value)


def _to_truth(value: ir.Value, source: DType, target: DType) -> ir.Value:
    """Returns 1 where a value is not zero, NaN included, else 0."""
    kind, zero = element_type(target), constant(0, source)
    bit = ir.IntegerType.get_signless(1)
    if source.is_complex:
        return operation("arith.extui", kind, operation("complex.neq", bit, value, zero))
    name, differs = ("arith.cmpf", 13) if source.is_real else ("arith.cmpi", 1)  # unordered or not equal
    predicate = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), differs)
    return operation("arith.extui", kind, operation(name, bit, value, zero, predicate=predicate))


def _to_complex(value: ir.Value, source: DType, target: DType) -> ir.Value:
    kind, part = element_type(target), target.part
    if source.is_complex:
        real, imaginary = (operation(name, element_type(source.part), value) for name in ("complex.re", "complex.im"))
        return operation("complex.create", kind, cast(real, source.part, part), cast(imaginary, source.part, part))
    return operation("complex.create", kind, cast(value, source, part), constant(0, part))


def negate(value: ir.Value, dtype: DType) -> ir.Value:
    """Returns the negative of a value."""
    if dtype.is_integer:
        # After `0 - value` the sparsifier would loop over all places of the zero, which passes move out of the loops.
        return operation("arith.muli", element_type(dtype), value, constant(-1, dtype))
    return operation("complex.neg" if dtype.is_complex else "arith.negf", element_type(dtype), value)


def binary(op: BinaryOp, left: ir.Value, right: ir.Value, dtype: DType) -> ir.Value:
    """Returns two values joined by an arithmetic operator."""
    return operation(_BINARY[dtype.kind, op], element_type(dtype), left, right)


def reduce(op: ReduceOp, present: ir.Value, value: ir.Value, dtype: DType) -> ir.Value:
    """Returns the present value of an accumulation combined with a new one."""
    match op:
        case ReduceOp.SUM:
            return binary(BinaryOp.ADD, present, value, dtype)
        case ReduceOp.PRODUCT:
            return binary(BinaryOp.MUL, present, value, dtype)
        case ReduceOp.MAX | ReduceOp.MIN:
            kind = "u" if dtype.is_unsigned else dtype.kind
            return operation(_EXTREMES[kind, op], element_type(dtype), present, value)
        case ReduceOp.OR:
            return operation("arith.ori", element_type(dtype), present, value)
        case ReduceOp.AND:
            return operation("arith.andi", element_type(dtype), present, value)
        case _:
            raise AssertionError(f"the plan replaces {op.value} by sums and choices")
