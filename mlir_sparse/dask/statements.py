"""Statements on `dask.array`s: cuts, a task a piece, and results that stay in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import dask.array
import numpy as np

from mlir_sparse.compile.comprehension.comprehension_build import as_comprehension
from mlir_sparse.compile.entry_points import compile, parse
from mlir_sparse.compile.entry_points import evaluate as compiled_evaluate
from mlir_sparse.compile.index_operands import with_made_operands
from mlir_sparse.compile.statement_optimizer import check_optimize
from mlir_sparse.compile.statement_pieces import values_and_update
from mlir_sparse.dask.array_chunks import type_of_chunks
from mlir_sparse.dask.comprehensions import EvaluateStatement, evaluate_in_turn, lines_in_turn
from mlir_sparse.dask.cut_choice import NO_CHUNKS
from mlir_sparse.dask.pieced_statements import ways
from mlir_sparse.dask.target_slices import in_target_slices, refuse_other_targets
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import OperandError, SparseError, UnsupportedError
from mlir_sparse.notation import Assignment, Comprehension, Monoid, Operator, Semiring, has_affine_target
from mlir_sparse.notation import semiring as semiring_named
from mlir_sparse.notation.entry_functions import under
from mlir_sparse.notation.laws import PLUS_TIMES
from mlir_sparse.notation.positional_products import POSITIONAL
from mlir_sparse.runtime import operand_check
from mlir_sparse.spec import check_names

__all__ = ["evaluate", "explain", "iterate"]

_T = TypeVar("_T")


def evaluate(
    text: str | Assignment | Comprehension,
    /,
    *,
    out: Any = None,
    tensors: Mapping[str, Any] | None = None,
    semiring: str | Semiring | None = None,
    along: str | Sequence[str] | None = None,
    threads: int | None = None,
    optimize: str | None = None,
    **named: Any,
) -> dask.array.Array:
    """Returns a statement on dask.arrays as a dask.array, or the outputs of several; nothing is computed yet.

    The statement is cut along the index variables, up to three at once, that move the fewest bytes. Its chunks are the
    results of pieces; those along variables that are reduced are combined. Where it is computed in steps, such as
    `A (B x)` for `A(i,j) * B(j,k) * x(k)`, pieces run all steps that the cut divides, and what is the same for all of
    them is made once, by tasks of its own.

    The statements of a comprehension are planned together and cut in turn. A value that is no output is made by the
    pieces that read it where each reads a chunk of its own, else by tasks of its own.

    Args:
        text: index notation: a statement or a comprehension.
        out: the storage of the result, as for `mlir_sparse.evaluate`.
        tensors: operands by name, for names that clash with these arguments.
        semiring: the meaning of `+` and `*`.
        along: the index variable to cut one statement along, or several.
        threads: the greatest number of threads of a task.
        optimize: how statements are optimized, as for `mlir_sparse.evaluate`.
        named: the operands: dask.arrays, tensors and arrays; also operators and monoids in the text.

    Raises:
        UnsupportedError: for a statement that cannot be cut along any variable that the operands are cut along,
            and for `along` that is none of its variables.
        SparseError: its kinds, as `mlir_sparse.compile`.

    >>> import numpy as np
    >>> from mlir_sparse.dask.partitioned import from_tensor
    >>> y = evaluate("y(i) = A(i,j) * x(j)", A=from_tensor(np.eye(6), pieces=3), x=np.arange(6.0))
    >>> y.chunks, y.compute(scheduler="synchronous").tolist()
    (((2, 2, 2),), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    """
    if isinstance(out, np.ndarray):
        raise OperandError(
            'expected the storage of the result for out=, such as "dense", but got an array: leave it out, and write '
            "what is computed to it, `out[...] = found.compute()`"
        )
    wanted = [along] if isinstance(along, str) else along
    if wanted is not None and not wanted:
        raise UnsupportedError("expected one variable or more to cut along, but got none: leave along= out")
    read, given, ring = _read(text, tensors, semiring, named)
    limits: dict[str, Any] = {"threads": threads, "optimize": check_optimize(optimize)}
    whole = as_comprehension(read) if isinstance(read, Assignment) and read.ranges and wanted is None else None
    if isinstance(read, Assignment) and whole is not None:
        statement = read
        return _first_of(
            lambda: evaluate_in_turn(whole, given, out, ring, limits["optimize"], _one_with(limits)),
            lambda: _evaluate_one(statement, given, out, None, {**limits, "semiring": ring}),
        )
    if isinstance(read, Comprehension):
        if wanted is not None:
            raise UnsupportedError(
                f"expected one statement for along={along!r}, but got a comprehension: evaluate its statements in turn"
            )
        return evaluate_in_turn(read, given, out, ring, limits["optimize"], _one_with(limits))
    return _evaluate_one(read, given, out, wanted, {**limits, "semiring": ring})


def _first_of(by_slices: Callable[[], _T], as_written: Callable[[], _T]) -> _T:
    """Returns what is made of a statement with ranges on slices of its operands, or as it is written.

    Raises:
        UnsupportedError: where neither is possible, with the reason of the first.
    """
    try:
        return by_slices()
    except UnsupportedError as error:
        try:
            return as_written()
        except SparseError:
            raise error from None


def _one_with(limits: Mapping[str, Any]) -> EvaluateStatement:
    """Returns what evaluates one statement of a comprehension."""

    def one(
        statement: Assignment, operands: Mapping[str, Any], out: Any, within: frozenset[str], /
    ) -> dask.array.Array:
        read, given, ring = _read(statement, operands, None, {})
        assert isinstance(read, Assignment)
        return _evaluate_one(read, given, out, None, {**limits, "semiring": ring}, within)

    return one


def _evaluate_one(
    statement: Assignment,
    operands: dict[str, Any],
    out: Any,
    wanted: Sequence[str] | None,
    limits: Mapping[str, Any],
    within: frozenset[str] = frozenset(),
) -> dask.array.Array:
    ring, optimized = limits["semiring"], limits["optimize"]
    if has_affine_target(statement):
        return _in_slices(statement, operands, out, wanted, limits)
    found, reasons = ways(statement, operands, out, ring, wanted, optimized)
    if not found and statement.op.reads_target:
        values, update = values_and_update(statement)
        present = {name: operands[name] for name in update.inputs if name in operands}
        read = {name: operands[name] for name in values.inputs}
        made = evaluate(values, out=out, tensors=read, along=wanted, **limits)
        if update.target.subscripts:
            return evaluate(update, out=out, tensors={**present, values.target.tensor: made}, **limits)
        return _of_numbers(update, {**present, values.target.tensor: made}, limits)
    if not found and all(np.ndim(value) == 0 for value in operands.values()):
        return _of_numbers(statement, operands, limits)
    if not found:
        way_out = "".join(f"\n  so rechunk an operand along {one}" for one in _uncut(reasons)[:1])
        told = "\n  ".join([f"expected a statement that can be cut, but got {statement}", *reasons])
        raise UnsupportedError(told + way_out)
    return found[0].array(out, ring, optimized, limits["threads"], within)


def _uncut(reasons: Sequence[str]) -> list[str]:
    """Returns the variables that a statement can be cut along, but for chunks."""
    return [name for name, _, reason in (one.partition(": ") for one in reasons) if reason == NO_CHUNKS]


def _in_slices(
    statement: Assignment, operands: Mapping[str, Any], out: Any, along: Sequence[str] | None, limits: Mapping[str, Any]
) -> dask.array.Array:
    """Returns the result of a statement whose target is a slice of it."""
    if out not in (None, "dense"):
        raise UnsupportedError(f"expected an array for `{statement.target}`, but got out={out!r}: leave it out")
    values, update = values_and_update(statement)
    read = {name: operands[name] for name in values.inputs}
    made = evaluate(values, out="dense", tensors=read, along=along, **limits)
    if not statement.op.reads_target:
        return in_target_slices(statement, made, None, None, made.dtype)
    dtype = _output_dtype(statement, operands, {})
    name = statement.target.tensor

    def updated(before: Any) -> Any:
        return evaluate(update, out="dense", tensors={name: before, values.target.tensor: made}, **limits)

    return in_target_slices(statement, made, operands[name], updated, dtype)


def _of_numbers(statement: Assignment, operands: Mapping[str, Any], limits: Mapping[str, Any]) -> dask.array.Array:
    """Returns the result of a statement on numbers, which has no variable to cut along."""
    dtype = _output_dtype(statement, operands, limits)
    names = tuple(operands)

    def computed(*numbers: Any) -> Any:
        return compiled_evaluate(statement, tensors=dict(zip(names, numbers, strict=True)), **limits)

    numbers = [dask.array.asarray(operands[name]) for name in names]
    return dask.array.map_blocks(computed, *numbers, dtype=dtype, meta=np.empty((), dtype))


def _output_dtype(statement: Assignment, operands: Mapping[str, Any], limits: Mapping[str, Any]) -> np.dtype[Any]:
    types = {name: type_of_chunks(value) for name, value in operands.items()}
    output = compile(statement, tensors=types, **limits).output
    assert isinstance(output, TensorType)  # of one statement
    return output.dtype.numpy


def explain(
    text: str | Assignment | Comprehension,
    /,
    *,
    tensors: Mapping[str, Any] | None = None,
    semiring: str | Semiring | None = None,
    optimize: str | None = None,
    **named: Any,
) -> str:
    """Returns how a statement on dask.arrays would be cut: the cut, its tasks and bytes moved, and those not chosen.

    Args:
        text: one statement of index notation.
        tensors: operands by name.
        semiring: the meaning of `+` and `*`.
        optimize: how the statement is optimized.
        named: the operands.

    >>> import numpy as np
    >>> from mlir_sparse.dask.partitioned import from_tensor
    >>> print(explain("y(i) = b(i) - A(i,j) * x(j)", A=from_tensor(np.eye(6), pieces=3), b=np.ones(6), x=np.ones(6)))
    cut along i: axis 0 of b, axis 0 of A; each piece reads all of x; results follow one another along axis 0
      3 tasks, 144 B read whole by every piece
    not along j: b(i) lacks j: each piece would count it
    """
    read, operands, ring = _read(text, tensors, semiring, named)
    optimized = check_optimize(optimize)

    def told_of(one: Assignment, given: Mapping[str, Any]) -> str:
        return explain(one, tensors=given, optimize=optimized)

    def in_turn(several: Comprehension) -> str:
        evaluate_one = _one_with({"threads": None, "optimize": optimized})
        return "\n".join(lines_in_turn(several, operands, ring, optimized, evaluate_one, told_of))

    if isinstance(read, Comprehension):
        return in_turn(read)
    whole = as_comprehension(read) if read.ranges else None
    if whole is None:
        return _explained(read, operands, ring, optimized)
    return _first_of(lambda: in_turn(whole), lambda: _explained(read, operands, ring, optimized))


def _explained(statement: Assignment, operands: Mapping[str, Any], ring: Semiring, optimized: str) -> str:
    found, reasons = ways(statement, operands, None, ring, None, optimized)
    if not found and all(np.ndim(value) == 0 for value in operands.values()):
        return "one task: a statement on numbers"
    if (statement.op.reads_target and not found) or has_affine_target(statement):
        values, update = values_and_update(statement)
        read = {name: operands[name] for name in values.inputs}
        told = explain(values, tensors=read, semiring=ring, optimize=optimized)
        written = replace(update, target=statement.target)
        return f"{told}\nthen {written}"
    lines = [line for way in found[:1] for line in way.lines()]
    return "\n".join([*lines, *(f"or {way}" for way in found[1:]), *(f"not along {reason}" for reason in reasons)])


def iterate(step: Callable[..., Any], start: Any, /, *operands: Any, times: int) -> Iterator[Any]:
    """Yields what a step makes of its own results, each a dask.array whose chunks are being computed or are there.

    The work of a step is handed over before its result is asked for, so that a cluster goes on meanwhile.

    Args:
        step: a function of the last result and the operands, which returns a dask.array.
        start: the first argument.
        operands: further arguments of each step.
        times: the number of steps.
    """
    if times < 0:
        raise OperandError(f"expected 0 steps or more, but got {times}")
    found = start
    for _ in range(times):
        found = step(found, *operands)
        if isinstance(found, dask.array.Array):
            found = found.persist()
        yield found


def _read(
    text: str | Assignment | Comprehension,
    tensors: Mapping[str, Any] | None,
    semiring: str | Semiring | None,
    named: Mapping[str, Any],
) -> tuple[Assignment | Comprehension, dict[str, Any], Semiring]:
    given = {**(tensors or {}), **named}
    operators = {name: value for name, value in given.items() if isinstance(value, Operator | Monoid)}
    statement = parse(text, **operators)
    ring = PLUS_TIMES if semiring is None else semiring_named(semiring)
    if isinstance(statement, Comprehension):
        operands = {name: value for name, value in given.items() if name not in operators}
        _check_sizes(operands)
        return statement, operands, ring
    if ring.multiply.name in POSITIONAL:  # positions become operands, which are cut like others
        statement, ring = under(statement, ring), PLUS_TIMES
    refuse_other_targets(statement, ring.name)
    operands = {
        name: value if isinstance(value, dask.array.Array) else operand_check.value_of(name, value)
        for name, value in given.items()
        if name not in operators
    }
    _check_sizes(operands)
    operands = with_made_operands(statement, operands)
    check_names(statement, tuple(operands))
    return statement, operands, ring


def _check_sizes(operands: Mapping[str, Any]) -> None:
    for name, value in operands.items():
        if isinstance(value, dask.array.Array) and any(extent != extent for extent in value.shape):
            raise OperandError(
                f"expected chunks of known sizes, but got {name} of shape {value.shape}: "
                f"call {name}.compute_chunk_sizes() before"
            )
