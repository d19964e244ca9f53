"""Comprehensions on `dask.array`s: their statements in turn, each cut by itself, and together where one cut serves.

The optimizer plans the statements together, as it does on tensors. A value that is no output, and whose chunks are read
by one piece each, is made in the task of that piece.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol

import dask.array
import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.compile_options import CompileOptions
from mlir_sparse.compile.comprehension.comprehension_build import compile_comprehension, may_gain
from mlir_sparse.compile.comprehension.comprehension_operands import check_given, type_of_operand
from mlir_sparse.compile.comprehension.comprehension_outputs import of_any_shape
from mlir_sparse.compile.comprehension.comprehension_run import StatementStep
from mlir_sparse.compile.entry_points import StatementCompiler
from mlir_sparse.compile.index_operands import made_operand
from mlir_sparse.compile.statement_optimizer import DataSketches, rounded_sketches
from mlir_sparse.dask.array_chunks import nbytes_of, type_of_chunks
from mlir_sparse.dask.operand_sketches import sketch_of_operand
from mlir_sparse.dask.pieced_statements import in_chunks
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import OperandError, UnsupportedError
from mlir_sparse.notation import Assignment, Comprehension, IndexVar, Semiring, has_affine_target, under
from mlir_sparse.runtime import operand_check
from mlir_sparse.spec import index_ends
from mlir_sparse.spec.range_rewriting import without_ranges
from mlir_sparse.spec.statement_shapes import with_made_shapes
from mlir_sparse.text.listed_words import listed

__all__ = ["EvaluateStatement", "evaluate_in_turn", "lines_in_turn"]


class EvaluateStatement(Protocol):
    """Returns one statement on dask.arrays as a dask.array; values named in `within` are made by what reads them."""

    def __call__(
        self, statement: Assignment, operands: Mapping[str, Any], out: Any, within: frozenset[str], /
    ) -> dask.array.Array:
        """Returns the array."""


@dataclass(frozen=True, slots=True, eq=False)
class _Turn:
    """A statement of a comprehension on dask.arrays.

    Args:
        statement: the statement, without ranges.
        operands: its operands by name.
        within: those that its pieces make themselves, where they can.
        result: its value.
    """

    statement: Assignment
    operands: Mapping[str, Any]
    within: frozenset[str]
    result: Any


def evaluate_in_turn(
    comprehension: Comprehension,
    given: Mapping[str, Any],
    out: Any,
    ring: Semiring,
    optimize: str,
    evaluate: EvaluateStatement,
) -> Any:
    """Returns the outputs of a comprehension on dask.arrays: a dask.array, or a tuple of several.

    Args:
        comprehension: the statements.
        given: the operands by name, some of them dask.arrays.
        out: the storage of the output; a mapping by name for several.
        ring: what `+` and `*` are.
        optimize: "auto", "off" or "algebra".
        evaluate: computes one statement.

    Raises:
        UnsupportedError: for a statement that cannot be cut, and one that assigns a part of a tensor.
        SparseError: its kinds, as `mlir_sparse.compile`.
    """
    steps, values, _ = _prepared(comprehension, given, out, ring, optimize)
    for turn in _in_turn(comprehension, steps, values, evaluate):
        values[turn.statement.target.tensor] = turn.result
    found = tuple(values[name] for name in comprehension.results)
    return found[0] if len(found) == 1 else found


def lines_in_turn(
    comprehension: Comprehension,
    given: Mapping[str, Any],
    ring: Semiring,
    optimize: str,
    evaluate: EvaluateStatement,
    explain: Callable[[Assignment, Mapping[str, Any]], str],
) -> Iterator[str]:
    """Yields what `explain` says of a comprehension: how its statements are planned, and how each is cut.

    Args:
        comprehension: the statements.
        given: the operands by name.
        ring: what `+` and `*` are.
        optimize: "auto", "off" or "algebra".
        evaluate: computes one statement.
        explain: tells how one statement is cut.
    """
    steps, values, account = _prepared(comprehension, given, None, ring, optimize)
    yield from account
    for turn in _in_turn(comprehension, steps, values, evaluate):
        own = [name for name in sorted(turn.within) if np.ndim(turn.operands[name])]
        made = f", whose pieces make {listed(own)} if they read a part each" if own else ""
        yield f"{turn.statement}{made}"
        yield from (f"  {line}" for line in explain(turn.statement, turn.operands).split("\n"))
        values[turn.statement.target.tensor] = turn.result


def _prepared(
    comprehension: Comprehension, given: Mapping[str, Any], out: Any, ring: Semiring, optimize: str
) -> tuple[tuple[StatementStep, ...], dict[str, Any], tuple[str, ...]]:
    """Returns the statements ready to run, the operands, and what `explain` says of how they are planned."""
    comprehension = replace(comprehension, statements=tuple(under(one, ring) for one in comprehension.statements))
    check_given(comprehension, given)
    if isinstance(out, np.ndarray) or (
        isinstance(out, Mapping) and any(isinstance(o, np.ndarray) for o in out.values())
    ):
        raise OperandError(
            "expected the storage of results for out=, but got an array: leave it out, and write the dask.array to it "
            "by `dask.array.store`"
        )
    types = {name: _type_of(comprehension, name, given[name]) for name in comprehension.inputs}
    values = {
        name: given[name] if _is_dask(given[name]) else operand_check.as_argument(name, given[name], kind)
        for name, kind in types.items()
    }
    for name in comprehension.symbols & values.keys():
        if _is_dask(values[name]):
            raise OperandError(
                f"expected a number for {name}, which extents may depend on, but got a dask.array: compute it before"
            )
    sketches = _sketches(comprehension, values) if optimize != "off" else None
    compile_statement = StatementCompiler(CompileOptions.of("cpu", "auto", None, None, False, optimize))
    kernel = compile_comprehension(comprehension, types, out, "cpu", compile_statement, sketches)
    prepared = kernel.steps_for(values, {})
    return prepared.steps, values, prepared.account


def _is_dask(value: Any) -> bool:
    return isinstance(value, dask.array.Array)


def _type_of(comprehension: Comprehension, name: str, value: Any) -> TensorType:
    return type_of_operand(comprehension, name, of_any_shape(type_of_chunks(value)) if _is_dask(value) else value)


def _sketches(comprehension: Comprehension, values: Mapping[str, Any]) -> DataSketches | None:
    """Returns what is known of the operands; None where chunks are not there yet, or nothing is to gain."""
    if not may_gain(comprehension):
        return None
    found = [sketch_of_operand(values[name]) for name in comprehension.inputs]
    known = [one for one in found if one is not None]
    return rounded_sketches(tuple(known)) if len(known) == len(found) else None


def _in_turn(
    comprehension: Comprehension,
    steps: tuple[StatementStep, ...],
    values: Mapping[str, Any],
    evaluate: EvaluateStatement,
) -> Iterator[_Turn]:
    """Yields each statement with its value; values are those before it."""
    readers = Counter(part.tensor for step in steps for part in step.parts)
    between = {step.placed.statement.target.tensor for step in steps} - {*comprehension.results, *comprehension.inputs}
    for step in steps:
        own = {part.tensor: part.name for part in step.parts if part.is_whole and part.tensor in between}
        within = frozenset(name for tensor, name in own.items() if readers[tensor] == 1)
        statement, operands = _statement_of(step, values)
        result = _result_of(step, statement, operands, within, evaluate)
        yield _Turn(statement, operands, within, result)


def _statement_of(step: StatementStep, values: Mapping[str, Any]) -> tuple[Assignment, dict[str, Any]]:
    written = step.placed.statement
    if has_affine_target(written) and not written.ranges:
        return written, {name: values[name] for name in written.inputs}
    if step.placed.is_part:
        raise UnsupportedError(
            f"expected statements that assign whole tensors on dask.arrays, but got `{written}`: assign the part to a "
            "tensor of its own, and put it in its place by dask.array",
            source=written.source,
            span=written.target.span,
        )
    statement, parts, extents = step.kernel.spec.assignment, step.parts, step.extents
    if step.placed.ranges:  # all that has ranges is sliced, so that shapes tell the extents
        shapes = with_made_shapes(step.placed, {name: tuple(np.shape(value)) for name, value in values.items()})
        ranged = without_ranges(written, step.placed.ranges, shapes, lambda _: True)
        statement, parts, extents = ranged.statement, ranged.parts, ranged.extents
    found = {}
    for part in parts:
        value = values.get(part.tensor)
        if value is None:
            value = made_operand(written, part.tensor, step.placed.ranges, values)
        found[part.name] = value if part.is_whole else value[tuple(slice(*(axis or (None,))) for axis in part.box)]
    _check_extents(written, statement, extents, found)
    return statement, found


def _check_extents(
    written: Assignment, statement: Assignment, extents: Mapping[IndexVar, int], operands: Mapping[str, Any]
) -> None:
    """Refuses a statement whose operands alone give variables other extents, as chunks do not know better."""
    ends = index_ends(statement, {name: tuple(np.shape(value)) for name, value in operands.items()}, None)
    for variable, extent in extents.items():
        if operands and ends.get(variable) != extent:
            raise UnsupportedError(
                f"expected operands that give {variable} its extent {extent} on dask.arrays, but got `{written}`: "
                f"multiply by a vector of ones along {variable}"
            )


def _result_of(
    step: StatementStep,
    statement: Assignment,
    operands: dict[str, Any],
    within: frozenset[str],
    evaluate: EvaluateStatement,
) -> Any:
    if not operands:  # of numbers in the text alone
        return dask.array.from_array(step.kernel._call({}, None, step.extents), chunks=-1)
    if not any(map(_is_dask, operands.values())):
        largest = max(operands, key=lambda name: nbytes_of(operands[name]))
        operands = {**operands, largest: in_chunks(operands[largest], 1)}
    output = of_any_shape(step.output)
    out: Any = "dense" if step.placed.is_part else output
    found = evaluate(statement, operands, out, within)
    if tuple(found.shape) != tuple(step.placed.shape):
        raise UnsupportedError(
            f"expected a result of shape {step.placed.shape} for `{step.placed.statement}`, but its operands give "
            f"{tuple(found.shape)} on dask.arrays: compute them first"
        )
    return found.astype(output.dtype.numpy) if found.dtype != output.dtype.numpy else found
