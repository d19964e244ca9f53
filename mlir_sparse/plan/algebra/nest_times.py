"""What products take by estimate: in one loop nest, with a mask or copies of operands made first, or by BLAS.

`native/search/loop_times.hpp` and `native/search/nest_times.hpp` say how.
"""

from __future__ import annotations

from mlir_sparse._search import MachineSteps
from mlir_sparse._search import NestTimes as TimesOfNests
from mlir_sparse.machine import MachineTimes
from mlir_sparse.machine.machine_times import FAR_SIZES
from mlir_sparse.plan.algebra.estimates import Estimates

__all__ = ["NestTimes", "steps_of"]


class NestTimes(TimesOfNests):
    """The times of loop nests, each found once.

    Args:
        estimates: estimates for the variables.
        machine: the times of steps.
        has_blas: whether BLAS may multiply two arrays.
        has_masks: whether products with a mask may be made in a nest of their own, which takes memory.
        has_workspaces: whether loops sum a fibre into a workspace before they multiply by what its entries share, as
            `mlir_sparse.strategies.fibre_workspace` has them do.
    """

    def __init__(
        self,
        estimates: Estimates,
        machine: MachineTimes,
        *,
        has_blas: bool = False,
        has_masks: bool = True,
        has_workspaces: bool = True,
    ) -> None:
        super().__init__(estimates, steps_of(machine), has_blas, has_masks, has_workspaces)
        self.estimates = estimates
        self.machine = machine

    def forgotten(self, *, has_masks: bool = True) -> NestTimes:
        """Returns times for the same variables of which none is found yet."""
        blas, workspaces = self.has_blas, self.has_workspaces
        return NestTimes(self.estimates, self.machine, has_blas=blas, has_masks=has_masks, has_workspaces=workspaces)


# Of the machine that was asked for last: a process plans for one, and its times take long to hash.
_last: tuple[MachineTimes, MachineSteps] | None = None


def steps_of(machine: MachineTimes) -> MachineSteps:
    """Returns the times of steps as native code reads them."""
    global _last
    known = _last
    if known is None or known[0] is not machine:
        known = _last = machine, MachineSteps(machine, float(FAR_SIZES[0]))
    return known[1]
