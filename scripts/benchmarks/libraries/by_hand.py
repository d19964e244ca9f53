"""This package, with each statement in the steps that are best by hand; dense products are NumPy's."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.libraries import Prepare
from benchmarks.libraries.as_optimized import set_threads
from benchmarks.libraries.own import plain
from benchmarks.libraries.programs_own import BY_HAND

__all__ = ["CALLS", "plain", "set_threads"]

CALLS: Mapping[str, Prepare] = BY_HAND
