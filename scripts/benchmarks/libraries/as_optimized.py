"""This package as it is: statements in the way that is cheapest by estimate."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.libraries import Prepare, own
from benchmarks.libraries.numpy_threads import set_blas_threads
from benchmarks.libraries.own import plain
from benchmarks.libraries.programs_own import AUTO
from benchmarks.libraries.programs_own import plan_of as account

__all__ = ["CALLS", "account", "plain", "set_threads"]


def set_threads(number: int) -> None:
    own.set_threads(number)
    set_blas_threads(number)


CALLS: Mapping[str, Prepare] = {**own.CALLS, **AUTO}
