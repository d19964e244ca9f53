"""Checks the divisors of a user's integers: processors end the process where one is zero, or a quotient has no place.

Kernels of this package divide with NumPy's meaning, and need no check.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.value_origins import constant_of

__all__ = ["check_divisors"]

_SIGNED = (
    *("arith.divsi", "arith.remsi", "arith.ceildivsi", "arith.floordivsi"),
    *("index.divs", "index.rems", "index.ceildivs", "index.floordivs"),
    *("llvm.sdiv", "llvm.srem"),
)
_UNSIGNED = (
    *("arith.divui", "arith.remui", "arith.ceildivui"),
    *("index.divu", "index.remu", "index.ceildivu"),
    *("llvm.udiv", "llvm.urem"),
)
_POWER = "math.ipowi"  # of 0 to a negative exponent it divides 1 by 0
_INDEX_BITS = 64
_NO_ZERO = "expected a divisor that is not 0, but got 0"
_NO_LEAST = "expected a quotient that its type can hold, but got the least integer divided by -1"
_NO_ZERO_POWER = "expected no negative power of 0, but got one"


def check_divisors(seen: Seen, options: Mapping[str, str]) -> bool:
    """Puts assertions before each division of integers whose divisor is not known to be harmless.

    Numbers and vectors of any rank are looked at. Divisions of affine maps, also those by symbols that only the call
    knows, are those of `arith` by now; named operations of linalg became loops with such divisions inside.

    Args:
        seen: a module of loops; rewritten in place.
        options: those of the pass: none.

    Returns:
        whether it changed anything.
    """
    changed = False
    for name in (*_SIGNED, *_UNSIGNED, _POWER):
        for op in list(seen.whole.named(name)):
            if _bits(op.results[0].type) and not _is_harmless(op):
                with ir.InsertionPoint(op), op.location:
                    for truth, message in _rules(op):
                        _assert(truth, message)
                changed = True
    return changed


def _bits(kind: ir.Type) -> int:
    """Returns the width of an integer, or of those of a vector; 0 for any other type.

    Machines with vectors whose length only they know divide by zero without a signal.
    """
    if isinstance(kind, ir.VectorType):
        return 0 if kind.scalable else _bits(kind.element_type)
    if isinstance(kind, ir.IndexType):
        return _INDEX_BITS
    return kind.width if isinstance(kind, ir.IntegerType) else 0


def _is_harmless(op: ir.Operation) -> bool:
    number = constant_of(op.operands[1])
    if op.name == _POWER:
        return number is not None and number >= 0
    return number is not None and number != 0 and (number != -1 or op.name in _UNSIGNED)


def _rules(op: ir.Operation) -> Iterator[tuple[ir.Value, str]]:
    """Yields what has to hold before an operation, and the message where it does not."""
    left, right = op.operands
    zero = _constant(right.type, 0)
    if op.name == _POWER:
        yield _either(build.compare("ne", left, zero), build.compare("sge", right, zero)), _NO_ZERO_POWER
        return
    yield build.compare("ne", right, zero), _NO_ZERO
    if op.name in _SIGNED:
        least = _constant(right.type, -1 << (_bits(right.type) - 1))
        yield (
            _either(build.compare("ne", left, least), build.compare("ne", right, _constant(right.type, -1))),
            _NO_LEAST,
        )


def _constant(kind: ir.Type, value: int) -> ir.Value:
    if isinstance(kind, ir.VectorType):
        splat = ir.DenseElementsAttr.get_splat(kind, ir.IntegerAttr.get(kind.element_type, value))
        return build.operation("arith.constant", kind, value=splat)
    return build.integer(value, kind)


def _either(one: ir.Value, other: ir.Value) -> ir.Value:
    return build.bits_of("ori", one, other)


def _assert(truth: ir.Value, message: str) -> None:
    if isinstance(truth.type, ir.VectorType):
        kind = truth.type
        flat = ir.VectorType.get([math.prod(kind.shape)], kind.element_type)
        if kind.rank != 1:
            truth = build.operation("vector.shape_cast", flat, truth)
        both = ir.Attribute.parse("#vector.kind<and>")
        truth = build.operation("vector.reduction", kind.element_type, truth, kind=both)
    ir.Operation.create("cf.assert", operands=[truth], attributes={"msg": ir.StringAttr.get(message)})
