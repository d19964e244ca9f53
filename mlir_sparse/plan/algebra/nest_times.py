"""What products take by estimate: in one loop nest, with a mask or copies of operands made first, or by BLAS."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from mlir_sparse.machine import MachineTimes
from mlir_sparse.plan.algebra.copied_operands import CopiedOperand, CopiedOperands, with_copies
from mlir_sparse.plan.algebra.estimates import EntrySet, Estimates
from mlir_sparse.plan.algebra.loop_times import LoopNest, NestTime, blas_time, time_to_sort
from mlir_sparse.plan.algebra.masked_products import Mask, masks_of

__all__ = ["NestTimes"]


class NestTimes:
    """The times of loop nests, each found once.

    Args:
        estimates: estimates for the variables.
        machine: the times of steps.
        has_blas: whether BLAS may multiply two arrays.
        has_masks: whether products with a mask may be made in a nest of their own, which takes memory.
    """

    def __init__(
        self, estimates: Estimates, machine: MachineTimes, *, has_blas: bool = False, has_masks: bool = True
    ) -> None:
        self.estimates = estimates
        self._has_masks = has_masks
        self.machine = machine
        self.has_blas = has_blas
        self._known: dict[tuple[int, ...], NestTime] = {}
        # By the same keys times that are exceeded.
        self._exceeded: dict[tuple[int, ...], float] = {}
        # What loops take, by the variables of the result and the operands, whatever takes less.
        self._loops: dict[tuple[object, ...], NestTime] = {}
        # The nests by the same keys, for those that may be asked for again with more time.
        self._nests: dict[tuple[object, ...], LoopNest] = {}
        # The masks among operands: what they give is one object for all nests that read it.
        self._masks: dict[tuple[object, ...], list[Mask]] = {}
        self._mask_times: dict[Mask, float] = {}
        # What the keys name; it lives as long as they do.
        self._named: list[EntrySet] = []
        # How many ways searches looked at: what they take, whatever the processor.
        self.work = 0
        self._copies: CopiedOperands | None = None
        # By the variables of results whose dimensions have an order that of the last dimension.
        self.last: dict[int, int] = {}

    def allow_copies(self, fits: Callable[[EntrySet], bool]) -> None:
        """Lets nests read operands from copies that are arrays.

        Args:
            fits: whether a part with a result fits in memory.
        """
        self._copies = CopiedOperands(self.estimates, self.machine, fits)
        self._known.clear()
        self._exceeded.clear()

    def of(
        self, relations: Sequence[EntrySet], kept: int, most: float = math.inf, *, array: bool = False
    ) -> NestTime | None:
        """Returns what one loop nest over all relations takes, or BLAS or a nest more where that takes less.

        It is None where that is known to exceed a time.

        Args:
            relations: the operands.
            kept: the variables of the result.
            most: the time, in nanoseconds.
            array: whether the result is an array although loops could leave elements out.
        """
        key = (kept, array, *map(id, relations))
        found = self._known.get(key)
        if found is None:
            if most <= self._exceeded.get(key, 0.0):
                return None
            found = self._least(relations, kept, most, array=array)
            self._named += relations
            if found is None:
                self._exceeded[key] = most
                return None
            self._known[key] = found
        return found if found.nanoseconds <= most else None

    def _least(self, relations: Sequence[EntrySet], kept: int, most: float, *, array: bool) -> NestTime | None:
        blas = blas_time(relations, kept, self.estimates, self.machine) if self.has_blas else math.inf
        masks = self._masks_among(relations, kept) if self._has_masks and len(relations) > 2 else ()
        within = math.inf if masks or blas < math.inf else most
        found = self._in_loops(relations, kept, within, array=array)
        if self._copies is not None:
            found = self._with_copies(self._copies, relations, kept, found, within, array=array)
        if found is None:
            return None
        if blas < found.nanoseconds:
            found = found._replace(nanoseconds=blas, by_blas=True, copied=())
        for mask in masks:
            apart = self.of_mask(mask)
            if apart < found.nanoseconds:
                rest = self.of([*mask.others, mask.result], kept, found.nanoseconds - apart, array=array)
                if rest is not None and apart + rest.nanoseconds < found.nanoseconds:
                    found = found._replace(nanoseconds=apart + rest.nanoseconds, masked=mask, copied=())
        return found

    def _masks_among(self, relations: Sequence[EntrySet], kept: int) -> Sequence[Mask]:
        key = (kept, *relations)
        found = self._masks.get(key)
        if found is None:
            found = self._masks[key] = masks_of(relations, kept, self.estimates)
        return found

    def _with_copies(
        self,
        copies: CopiedOperands,
        relations: Sequence[EntrySet],
        kept: int,
        found: NestTime | None,
        most: float,
        *,
        array: bool,
    ) -> NestTime | None:
        """Returns a nest that reads some operands from copies, one after the other, while that takes less time."""
        most = found.nanoseconds if found else most
        left = copies.among(relations, most)
        chosen: tuple[CopiedOperand, ...] = ()
        ways = [(one,) for one in left] + ([tuple(left)] if len(left) > 1 else [])
        while ways:
            best = None
            for way in ways:
                nest = self._of_copies(way, relations, kept, most, array=array)
                if nest is not None:
                    found, most, best = nest, nest.nanoseconds, way
            chosen = best or chosen
            ways = [(*chosen, one) for one in left if one not in chosen] if best else []
        return found

    def _of_copies(
        self, copied: tuple[CopiedOperand, ...], relations: Sequence[EntrySet], kept: int, most: float, *, array: bool
    ) -> NestTime | None:
        """Returns a nest that reads some operands from copies, if it takes less than a time, copies included."""
        read, spent = with_copies(relations, copied), sum(one.nanoseconds for one in copied)
        found = self._in_loops(read, kept, most - spent, array=array)
        total = found.nanoseconds if found else math.inf
        if self.has_blas and (blas := blas_time(read, kept, self.estimates, self.machine)) < total:
            space = self.estimates.space(kept)
            found, total = NestTime(blas, space, space, False, space, by_blas=True), blas
        return found._replace(nanoseconds=total + spent, copied=copied) if found and total + spent < most else None

    def _in_loops(self, relations: Sequence[EntrySet], kept: int, most: float, *, array: bool) -> NestTime | None:
        last = self.last.get(kept, 0)
        key = (kept, array, last, *relations)
        found = self._loops.get(key)
        if found is None:
            nest = self._nests.get(key)
            if nest is None:
                nest = LoopNest(relations, kept, self.estimates, self.machine, array=array, last=last)
                self._nests[key] = nest
            found = nest.time(most)
            if found is None:
                return None
            self._loops[key] = found
        return found if found.nanoseconds <= most else None

    def of_mask(self, mask: Mask) -> float:
        """Returns the time of a masked product, in nanoseconds."""
        found = self._mask_times.get(mask)
        if found is None:
            found = self._mask_times[mask] = self._mask_time(mask)
        return found

    def _mask_time(self, mask: Mask) -> float:
        machine, pairs = self.machine, self.estimates.join([mask.left, mask.right])
        total = machine.call + machine.sparse_result
        total += sum(time_to_sort(one, self.estimates, machine) for one in mask.sorted_anew)
        look_up = machine.look_up_in(self.estimates.space(mask.order[-1]))
        total += mask.left.entries * (machine.walk + machine.enter_in(mask.right.entries))
        total += pairs * (machine.walk + look_up)
        # An entry of the mask is scattered, and cleared.
        met = self.estimates.meet(mask.relations)[0]
        return total + 2 * mask.mask.entries * machine.walk + met * machine.insert

    def exact(self, relations: Sequence[EntrySet], kept: int, *, array: bool = False) -> NestTime:
        """Returns what `of` returns, however long that is."""
        found = self.of(relations, kept, array=array)
        assert found is not None
        return found

    def loop_order(self, relations: Sequence[EntrySet], kept: int) -> tuple[int, ...]:
        """Returns the variables of the loops over the entries of one nest, outermost first."""
        nest = LoopNest(relations, kept, self.estimates, self.machine)
        loops = nest.loops(math.inf) if nest.sparse else ()
        assert loops is not None
        inside = [0, *(loop.inside for loop in loops)]
        return tuple(now & ~before for before, now in itertools.pairwise(inside))

    def in_loops(self, relations: Sequence[EntrySet], kept: int, *, array: bool = False) -> NestTime:
        """Returns what one loop nest over all relations takes, even where something else takes less."""
        found = self._in_loops(relations, kept, math.inf, array=array)
        assert found is not None
        return found
