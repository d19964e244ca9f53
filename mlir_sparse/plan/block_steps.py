"""Which steps of a program may run for some rows at a time: those that hand arrays to one another row by row.

A program that makes a large array and reads it once spends its time on memory: on pages that it has not touched, and
on elements that left the cache. Of some rows at a time nothing leaves it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import Encoding, LevelFormat, TensorType
from mlir_sparse.notation import Access, IndexVar, ReduceOp
from mlir_sparse.plan.plan_steps import AccumulateMode, Generic, Program, Step
from mlir_sparse.program import ArrayProduct, BlockArray, Blocks

__all__ = ["blocks_of"]


def blocks_of(program: Program) -> Blocks | None:
    """Returns the last steps of a program that may run for some rows at a time, as many as there are; None for none.

    A statement that is not rewritten is computed as it is written, bit for bit.
    """
    if program.spec.rewriting is None:
        return None
    steps, types, result, found = program.steps, dict(program.types), program.result, None
    for first in range(len(steps) - 1, -1, -1):
        if not _may_run_by_rows(steps[first], types):
            break
        block = _Block(types, result)
        if all(block.takes(step) for step in steps[first:]) and block.is_whole(steps[:first]):
            found = block.as_data(first)
    return found if found is not None and found.arrays else None


def _may_run_by_rows(step: Step, types: Mapping[str, TensorType]) -> bool:
    """Returns whether a step computes an array by loops that stay inside of their operands, or by BLAS."""
    match step:
        case ArrayProduct():
            return True
        case Generic():
            plain = not step.frames and not step.extents and step.sampled is None
            return plain and types[step.result].encoding is None
        case _:
            return False


@dataclass
class _Block:
    """The steps of a block so far.

    Args:
        types: the types of all values.
        result: the name of the program's result.
    """

    types: Mapping[str, TensorType]
    result: str
    rows: list[str] = field(default_factory=list)
    arrays: dict[str, BlockArray] = field(default_factory=dict)
    # By the name of an operand, whether a block reads some of its rows or all.
    operands: dict[str, bool] = field(default_factory=dict)
    adds: bool | None = None

    def takes(self, step: Step) -> bool:
        """Adds a step; returns whether it may run for some rows."""
        assert isinstance(step, Generic | ArrayProduct)
        reads, (target, variables) = list(_reads(step)), _target(step)
        handed = {variables[:1] for name, variables in reads if name in self.arrays}
        numbered = handed or {variables[:1]}
        row = next(iter(numbered), ())
        if len(numbered) != 1 or not row or row[0] is None or not all(self._reads(each, row[0]) for each in reads):
            return False
        self.rows.append(row[0])
        if target == self.result:
            return self._gives_result(step, variables, row[0])
        if variables.count(row[0]) != 1 or variables[0] != row[0] or None in variables:
            return False
        named = tuple(name for name in variables if name is not None)
        self.arrays.setdefault(target, BlockArray(target, named, self.types[target].dtype))
        return True

    def _reads(self, read: tuple[str, tuple[str | None, ...]], row: str) -> bool:
        """Returns whether an operand is read by rows, or as a whole."""
        name, variables = read
        by_rows = variables[:1] == (row,)
        if name == self.result or row in variables[1:] or (None in variables and by_rows):
            return False
        if name in self.arrays:
            return by_rows
        encoding = self.types[name].encoding
        return self.operands.setdefault(name, by_rows) == by_rows and (
            not by_rows or encoding is None or _has_rows(encoding)
        )

    def _gives_result(self, step: Generic | ArrayProduct, variables: tuple[str | None, ...], row: str) -> bool:
        """Returns whether blocks give rows of the result, or results to be added."""
        adds = row not in variables
        if self.adds is not None and self.adds != adds:
            return False
        first, self.adds = self.adds is None, adds
        if isinstance(step, ArrayProduct):
            return not adds and variables[0] == row
        if first and step.mode is AccumulateMode.CONTINUE:
            return False  # onto what the caller gave
        if not adds:
            return variables[0] == row and variables.count(row) == 1
        return step.combine is ReduceOp.SUM and step.start is None and not self.types[self.result].dtype.is_truth

    def is_whole(self, before: Sequence[Step]) -> bool:
        """Returns whether nothing that the steps write is written before, and the result is among it."""
        earlier = {step.result for step in before}
        return self.adds is not None and earlier.isdisjoint((*self.arrays, self.result))

    def as_data(self, first: int) -> Blocks:
        """Returns the block, whose first step has a number."""
        cut = tuple(name for name, by_rows in self.operands.items() if by_rows)
        return Blocks(first, tuple(self.rows), cut, tuple(self.arrays.values()), bool(self.adds))


def _reads(step: Generic | ArrayProduct) -> Iterator[tuple[str, tuple[str | None, ...]]]:
    """Yields each operand with the variables of its axes; None for other subscripts."""
    if isinstance(step, ArrayProduct):
        yield from zip(step.operands, step.axes, strict=True)
    else:
        yield from ((access.tensor, _variables(access)) for access in step.operands)


def _target(step: Generic | ArrayProduct) -> tuple[str, tuple[str | None, ...]]:
    return (step.result, step.variables) if isinstance(step, ArrayProduct) else (step.result, _variables(step.target))


def _variables(access: Access) -> tuple[str | None, ...]:
    return tuple(each.name if isinstance(each, IndexVar) else None for each in access.subscripts)


def _has_rows(encoding: Encoding) -> bool:
    """Returns whether a matrix is stored as rows of entries, each from one position to the next."""
    formats = [level.format for level in encoding.level_types]
    return formats == [LevelFormat.DENSE, LevelFormat.COMPRESSED] and encoding.dim_to_lvl.is_identity
