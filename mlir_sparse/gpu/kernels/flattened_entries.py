"""Nested loops over sparse levels taken as one loop over the entries of the last of them.

Rows of threads take entries, so many each, and find out which rows (and fibres) these are in: by bisection of the
positions for the first, and by stepping on for those after it. Coordinates that are stored with each entry need no
finding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.gpu.kernels import combine_partials
from mlir_sparse.gpu.kernels.shared_memory_tiles import STAGED, wait, write_terms
from mlir_sparse.gpu.kernels.strided_loops import strided
from mlir_sparse.gpu.loop_roles import NestWriter
from mlir_sparse.gpu.unmapped_error import UnmappedError
from mlir_sparse.gpu.write_loops import Emitter
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import MemoryAccess, access_of
from mlir_sparse.loops.model import ForLoop, Loop, WhileLoop
from mlir_sparse.loops.model_accesses import position_load
from mlir_sparse.loops.regions import operations_of
from mlir_sparse.loops.value_origins import constant_of, made_by
from mlir_sparse.program.launch_values import Work

__all__ = ["NESTS", "FlattenedEntries"]


# Bits of a lane's number.
_LANES = (16, 8, 4, 2, 1)


@dataclass(frozen=True, slots=True)
class _Search:
    """Where a level is found that lies above another.

    Args:
        positions: the argument of the positions of the lower level.
        place: what the lower loop reads its first position at, in the function.
        depth: the lower loop's depth.
    """

    positions: int
    place: ir.Value
    depth: int


class FlattenedEntries:
    """The outermost loops of a function as one.

    Args:
        emitter: what writes the kernel.

    Raises:
        UnmappedError: for loops whose entries do not follow each other in memory.
    """

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter
        self._kernel = emitter.kernel
        self._source = emitter.kernel.source
        count = sum(emitter.mapping.roles.count(role) for role in ("entries", STAGED))
        # What writes the term of an entry, where the threads of a block make them together.
        self._made: Callable[[ir.Value], ir.Value] | None = None
        self._loops = self._chain(count)
        self._bodies = [operations_of(loop.block) for loop in self._loops]
        self._last_loop = self._innermost()
        self._listed = isinstance(self._loops[0], WhileLoop)
        self._searches = () if self._listed else tuple(self._found())
        self._last = self._positions_of_list() if self._listed else self._searches[0].positions

    def _chain(self, count: int) -> list[Loop]:
        loops: list[Loop] = []
        ops: Sequence[ir.Operation] = self._source.main
        for _ in range(count):
            here = self._source.spines_in(ops)
            if len(here) != 1:
                raise UnmappedError(f"expected {count} loops, one in another, but got {len(here)} side by side")
            loops += here
            ops = here[0].body
        return loops

    def _innermost(self) -> ForLoop:
        last = self._loops[-1]
        if not isinstance(last, ForLoop):
            raise UnmappedError(f"expected a loop over entries innermost, but got {last.op}")
        return last

    def _positions_of_list(self) -> int:
        """Returns the argument of the positions of coordinates that are stored with each entry."""
        first = position_load(self._loops[0].starts[0])
        alias = self._source.alias_of(first.buffer) if first is not None else None
        if alias is None:
            raise UnmappedError(f"expected a list of entries, but got {self._loops[0].op}")
        return alias.argument

    def _found(self) -> list[_Search]:
        """Returns the searches from the last level up."""
        searches: list[_Search] = []
        for depth, loop in reversed(list(enumerate(self._loops))[1:]):
            search = None
            if isinstance(loop, ForLoop):
                if loop.is_over_level:
                    continue  # a dense level: its index is a remainder
                search = self._search(loop, depth)
            if search is None:
                raise UnmappedError(f"expected entries that follow each other in memory, but got {loop.op}")
            searches.append(search)
        if not searches or searches[0].depth != len(self._loops) - 1:
            raise UnmappedError("expected a sparse level last")
        return searches

    def _search(self, loop: ForLoop, depth: int) -> _Search | None:
        first, end = position_load(loop.lower), position_load(loop.upper)
        alias = self._source.alias_of(first.buffer) if first is not None else None
        if first is None or end is None or alias is None or not _follows(first.at[0], end.at[0]):
            return None
        return _Search(alias.argument, first.at[0], depth)

    # -- writing -------------------------------------------------------------------------------------------------

    def write(self) -> Work:
        """Writes the loops, at the insertion point; returns how many entries there are, and how many a row takes."""
        kernel, mapping = self._kernel, self._emitter.mapping
        stored = self._source.stored(self._last)
        count, chunk = kernel.size(stored), build.constant(mapping.chunk)
        chunks = build.operation("arith.ceildivui", count.type, count, chunk)
        height, row = kernel.identity("block_dim", "y"), kernel.identity("thread_id", "y")
        begin = build.multiply(kernel.identity("block_id", "x"), height)
        step = build.multiply(kernel.identity("grid_dim", "x"), height)

        def apart(at: ir.Value) -> list[ir.Value]:
            first = build.multiply(at, chunk)
            self._chunk(first, build.minimum(build.add(first, chunk), count))
            return []

        def summed(base: ir.Value) -> list[ir.Value]:
            # Threads beyond the last entry have no iteration, and nothing to add.
            first = build.minimum(build.multiply(build.add(base, row), chunk), count)
            if STAGED in mapping.roles:
                above = self._loops[:-1]
                self._made = write_terms(self._emitter, self._last_loop, above, build.multiply(base, chunk), count)
            self._sums(first, build.minimum(build.add(first, chunk), count), count)
            if STAGED in mapping.roles:
                wait()  # before others write to it again
            return []

        def together(base: ir.Value) -> list[ir.Value]:
            self._steps(build.multiply(build.add(base, row), chunk), count)
            return []

        if self._emitter.shares or self._last_loop.results:
            strided(begin, chunks, step, (), summed if self._last_loop.results else together)
        else:
            strided(build.add(begin, row), chunks, step, (), apart)
        return Work((stored,), mapping.chunk)

    def _chunk(self, first: ir.Value, end: ir.Value) -> None:
        """Writes what a row of threads does with its entries."""

        def body(at: ir.Value, *parents: ir.Value) -> list[ir.Value]:
            found = self._advanced(at, parents)
            with self._emitter.iterations():
                self._enter(at, found)
                self._emitter.block(self._bodies[-1], len(self._loops))
            return found

        strided(first, end, build.constant(1), self._first(first), body)

    def _steps(self, first: ir.Value, count: ir.Value) -> None:
        """Writes the same for threads that stay together: those beyond the last entry do it again, and do not store."""
        last = build.subtract(count, build.constant(1))
        start = build.minimum(first, last)

        def body(iteration: ir.Value, *parents: ir.Value) -> list[ir.Value]:
            at = build.add(first, iteration)
            entry = build.minimum(at, last)
            found = self._advanced(entry, parents)
            with self._emitter.iterations():
                self._enter(entry, found)
                self._emitter.within(
                    build.compare("ult", at, count),
                    lambda: self._emitter.block(self._bodies[-1], len(self._loops)),
                )
            return found

        chunk = build.constant(self._emitter.mapping.chunk)
        strided(build.constant(0), chunk, build.constant(1), self._first(start), body)

    def _enter(self, at: ir.Value, found: Sequence[ir.Value]) -> None:
        """Binds the loops' indices at an entry, and writes what is computed on the way down to it."""
        self._bind(at, found)
        for depth, body in enumerate(self._bodies[:-1]):
            below = body.index(self._loops[depth + 1].op)
            for op in body[:below]:
                self._emitter.one(op, depth + 1)

    def _bind(self, at: ir.Value, found: Sequence[ir.Value]) -> None:
        if self._listed:
            for loop in self._loops:
                for place in [loop.index] if isinstance(loop, ForLoop) else loop.carried:
                    self._emitter.bind(place, at)
            return
        self._emitter.bind(self._last_loop.index, at)
        for search, position in zip(self._searches, found, strict=True):
            self._place(search.place, position, search.depth - 1)

    def _place(self, place: ir.Value, position: ir.Value, depth: int) -> None:
        """Binds the index of a loop, whose place in the level below is known; dense levels share a place."""
        index = _index(self._loops[depth])
        if place == index:
            self._emitter.bind(index, position)
            return
        within, above, size = _split(place, index)
        size = self._emitter.value(size)
        if within:
            self._emitter.bind(index, build.operation("arith.remui", position.type, position, size))
        self._place(above, build.operation("arith.divui", position.type, position, size), depth - 1)

    # -- finding -------------------------------------------------------------------------------------------------

    def _first(self, entry: ir.Value) -> list[ir.Value]:
        """Returns the places of an entry in the levels above, from the last up, by bisection."""
        return self._each(entry, lambda search, key, _: self._bisected(search, key))

    def _advanced(self, entry: ir.Value, before: Sequence[ir.Value]) -> list[ir.Value]:
        """Returns the places of an entry, from those of one that is not behind it."""
        if self._emitter.mapping.chunk == 1:
            return list(before)
        return self._each(entry, lambda search, key, number: self._stepped(search, key, before[number]))

    def _each(self, entry: ir.Value, find: Callable[[_Search, ir.Value, int], ir.Value]) -> list[ir.Value]:
        found: list[ir.Value] = []
        key = entry
        for number, search in enumerate(self._searches):
            key = find(search, self._key(search, key), number)
            found.append(key)
        return found

    def _key(self, search: _Search, position: ir.Value) -> ir.Value:
        """Returns the position in a level, from the place that the level below it was found at."""
        if search is self._searches[0]:
            return position
        below = self._searches[self._searches.index(search) - 1]
        if below.place != _index(self._loops[search.depth]):
            raise UnmappedError("expected no dense level between sparse ones")
        return position

    def _bisected(self, search: _Search, key: ir.Value) -> ir.Value:
        """Returns the last place whose positions begin at a key or before it."""
        positions = self._kernel.buffer(search.positions)
        size = self._kernel.size(self._source.known[search.positions].sizes[0])
        one = build.constant(1)
        high = build.subtract(size, one)

        def goes_on(low: ir.Value, up: ir.Value) -> ir.Value:
            return build.compare("ugt", up, build.add(low, one))

        def half(low: ir.Value, up: ir.Value) -> list[ir.Value]:
            middle = build.bits_of("shrui", build.add(low, up), one)
            before = build.compare("ule", build.widened(build.load(positions, middle)), key)
            return [build.select(before, middle, low), build.select(before, up, middle)]

        return build.value_after([build.constant(0), high], goes_on, half)[0]

    def _stepped(self, search: _Search, key: ir.Value, before: ir.Value) -> ir.Value:
        positions, one = self._kernel.buffer(search.positions), build.constant(1)

        def goes_on(place: ir.Value) -> ir.Value:
            following = build.widened(build.load(positions, build.add(place, one)))
            return build.compare("ule", following, key)

        return build.value_after([before], goes_on, lambda place: [build.add(place, one)])[0]

    # -- sums ----------------------------------------------------------------------------------------------------

    def _sums(self, first: ir.Value, end: ir.Value, count: ir.Value) -> None:
        """Writes sums over entries: each is added to the result where another element begins, and at the end."""
        emitter, operator = self._emitter, self._emitter.combine
        store = self._store()
        indices, (carried,) = store.at, self._last_loop.carried
        kind = carried.type
        entry = build.minimum(first, build.subtract(count, build.constant(1)))
        parents = self._first(entry)
        with emitter.iterations():
            self._enter(entry, parents)
            start = [combine_partials.identity(operator, kind), *(emitter.value(index) for index in indices), *parents]
        rank = len(indices)

        def body(at: ir.Value, so_far: ir.Value, *state: ir.Value) -> list[ir.Value]:
            here, found = list(state[:rank]), self._advanced(at, state[rank:])
            with emitter.iterations() as counted:
                self._enter(at, found)
                now = [emitter.value(index) for index in indices]
                accumulator = so_far
                if rank:
                    other = _any([build.compare("ne", one, two) for one, two in zip(now, here, strict=True)])
                    emitter.always(lambda: build.branch(other, lambda: emitter.store_at(store, so_far, here)))
                    accumulator = build.select(other, combine_partials.identity(operator, kind), so_far)
                emitter.bind(carried, accumulator)
                if self._made is not None:
                    whole = [combine_partials.combined(operator, accumulator, self._made(at))]
                else:
                    whole = counted(emitter.block(self._bodies[-1], len(self._loops)), [accumulator])
            return [*whole, *now, *found]

        whole, *state = strided(first, end, build.constant(1), start, body)
        self._add_last(store, whole, state[:rank])

    def _add_last(self, store: MemoryAccess, whole: ir.Value, indices: Sequence[ir.Value]) -> None:
        """Adds what is left of each thread: at once for a warp that is within one element, as in a long row."""
        emitter, operator = self._emitter, self._emitter.combine
        same = [build.compare("eq", at, combine_partials.of_lane(at, 0)) for at in indices]

        def at_once() -> None:
            total = combine_partials.over_lanes(operator, whole, _LANES)
            first = build.compare("eq", self._kernel.lane(), build.constant(0))
            build.branch(first, lambda: emitter.store_at(store, total, indices))

        if same:
            everywhere = combine_partials.over_lanes("and", build.conjunction(same), _LANES)
            build.branch(everywhere, at_once, lambda: emitter.store_at(store, whole, indices))
        else:
            at_once()

    def _store(self) -> MemoryAccess:
        """Returns the store of the sum, behind the outermost loop that sums up."""
        for depth in range(len(self._loops) - 1, -1, -1):
            around = self._bodies[depth - 1] if depth else self._source.main
            stores = [access for op in around if (access := access_of(op)) is not None and access.value is not None]
            if len(stores) == 1 and stores[0].value in self._loops[depth].results:
                return stores[0]
        raise UnmappedError("expected a sum that is stored as it is")


def _index(loop: Loop) -> ir.Value:
    return loop.block.arguments[0]


def _follows(place: ir.Value, other: ir.Value) -> bool:
    """Returns whether one place is behind another, and the next one may be that: they are not counted by twos."""
    op = made_by(other, "arith.addi")
    if op is None or place not in list(op.operands):
        return False
    made = made_by(place, "arith.muli")
    return not (made is not None and any(constant_of(o) == 2 for o in made.operands))


def _split(place: ir.Value, index: ir.Value) -> tuple[bool, ir.Value, ir.Value]:
    """Returns the parts of `index + above * size`: whether there is the index, then the rest."""
    op = made_by(place, "arith.addi")
    if op is not None and index in list(op.operands):
        (product,) = [operand for operand in op.operands if operand != index]
        made = made_by(product, "arith.muli")
        if made is not None:
            above, size = made.operands
            return True, above, size
    raise UnmappedError(f"expected a place that levels tell, but got {place}")


def _any(conditions: Sequence[ir.Value]) -> ir.Value:
    return reduce(partial(build.bits_of, "ori"), conditions)


NESTS: dict[str, NestWriter] = {"entries": lambda emitter: FlattenedEntries(emitter).write()}
