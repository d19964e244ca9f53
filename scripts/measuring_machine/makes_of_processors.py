"""Steps in which makes of processors differ: plans go by one table on all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from mlir_sparse.plan.algebra.machine_times import MachineTimes

__all__ = ["SCATTERS", "between_makes"]

SCATTERS: Mapping[str, tuple[float, ...]] = {
    # Sums of columns take as long as products by a vector there, of 50,000 columns; no other size was measured.
    "AMD EPYC, family 25": (1.0, 1.0, 1.0, 1.0, 1.0),
    # Its first-level cache writes lines back to the second.
    "Intel Xeon, family 6": (2.5, 1.15, 1.15, 1.0, 1.0),
}
"""By make how many times a look-up adding to an element of a result takes, in arrays that are near and of FAR_SIZES."""


def between_makes(times: MachineTimes) -> MachineTimes:
    """Returns the times of one machine, but for what makes differ in: as many times a look-up as on all in the mean.

    Plans that gather in place of scattering are then taken where one make gains much and no other loses.
    """
    shares = [math.prod(each) ** (1 / len(SCATTERS)) for each in zip(*SCATTERS.values(), strict=True)]
    found = [share * time for share, time in zip(shares, (times.look_up, *times.far_look_ups), strict=True)]
    return replace(times, scatter=found[0], far_scatters=tuple(found[1:]))
