"""Checks the buffers that a user's program assembles into a tensor: loops over those that lie read any memory.

Our own kernels take tensors that were validated before; what `sparse_tensor.assemble` is given nobody has seen.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from mlir_sparse._mlir import ir
from mlir_sparse.errors import SparseError
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.operation_index import Seen

if TYPE_CHECKING:
    from mlir_sparse.encoding import Encoding

__all__ = ["check_assembled_tensors"]

_ASSEMBLE = "sparse_tensor.assemble"


def check_assembled_tensors(seen: Seen, options: Mapping[str, str]) -> bool:
    """Puts assertions before each `sparse_tensor.assemble`: of lengths, positions and the range of coordinates.

    The order of coordinates is not looked at: it decides what loops compute, not what memory they read. A tensor
    without a fixed shape, and formats whose coordinates are in no buffer, stay as they are.

    Args:
        seen: a module on tensors; rewritten in place.
        options: those of the pass: none.

    Returns:
        whether it changed anything.
    """
    found = list(seen.whole.named(_ASSEMBLE))
    for op in found:
        storage = _storage_of(op)
        if storage is not None:
            with ir.InsertionPoint(op), op.location:
                _Checks(op, *storage).write()
    return bool(found)


def _storage_of(op: ir.Operation) -> tuple[Encoding, tuple[int, ...]] | None:
    """Returns the encoding of an assembled tensor and the sizes of its levels; None where they are not known."""
    from mlir_sparse.encoding import encoding  # few programs assemble tensors: the compiler's process loads it for them

    kind = ir.RankedTensorType(op.results[0].type)
    if min(kind.shape, default=0) < 0:  # MLIR's mark of an open extent
        return None
    try:
        storage = encoding(str(kind.encoding))
        return storage, tuple(storage.level_sizes(kind.shape))
    except SparseError:
        return None


class _Checks:
    """The assertions for one tensor.

    Args:
        op: the operation that assembles it.
        storage: its encoding.
        sizes: the sizes of its levels.
    """

    def __init__(self, op: ir.Operation, storage: Encoding, sizes: tuple[int, ...]) -> None:
        from mlir_sparse.encoding.buffer_layout import level_buffers  # likewise

        *buffers, self._values = list(op.operands)
        self._storage, self._sizes = storage, sizes
        self._positions: dict[int, ir.Value] = {}
        self._in_gaps: set[int] = set()  # levels whose coordinates a level with gaps has looked at
        self._coordinates: dict[int, tuple[ir.Value, int | None]] = {}
        for array, buffer in zip(level_buffers(storage), buffers, strict=True):
            if array.kind == "positions":
                self._positions[array.level] = buffer
                continue
            for place, level in enumerate(array.levels):
                self._coordinates[level] = buffer, place if len(array.levels) > 1 else None

    def write(self) -> None:
        """Writes them."""
        count = build.constant(1)
        for level, kind in enumerate(self._storage.level_types):
            functions = kind.functions
            if functions.is_axis:
                return  # of batches the dialect has no loops
            if functions.is_segmented:
                count = self._loose(level, count) if functions.has_gaps else self._compressed(level, count)
            elif functions.has_full_loop:
                count = build.multiply(count, build.constant(self._sizes[level]))
            elif kind.n is not None:
                count = build.multiply(count, build.constant(kind.n))
                self._in_range(level, build.constant(0), count)
            elif level not in self._in_gaps:
                self._in_range(level, build.constant(0), count)
        self._at_least(self._values, count, "values")

    def _compressed(self, level: int, parents: ir.Value) -> ir.Value:
        """Checks a compressed level; returns how many coordinates it has."""
        positions = self._positions[level]
        self._at_least(positions, build.add(parents, build.constant(1)), f"positions of level {level}")
        first = _element(positions, build.constant(0))
        _assert(build.compare("eq", first, build.constant(0)), f"positions of level {level} to begin at 0")

        def ordered(at: ir.Value) -> None:
            begin, end = _element(positions, at), _element(positions, build.add(at, build.constant(1)))
            _assert(build.compare("ule", begin, end), f"positions of level {level} to never decrease")

        build.loop(parents, (), ordered)
        count = _element(positions, parents)
        self._in_range(level, build.constant(0), count)
        return count

    def _loose(self, level: int, parents: ir.Value) -> ir.Value:
        """Checks a level of segments with gaps, of whose coordinates nobody asks; returns where the last one ends."""
        positions, two = self._positions[level], build.constant(2)
        self._at_least(positions, build.multiply(parents, two), f"positions of level {level}")
        chained = self._chained_below(level)
        self._in_gaps.update(chained)

        def segment(at: ir.Value, last: ir.Value) -> list[ir.Value]:
            begin_at = build.multiply(at, two)
            begin, end = _element(positions, begin_at), _element(positions, build.add(begin_at, build.constant(1)))
            _assert(build.compare("ule", begin, end), f"positions of level {level} to end behind their begin")
            for one in (level, *chained):
                self._in_range(one, begin, end)
            return [build.select(build.compare("ugt", end, last), end, last)]

        (last,) = build.loop(parents, [build.constant(0)], segment)
        return last

    def _chained_below(self, level: int) -> list[int]:
        """Returns the singleton levels that follow one, whose positions are its own."""
        kinds = self._storage.level_types[level + 1 :]
        chained = itertools.takewhile(lambda kind: kind.functions.is_chained, kinds)
        return [level + 1 + place for place, _ in enumerate(chained)]

    def _in_range(self, level: int, begin: ir.Value, end: ir.Value) -> None:
        """Checks the coordinates of a level between two positions."""
        buffer, place = self._coordinates[level]
        self._at_least(buffer, end, f"coordinates of level {level}")
        size = build.constant(self._sizes[level])
        inner = () if place is None else (build.constant(place),)
        build.loop(end, (), partial(self._check_coordinate, level, buffer, inner, size), lower=begin)

    def _check_coordinate(
        self, level: int, buffer: ir.Value, inner: tuple[ir.Value, ...], size: ir.Value, at: ir.Value
    ) -> None:
        truth = build.compare("ult", _element(buffer, at, *inner), size)
        _assert(truth, f"coordinates of level {level} below its size {self._sizes[level]}")

    def _at_least(self, buffer: ir.Value, count: ir.Value, what: str) -> None:
        _assert(build.compare("ule", count, _size(buffer)), f"as many {what} as the levels say")


def _element(buffer: ir.Value, *at: ir.Value) -> ir.Value:
    kind = ir.RankedTensorType(buffer.type).element_type
    return build.widened(build.operation("tensor.extract", kind, buffer, *at))


def _size(buffer: ir.Value) -> ir.Value:
    return build.operation("tensor.dim", build.index_type(), buffer, build.constant(0))


def _assert(truth: ir.Value, rule: str) -> None:
    message = ir.StringAttr.get(f"expected {rule} in {_ASSEMBLE}")
    ir.Operation.create("cf.assert", operands=[truth], attributes={"msg": message})
