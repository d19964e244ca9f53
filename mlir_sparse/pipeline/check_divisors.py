"""Checks the divisors of a user's integers: processors end the process where one is zero, or a quotient has no place.

Kernels of this package divide with NumPy's meaning, and need no check.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.value_origins import constant_of

__all__ = ["check_divisors"]

_SIGNED = ("arith.divsi", "arith.remsi", "arith.ceildivsi", "arith.floordivsi")
_UNSIGNED = ("arith.divui", "arith.remui", "arith.ceildivui")
_INDEX_BITS = 64


def check_divisors(seen: Seen, options: Mapping[str, str]) -> bool:
    """Puts assertions before each division of integers whose divisor is not known to be harmless.

    Args:
        seen: a module of loops; rewritten in place.
        options: those of the pass: none.

    Returns:
        whether it changed anything.
    """
    changed = False
    for name in (*_SIGNED, *_UNSIGNED):
        for op in list(seen.whole.named(name)):
            if _bits(op.results[0].type) and not _is_harmless(op):
                with ir.InsertionPoint(op), op.location:
                    _write(op)
                changed = True
    return changed


def _bits(kind: ir.Type) -> int:
    """Returns the width of an integer, or of those of a vector of known length; 0 for any other type."""
    if isinstance(kind, ir.VectorType):
        return 0 if kind.scalable or kind.rank != 1 else _bits(kind.element_type)
    if isinstance(kind, ir.IndexType):
        return _INDEX_BITS
    return kind.width if isinstance(kind, ir.IntegerType) else 0


def _is_harmless(op: ir.Operation) -> bool:
    divisor = constant_of(op.operands[1])
    return divisor is not None and divisor != 0 and (divisor != -1 or op.name in _UNSIGNED)


def _write(op: ir.Operation) -> None:
    dividend, divisor = op.operands
    _assert(_compare("ne", divisor, _constant(divisor.type, 0)), "expected a divisor that is not 0, but got 0")
    if op.name in _SIGNED:
        least = _constant(divisor.type, -1 << (_bits(divisor.type) - 1))
        fits = (_compare("ne", dividend, least), _compare("ne", divisor, _constant(divisor.type, -1)))
        text = "expected a quotient that its type can hold, but got the least integer divided by -1"
        _assert(build.operation("arith.ori", fits[0].type, *fits), text)


def _constant(kind: ir.Type, value: int) -> ir.Value:
    if isinstance(kind, ir.VectorType):
        splat = ir.DenseElementsAttr.get_splat(kind, ir.IntegerAttr.get(kind.element_type, value))
        return build.operation("arith.constant", kind, value=splat)
    return build.operation("arith.constant", kind, value=ir.IntegerAttr.get(kind, value))


def _compare(predicate: str, value: ir.Value, other: ir.Value) -> ir.Value:
    number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), build.PREDICATES[predicate])
    truth: ir.Type = ir.IntegerType.get_signless(1)
    if isinstance(value.type, ir.VectorType):
        truth = ir.VectorType.get(value.type.shape, truth)
    return build.operation("arith.cmpi", truth, value, other, predicate=number)


def _assert(truth: ir.Value, message: str) -> None:
    if isinstance(truth.type, ir.VectorType):
        kind = ir.Attribute.parse("#vector.kind<and>")
        truth = build.operation("vector.reduction", truth.type.element_type, truth, kind=kind)
    ir.Operation.create("cf.assert", operands=[truth], attributes={"msg": ir.StringAttr.get(message)})
