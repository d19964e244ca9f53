"""`stream`: statements on tensors larger than memory, in pieces that are read while others are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from math import lcm
from typing import Any

import numpy as np

from mlir_sparse.compile.comprehension.placed_values import result_in_place
from mlir_sparse.compile.entry_points import compile, evaluate, parse
from mlir_sparse.compile.index_operands import with_made_operands
from mlir_sparse.compile.statement_pieces import StatementPieces, compile_pieces, cuts_along_parts, values_and_update
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.errors import OperandError, TooLargeError, UnknownTensorError, UnsupportedError
from mlir_sparse.notation import (
    Assignment,
    IndexVar,
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
from mlir_sparse.plan.composed_cuts import ComposedCut
from mlir_sparse.plan.statement_cuts import StatementCut
from mlir_sparse.process.available_memory import bytes_of
from mlir_sparse.runtime import operand_check
from mlir_sparse.runtime.device.device_operands import type_of_given
from mlir_sparse.spec import check_names, how_to_pass, index_ends
from mlir_sparse.tensor.files.tensor_source import TensorSource, read_part

__all__ = ["stream"]

_CHUNKS = 4
"""A chunk takes this part of the memory: one is computed while the next is read and checked."""


def stream(
    text: str | Assignment | TensorVar,
    /,
    *,
    memory: int | str = "1GiB",
    out: str | Encoding | TensorType | np.ndarray[Any, Any] | None = None,
    tensors: Mapping[str, Any] | None = None,
    semiring: str | Semiring | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **named: Any,
) -> Any:
    """Evaluates a statement in pieces of operands that are read in parts, such as files larger than memory.

    The statement is cut along the dimension in which its sources come in parts (`source`). A piece is computed by all
    threads while the next is read. Results of pieces follow one another, or are combined by the reduction that they are
    cut in; `+=` and the like update the target's present value once.

    Args:
        text: one statement of index notation.
        memory: the bytes that parts of sources take together, such as `"1GiB"`; other operands and the result are
            beside it.
        out: the storage of the result, as for `evaluate`; or an array for a dense result, which is written to and
            returned.
        tensors: operands by name, for names that clash with these arguments.
        semiring: the meaning of `+` and `*`.
        threads: the greatest number of threads.
        progress: called with the number of coordinates done and their total after each piece.
        named: the operands: sources, tensors and arrays; also operators and monoids in the text. Arrays that the cut
            divides are sliced as the sources are.

    Raises:
        UnsupportedError: for a statement that cannot be cut so; each index variable has its reason.
        TooLargeError: for one coordinate of a source that exceeds a part.
        FileFormatError: for what a file does not hold, with the file and the part of it.
        SourceError: for a part that could not be read in three attempts.

    >>> from mlir_sparse.tensor.files.open_source import source
    >>> A = source(lambda low, high: np.eye(6)[low:high], shape=(6, 6), type="f64[?,?] CSR", nbytes=400)
    >>> stream("y(i) = A(i,j) * x(j)", A=A, x=np.arange(6.0), memory=400)
    array([0., 1., 2., 3., 4., 5.])
    """
    given = {**(tensors or {}), **named}
    operators = {name: value for name, value in given.items() if isinstance(value, Operator | Monoid)}
    statement = parse(text, **operators)
    if not isinstance(statement, Assignment):
        raise UnsupportedError(
            "expected one statement to stream, but got a comprehension: stream its statements in turn"
        )
    operands = {name: value for name, value in given.items() if name not in operators}
    if has_affine_target(statement):
        return _in_place(statement, operands, operators, out, memory=memory, semiring=semiring, threads=threads,
                         progress=progress)  # fmt: skip
    sources = {name: given for name, given in operands.items() if isinstance(given, TensorSource)}
    if not sources:
        raise OperandError(
            "expected a source among the operands, such as A=ms.source(path), but got none: use evaluate"
        )
    ring = PLUS_TIMES if semiring is None else semiring_named(semiring)
    if ring.multiply.name in POSITIONAL:  # positions become operands, which are cut like others
        statement, ring = under(statement, ring), PLUS_TIMES
    # Pieces have the positions of the whole: each is given its part of the vectors.
    operands = with_made_operands(statement, operands)
    axes = {name: given.axis for name, given in sources.items()}
    try:
        legal = cuts_along_parts(statement, ring, axes)
    except UnsupportedError:
        if not statement.op.reads_target:
            raise
        check_names(statement, tuple(operands))
        values, update = values_and_update(statement)
        cuts_along_parts(values, ring, axes)  # which says why not
        storage = None if isinstance(out, np.ndarray) else out
        present = {name: operands[name] for name in update.inputs if name in operands}
        read = {name: operands[name] for name in values.inputs}
        made = stream(values, memory=memory, out=storage, tensors=read, semiring=ring, threads=threads,
                      progress=progress)  # fmt: skip
        read = {**present, values.target.tensor: made}
        return evaluate(update, out=out, tensors=read, semiring=ring, threads=threads)
    check_names(statement, tuple(operands))
    extents = _extents(statement, operands, out)
    cut = min(legal, key=lambda one: sum(halo.reach(extents) for halo in one.halos.values()))
    types = {name: _type_of(name, given) for name, given in operands.items()}
    operands |= {name: operand_check.value_of(name, operands[name]) for name in set(operands) - set(sources)}
    storage = None if isinstance(out, np.ndarray) else out
    pieces = compile_pieces(ComposedCut((cut,)), types, storage, ring, threads=threads)
    if isinstance(out, np.ndarray) and pieces.output.encoding is not None:
        raise OperandError('expected out= for a dense result, but got a sparse one: add out="dense" to its notation')
    limit = max(1, bytes_of(memory, "memory") // _CHUNKS)
    bounds = _bounds(cut, sources, extents, limit)
    _check_halos(cut, sources, extents, bounds, limit)
    if not isinstance(out, np.ndarray):
        return _run(pieces, operands, bounds, extents, None, progress)
    target = operand_check.as_output(out, pieces.output)
    if _is_apart(target, operands):
        return _run(pieces, operands, bounds, extents, target, progress)
    target[...] = _run(pieces, operands, bounds, extents, None, progress)
    return target


def _is_apart(target: np.ndarray[Any, Any], operands: Mapping[str, Any]) -> bool:
    """Returns whether an array shares no memory with operands, which later pieces read too."""
    held = [one.resident if isinstance(one, TensorSource) else one for one in operands.values()]
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


def _extents(statement: Assignment, operands: Mapping[str, Any], out: Any) -> Mapping[IndexVar, int]:
    """Returns the extent of each index variable, as they are of the whole statement.

    Raises:
        ExtentError: for operands that disagree.
    """
    shapes = {name: tuple(np.shape(operands[name])) for name in statement.inputs}
    return index_ends(statement, shapes, out.shape if isinstance(out, np.ndarray) else None)


def _bounds(
    cut: StatementCut, sources: Mapping[str, TensorSource], extents: Mapping[IndexVar, int], limit: int
) -> list[int]:
    """Returns the bounds of pieces whose parts of all sources are small enough together."""
    extent = extents[IndexVar(cut.variable)]
    factors = {name: cut.halos[name].factor if name in cut.halos else 1 for name in sources}
    # Parts with neighbours are read from multiples of a unit on, and what is before them is left out.
    unit = lcm(*(source.unit for name, source in sources.items() if name not in cut.halos))
    merged = {
        bound // factors[name] for name, source in sources.items() for bound in source.bounds(limit // len(sources))
    }
    found = sorted({bound for bound in merged if bound % unit == 0 and bound < extent} | {0, extent})
    return found if extent else [0, 0]


def _check_halos(
    cut: StatementCut,
    sources: Mapping[str, TensorSource],
    extents: Mapping[IndexVar, int],
    bounds: list[int],
    limit: int,
) -> None:
    """Refuses pieces that read so much beside their own coordinates that two of them exceed the memory."""
    for name in cut.halos:
        given = sources.get(cut.operand(name))
        if given is None:
            continue
        for low, high in pairwise(bounds):
            begin, end = cut.part(name, low, high, extents)
            nbytes = given.nbytes_between(begin, min(end, given.shape[given.axis]))
            if nbytes > limit * _CHUNKS // 2:
                raise TooLargeError(
                    f"expected parts of at most {limit * _CHUNKS // 2:,} bytes with what they read beside, but got "
                    f"{nbytes:,} of {cut.operand(name)} for {cut.variable} from {low} to {high}: give more memory"
                )


def _run(
    pieces: StatementPieces,
    operands: Mapping[str, Any],
    bounds: Sequence[int],
    extents: Mapping[IndexVar, int],
    out: np.ndarray[Any, Any] | None,
    progress: Callable[[int, int], None] | None,
) -> Any:
    cut, results = pieces.cut, list[Any]()
    whole = {name: operands[cut.operand(name)] for name in cut.whole}
    written = out
    for (low, high), parts in _read_ahead(pieces, operands, bounds, extents):
        dense = pieces.output.encoding is None
        if cut.axis == 0 and dense and written is not None:
            pieces.kernel(**parts, **whole, out=written[low:high])
        else:
            found: Any = pieces.kernel(**parts, **whole)
            if cut.axis is None:
                results = [pieces.joined([*results, found])]
            elif not dense:
                results.append(found)
            else:
                if written is None:
                    shape = (*found.shape[: cut.axis], bounds[-1], *found.shape[cut.axis + 1 :])
                    written = np.empty(shape, found.dtype)
                written[(slice(None),) * cut.axis + (slice(low, high),)] = found
        if progress is not None:
            progress(high, bounds[-1])
    if cut.axis is not None:
        return written if pieces.output.encoding is None else pieces.joined(results)
    if out is None:
        return results[0]
    out[...] = results[0]
    return out


def _read_ahead(
    pieces: StatementPieces, operands: Mapping[str, Any], bounds: Sequence[int], extents: Mapping[IndexVar, int]
) -> Iterator[tuple[tuple[int, int], dict[str, Any]]]:
    """Yields the parts of each piece; the next are read meanwhile."""
    cut = pieces.cut

    def read(low: int, high: int) -> dict[str, Any]:
        return {
            name: _part(operands[cut.operand(name)], axis, *cut.part(name, low, high, extents))
            for name, axis in cut.parts.items()
        }

    with ThreadPoolExecutor(1, "mlir-sparse-read") as reader:
        ranges = list(pairwise(bounds))
        following = reader.submit(read, *ranges[0])
        for number, piece in enumerate(ranges):
            parts = following.result()
            if number + 1 < len(ranges):
                following = reader.submit(read, *ranges[number + 1])
            yield piece, parts


def _part(given: Any, axis: int, low: int, high: int) -> Any:
    if not isinstance(given, TensorSource):
        return _between(given, axis, low, high)
    begin = low // given.unit * given.unit
    end = min(-(-high // given.unit) * given.unit, given.shape[axis])
    read = read_part(given, begin, end)
    return read if (begin, end) == (low, high) else _between(read, axis, low - begin, high - begin)


def _between(given: Any, axis: int, low: int, high: int) -> Any:
    return given[(slice(None),) * axis + (slice(low, high),)]
