"""Sparse results that have the structure of no operand, for threads: counted first, then filled.

Threads cannot append to one result. Where the outermost loops are those of the leading levels of the result, the
entries of each of their iterations (of each row, say) stand one behind another. A thread counts those of its own;
sums of the counts tell where each iteration's entries begin; then the same loops run again, and store.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Access, Expr, IndexVar
from mlir_sparse.plan.order.storage_choice import can_insert_into, level_variables
from mlir_sparse.plan.plan_steps import AccumulateMode, Generic

__all__ = ["TwoPhaseAssembly", "scanned_arrays", "two_phase_assembly"]

_CPU = "use target='cpu'"


@dataclass(frozen=True, slots=True)
class TwoPhaseAssembly:
    """How a result with a structure of its own comes about.

    Args:
        owners: the variables whose iterations have their entries one behind another, the outermost first.
        levels: those that are counted: the compressed ones; the last of a list, whose entries have coordinates of all.
        listed: whether each entry has the coordinates of all levels.
    """

    owners: tuple[IndexVar, ...]
    levels: tuple[int, ...]
    listed: bool

    def __str__(self) -> str:
        each = ", ".join(map(str, self.owners))
        return (
            f"entries of each {each} are counted, then stored from where sums of the counts say; "
            f"between the two the host reads how many there are{', by levels' * (len(self.levels) > 1)}, "
            "and reserves exactly that"
        )


def two_phase_assembly(step: Generic, types: Mapping[str, TensorType]) -> TwoPhaseAssembly:
    """Returns how threads make a sparse result that shares no operand's structure.

    Args:
        step: the loop nest.
        types: the types of all values.

    Raises:
        UnsupportedError: for a result that cannot be counted so, by name.
    """
    encoding = types[step.result].encoding
    assert encoding is not None
    depth = _depth(encoding)
    if step.mode is AccumulateMode.CONTINUE:
        raise _refused(step.target, step.payload, encoding, "a new tensor, not one that is added to")
    assert can_insert_into(encoding), "loops are planned with results that they can insert into"
    owners = level_variables(step.target, encoding)[: max(depth, 1)]
    if step.gathers or step.frames or step.loops[: len(owners)] != owners:
        order = ", ".join(map(str, step.loops))
        rule = f"loops that come to entries in the order of their storage, not {order}"
        raise _refused(step.target, step.payload, encoding, rule)
    listed = bool(encoding.aos_levels)
    return TwoPhaseAssembly(owners, tuple(range(encoding.lvl_rank - 1 if listed else depth, encoding.lvl_rank)), listed)


def scanned_arrays(result: str, level: int) -> tuple[str, str, str]:
    """Returns the names of what is made to count a level: entries of each owner, sums of parts, where they begin."""
    return f"{result}.counts{level}", f"{result}.sums{level}", f"{result}.begins{level}"


def _depth(encoding: Encoding) -> int:
    """Returns how many dense levels lead."""
    for level, kind in enumerate(encoding.level_types):
        if not kind.functions.has_full_loop:
            return level
    return encoding.lvl_rank


def _refused(target: Access, payload: Expr, encoding: Encoding, rule: str) -> UnsupportedError:
    return UnsupportedError(
        f"expected a sparse result with the entries and the storage of one operand, for a GPU, or {rule}; but got "
        f"{target} = {payload} stored as {encoding.map_text()}: ask for out='dense', or {_CPU}"
    )
