"""`tune_machine`: measures what steps take on this machine, for plans of this and of later processes."""

from __future__ import annotations

import os
import warnings

from mlir_sparse.compile.tuning.fitted_times import fitted
from mlir_sparse.compile.tuning.timed_kernels import Kernels
from mlir_sparse.disk import write_whole
from mlir_sparse.errors import DisturbedMeasurementWarning, UnsupportedError
from mlir_sparse.machine import MachineProfile, machine_profile, measured_profile_file, this_processor
from mlir_sparse.machine.measured_figures import measured_figures
from mlir_sparse.process import settings
from mlir_sparse.runtime.thread_limit import within

__all__ = ["measured_profile", "tune_machine"]

_ROUNDS = 3


def measured_profile(rounds: int = _ROUNDS) -> MachineProfile:
    """Measures the processor that this process runs on, in some ten seconds, on one thread but for the
    times of handing work over to another one.

    Args:
        rounds: how often each kernel is timed; medians count.
    """
    with within(1, deterministic=False):
        kernels = Kernels.of_this_machine()
        timed = kernels.timed(rounds)
    times = fitted(timed.medians, kernels.entries, kernels.products)
    notes = "measured by mlir_sparse.tune_machine"
    return MachineProfile(this_processor(), times, measured_figures(), notes=notes, disturbance=timed.disturbance)


def tune_machine(*, rounds: int = _ROUNDS) -> MachineProfile:
    """Measures what steps take on this machine, and keeps it: plans then go by it, in later processes too.

    Takes some ten seconds of one processor and 400 MB of memory, and is done only when it is asked for. Without it
    plans go by the times of the nearest make that the package comes with. Where something else ran meanwhile, what was
    measured is kept all the same, and marked: `explain` and `mlir-sparse doctor` say so.

    Args:
        rounds: how often each kernel is timed; medians count.

    Returns:
        What was measured.

    Raises:
        UnsupportedError: for fewer rounds than one, and where nothing is kept between processes.
        OSError: if the file cannot be written.

    Warns:
        DisturbedMeasurementWarning: if something else ran meanwhile.

    >>> profile = tune_machine()  # doctest: +SKIP
    >>> profile.times.walk        # doctest: +SKIP
    0.13
    """
    if type(rounds) is not int or rounds < 1:
        raise UnsupportedError(f"expected a whole number of rounds above 0, but got {rounds!r}")
    path = measured_profile_file()
    if path is None:
        raise UnsupportedError(
            f"expected a folder to keep what is measured in, but got {settings.CACHE.name}={settings.CACHE.text}: "
            f"name a folder there, or unset it"
        )
    found = measured_profile(rounds)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    write_whole(path, found.text.encode(), private=True)
    machine_profile.cache_clear()
    if found.disturbance:
        warnings.warn(
            f"something else ran on this machine while it was measured: {found.disturbance}; plans go by these times "
            f"from now on: measure again while nothing else runs, or delete {path} to go by those of the nearest make",
            DisturbedMeasurementWarning,
            stacklevel=2,
        )
    return found
