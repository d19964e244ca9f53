"""Factors that all summands of a row have: a sum of multiples is a multiple of the sum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlir_sparse._mlir import bindings
from mlir_sparse.pipeline.assembly import code
from mlir_sparse.pipeline.tiling.lines import body_of, maker, operations_in
from mlir_sparse.pipeline.tiling.seen import Seen

__all__ = ["take_factors", "take_out"]

_FLOATS = ("f16", "bf16", "f32", "f64")
_LOOPS = ("scf.for", "scf.while", "scf.parallel")


def take_factors(seen: Seen, _: Mapping[str, str]) -> bool:
    """Multiplies the sums of rows by what is the same for all entries of the row, rather than each of them.

    Args:
        seen: a module after bufferization; rewritten in place.

    Returns:
        whether it may have changed anything.
    """
    sums = [loop for loop in seen.whole.named("scf.for") if _is_sum(loop)]
    for loop in sums:
        factors = take_out(loop, 0)
        if factors:
            _multiply(loop, factors)
    return bool(sums)


def take_out(loop: Any, place: int) -> list[Any]:
    """Takes factors from outside a loop off what the loop adds to one of the values that it carries.

    Args:
        loop: an `scf.for`; rewritten in place.
        place: which of its results is the sum; its body ends with `arith.addf` or `arith.subf` for it.

    Returns:
        the factors; none where nothing else would be left.
    """
    *body, end = operations_in(loop)
    add = maker(end.operands[place])
    assert add is not None
    at = 1 if add.operands[0] == list(body_of(loop).arguments)[1 + place] else 0
    factors = _factors(add.operands[at], body)
    common = [factor for factor in factors if maker(factor) not in body and factor.owner != body_of(loop)]
    left = [factor for factor in factors if factor not in common]
    if not common or not left:
        return []
    with bindings().ir.InsertionPoint(add):
        product = left[0]
        for factor in left[1:]:
            product = code.operation("arith.mulf", product.type, product, factor)
    add.operands[at] = product
    return common


def _factors(value: Any, body: list[Any]) -> list[Any]:
    """Returns what is multiplied in a loop to give a value."""
    op = maker(value)
    if op is None or op.name != "arith.mulf" or op not in body:
        return [value]
    return [factor for operand in op.operands for factor in _factors(operand, body)]


def _is_sum(loop: Any) -> bool:
    """Returns whether an innermost loop carries nothing but a sum, which begins with it."""
    if len(loop.results) != 1 or str(loop.operands[3].type) not in _FLOATS:
        return False
    *body, end = operations_in(loop)
    if any(op.name in _LOOPS or len(op.regions) for op in body):
        return False
    first, held = loop.operands[3], body_of(loop).arguments[1]
    # Where a loop around it carries the sum, rows go on after this one.
    if maker(first) is None or len(list(held.uses)) != 1:
        return False
    add = maker(end.operands[0])
    if add is None or add not in body:
        return False
    left, right = list(add.operands) if len(add.operands) == 2 else (None, None)
    return bool((add.name == "arith.addf" and held in (left, right)) or (add.name == "arith.subf" and left == held))


def _multiply(loop: Any, factors: list[Any]) -> None:
    """Starts the sum from zero, and adds its multiple to what it started from."""
    ir = bindings().ir
    first, result = loop.operands[3], loop.results[0]
    with ir.InsertionPoint(loop):
        loop.operands[3] = code.operation("arith.constant", first.type, value=ir.FloatAttr.get(first.type, 0.0))
        some = code.compare("ult", *list(loop.operands)[:2])
    following = operations_in(loop.parent)
    with ir.InsertionPoint(following[following.index(loop) + 1]):
        factor = factors[0]
        for other in factors[1:]:
            factor = code.operation("arith.mulf", first.type, factor, other)
        multiple = code.operation("arith.mulf", first.type, result, factor)
        total = code.operation("arith.addf", first.type, first, multiple)
        # Zero times what is not finite is not zero: rows without entries have no multiple.
        value = code.operation("arith.select", first.type, some, total, first)
    result.replace_all_uses_except(value, maker(multiple))
