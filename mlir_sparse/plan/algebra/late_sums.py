"""Sums that are done later than they could be: by what reads a part, not by the part itself.

A part that is summed as far as it can be is often smaller. It is not where the sum leaves one variable: a vector is an
array, and what reads it has no entries to skip others by. Nor is it cheaper where loops into the sum meet rows, or come
to its elements in no order, and those into a sparse part with a variable more append their places.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse.plan.algebra.estimates import EntrySet, bits_of, repeated, union
from mlir_sparse.plan.algebra.nest_loops import predecessors
from mlir_sparse.plan.algebra.nest_times import NestTimes

__all__ = ["LateParts", "late_sums", "least_of_loops"]

# What cannot save this share of the time of a product is not looked at.
_GAINS = 0.01
# A sparse part is read in place of an array where so few of that's elements have entries.
_FEW = 0.25

LateParts = Sequence[tuple[int, float]]
"""Parts that are summed later, each with the least time that plans with it can take beside other parts."""


def late_sums(
    factors: Sequence[EntrySet],
    kept: int,
    summed: int,
    nests: NestTimes,
    most: float,
    all_most: float,
    gains: float,
    *,
    alone: bool = False,
    elements: float = 0.0,
) -> list[tuple[EntrySet, float]]:
    """Returns what a part is that keeps variables beyond those that are read, where that can pay at all.

    Each has the least time of loops into such a part, and of the call of those that read it. Of what is a part where
    levels contradict each other nothing is known: the plan says which operand is sorted, and estimates say no better.

    Args:
        factors: the factors of the part.
        kept: the variables of the part that are read.
        summed: those that it is summed over.
        nests: the times of loop nests.
        most: the time of the part that is summed.
        all_most: the time of the whole product.
        gains: the share of that time which plans with the part must save.
        alone: whether the part is all that is read, so that sums into a sparse result append its entries again.
        elements: how many elements the part has as an array that is read, of which entries are to be few; else 0.
    """
    machine, estimates = nests.machine, nests.estimates
    sparse = [one for one in factors if one.sparse]
    walked, least = union(sparse), 2 * machine.call + machine.sparse_result
    saved = max(_GAINS, gains) * all_most
    if not summed & walked or kept & ~walked or least >= all_most - saved:
        return []
    if len(sparse) > 1 and predecessors(sparse) is None:
        return []
    factor = union(factors) if len(factors) == 1 else 0
    reading = machine.append if alone and kept & (kept - 1) else machine.walk
    left = 0.0 if alone or len(sparse) < 2 else max(one.entries for one in sparse)
    met, found = estimates.meet(sparse)[0], list[tuple[EntrySet, float]]()
    for late in _subsets(summed & walked):
        variables = kept | late
        if variables == factor or not variables & (variables - 1):
            continue
        entries = estimates.projected(met, variables)
        time = least + (machine.insert if _all_inserted(factors, variables) else machine.append) * entries
        fewer = entries < left or estimates.projected(entries, kept) < _FEW * elements
        if time + reading * entries < (all_most if fewer else most) - saved:
            found.append((EntrySet(variables, entries, True, {}, {}), time))
    return found


def least_of_loops(factors: Sequence[EntrySet], nanoseconds: float, elements: float, nests: NestTimes) -> float:
    """Returns the least that loops take whose places are summed later, from the least of those that sum.

    They come to the same places, and each takes as long as a step at least; they write no array and look none up.
    Nothing is known of tensors with three levels, whose order may let sums come between loops that meet rows.

    Args:
        factors: what the loops read.
        nanoseconds: the least time of loops that sum.
        elements: the elements of the array that those sum into; 0 for none.
        nests: the times of loop nests.
    """
    if any(len(bits_of(one.variables)) > 2 for one in factors):
        return 0.0
    if not elements:
        return nanoseconds
    machine = nests.machine
    written = max(machine.write, machine.fresh_write) + machine.far_line / 8
    return (nanoseconds - elements * written) / (1 + machine.scatter_in(elements) / machine.walk)


def _all_inserted(factors: Sequence[EntrySet], kept: int) -> bool:
    """Returns whether loops meet several sparse tensors whatever is made first: no factor is an array, nor becomes one.

    Those over one sparse tensor append what they come to.
    """
    if len(factors) == 1 or not all(one.sparse for one in factors):
        return False
    left = [one.variables & (kept | repeated(factors)) for one in factors]
    return all(variables & (variables - 1) for variables in left)


def _subsets(variables: int) -> list[int]:
    """Returns the sets of some variables but for that of none, small ones first."""
    found = [0]
    for one in bits_of(variables):
        found += [others | one for others in found]
    return sorted(found[1:], key=int.bit_count)
