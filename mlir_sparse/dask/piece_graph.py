"""The graph of a statement in pieces: a task a piece, and tasks that combine results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import dask.array
import numpy as np
from dask.base import tokenize

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.compiled_kernel import CompiledKernel
from mlir_sparse.compile.statement_pieces import StatementPieces, compile_sum
from mlir_sparse.dask.array_chunks import chunk_bytes, joined_here, nbytes_of, rechunked, tasks_of, type_of_chunks
from mlir_sparse.dask.checked_array import Pieces, pieces_of
from mlir_sparse.dask.cut_choice import Bounds, chunks_wanted, extents_of
from mlir_sparse.dask.halo_parts import laid_out, ranges_read
from mlir_sparse.dask.heavy_parts import divided_parts
from mlir_sparse.dask.image_operands import SentImage, images_sent, tasks_of_divisions
from mlir_sparse.dask.partitioned import array_of_chunks, without_chunks
from mlir_sparse.dask.piece_tasks import PieceKernel, SumKernel, added_divisions, computed_piece, joined_pieces
from mlir_sparse.dask.task_names import DIVISION, KERNEL, WHOLE, before_dash, beside, pieces_beside
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Assignment, IndexVar, Semiring
from mlir_sparse.notation.laws import PLUS_TIMES
from mlir_sparse.plan.composed_cuts import ComposedCut
from mlir_sparse.tensor import SparseTensor

__all__ = ["graph_of_pieces"]

_ARITY = 8
"""So many results of pieces are combined at once, in the order of the pieces."""

_PAIRS = 4096
"""So many chunks in all are read by pieces one by one."""

Numbers = tuple[int, ...]  # of a piece: one for each cut


def graph_of_pieces(
    statement: Assignment,
    pieces: StatementPieces,
    operands: Mapping[str, Any],
    bounds: Sequence[Bounds],
    ring: Semiring,
    within: frozenset[str] = frozenset(),
) -> dask.array.Array:
    """Returns the dask.array of a statement's result.

    Args:
        statement: the statement.
        pieces: it, compiled for pieces.
        operands: its operands by name, some of them dask.arrays.
        bounds: where pieces begin along the variable of each cut, and the extent.
        ring: what `+` and `*` are: where they are those of numbers, heavy parts may be divided.
        within: the operands whose chunks are made by the pieces that read them, where each is read by one.
    """
    cuts = pieces.cuts
    extents = extents_of(operands, statement)
    arrays = {name: _in_chunks(operands[cuts.operand(name)], name, cuts, bounds, extents) for name in cuts.names}
    sent = images_sent(pieces.cut, arrays) if len(bounds) == 1 else {}
    readers = prod(len(ends) - 1 for ends in bounds)
    for name in cuts.names:
        arrays[name] = _whole_where_not_cut(arrays[name], cuts.axes(name), sent.get(name), readers)
    label = before_dash("".join(str(statement).split()))
    token = tokenize(str(statement), pieces.kernel, [arrays[name] for name in arrays], bounds)
    name, kernel = f"{label}-{token}", beside(token, KERNEL)
    tasks: dict[Any, Any] = {kernel: PieceKernel(pieces)}
    keys = _operand_keys(pieces, arrays, sent, name, bounds, tasks)
    own = [name for name in cuts.names if cuts.operand(name) in within and any(a is not None for a in cuts.axes(name))]
    made = _make_within(keys, {name: arrays[name] for name in own}, sent)
    axes, rank = [cut.axis for cut in cuts.cuts], len(statement.target.subscripts)
    reduced = any(axis is None for axis in axes)
    heavy = _HeavyPieces.of(pieces, arrays, sent, name) if ring is PLUS_TIMES else None
    for numbers in _all_numbers(bounds):
        key = (pieces_beside(name), *numbers) if reduced else _chunk_key(name, axes, numbers, rank)
        read = {other: keys[other][numbers] for other in arrays}
        if heavy is None or not heavy.add(tasks, key, numbers, read, kernel):
            tasks[key] = (computed_piece, kernel, list(read), list(read.values()))
    if reduced:
        _combine(tasks, kernel, name, axes, bounds, rank)
    shape = _result_shape(statement, extents, axes, bounds)
    collections = [
        without_chunks(value) if other in made else value
        for other, value in arrays.items()
        if isinstance(value, dask.array.Array)
    ]
    told = _taken(statement, pieces, arrays, sent, bounds, shape)
    return array_of_chunks(name, tasks, collections, shape, pieces.output, axes, bounds, told)


def _result_shape(
    statement: Assignment, extents: Mapping[IndexVar, int], axes: Sequence[int | None], bounds: Sequence[Bounds]
) -> list[int]:
    ends = {axis: each[-1] for axis, each in zip(axes, bounds, strict=True)}
    found = []
    for axis, index in enumerate(statement.target.indices):
        if axis not in ends and index not in extents:
            raise UnsupportedError(
                f"expected an operand with {index} among its subscripts, so that the extent of the result is known "
                f"before it is computed, but got {statement}: evaluate it on tensors"
            )
        found.append(ends[axis] if axis in ends else extents[index])
    return found


def _all_numbers(bounds: Sequence[Bounds]) -> Iterator[Numbers]:
    return product(*(range(len(ends) - 1) for ends in bounds))


def _chunk_key(name: str, axes: Sequence[int | None], numbers: Numbers, rank: int) -> tuple[str | int, ...]:
    return (name, *_place(axes, numbers, rank))


def _place(axes: Sequence[int | None], numbers: Numbers, rank: int) -> Numbers:
    """Returns the place of an array's chunk, given which axis of it each cut divides, and the number along each."""
    own = {axis: number for axis, number in zip(axes, numbers, strict=True) if axis is not None}
    return tuple(own.get(dim, 0) for dim in range(rank))


def _in_chunks(
    value: Any, name: str, cuts: ComposedCut, bounds: Sequence[Bounds], extents: Mapping[IndexVar, int]
) -> Any:
    """Returns an operand in chunks as pieces are, where a cut divides it; with halos chunks overlap."""
    halos = cuts.halos(name)
    cut = [
        (axis, halo, *ranges_read(ends, halo, extents, value.shape[axis]))
        for axis, halo, ends in zip(cuts.axes(name), halos, bounds, strict=True)
        if axis is not None
    ]
    if not cut:
        return value
    axes, placed = [axis for axis, *_ in cut], [tuple(ends) for *_, ends in cut]
    if isinstance(value, dask.array.Array):
        for axis, halo, ranges, _ in cut:
            value = value if halo is None else laid_out(value, axis, ranges)
        return rechunked(value, chunks_wanted(value.shape, axes, placed))
    made = f"part-{tokenize(value, axes, [ranges for _, _, ranges, _ in cut])}"
    tasks = {}
    for numbers in _all_numbers(placed):
        places = [slice(None)] * value.ndim
        for (axis, _, ranges, _), number in zip(cut, numbers, strict=True):
            places[axis] = slice(*ranges[number])
        tasks[_chunk_key(made, axes, numbers, value.ndim)] = value[tuple(places)]
    shape = list(value.shape)
    for axis, ends in zip(axes, placed, strict=True):
        shape[axis] = ends[-1]
    return array_of_chunks(made, tasks, [], shape, type_of_chunks(value), axes, placed)


def _whole_where_not_cut(value: Any, axes: Sequence[int | None], sent: SentImage | None, readers: int) -> Any:
    if not isinstance(value, dask.array.Array) or not value.ndim:
        return value
    kept = {axis for axis in axes if axis is not None} | ({sent.image.axis} if sent else set())
    if not kept and _joined_axis(value) is not None and value.npartitions * readers <= _PAIRS:
        return value
    return rechunked(value, {dim: -1 for dim in range(value.ndim) if dim not in kept})


def _joined_axis(value: Any) -> int | None:
    """Returns the only axis along which an array comes in chunks, so that each piece joins them where it runs.

    One task that did so would get all chunks and send all of them on. Tensors take longer to join than to send.
    """
    axes = [axis for axis, chunks in enumerate(value.chunks) if len(chunks) > 1]
    return axes[0] if len(axes) == 1 and isinstance(value._meta, np.ndarray) else None


def _operand_keys(
    pieces: StatementPieces,
    arrays: Mapping[str, Any],
    sent: Mapping[str, SentImage],
    name: str,
    bounds: Sequence[Bounds],
    tasks: dict[Any, Any],
) -> dict[str, dict[Numbers, Any]]:
    """Returns what each piece reads of each operand, and adds the tasks that give it."""
    keys: dict[str, dict[Numbers, Any]] = {}
    for other, value in arrays.items():
        if other in sent:
            continue
        axes = pieces.cuts.axes(other)
        if isinstance(value, dask.array.Array):
            joined = _joined_axis(value) if all(axis is None for axis in axes) else None
            if joined is not None:
                every = [(value.name, *place) for place in np.ndindex(value.numblocks)]
                keys[other] = dict.fromkeys(_all_numbers(bounds), (joined_here, every, joined))
                continue
            keys[other] = {n: _chunk_key(value.name, axes, n, value.ndim) for n in _all_numbers(bounds)}
        else:
            whole = beside(f"{name}-{other}", WHOLE)
            tasks[whole] = value
            keys[other] = dict.fromkeys(_all_numbers(bounds), whole)
    for other, image in sent.items():
        more, made = image.tasks(arrays[other], f"{name}-{other}", list(keys[image.image.part].values()))
        tasks |= more
        keys[other] = dict(zip(_all_numbers(bounds), made, strict=True))
    return keys


def _make_within(
    keys: Mapping[str, dict[Numbers, Any]], arrays: Mapping[str, Any], sent: Mapping[str, SentImage]
) -> set[str]:
    """Puts the tasks that make chunks in the place of their keys, where one piece reads each; returns for which."""
    named, found = {one.image.part for one in sent.values()}, set[str]()  # coordinates of parts are asked for as well
    for name, value in arrays.items():
        own, tasks = keys[name], tasks_of(value)
        if name in named or name in sent or len(set(map(str, own.values()))) < len(own):
            continue
        if all(isinstance(tasks.get(key), tuple) for key in own.values()):
            own.update({numbers: tasks[key] for numbers, key in own.items()})
            found.add(name)
    return found


def _combine(
    tasks: dict[Any, Any], kernel: str, name: str, axes: Sequence[int | None], bounds: Sequence[Bounds], rank: int
) -> None:
    """Adds the tasks that combine the results of pieces in their order, along the last cut first."""
    keys: dict[Numbers, Any] = {numbers: (pieces_beside(name), *numbers) for numbers in _all_numbers(bounds)}
    for number in reversed(range(len(axes))):
        if axes[number] is not None:
            continue
        groups: dict[Numbers, list[Any]] = {}
        for numbers, key in keys.items():
            groups.setdefault((*numbers[:number], 0, *numbers[number + 1 :]), []).append(key)
        for numbers, group in groups.items():
            last = all(axis is not None for axis in axes[:number])
            made = _chunk_key(name, axes, numbers, rank) if last else (beside(f"{name}-{number}", "join"), *numbers)
            _combine_one(tasks, kernel, number, group, made)
            keys[numbers] = made
        keys = {numbers: keys[numbers] for numbers in groups}


def _combine_one(tasks: dict[Any, Any], kernel: str, number: int, keys: list[Any], made: tuple[Any, ...]) -> None:
    level = 0
    while len(keys) > _ARITY:
        level += 1
        groups = [keys[at : at + _ARITY] for at in range(0, len(keys), _ARITY)]
        keys = [(beside(f"{made[0]}-{number}-{level}", "join"), *made[1:], place) for place in range(len(groups))]
        tasks |= {key: (joined_pieces, kernel, number, group) for key, group in zip(keys, groups, strict=True)}
    tasks[made] = (joined_pieces, kernel, number, keys)


def _taken(
    statement: Assignment,
    pieces: StatementPieces,
    arrays: Mapping[str, Any],
    sent: Mapping[str, SentImage],
    bounds: Sequence[Bounds],
    shape: Sequence[int],
) -> Pieces:
    """Returns what pieces take, for the check against the limits of workers."""
    axes = [cut.axis for cut in pieces.cuts.cuts]
    taken, fixed = list[list[int] | None](), 0
    for name, value in arrays.items():
        own = pieces.cuts.axes(name)
        if all(axis is None for axis in own):
            fixed += 0 if name in sent else nbytes_of(value)
        else:
            taken.append(_part_bytes(value, own, bounds))
    if pieces.output.encoding is None:
        item = pieces.output.dtype.numpy.itemsize
        results = [item * prod(own) for own in _result_shapes(shape, axes, bounds)]
        if any(axis is not None for axis in axes):
            taken.append(results)
        else:  # each piece has a result of the whole shape
            fixed += results[0] if results else 0
    return pieces_of(str(statement), bounds, axes, taken, fixed)


def _part_bytes(value: Any, axes: Sequence[int | None], bounds: Sequence[Bounds]) -> list[int] | None:
    """Returns the bytes of the part that each piece has of an operand; None where that is not known yet."""
    sizes = chunk_bytes(value)
    if sizes is None:
        return None
    counts = [len(own) for own in value.chunks]
    grid = np.array(sizes, np.int64).reshape(counts)
    return [int(grid[_place(axes, numbers, value.ndim)]) for numbers in _all_numbers(bounds)]


def _result_shapes(
    shape: Sequence[int], axes: Sequence[int | None], bounds: Sequence[Bounds]
) -> Iterator[Sequence[int]]:
    for numbers in _all_numbers(bounds):
        own = list(shape)
        for axis, ends, number in zip(axes, bounds, numbers, strict=True):
            if axis is not None:
                own[axis] = ends[number + 1] - ends[number]
        yield own


@dataclass(frozen=True, slots=True, eq=False)
class _HeavyPieces:
    """Pieces whose part of an operand is divided, since it has much more than its share of the entries.

    Args:
        pieces: the statement, compiled for pieces.
        operand: the operand whose parts are divided.
        divisions: those of each heavy part, by the place of its chunk.
        total: adds the results of divisions.
        arrays: the operands.
        sent: the images that pieces are sent.
        name: begins the keys of tasks.
    """

    pieces: StatementPieces
    operand: str
    divisions: Mapping[Numbers, Sequence[Any]]
    total: CompiledKernel
    arrays: Mapping[str, Any]
    sent: Mapping[str, SentImage]
    name: str

    @classmethod
    def of(
        cls, pieces: StatementPieces, arrays: Mapping[str, Any], sent: Mapping[str, SentImage], name: str
    ) -> _HeavyPieces | None:
        found = divided_parts(pieces.cuts, arrays)
        return None if found is None else cls(pieces, *found, compile_sum(pieces.output), arrays, sent, name)

    def add(self, tasks: dict[Any, Any], key: Any, numbers: Numbers, read: Mapping[str, Any], kernel: str) -> bool:
        """Adds the tasks of a piece if its part is divided; returns whether it is."""
        rank = self.arrays[self.operand].ndim
        own = self.divisions.get(_place(self.pieces.cuts.axes(self.operand), numbers, rank))
        if own is None:
            return False
        label = f"{pieces_beside(self.name)}-within"
        parts: list[Any] = list(own)
        if all(isinstance(one, SparseTensor) for one in own):
            parts = [(beside(label, DIVISION), *numbers, at) for at in range(len(own))]
            tasks |= dict(zip(parts, own, strict=True))
        total = beside(label, KERNEL)
        tasks[total] = SumKernel(self.total)
        operands = {other: [value] * len(own) for other, value in read.items()} | {self.operand: parts}
        for other, sent in self.sent.items():
            if sent.image.part != self.operand:
                continue
            key_of = f"{label}-{other}-{'-'.join(map(str, numbers))}"
            found = tasks_of_divisions(sent.image, self.arrays[other], key_of, own, parts)
            if found is not None:
                tasks |= found[0]
                operands[other] = found[1]
        results = [(label, *numbers, at) for at in range(len(own))]
        for at, result in enumerate(results):
            tasks[result] = (computed_piece, kernel, list(operands), [value[at] for value in operands.values()])
        tasks[key] = (added_divisions, total, results)
        return True
