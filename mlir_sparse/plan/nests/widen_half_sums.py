"""Sums of 16 bits that threads add to in memory: in a temporary of 32 bits, rounded once when all is added.

Registers hold such numbers in 32 bits in any case; but what threads add to atomically is rounded with each term.
"""

from __future__ import annotations

from dataclasses import replace

from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Access, IndexVar, ReduceOp
from mlir_sparse.plan.mapping.choose_mapping import map_loops
from mlir_sparse.plan.nests.round_once import rounding_step
from mlir_sparse.plan.plan_steps import AccumulateMode, Generic, Located, Program, Step

__all__ = ["with_wide_sums"]


def with_wide_sums(program: Program) -> Program:
    """Returns a program whose sums of 16 bits are made in 32 where all threads add to memory.

    Args:
        program: what to do, by the threads of a GPU.
    """
    types = dict(program.types)
    located = frozenset(step.result for step in program.steps if isinstance(step, Located))
    steps: list[Step] = []
    for step in program.steps:
        if isinstance(step, Generic) and _rounds(step, types, located):
            steps += _in_two(step, types)
        else:
            steps.append(step)
    return replace(program, steps=tuple(steps), types=tuple(types.items()))


def _rounds(step: Generic, types: dict[str, TensorType], located: frozenset[str]) -> bool:
    """Returns whether each term that is added is rounded."""
    kind = types[step.result]
    if not kind.dtype.is_narrow or kind.encoding is not None or step.combine is not ReduceOp.SUM:
        return False
    if not step.reductions or step.mode is AccumulateMode.REPLACE:
        return False
    try:
        return all(case.atomic for case in map_loops(step, types, located).cases)
    except UnsupportedError:
        return False  # said when it is mapped


def _in_two(step: Generic, types: dict[str, TensorType]) -> list[Step]:
    """Returns the sum into a temporary, and what rounds it; adds the temporary to the types."""
    kind = types[step.result]
    name = f"{step.result}_wide"
    while name in types:
        name += "_"
    types[name] = replace(kind, dtype=kind.dtype.accumulated_in)
    frames = {frame.subscript: frame.variable for frame in step.frames}
    variables = tuple(s if isinstance(s, IndexVar) else frames[s] for s in step.target.subscripts)  # type: ignore[index]
    target = Access(step.result, variables)
    summed = replace(step, target=replace(step.target, tensor=name), mode=AccumulateMode.START)
    mode = AccumulateMode.REPLACE if step.mode is AccumulateMode.START else AccumulateMode.CONTINUE
    rounds = rounding_step(target, name, mode, kind.dtype)
    return [replace(summed, reason=f"{step.reason}, in {types[name].dtype}"), rounds]
