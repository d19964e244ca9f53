"""Rows that leave elements out have a zero among what is reduced: their loop starts from it.

`max(j : A(i,j))` sees the zeros that A leaves out. The plan has entries reduced, counts them, and chooses: four loop
nests. Where the entries of a row follow each other, how many they are is known before the first, and it is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Access, Apply, Binary, BinaryOp, Call, Expr, Literal, Monoid
from mlir_sparse.notation.entry_functions import COMBINING
from mlir_sparse.notation.semiring import MONOIDS
from mlir_sparse.plan.plan_steps import AccumulateMode, Generic, Step, values_read
from mlir_sparse.program import ExtentVector

__all__ = ["with_zeros_in_rows"]

Types = Mapping[str, TensorType]

_REASON = "entries, and a zero in rows that leave elements out"
_EXTREMES = {op.value: monoid for op, monoid in COMBINING.items() if op.value in ("max", "min")}


def with_zeros_in_rows(steps: Sequence[Step], types: Types, result: str) -> tuple[Step, ...]:
    """Returns the steps with extremes of rows that see the zeros themselves, where loops can tell.

    Args:
        steps: what to do, in order.
        types: the types of the values.
        result: the value that is returned.
    """
    times = Counter(step.result for step in steps)
    made = {step.result: step for step in steps if isinstance(step, Generic) and times[step.result] == 1}
    joined = [_joined(step, made, types) if isinstance(step, Generic) else None for step in steps]
    found: list[Step] = [step if other is None else other for step, other in zip(steps, joined, strict=True)]
    return _read_alone(found, result) if any(joined) else tuple(steps)


def _joined(step: Generic, made: Mapping[str, Generic], types: Types) -> Generic | None:
    """Returns the loops that make what a step chooses from extremes and counts of entries; None for any other step."""
    match step:
        case Generic(
            mode=AccumulateMode.REPLACE,
            payload=Call(
                "where",
                (Binary(BinaryOp.LT, Access() as counted, extent), Call(name, (Access() as least, zero)), same),
            ),
        ) if least == same and zero == Literal(0) and name in _EXTREMES:
            pass
        case _:
            return None
    extreme, count = made.get(least.tensor), made.get(counted.tensor)
    if extreme is None or count is None or {least.subscripts, counted.subscripts} != {step.target.subscripts}:
        return None
    rows = isinstance(extreme.payload, Access) and _by_rows(extreme, extreme.payload, types)
    if not rows or not _counts(count, extreme) or not _is_extent(extent, extreme, made):
        return None
    if extreme.combine != _EXTREMES[name] or types[step.result] != types[extreme.result]:
        return None
    return replace(extreme, target=step.target, zeros=True, reason=_REASON)


def _by_rows(step: Generic, stored: Access, types: Types) -> bool:
    """Returns whether loops go through rows of entries that follow each other, and reduce each."""
    kind = types[stored.tensor].encoding
    if kind is None or not kind.is_permutation or step.mode is not AccumulateMode.START or step.start is not None:
        return False
    *outer, last = kind.level_types
    variables = tuple(stored.subscripts[dim] for dim in kind.level_order)
    entries = last.has_adjacent_lists and last.unique
    full = all(level.functions.has_full_loop for level in outer)
    plain = not step.frames and not step.extents and step.sampled is None and step.in_order
    loops = step.loops == variables and step.reductions == variables[-1:] and step.target.subscripts == variables[:-1]
    return bool(outer) and entries and full and plain and loops


def _counts(step: Generic, extreme: Generic) -> bool:
    """Returns whether a step counts the entries whose extreme another one finds."""
    match step.payload:
        case Apply(operator, (Access() as stored,)) if operator.name == "one":
            pass
        case _:
            return False
    alike = (step.loops, step.reductions, stored) == (extreme.loops, extreme.reductions, extreme.payload)
    return alike and step.combine == MONOIDS["plus"] and step.mode is AccumulateMode.START


def _is_extent(extent: Expr, extreme: Generic, made: Mapping[str, Generic]) -> bool:
    """Returns whether a number is how long the rows are."""
    count = made.get(extent.tensor) if isinstance(extent, Access) else None
    return (
        count is not None
        and not count.target.subscripts
        and count.payload == Literal(1)
        and count.reductions == extreme.reductions == count.loops
        and not isinstance(count.combine, Monoid)
    )


def _read_alone(steps: Sequence[Step], result: str) -> tuple[Step, ...]:
    """Returns the steps without those whose results nothing reads now."""
    kept: list[Step] = []
    readers = Counter({result: 1})
    for step in reversed(steps):
        if readers[step.result] or not isinstance(step, Generic | ExtentVector):
            kept.append(step)
            readers.update(values_read(step))
            readers.update(access.tensor for access in (step.extents if isinstance(step, Generic) else ()))
    return tuple(reversed(kept))
