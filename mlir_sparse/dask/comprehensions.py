"""Comprehensions on `dask.array`s: their statements in turn, each cut by itself, and together where one cut serves.

The optimizer plans the statements together, as it does on tensors. A value that is no output, and whose chunks are read
by one piece each, is made in the task of that piece.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import dask.array
import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.comprehension.comprehension_outputs import of_any_shape
from mlir_sparse.compile.comprehension.comprehension_run import StatementStep
from mlir_sparse.compile.comprehension.statements_in_parts import (
    PartsOf,
    StatementsInParts,
    operand_of_part,
    shapes_of,
    statement_of_step,
    statements_in_parts,
)
from mlir_sparse.dask.array_chunks import nbytes_of, type_of_chunks
from mlir_sparse.dask.operand_sketches import sketch_of_operand
from mlir_sparse.dask.pieced_statements import in_chunks
from mlir_sparse.errors import OperandError, UnsupportedError
from mlir_sparse.notation import Assignment, Comprehension, Semiring
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
        target: the tensor that it assigns.
        result: its value.
    """

    statement: Assignment
    operands: Mapping[str, Any]
    within: frozenset[str]
    target: str
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
    prepared, _ = _turns(comprehension, given, out, ring, optimize, evaluate)
    values = prepared.values
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
    prepared, turns = _turns(comprehension, given, None, ring, optimize, evaluate)
    yield from prepared.account
    for turn in turns:
        own = [name for name in sorted(turn.within) if np.ndim(turn.operands[name])]
        made = f", whose pieces make {listed(own)} if they read a part each" if own else ""
        yield f"{turn.statement}{made}"
        yield from (f"  {line}" for line in explain(turn.statement, turn.operands).split("\n"))


def _turns(
    comprehension: Comprehension,
    given: Mapping[str, Any],
    out: Any,
    ring: Semiring,
    optimize: str,
    evaluate: EvaluateStatement,
) -> tuple[StatementsInParts, list[_Turn]]:
    """Returns the statements with their values: as the optimizer plans them, or as written if those cannot be cut."""
    for way in dict.fromkeys((optimize, "off")):
        prepared, found = _prepared(comprehension, given, out, ring, way), list[_Turn]()
        try:
            for turn in _in_turn(comprehension, prepared.steps, prepared.values, evaluate):
                prepared.values[turn.target] = turn.result
                found.append(turn)
        except UnsupportedError:
            if way == "off":
                raise
        else:
            return prepared, found
    raise AssertionError("the last way returns or raises")


def _prepared(
    comprehension: Comprehension, given: Mapping[str, Any], out: Any, ring: Semiring, optimize: str
) -> StatementsInParts:
    """Returns the statements ready to be cut."""
    if isinstance(out, np.ndarray) or (
        isinstance(out, Mapping) and any(isinstance(o, np.ndarray) for o in out.values())
    ):
        raise OperandError(
            "expected the storage of results for out=, but got an array: leave it out, and write what is computed to "
            "it, `out[...] = found.compute()`"
        )
    return statements_in_parts(comprehension, given, out, ring, optimize, _parts_of)


def _parts_of(value: Any) -> PartsOf | None:
    return PartsOf(type_of_chunks(value), sketch_of_operand(value)) if _is_dask(value) else None


def _is_dask(value: Any) -> bool:
    return isinstance(value, dask.array.Array)


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
        found = statement_of_step(step, shapes_of(values))
        own = {name: part.tensor for name, part in found.operands.items() if part.is_whole and part.tensor in between}
        within = frozenset(name for name, tensor in own.items() if readers[tensor] == 1)
        operands = {name: operand_of_part(step, part, values) for name, part in found.operands.items()}
        result = _result_of(step, found.assignment, operands, within, evaluate)
        yield _Turn(found.assignment, operands, within, found.target, result)


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
    is_made = len(step.placed.shape) < found.ndim  # by the plan, which leaves shapes open
    if not is_made and tuple(found.shape) != tuple(step.placed.shape):
        raise UnsupportedError(
            f"expected a result of shape {step.placed.shape} for `{step.placed.statement}`, but its operands give "
            f"{tuple(found.shape)} on dask.arrays: compute them first"
        )
    return found.astype(output.dtype.numpy) if found.dtype != output.dtype.numpy else found
