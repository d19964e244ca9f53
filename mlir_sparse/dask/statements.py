"""Statements on `dask.array`s: a cut, a task a piece, and results that stay in parts."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import dask.array
import numpy as np
from dask.base import tokenize

from mlir_sparse._native import __version__
from mlir_sparse.classes import dataclass
from mlir_sparse.compile.entry_points import parse
from mlir_sparse.compile.statement_pieces import StatementPieces, compile_pieces
from mlir_sparse.dask.checked_array import chunk_bytes, pieces_of
from mlir_sparse.dask.image_operands import SentImage, images_sent
from mlir_sparse.dask.partitioned import array_of_chunks, before_dash
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import OperandError, UnknownTensorError, UnsupportedError
from mlir_sparse.notation import Assignment, IndexVar, Monoid, Operator, Semiring, reads
from mlir_sparse.notation import semiring as semiring_named
from mlir_sparse.notation.laws import PLUS_TIMES
from mlir_sparse.plan.statement_cuts import StatementCut, cuts
from mlir_sparse.process.available_memory import in_units
from mlir_sparse.runtime import operand_check
from mlir_sparse.tensor import SparseTensor

__all__ = ["evaluate", "explain", "iterate"]

_ARITY = 8
"""So many results of pieces are combined at once, in the order of the pieces."""


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """A cut with its bounds, and the bytes that it moves."""

    cut: StatementCut
    bounds: tuple[int, ...]
    rechunked: int
    whole: int
    images: int
    reduced: int

    @property
    def moved(self) -> int:
        return self.rechunked + self.whole + self.images + self.reduced

    def __str__(self) -> str:
        parts = {"to cut operands anew": self.rechunked, "read whole by every piece": self.whole,
                 "of images, which pieces read in place of wholes": self.images,
                 "of results that are combined": self.reduced}  # fmt: skip
        told = ", ".join(f"{in_units(nbytes)} {what}" for what, nbytes in parts.items() if nbytes)
        return f"{self.cut}\n  {len(self.bounds) - 1} tasks, {told or 'nothing moves'}"


def evaluate(
    text: str | Assignment,
    /,
    *,
    out: Any = None,
    tensors: Mapping[str, Any] | None = None,
    semiring: str | Semiring | None = None,
    along: str | None = None,
    threads: int | None = None,
    **named: Any,
) -> dask.array.Array:
    """Returns a statement on dask.arrays as a dask.array; nothing is computed yet.

    The statement is cut along the index variable that moves the fewest bytes. Its chunks are the results of pieces, or
    one chunk where pieces are combined.

    Args:
        text: one statement of index notation.
        out: the storage of the result, as for `mlir_sparse.evaluate`.
        tensors: operands by name, for names that clash with these arguments.
        semiring: the meaning of `+` and `*`.
        along: the index variable to cut along.
        threads: the greatest number of threads of a task.
        named: the operands: dask.arrays, tensors and arrays; also operators and monoids in the text.

    Raises:
        UnsupportedError: for a statement that cannot be cut along any variable that the operands are cut along.
        SparseError: its kinds, as `mlir_sparse.compile`.

    >>> from mlir_sparse.dask.partitioned import from_tensor
    >>> y = evaluate("y(i) = A(i,j) * x(j)", A=from_tensor(np.eye(6), pieces=3), x=np.arange(6.0))
    >>> y.chunks, y.compute(scheduler="synchronous").tolist()
    (((2, 2, 2),), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    """
    statement, operands, ring = _read(text, tensors, semiring, named)
    choices, reasons = _choices(statement, operands, ring, along)
    if not choices:
        raise UnsupportedError(f"expected a statement that can be cut, but got {statement}\n  " + "\n  ".join(reasons))
    choice = choices[0]
    types = {name: _type_of(value) for name, value in operands.items()}
    pieces = compile_pieces(choice.cut, types, out, ring, threads=threads)
    return _graph(statement, pieces, operands, choice.bounds, ring)


def explain(
    text: str | Assignment,
    /,
    *,
    tensors: Mapping[str, Any] | None = None,
    semiring: str | Semiring | None = None,
    **named: Any,
) -> str:
    """Returns how a statement on dask.arrays would be cut: the cut, its tasks and bytes moved, and those not chosen.

    Args:
        text: one statement of index notation.
        tensors: operands by name.
        semiring: the meaning of `+` and `*`.
        named: the operands.

    >>> from mlir_sparse.dask.partitioned import from_tensor
    >>> print(explain("y(i) = b(i) - A(i,j) * x(j)", A=from_tensor(np.eye(6), pieces=3), b=np.ones(6), x=np.ones(6)))
    cut along i: axis 0 of b, axis 0 of A; each piece reads all of x; results follow one another along axis 0
      3 tasks, 144 B read whole by every piece
    not along j: b(i) lacks j: each piece would count it
    """
    statement, operands, ring = _read(text, tensors, semiring, named)
    choices, reasons = _choices(statement, operands, ring, None)
    chosen = [f"{'cut' if number == 0 else 'or'} {choice}" for number, choice in enumerate(choices)]
    return "\n".join([*chosen, *(f"not along {reason}" for reason in reasons)])


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
    text: str | Assignment, tensors: Mapping[str, Any] | None, semiring: str | Semiring | None, named: Mapping[str, Any]
) -> tuple[Assignment, dict[str, Any], Semiring]:
    given = {**(tensors or {}), **named}
    operators = {name: value for name, value in given.items() if isinstance(value, Operator | Monoid)}
    statement = parse(text, **operators)
    if not isinstance(statement, Assignment):
        raise UnsupportedError("expected one statement, but got a comprehension: evaluate its statements in turn")
    operands = {
        name: value if isinstance(value, dask.array.Array) else operand_check.value_of(name, value)
        for name, value in given.items()
        if name not in operators
    }
    return statement, operands, PLUS_TIMES if semiring is None else semiring_named(semiring)


def _type_of(value: Any) -> TensorType:
    """Returns the type of an operand, of a dask.array from its meta."""
    own = value._meta if isinstance(value, dask.array.Array) else value
    if isinstance(own, SparseTensor):
        return own.type
    return TensorType(DType.of(value.dtype), (None,) * value.ndim)


def _choices(
    statement: Assignment, operands: Mapping[str, Any], ring: Semiring, along: str | None
) -> tuple[list[_Choice], list[str]]:
    """Returns the cuts from the one that moves the fewest bytes, and why others are none."""
    found, reasons = [], []
    legal = cuts(statement, ring)
    if along is not None and along not in legal:
        raise UnsupportedError(f"expected one of the variables {', '.join(legal)} to cut along, but got {along}")
    for variable, cut in legal.items():
        if isinstance(cut, str):
            reasons.append(f"{variable}: {cut}")
            continue
        missing = [name for name in map(cut.operand, (*cut.parts, *cut.whole)) if name not in operands]
        if missing:
            raise UnknownTensorError(f"expected data for {', '.join(missing)} in {statement}")
        choice = _choice(cut, operands, statement, ring)
        if choice is None:
            reasons.append(f"{variable}: no operand comes in chunks along it")
        elif along in (None, variable):
            found.append(choice)
    return sorted(found, key=lambda one: (one.moved, one.cut.axis is None)), reasons


def _choice(cut: StatementCut, operands: Mapping[str, Any], statement: Assignment, ring: Semiring) -> _Choice | None:
    chunked = {
        name: operands[cut.operand(name)]
        for name in cut.parts
        if isinstance(operands[cut.operand(name)], dask.array.Array)
    }
    bounds = {
        tuple(np.cumsum([0, *value.chunks[cut.parts[name]]]).tolist()): value.size for name, value in chunked.items()
    }
    if not any(len(ends) > 2 for ends in bounds) and any(
        max(map(len, value.chunks), default=1) > 1 for value in operands.values() if isinstance(value, dask.array.Array)
    ):
        return None  # another variable has chunks
    chosen = max(bounds, key=lambda ends: (len(ends), bounds[ends])) if bounds else None
    if chosen is None:
        return None
    rechunked = sum(
        _nbytes(value)
        for name, value in chunked.items()
        if value.chunks != _wanted(value.shape, cut.parts[name], chosen)
    )
    pieces = len(chosen) - 1
    sent: dict[str, SentImage] = {}
    if not rechunked and ring is PLUS_TIMES and len(chunked) == len(cut.parts):
        sent = images_sent(cut, {**chunked, **{name: operands[cut.operand(name)] for name in cut.whole}})
    whole = sum(_nbytes(operands[cut.operand(name)]) for name in cut.whole if name not in sent) * pieces
    images = sum(one.nbytes(operands[cut.operand(name)]) for name, one in sent.items())
    reduced = 0
    if cut.axis is None:
        extents = _extents(operands, statement)
        size = int(np.prod([extents.get(index, 1) for index in statement.target.indices], dtype=np.int64))
        reduced = 8 * size * pieces
    return _Choice(cut, chosen, rechunked, whole, images, reduced)


def _nbytes(value: Any) -> int:
    """Returns the bytes of an operand; of a dask.array of tensors that are not there yet an estimate."""
    if isinstance(value, dask.array.Array) and isinstance(value._meta, SparseTensor):
        known = chunk_bytes(value)
        return int(value.size * value.dtype.itemsize // 16) if known is None else sum(known)
    return int(value.nbytes)


def _extents(operands: Mapping[str, Any], statement: Assignment) -> dict[IndexVar, int]:
    return {
        subscript: operands[access.tensor].shape[axis]
        for access in reads(statement.value)
        if access.tensor in operands
        for axis, subscript in enumerate(access.subscripts)
        if isinstance(subscript, IndexVar)
    }


def _wanted(shape: Sequence[int], axis: int, bounds: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    own = tuple(high - low for low, high in pairwise(bounds))
    return tuple(own if dim == axis else (extent,) for dim, extent in enumerate(shape))


def _graph(
    statement: Assignment, pieces: StatementPieces, operands: Mapping[str, Any], bounds: Sequence[int], ring: Semiring
) -> dask.array.Array:
    cut, axis = pieces.cut, pieces.cut.axis
    arrays = {name: _in_chunks(operands[cut.operand(name)], cut.parts[name], bounds) for name in cut.parts}
    arrays |= {name: operands[cut.operand(name)] for name in cut.whole}
    images = images_sent(cut, arrays) if ring is PLUS_TIMES else {}
    for name in cut.whole:
        value = arrays[name]
        if isinstance(value, dask.array.Array) and value.ndim:
            kept = {images[name].image.axis} if name in images else set()
            arrays[name] = value.rechunk({dim: -1 for dim in range(value.ndim) if dim not in kept})
    label = before_dash("".join(str(statement).split()))
    token = tokenize(str(statement), pieces.kernel, [arrays[name] for name in arrays], bounds)
    name, rank = f"{label}-{token}", len(statement.target.subscripts)
    kernel_key = f"kernel-{token}"
    tasks: dict[Any, Any] = {kernel_key: _Kernel(pieces)}
    keys: dict[str, list[Any]] = {}  # of each operand, those of pieces
    for other, value in arrays.items():
        if other not in images:
            keys[other] = [_chunk_key(value, other, number, cut, name) for number in range(len(bounds) - 1)]
            if not isinstance(value, dask.array.Array):
                tasks[f"{name}-{other}"] = value
    for other, sent in images.items():
        more, keys[other] = sent.tasks(arrays[other], f"{name}-{other}", keys[sent.image.part])
        tasks |= more
    piece_name = name if axis is not None else f"{name}-piece"
    for number in range(len(bounds) - 1):
        read = [keys[other][number] for other in arrays]
        key = (
            (piece_name, *(number if dim == axis else 0 for dim in range(rank)))
            if axis is not None
            else (piece_name, number)
        )
        tasks[key] = (_call, kernel_key, list(arrays), read)
    if axis is None:
        _combine(tasks, kernel_key, piece_name, len(bounds) - 1, (name, *(0,) * rank))
    extents = _extents(operands, statement)
    shape = tuple(bounds[-1] if dim == axis else extents[index] for dim, index in enumerate(statement.target.indices))
    collections = [value for value in arrays.values() if isinstance(value, dask.array.Array)]
    cells = 0 if pieces.output.encoding is not None else prod(shape) * pieces.output.dtype.numpy.itemsize
    told = pieces_of(
        str(statement),
        bounds,
        [chunk_bytes(arrays[other]) for other in cut.parts],
        0 if axis is None else cells // max(1, bounds[-1]),
        sum(_nbytes(arrays[other]) for other in cut.whole if other not in images) + (cells if axis is None else 0),
    )
    return array_of_chunks(name, tasks, collections, shape, pieces.output, axis, bounds, told)


def _in_chunks(value: Any, axis: int, bounds: Sequence[int]) -> Any:
    wanted = tuple(high - low for low, high in pairwise(bounds))
    if isinstance(value, dask.array.Array):
        return value.rechunk({dim: wanted if dim == axis else -1 for dim in range(value.ndim)})
    chunks = _wanted(value.shape, axis, bounds)
    name = f"part-{tokenize(value, chunks)}"
    tasks = {
        (name, *(number if dim == axis else 0 for dim in range(value.ndim))): value[
            (slice(None),) * axis + (slice(low, high),)
        ]
        for number, (low, high) in enumerate(pairwise(bounds))
    }
    return array_of_chunks(name, tasks, [], value.shape, _type_of(value), axis, bounds)


def _chunk_key(value: Any, operand: str, number: int, cut: StatementCut, name: str) -> Any:
    if not isinstance(value, dask.array.Array):
        return f"{name}-{operand}"
    axis = cut.parts.get(operand)
    return (value.name, *(number if dim == axis else 0 for dim in range(value.ndim)))


def _combine(tasks: dict[Any, Any], kernel: str, name: str, count: int, last: Any) -> None:
    """Adds the tasks that combine the results of pieces, in their order."""
    keys: list[Any] = [(name, number) for number in range(count)]
    level = 0
    while len(keys) > _ARITY:
        level += 1
        groups = [keys[at : at + _ARITY] for at in range(0, len(keys), _ARITY)]
        keys = [(f"{name}-{level}", number) for number in range(len(groups))]
        tasks |= {key: (_join, kernel, group) for key, group in zip(keys, groups, strict=True)}
    tasks[last] = (_join, kernel, keys)


class _Kernel:
    """The kernels of a statement's pieces, as a value of the graph: each worker gets them once."""

    def __init__(self, pieces: StatementPieces) -> None:
        self.pieces = pieces

    def __dask_tokenize__(self) -> Any:
        return str(self.pieces.cut), repr(self.pieces.kernel)

    def __reduce__(self) -> Any:
        return _kernel_here, (__version__, self.pieces)


def _kernel_here(version: str, pieces: StatementPieces) -> _Kernel:
    """Returns what a worker computes pieces with, before its first task.

    Raises:
        UnsupportedError: on a worker with another version of this package.
    """
    if version != __version__:
        raise UnsupportedError(
            f"expected mlir_sparse {version}, as where the statement was made, but got {__version__} on the worker "
            f"{platform.node()} (process {os.getpid()}): install one version on all of them"
        )
    return _Kernel(pieces)


def _call(kernel: _Kernel, names: Sequence[str], operands: Sequence[Any]) -> Any:
    return kernel.pieces.kernel(**dict(zip(names, operands, strict=True)))


def _join(kernel: _Kernel, results: Sequence[Any]) -> Any:
    return kernel.pieces.joined(list(results))
