"""`stream`: statements on tensors larger than memory, in pieces that are read while others are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mlir_sparse.compile.comprehension.comprehension_build import as_comprehension
from mlir_sparse.compile.comprehension.comprehension_outputs import of_any_shape
from mlir_sparse.compile.comprehension.placed_values import result_in_place
from mlir_sparse.compile.comprehension.statements_in_parts import (
    PartsOf,
    operand_of_part,
    shapes_of,
    statement_of_step,
    statements_in_parts,
)
from mlir_sparse.compile.entry_points import compile, parse
from mlir_sparse.compile.index_operands import with_made_operands
from mlir_sparse.compile.statement_optimizer import check_optimize
from mlir_sparse.compile.stream_passes import PassOverParts, StatementOfStream, StreamPlan, WholeStatement
from mlir_sparse.compile.stream_run import StreamRun
from mlir_sparse.encoding import Encoding, Sketch, TensorType, uniform_sketch
from mlir_sparse.errors import OperandError, SparseError, UnknownTensorError, UnsupportedError
from mlir_sparse.notation import (
    Assignment,
    Comprehension,
    Monoid,
    Operator,
    Semiring,
    TensorVar,
    has_affine_target,
    refuse_affine_targets,
    under,
    with_plain_target,
)
from mlir_sparse.notation import semiring as semiring_named
from mlir_sparse.notation.laws import PLUS_TIMES
from mlir_sparse.notation.positional_products import POSITIONAL
from mlir_sparse.process.available_memory import bytes_of
from mlir_sparse.runtime import operand_check
from mlir_sparse.runtime.device.device_operands import type_of_given
from mlir_sparse.spec import check_names, how_to_pass
from mlir_sparse.tensor.files.tensor_source import TensorSource
from mlir_sparse.tensor.sketch_of import sketch_of

__all__ = ["stream"]

Array = np.ndarray[Any, Any]


def stream(
    text: str | Assignment | Comprehension | TensorVar,
    /,
    *,
    memory: int | str = "1GiB",
    out: str | Encoding | TensorType | Array | Mapping[str, Any] | None = None,
    tensors: Mapping[str, Any] | None = None,
    semiring: str | Semiring | None = None,
    threads: int | None = None,
    optimize: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    **named: Any,
) -> Any:
    """Evaluates a statement in pieces of operands that are read in parts, such as files larger than memory.

    The statement is cut along the dimension in which its sources come in parts (`source`). A piece is computed by all
    threads while the next is read. Results of pieces follow one another, or are combined by the reduction that they are
    cut in; `+=` and the like update the target's present value once.

    Each part goes through all statements of a comprehension. What is summed over parts is there after a pass:
    statements that read it run in another one, which reads the sources again.

    Args:
        text: index notation: a statement or a comprehension.
        memory: the bytes that parts of sources take together, such as `"1GiB"`; other operands and the result are
            beside it.
        out: the storage of the result, as for `evaluate`; or an array for a dense result, which is written to and
            returned. For several outputs, a mapping by name.
        tensors: operands by name, for names that clash with these arguments.
        semiring: the meaning of `+` and `*`.
        threads: the greatest number of threads.
        optimize: how statements are optimized, as for `compile`: what is the same for all pieces is then made once.
        progress: called with the number of coordinates done and their total after each piece.
        named: the operands: sources, tensors and arrays; also operators and monoids in the text. Arrays that the cut
            divides are sliced as the sources are.

    Raises:
        UnsupportedError: for a statement that cannot be cut so; each index variable has its reason. For one that reads
            what is made in parts otherwise than part by part, where that is no output, and larger than `memory`.
        TooLargeError: for one coordinate of a source that exceeds a part, and a file in chunks that exceed the memory.
        FileFormatError: for what a file does not hold, with the file and the part of it.
        SourceError: for a part that could not be read in three attempts.

    >>> from mlir_sparse.tensor.files.open_source import source
    >>> A = source(lambda low, high: np.eye(6)[low:high], shape=(6, 6), type="f64[?,?] CSR", nbytes=400)
    >>> stream("y(i) = A(i,j) * x(j)", A=A, x=np.arange(6.0), memory=400)
    array([0., 1., 2., 3., 4., 5.])
    """
    asked: dict[str, Any] = {"memory": memory, "semiring": semiring, "threads": threads, "progress": progress}
    asked["optimize"] = check_optimize(optimize)
    given = {**(tensors or {}), **named}
    operators = {name: value for name, value in given.items() if isinstance(value, Operator | Monoid)}
    statement = parse(text, **operators)
    operands = {name: value for name, value in given.items() if name not in operators}
    if isinstance(statement, Assignment) and has_affine_target(statement):
        return _in_place(statement, operands, operators, out, **asked)
    if not any(isinstance(one, TensorSource) for one in operands.values()):
        raise OperandError(
            "expected a source among the operands, such as A=ms.source(path), but got none: use evaluate"
        )
    ring = PLUS_TIMES if semiring is None else semiring_named(semiring)
    results = statement.results if isinstance(statement, Comprehension) else (statement.target.tensor,)
    if isinstance(statement, Assignment) and statement.ranges:
        plan, values, steps = _with_ranges(statement, operands, out, ring, asked)
    elif isinstance(statement, Comprehension):
        plan, values, steps = _planned(statement, operands, _storage(out), ring, asked)
    else:
        plan, values = _of_statement(statement, operands, out, ring, asked)
        steps = plan.steps()
    names = dict(zip(results, plan.outputs, strict=True))
    wanted = _arrays(out, results)
    kinds = {name: plan.types[value] for name, value in names.items()}
    for name in wanted:
        if kinds[name].encoding is not None:
            raise OperandError(
                'expected out= for a dense result, but got a sparse one: add out="dense" to its notation'
            )
    arrays = {names[name]: operand_check.as_output(one, kinds[name]) for name, one in wanted.items()}
    apart = {name: one for name, one in arrays.items() if _is_apart(one, [*values.values(), *_others(arrays, name)])}
    options = {"threads": threads, "optimize": asked["optimize"]}
    run = StreamRun(values, apart, bytes_of(memory, "memory"), plan.ring, options, progress)
    run.run(steps)
    for name, array in arrays.items():
        if name not in apart:
            array[...] = run.values[name]
    found = tuple(arrays.get(names[name], run.values[names[name]]) for name in results)
    return found[0] if len(found) == 1 else found


def _arrays(out: Any, results: Sequence[str]) -> dict[str, Array]:
    given = out if isinstance(out, Mapping) else {results[0]: out}
    return {name: one for name, one in given.items() if isinstance(one, np.ndarray)}


def _storage(out: Any) -> Any:
    """Returns the storage of outputs, dense where there is an array for one."""
    if isinstance(out, Mapping):
        return {name: "dense" if isinstance(one, np.ndarray) else one for name, one in out.items()}
    return "dense" if isinstance(out, np.ndarray) else out


def _others(arrays: Mapping[str, Array], name: str) -> Iterator[Array]:
    return (array for other, array in arrays.items() if other != name)


def _of_statement(
    statement: Assignment, operands: dict[str, Any], out: Any, ring: Semiring, asked: Mapping[str, Any]
) -> tuple[StreamPlan, dict[str, Any]]:
    """Returns the plan of one statement, and its operands."""
    if ring.multiply.name in POSITIONAL:  # positions become operands, which are cut like others
        statement, ring = under(statement, ring), PLUS_TIMES
    # Pieces have the positions of the whole: each is given its part of the vectors.
    operands = with_made_operands(statement, operands)
    check_names(statement, tuple(operands))
    types = {name: of_any_shape(_type_of(name, given)) for name, given in operands.items()}
    values = {name: _value_of(name, given) for name, given in operands.items()}
    storage = None if isinstance(out, np.ndarray) else out
    name = f"{statement.target.tensor} result"
    only = StatementOfStream(statement, {one: one for one in statement.inputs}, name, storage)
    plan = _plan([only], values, types, [name], ring, asked)
    if isinstance(out, np.ndarray):
        plan.target_shapes = {name: out.shape}
    return plan, values


def _with_ranges(
    statement: Assignment, operands: dict[str, Any], out: Any, ring: Semiring, asked: Mapping[str, Any]
) -> tuple[StreamPlan, dict[str, Any], list[WholeStatement | PassOverParts]]:
    """Returns the passes of a statement with ranges: over what lies in them, or over all if that cannot be cut.

    Raises:
        UnsupportedError: where neither can be, with the reason of the first.
    """
    if ring.multiply.name in POSITIONAL:
        statement, ring = under(statement, ring), PLUS_TIMES
    comprehension = as_comprehension(statement)
    assert comprehension is not None
    try:
        return _planned(comprehension, with_made_operands(statement, operands), _storage(out), ring, asked)
    except UnsupportedError as error:
        try:
            plan, values = _of_statement(statement, operands, out, ring, asked)
            return plan, values, plan.steps()
        except SparseError:
            raise error from None


def _planned(
    comprehension: Comprehension, operands: Mapping[str, Any], out: Any, ring: Semiring, asked: Mapping[str, Any]
) -> tuple[StreamPlan, dict[str, Any], list[WholeStatement | PassOverParts]]:
    """Returns the passes of several statements, as the optimizer plans them, or as written if passes cannot do that."""
    for optimize in dict.fromkeys((asked["optimize"], "off")):
        plan, values = _of_comprehension(comprehension, operands, out, ring, asked, optimize)
        try:
            return plan, values, plan.steps()
        except UnsupportedError:
            if optimize == "off":
                raise
    raise AssertionError("the last way returns or raises")


def _of_comprehension(
    comprehension: Comprehension,
    operands: Mapping[str, Any],
    out: Any,
    ring: Semiring,
    asked: Mapping[str, Any],
    optimize: str,
) -> tuple[StreamPlan, dict[str, Any]]:
    """Returns the plan of several statements, and their operands; each assignment makes a value of its own."""

    def parts_of(given: Any) -> PartsOf | None:
        return PartsOf(given.type, _sketch(given)) if isinstance(given, TensorSource) else None

    prepared = statements_in_parts(comprehension, operands, out, ring, optimize, parts_of)
    values, found = dict(prepared.values), list[StatementOfStream]()
    shapes, names = shapes_of(values), {name: name for name in values}
    types = {name: of_any_shape(_type_of(name, given)) for name, given in values.items()}
    for number, step in enumerate(prepared.steps):
        value = f"{step.placed.statement.target.tensor} {number}"
        at_hand = {name: values[own] for name, own in names.items() if own in values}
        in_parts = names.keys() - at_hand.keys()
        one = statement_of_step(step, shapes, is_whole=in_parts.__contains__)
        read = dict[str, str]()
        for name, part in one.operands.items():
            read[name] = names.get(part.tensor, "")
            if not (part.is_whole and read[name]):
                read[name] = f"{value} {name}"
                values[read[name]] = operand_of_part(step, part, at_hand)
                types[read[name]] = of_any_shape(_type_of(name, values[read[name]]))
        if read:
            shapes[one.target] = one.shape
            found.append(StatementOfStream(one.assignment, read, value, of_any_shape(step.output)))
        else:  # of numbers in the text alone
            values[value] = step.kernel._call({}, None, step.extents)
            types[value], shapes[one.target] = of_any_shape(step.output), values[value].shape
        names[one.target] = value
    outputs = [names[name] for name in comprehension.results]
    return _plan(found, values, types, outputs, PLUS_TIMES, asked), values


def _plan(
    statements: list[StatementOfStream],
    values: Mapping[str, Any],
    types: dict[str, TensorType],
    outputs: Sequence[str],
    ring: Semiring,
    asked: Mapping[str, Any],
) -> StreamPlan:
    sources = {name: given.axis for name, given in values.items() if isinstance(given, TensorSource)}

    def sketched(name: str) -> Sketch | None:
        given = values.get(name)
        return None if given is None else _sketch(given)

    return StreamPlan(
        statements,
        shapes_of(values),
        types,
        sources,
        tuple(outputs),
        sketched,
        ring,
        asked["optimize"],
        asked["threads"],
        memory=bytes_of(asked["memory"], "memory"),
    )


def _sketch(given: Any) -> Sketch:
    if not isinstance(given, TensorSource):
        return sketch_of(given)
    if given.resident is not None:
        return sketch_of(given.resident)
    # A coordinate an entry.
    nbytes = given.nbytes_between(0, given.shape[given.axis])
    return uniform_sketch(given.shape, nbytes / (given.type.dtype.numpy.itemsize + 4))


def _value_of(name: str, given: Any) -> Any:
    return given if isinstance(given, TensorSource) else operand_check.value_of(name, given)


def _is_apart(target: Array, operands: Sequence[Any]) -> bool:
    """Returns whether an array shares no memory with operands, which later pieces read too."""
    held = [one.resident if isinstance(one, TensorSource) else one for one in operands]
    return operand_check.is_apart(target, [one for one in held if one is not None])


def _in_place(
    statement: Assignment, operands: dict[str, Any], operators: Mapping[str, Any], out: Any, **options: Any
) -> Any:
    """Returns the result of a statement with an affine target."""
    if options["semiring"] is not None:
        refuse_affine_targets(statement, f"semiring={options['semiring']}")
    if not (out is None or isinstance(out, np.ndarray) or out == "dense"):
        raise UnsupportedError(f"expected an array for `{statement.target}`, but got out={out!r}: leave it out")
    name, dtype = statement.target.tensor, None
    if statement.op.reads_target and name in operands:  # the present value may have a wider type than others
        dtype = _output_dtype(statement, operands)
    present = operands.pop(name, None) if statement.op.reads_target else None
    if statement.op.reads_target and present is None:
        raise UnknownTensorError(f"expected data for tensor {name}, but got none: {how_to_pass(name, called=False)}")
    values = stream(with_plain_target(statement), out="dense", tensors={**operands, **operators}, **options)
    values = values if dtype is None else values.astype(dtype, copy=False)
    return result_in_place(statement, values, present, out if isinstance(out, np.ndarray) else None)


def _output_dtype(statement: Assignment, operands: Mapping[str, Any]) -> np.dtype[Any]:
    output = compile(statement, tensors={name: _type_of(name, given) for name, given in operands.items()}).output
    assert isinstance(output, TensorType)  # of one statement
    return output.dtype.numpy


def _type_of(name: str, given: Any) -> TensorType:
    return given.type if isinstance(given, TensorSource) else type_of_given(name, given)
