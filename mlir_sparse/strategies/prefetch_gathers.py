"""Loops over stored entries that ask for the elements of arrays which later entries name, where these lie far apart.

In `y(i) = A(i,j) * x(j)` an entry reads x where its coordinate says. A processor begins with the elements of the next
entries while it waits for one, as long as it foresees what comes: at the end of a short row it does not, and what it
has begun is in vain. So where x is larger than the second-level cache and coordinates jump about in it, the elements of
entries further on are asked for: SpMV with rows of one to three entries takes half the time, with most rows empty a
third. Where the coordinates of neighbouring entries and rows are near each other, as on grids and of finite elements,
that would cost a tenth; so the loop is written twice, and a sample of the operand's own coordinates decides in each
call, before all loops, which is run. Loops over vectors of entries have no ends to foresee and stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import MemoryAccess, access_of
from mlir_sparse.loops.emit_copies import replace
from mlir_sparse.loops.emit_prefetch import PrefetchDistances, is_larger, later_coordinate, prefetch
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.model_accesses import NamedRow, position_load
from mlir_sparse.loops.operation_index import Nest
from mlir_sparse.loops.regions import is_loop, operations_within
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.strategy import Strategy
from mlir_sparse.loops.value_origins import is_inside, outermost, result_maker

__all__ = ["PREFETCH_GATHERS"]

# Fewer entries are not looked at: they are read in less time than the gain is worth.
_LEAST = 1 << 15
# Where the sample is taken, and how many entries in a row are compared at each place: some rows of a grid.
_PLACES, _WINDOW = 16, 32
# Elements so near each other count as one place.
_NEAR = 8
# A loop over the entries of all rows has no ends to foresee: only arrays so many times as large are worth it. Sums of
# columns of a circuit, 1.4 MB, took 1.2 of the time with requests, of a power law, 4 MB, 0.7.
_WITHOUT_ENDS = 4
# Bytes of a line of the caches. Where an entry reads more, requests win nothing: rows of 64 elements of f64 took 1.07
# of the time with them.
_LINE = 64
# The body is written twice; one that does so much does not wait for its elements.
_MOST_OPERATIONS = 40


@dataclass(frozen=True, slots=True)
class _Gathers:
    """A loop over entries, with what it reads or writes where their coordinates say.

    Args:
        loop: the loop.
        accesses: one to each array.
        coordinates: the load of the coordinates.
        distances: how far ahead is asked, and for arrays of which size.
    """

    loop: ForLoop
    accesses: tuple[MemoryAccess, ...]
    coordinates: MemoryAccess
    distances: PrefetchDistances


def _candidates(nest: Nest) -> Sequence[ForLoop]:
    """Returns loops over entries, but for rests of what was written in vectors."""
    return [loop for loop in nest.for_loops if loop.is_over_entries and loop.step == 1 and not _is_rest(loop)]


def _is_rest(loop: ForLoop) -> bool:
    vectors = any(isinstance(result.type, ir.VectorType) for op in loop.body for result in op.results)
    return build.is_kept_rolled(loop.op) and not vectors


def _applies(loop: ForLoop, nest: Nest) -> _Gathers | Missed | None:
    body, root = operations_within(loop.op), outermost(loop.op)
    if any(map(is_loop, body)):
        return None
    found: dict[ir.Value, MemoryAccess] = {}
    lists: dict[ir.Value, MemoryAccess] = {}
    for access in [access for op in body if (access := access_of(op)) is not None]:
        coordinate = _coordinate(access, loop)
        if coordinate is not None and not is_inside(access.buffer, root):
            if access.value is not None or access.buffer not in found:
                found[access.buffer] = access
            lists.setdefault(coordinate.buffer, coordinate)
    if not found:
        return None
    row = NamedRow.of(loop)
    if row is not None and row.is_of_entry:
        return Missed("its rows lie anywhere in memory: entries behind one are not those of the next")
    distances = PrefetchDistances.of(nest.options)
    if len(lists) != 1 or any(is_inside(buffer, root) for buffer in lists):
        return Missed("it reads arrays by several lists of coordinates")
    if not distances.gathers:
        return Missed("elements come no sooner where they are asked for, by the machine's profile")
    if any(_bytes_of(access) > _LINE for access in found.values()):
        return Missed("an entry reads several lines of the caches, which keep a processor busy")
    if len(body) > _MOST_OPERATIONS:
        return Missed(f"more than {_MOST_OPERATIONS} operations are done for an entry: it does not wait for elements")
    if any(op.name == "memref.prefetch" and op.operands[0] in found for op in body):
        return Missed("it asks for them already")
    (coordinates,) = lists.values()
    return _Gathers(loop, tuple(found.values()), coordinates, distances)


def _coordinate(access: MemoryAccess, loop: ForLoop) -> MemoryAccess | None:
    """Returns the load of the coordinate of an entry that says which row or element is accessed, at its first one."""
    if not access.at:
        return None
    coordinate = position_load(access.at[0])
    if coordinate is None or coordinate.at != (loop.index,) or any(is_inside(at, loop.op) for at in access.at[1:]):
        return None
    return coordinate


def _rewrite(gathers: _Gathers, _: Nest) -> None:
    """Writes the loop once more, with requests, and before all loops the question which of the two is run."""
    loop = gathers.loop
    with ir.InsertionPoint(outermost(loop.op)):
        asked = _lie_apart(gathers)
    with ir.InsertionPoint(loop.op):
        kinds = [result.type for result in loop.results]
        results = build.branch(asked, lambda: _asking(gathers), lambda: _copied(loop), kinds)
    replace(loop.op, results)


def _copied(loop: ForLoop) -> Sequence[ir.Value]:
    return list(loop.op.clone(ir.InsertionPoint.current).operation.results)


def _asking(gathers: _Gathers) -> Sequence[ir.Value]:
    """Writes the loop with a request for each array at the begin of an iteration."""
    copied = ForLoop(gathers.loop.op.clone(ir.InsertionPoint.current).operation)
    with ir.InsertionPoint(copied.body[0]):
        here = MemoryAccess(gathers.coordinates.op, gathers.coordinates.buffer, (copied.index,), None)
        later = later_coordinate(here, gathers.distances.gathers)
        for access in gathers.accesses:
            prefetch(access.buffer, [later, *access.at[1:]], written=access.value is not None)
    return copied.results


def _bytes_of(access: MemoryAccess) -> int:
    """Returns how many consecutive bytes are accessed."""
    kind = access.op.results[0].type if access.value is None else access.value.type
    count = ir.VectorType(kind).shape[0] if isinstance(kind, ir.VectorType) else 1
    return count * _element_bytes(access.buffer)


def _element_bytes(buffer: ir.Value) -> int:
    element = build.element_of(buffer)
    return 8 if isinstance(element, ir.IndexType) else max(1, build.bytes_of(element))


def _lie_apart(gathers: _Gathers) -> ir.Value:
    """Writes whether arrays are large, and most entries of a sample have no neighbour that is near."""
    coordinates, truth = gathers.coordinates.buffer, ir.IntegerType.get_signless(1)
    size = build.size_of(coordinates)
    local = gathers.distances.local * (_WITHOUT_ENDS if gathers.loop.is_whole else 1)
    large = [is_larger(access.buffer, local) for access in gathers.accesses]
    some = large[0]
    for other in large[1:]:
        some = build.bits_of("ori", some, other)
    looked = build.conjunction([some, build.compare("ugt", size, build.constant(_LEAST))])

    def sampled() -> list[ir.Value]:
        stride = build.operation("arith.divui", size.type, size, build.constant(_PLACES))

        def place(number: ir.Value, so_far: ir.Value) -> list[ir.Value]:
            begin = build.multiply(number, stride)
            last = build.load(coordinates, build.add(begin, build.constant(_WINDOW - 1)))

            def neighbour(at: ir.Value, found: ir.Value) -> list[ir.Value]:
                here = build.load(coordinates, build.add(begin, at))
                kind = here.type
                apart = build.add(build.subtract(here, last), build.integer(_NEAR, kind))
                return [build.bits_of("ori", found, build.compare("ult", apart, build.integer(2 * _NEAR, kind)))]

            no = build.integer(0, truth)
            (near,) = build.loop(build.constant(_WINDOW - 1), [no], neighbour)
            build.keep_rolled(result_maker(near), scalar=True)  # written out, it would take longer to compile than all
            return [build.add(so_far, build.select(near, build.constant(0), build.constant(1)))]

        (apart,) = build.loop(build.constant(_PLACES), [build.constant(0)], place)
        build.keep_rolled(result_maker(apart), scalar=True)
        return [build.compare("ugt", apart, build.constant(_PLACES // 2))]

    return build.branch(looked, sampled, lambda: [build.integer(0, truth)], [truth])[0]


PREFETCH_GATHERS = Strategy("prefetch-gathers", _candidates, _applies, _rewrite)
"""Writes loops over entries once more, which ask for elements that later entries name."""
