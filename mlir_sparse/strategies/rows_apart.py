"""Sums over rows and their entries: each row is added up by itself, and its sum to that of all.

With one sum for all entries each waits for the one before it, three or four cycles, whatever row it is of. With a sum
for each row the entries of several rows are added up at once: those of 40 a row in two thirds of the time.
"""

from __future__ import annotations

from collections.abc import Iterator

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.model import ForLoop, loop_of
from mlir_sparse.loops.operation_index import Nest
from mlir_sparse.loops.regions import following
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.strategy import Strategy
from mlir_sparse.loops.value_origins import made_by, result_maker

__all__ = ["ROWS_APART"]


@dataclass(frozen=True, slots=True)
class _CarriedSum:
    """A loop over the entries of a row that adds them to what the loop around it carries.

    Args:
        loop: the loop.
    """

    loop: ForLoop

    @property
    def op(self) -> ir.Operation:
        """Returns the loop's operation."""
        return self.loop.op


def _candidates(nest: Nest) -> Iterator[ForLoop]:
    """Yields the loops over stored entries that carry one number on, which the loop around them carries."""
    for loop in nest.innermost_loops:
        around = loop_of(loop.around)
        if not isinstance(around, ForLoop) or not loop.is_over_entries or len(loop.starts) != 1:
            continue
        # A row of a result in vectors is many sums at once already.
        if loop.starts[0] in around.carried and isinstance(loop.starts[0].type, ir.FloatType):
            yield loop


def _applies(loop: ForLoop, _: Nest) -> _CarriedSum | Missed:
    (total,), (end,) = loop.carried, loop.ends
    added = made_by(end, "arith.addf")
    if added is None or list(added.operands).count(total) != 1 or len(list(total.uses)) != 1:
        return Missed("it makes no sum of its entries")
    return _CarriedSum(loop)


def _rewrite(found: _CarriedSum, _: Nest) -> None:
    """Lets the row start from nothing, and adds its sum to what it started from before."""
    loop = found.loop
    (start,), (result,) = loop.starts, loop.results
    with ir.InsertionPoint(loop.op):
        # Added to it, each number stays as it is, -0.0 too.
        nothing = build.operation("arith.constant", start.type, value=ir.FloatAttr.get(start.type, -0.0))
    loop.set_start(0, nothing)
    with ir.InsertionPoint(following(loop.op)):
        total = build.operation("arith.addf", start.type, start, nothing)
    result.replace_all_uses_with(total)
    result_maker(total).operands[1] = result


ROWS_APART = Strategy("rows-apart", _candidates, _applies, _rewrite)
"""Adds up each row by itself where loops over rows carry one sum on."""
