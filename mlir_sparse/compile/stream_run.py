"""Passes over the parts of sources: each part is read while the one before it is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from math import lcm
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.entry_points import evaluate
from mlir_sparse.compile.stream_passes import PassOverParts, StatementInPass, StatementOfStream, WholeStatement
from mlir_sparse.errors import TooLargeError
from mlir_sparse.notation import Semiring
from mlir_sparse.tensor.files.tensor_source import TensorSource, read_part

__all__ = ["StreamRun"]

Array = np.ndarray[Any, Any]

_CHUNKS = 4
"""A chunk takes this part of the memory: one is computed while the next is read and checked."""

_LEAST_PART = 4
"""Parts are made smaller for what is held while they are read, to this part of a chunk at the least."""

_SMALL = 1 << 24
"""Bytes that are held while parts are read for which nothing is refused: libraries take some of it for any file."""

_LARGE_PAGE = 1 << 21


@dataclass(slots=True, eq=False)
class StreamRun:
    """A run of passes.

    Args:
        values: what is there, by name; what is computed is added.
        arrays: the caller's arrays for values, which share no memory with what is read.
        memory: the bytes that parts of sources take together.
        options: those of `evaluate` for statements on values that are there.
        progress: called with the number of coordinates done and their total after each piece.
    """

    values: dict[str, Any]
    arrays: Mapping[str, Array]
    memory: int
    ring: Semiring
    options: Mapping[str, Any]
    progress: Callable[[int, int], None] | None = None

    def run(self, steps: Sequence[WholeStatement | PassOverParts]) -> None:
        """Computes all values."""
        bounds = [self._bounds(one) if isinstance(one, PassOverParts) else [0] for one in steps]
        done, total = 0, sum(own[-1] for own in bounds)
        for one, own in zip(steps, bounds, strict=True):
            if isinstance(one, WholeStatement):
                self._run_whole(one.statement)
            else:
                _Pass(self, one).run(own, done, total)
                done += own[-1]

    def _run_whole(self, one: StatementOfStream) -> None:
        operands = {name: self.values[value] for name, value in one.operands.items()}
        out = self.arrays.get(one.value, one.out)
        self.values[one.value] = evaluate(one.assignment, tensors=operands, out=out, semiring=self.ring, **self.options)

    def source_of(self, value: str) -> TensorSource | None:
        """Returns the source behind a value; None for what is there, or made by the pass."""
        found = self.values.get(value)
        return found if isinstance(found, TensorSource) else None

    def _bounds(self, one: PassOverParts) -> list[int]:
        """Returns the bounds of pieces whose parts of all sources are small enough together."""
        limit = max(1, self.memory // _CHUNKS)
        read = [
            (source, statement.cut.halos.get(name))
            for statement in one.statements
            for name in statement.cut.parts
            if (source := self.source_of(statement.value_of(name))) is not None
        ]
        count = len({id(source) for source, _ in read})
        # Parts with neighbours are read from multiples of a unit on, and what is before them is left out.
        unit = lcm(*(source.unit for source, halo in read if halo is None))
        extent = one.statements[0].extent
        merged = {
            bound // (1 if halo is None else halo.factor)
            for source, halo in read
            for bound in self._bounds_of(source, limit // count)
        }
        found = sorted({bound for bound in merged if bound % unit == 0 and bound < extent} | {0, extent})
        found = found if extent else [0, 0]
        for statement in one.statements:
            self._check_halos(statement, found, limit)
        return found

    def _bounds_of(self, given: TensorSource, limit: int) -> list[int]:
        """Returns the bounds of a source's parts, two of which and what is held beside take 2.5 times a limit.

        Raises:
            TooLargeError: for a file that is read in more than the memory at a time, and a part of one coordinate that
                exceeds the limit.
        """
        small, least = limit, max(1, limit // _LEAST_PART)
        while small > least and 2 * _pages(small) + given.beside(small) > 2.5 * limit:
            small = max(least, small * 7 // 8)
        beside = given.beside(small)
        if beside > max(self.memory, _SMALL):
            raise TooLargeError(
                f"expected a file that is read in {self.memory:,} bytes, but got {beside:,} for what {given!r} is read "
                "in at a time, such as its chunks: give more memory, or write it in smaller ones"
            )
        try:
            return given.bounds(small)
        except TooLargeError:
            return given.bounds(limit)

    def _check_halos(self, one: StatementInPass, bounds: Sequence[int], limit: int) -> None:
        """Refuses pieces that read so much beside their own coordinates that two of them exceed the memory."""
        for name in one.cut.halos:
            given = self.source_of(one.value_of(name))
            if given is None:
                continue
            for low, high in pairwise(bounds):
                begin, end = one.cut.part(name, low, high, one.extents)
                nbytes = given.nbytes_between(begin, min(end, given.shape[given.axis]))
                if nbytes > limit * _CHUNKS // 2:
                    raise TooLargeError(
                        f"expected parts of at most {limit * _CHUNKS // 2:,} bytes with what they read beside, but got "
                        f"{nbytes:,} of {one.cut.operand(name)} for {one.cut.variable} from {low} to {high}: give more "
                        "memory"
                    )


class _Pass:
    """One pass: what each piece reads, and the results that meet."""

    def __init__(self, stream: StreamRun, one: PassOverParts) -> None:
        self._stream = stream
        self._one = one
        self._made = {statement.statement.value for statement in one.statements}
        self._written = {
            value: array
            for value, array in stream.arrays.items()
            if any(own.statement.value == value and own.cut.axis is not None for own in one.statements)
        }
        self._listed: dict[str, list[Any]] = {}

    def run(self, bounds: Sequence[int], done: int, total: int) -> None:
        with self._sources() as given:
            for (low, high), parts in self._read_ahead(bounds, given):
                self._run_piece(low, high, bounds[-1], parts)
                del parts  # before the part after the next is read
                if self._stream.progress is not None:
                    self._stream.progress(done + high, total)
        for own in self._one.statements:
            value = own.statement.value
            if value not in self._one.kept:
                continue
            found = self._written.get(value)
            if found is None:
                results = self._listed[value]
                found = own.pieces.joined(results) if own.cut.axis is not None else results[0]
            array = self._stream.arrays.get(value)
            if array is not None and array is not found:
                array[...] = found
                found = array
            self._stream.values[value] = found

    @contextmanager
    def _sources(self) -> Iterator[Mapping[str, Any]]:
        """Yields what parts are taken of, by value; results count once this has ended, which checks what was read."""
        values = {own.value_of(name) for own in self._one.statements for name in own.cut.parts} - self._made
        with ExitStack() as passes:
            yield {
                value: passes.enter_context(given.one_pass()) if isinstance(given, TensorSource) else given
                for value, given in ((value, self._stream.values[value]) for value in sorted(values))
            }

    def _run_piece(self, low: int, high: int, extent: int, parts: Mapping[tuple[int, str], Any]) -> None:
        made: dict[str, Any] = {}
        for number, own in enumerate(self._one.statements):
            operands = {name: self._stream.values[own.value_of(name)] for name in own.cut.whole}
            for name in own.cut.parts:
                value = own.value_of(name)
                operands[name] = made[value] if value in self._made else parts[number, name]
            made[own.statement.value] = self._computed(own, operands, low, high, extent)

    def _computed(self, own: StatementInPass, operands: Mapping[str, Any], low: int, high: int, extent: int) -> Any:
        value, axis = own.statement.value, own.cut.axis
        dense, written = own.pieces.output.encoding is None, self._written.get(own.statement.value)
        if axis == 0 and dense and written is not None:
            return own.pieces.kernel(**operands, out=written[low:high])
        found: Any = own.pieces.kernel(**operands)
        if axis is None:
            self._listed[value] = [own.pieces.joined([*self._listed.get(value, []), found])]
        elif value not in self._one.kept:
            return found
        elif not dense:
            self._listed.setdefault(value, []).append(found)
        else:
            if written is None:
                shape = (*found.shape[:axis], extent, *found.shape[axis + 1 :])
                written = self._written[value] = np.empty(shape, found.dtype)
            written[(slice(None),) * axis + (slice(low, high),)] = found
        return found

    def _read_ahead(
        self, bounds: Sequence[int], given: Mapping[str, Any]
    ) -> Iterator[tuple[tuple[int, int], Mapping[tuple[int, str], Any]]]:
        """Yields the parts of each piece; the next are read meanwhile."""

        def read(low: int, high: int) -> Mapping[tuple[int, str], Any]:
            found, known = dict[tuple[int, str], Any](), dict[tuple[str, int, int, int], Any]()
            for number, own in enumerate(self._one.statements):
                for name, axis in own.cut.parts.items():
                    value = own.value_of(name)
                    if value in self._made:
                        continue
                    key = value, axis, *own.cut.part(name, low, high, own.extents)
                    if key not in known:
                        known[key] = _part(given[value], *key[1:])
                    found[number, name] = known[key]
            return found

        with ThreadPoolExecutor(1, "mlir-sparse-read") as reader:
            ranges = list(pairwise(bounds))
            following = reader.submit(read, *ranges[0])
            for number, piece in enumerate(ranges):
                parts = following.result()
                if number + 1 < len(ranges):
                    following = reader.submit(read, *ranges[number + 1])
                yield piece, parts


def _pages(nbytes: int) -> int:
    """Returns the bytes that a part takes: some large pages are filled in part, as in each array the last is."""
    return nbytes if nbytes < _LARGE_PAGE // 2 else nbytes + _LARGE_PAGE * 3 // 2


def _part(given: Any, axis: int, low: int, high: int) -> Any:
    if not isinstance(given, TensorSource):
        return _between(given, axis, low, high)
    begin = low // given.unit * given.unit
    end = min(-(-high // given.unit) * given.unit, given.shape[axis])
    read = read_part(given, begin, end)
    return read if (begin, end) == (low, high) else _between(read, axis, low - begin, high - begin)


def _between(given: Any, axis: int, low: int, high: int) -> Any:
    return given[(slice(None),) * axis + (slice(low, high),)]
