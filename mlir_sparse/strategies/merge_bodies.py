"""What strategies that rewrite the bodies of merging loops share."""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.emit_copies import copy_of
from mlir_sparse.loops.model import Loop
from mlir_sparse.loops.model_branches import Branch
from mlir_sparse.loops.operation_index import Nest

__all__ = ["LOOPS_INSIDE", "appends", "copy_decided"]

LOOPS_INSIDE = "loops are inside: the order of its iterations is not what takes the time"
"""Why a merging loop around others stays as it is."""


def copy_decided(
    operations: Sequence[ir.Operation], known: dict[ir.Value, ir.Value], truths: dict[ir.Value, bool]
) -> None:
    """Copies operations to the insertion point, some of whose truth values are known there.

    Of a branch whose condition is known the side taken alone is copied.

    Args:
        operations: the operations.
        known: values in place of those they are of; operations with a result among them are not copied, and the
            results of copies are added.
        truths: the truth values that are known; those of which others are made are added.
    """
    for op in operations:
        if any(result in known for result in op.results):
            continue
        if op.name == "arith.andi" and all(operand in truths for operand in op.operands):
            truths[op.results[0]] = all(truths[operand] for operand in op.operands)
        branch = Branch.of(op)
        if branch is None or branch.condition not in truths:
            copy_of(op, known)
            continue
        side = branch.then if truths[branch.condition] else branch.otherwise
        if side is not None:
            copy_decided(side.body, known, truths)
            known.update((old, known.get(value, value)) for old, value in zip(branch.results, side.ends, strict=True))


def appends(nest: Nest) -> bool:
    """Returns whether all that loops do is to append entries, as many as each iteration finds: no two are of one kind.

    Numbers of two parts are moved by a vector of two lanes.
    """
    loops: list[Loop] = [*nest.while_loops, *nest.for_loops]
    counts = all(loop.results and all(result.type == build.index_type() for result in loop.results) for loop in loops)
    return counts and "complex<" not in str(nest.function.attributes["function_type"])
