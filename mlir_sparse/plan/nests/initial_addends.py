"""Accumulations that start from addends that are dense: one loop nest where the plan has two, one after the other.

`y(i) = b(i)` and then `y(i) += A(i,j) * x(j)` write y, read it and write it again; with
the first as what each row of the second starts from, y is written once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Apply, Expr, Monoid, ReduceOp, accesses_of, walk
from mlir_sparse.plan.choose_cuts import choose_cut
from mlir_sparse.plan.plan_steps import AccumulateMode, Generic, Program, Step, values_read
from mlir_sparse.program import ExtentVector
from mlir_sparse.spec import KernelSpec

__all__ = ["inputs_first", "with_initial_addends", "without_initial_addends"]

Types = Mapping[str, TensorType]

_JOINED = "accumulates from the operands that are dense, elementwise"
_WHOLE = "the operands that are dense, elementwise"
_IN_PLACE = "accumulates in place"


def inputs_first(spec: KernelSpec, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Returns the steps with all conversions of inputs ahead: one that fails must not leave half an output behind."""
    ready, early = {name for name, _ in spec.inputs}, []
    for step in steps:
        if isinstance(step, Generic | ExtentVector):
            ready.discard(step.result)  # what begins as a product of arrays, and loops add to, is whole behind those
        elif ready.issuperset(values_read(step)):
            early.append(step)
            ready.add(step.result)
    return (*early, *(step for step in steps if step not in early))


def with_initial_addends(steps: Sequence[Step], types: Types) -> tuple[Step, ...]:
    """Returns the steps with accumulations that start from the step before, where loops can start each row there.

    Args:
        steps: what to do, in order.
        types: the types of the values.
    """
    found: list[Step] = []
    for step in steps:
        before = found[-1] if found else None
        if isinstance(before, Generic) and isinstance(step, Generic) and _starts(before, step, types):
            found[-1] = replace(step, mode=AccumulateMode.START, start=before.payload, reason=_JOINED)
        else:
            found.append(step)
    return tuple(found)


def without_initial_addends(program: Program) -> Program:
    """Returns a program whose accumulations start from identities, or from what a step before has left."""
    steps: list[Step] = []
    for step in program.steps:
        if not isinstance(step, Generic) or step.start is None:
            steps.append(step)
            continue
        variables = step.target.indices
        steps.append(
            Generic(step.target, AccumulateMode.REPLACE, ReduceOp.SUM, variables, (), step.start, True, _WHOLE)
        )
        steps.append(replace(step, mode=AccumulateMode.CONTINUE, start=None, reason=_IN_PLACE))
    return replace(program, steps=tuple(steps))


def _starts(before: Generic, step: Generic, types: Types) -> bool:
    """Returns whether a step fills the vector that the next adds to, row by row."""
    if (
        before.mode is not AccumulateMode.REPLACE
        or step.mode is not AccumulateMode.CONTINUE
        or before.target != step.target
    ):
        return False
    if types[step.result].encoding is not None or before.loops != step.target.subscripts or len(before.loops) != 1:
        return False
    if isinstance(step.combine, Monoid) or step.frames or before.frames or before.extents:
        return False
    # In chunks, each has the rows it starts to itself; lists of rows leave some out, and those are not started.
    cut = choose_cut(step, types)
    listed = not isinstance(cut, str) and cut.compressed
    return step.loops[:1] == before.loops and not listed and _is_elementwise(before.payload, step, types)


def _is_elementwise(payload: Expr, step: Generic, types: Types) -> bool:
    if any(isinstance(node, Apply) for node in walk(payload)):
        return False
    return all(
        types[access.tensor].encoding is None and access.subscripts in ((), step.target.subscripts)
        for access in accesses_of(payload)
    )
