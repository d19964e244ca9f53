"""What loops take: a time for each kind of step, which `scripts/measure-machine` measures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mlir_sparse.notation import IndexVar
from mlir_sparse.plan.algebra.estimates import EntrySet, Estimates, can_be_met

__all__ = ["MACHINE", "MachineTimes", "NestTime", "nest_time"]


@dataclass(frozen=True, slots=True)
class MachineTimes:
    """Times in nanoseconds, and sizes in elements.

    Args:
        walk: a stored entry in a loop over entries.
        look_up: an element of an array at a coordinate.
        lane: an element of a row that vectors go over.
        insert: an entry of a sparse result.
        near_line: a cache line of an array that is in the second-level cache.
        far_line: one that is not.
        write: an element of a dense result that stays in the caches.
        fresh_write: one on pages that the process has not touched.
        call: a loop nest, whatever it does.
        sparse_result: a sparse result, whatever it has.
        convert: an entry that is sorted into other storage.
        function: a function such as exp of one number.
        near: up to how many elements arrays are near.
        kept: up to how many elements results stay in the caches.
    """

    walk: float = 1.4
    look_up: float = 3.0
    lane: float = 0.07
    insert: float = 8.0
    near_line: float = 0.3
    far_line: float = 2.0
    write: float = 0.5
    fresh_write: float = 2.5
    call: float = 6e3
    sparse_result: float = 30e3
    convert: float = 15.0
    function: float = 5.0
    near: float = 131_072
    kept: float = 262_144


MACHINE = MachineTimes()

# Elements of a dense temporary beyond which no plan has one.
_LIMIT = 2e9


@dataclass(frozen=True, slots=True)
class NestTime:
    """What one loop nest takes.

    Args:
        nanoseconds: the time.
        places: at how many places its operands meet.
        entries: the entries of its result.
        sparse: whether the result is sparse.
        most: the most entries that the result can have.
    """

    nanoseconds: float
    places: float
    entries: float
    sparse: bool
    most: float


def nest_time(
    relations: Sequence[EntrySet], kept: Iterable[IndexVar], estimates: Estimates, machine: MachineTimes = MACHINE
) -> NestTime:
    """Returns what one loop nest over all relations takes.

    Args:
        relations: the operands.
        kept: the variables of the result.
        estimates: estimates for the variables.
        machine: the times of steps.
    """
    sparse = [relation for relation in relations if relation.sparse]
    arrays = [relation for relation in relations if not relation.sparse]
    variables = frozenset[IndexVar]().union(*(relation.variables for relation in relations))
    walked = frozenset[IndexVar]().union(*(relation.variables for relation in sparse))
    result = frozenset(kept)
    places, space = estimates.join(relations), estimates.space(result)
    inserts = bool(sparse) and len(result) > 1 and result <= walked
    entries = places if result == variables else estimates.projected(places, result)
    if sparse:
        mask = result if inserts else frozenset[IndexVar]()
        total = _sparse_loops(sparse, arrays, variables - walked, mask, estimates, machine)
    else:
        total = places * machine.lane * max(1, len(relations))
    if inserts:
        total += machine.insert * places * (0.3 if len(sparse) == 1 else 1.0) + machine.sparse_result
    else:
        entries = space
        each = machine.write if space < machine.kept else machine.fresh_write
        total += each * space if space < _LIMIT else math.inf
    orders = [relation.order for relation in sparse if relation.order and len(relation.order) > 1]
    if not can_be_met(orders):
        total += machine.convert * min(relation.entries for relation in sparse)
    most = min(space, estimates.bound(sparse, variables)) if inserts else space
    return NestTime(total + machine.call, places, entries, inserts, most)


def _sparse_loops(
    sparse: Sequence[EntrySet],
    arrays: Sequence[EntrySet],
    rows: frozenset[IndexVar],
    mask: frozenset[IndexVar],
    estimates: Estimates,
    machine: MachineTimes,
) -> float:
    """Returns the time of loops over entries, with loops over rows of arrays inside of them if there are any."""
    steps = estimates.join(sparse)
    if len(sparse) > 1:
        steps = max(steps, estimates.steps(sparse, mask))
    total = steps * machine.walk * len(sparse)
    each = machine.look_up * (0.35 if rows else 0.6)
    total += steps * each * (len(sparse) - 1)
    for array in arrays:
        read = array.variables - rows
        # What the inner loops have no variable of is read outside of them.
        total += each * (min(steps, estimates.prefix(sparse, read)) if read else 0.0)
        if array.variables & rows:
            line = machine.far_line if array.entries > machine.near else machine.near_line
            total += steps * max(1.0, estimates.space(array.variables & rows) / 8) * line
    if rows:
        total += steps * estimates.space(rows) * machine.lane * max(1, len(sparse) + len(arrays) - 1)
    return total
