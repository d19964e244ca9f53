"""The fast path of a kernel's calls: one native call for operands like those of the call before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlir_sparse import _native, runtime
from mlir_sparse.compile.known_plan import KnownPlan
from mlir_sparse.runtime.multiply_arrays import ArrayMultiplication
from mlir_sparse.runtime.repeated_program import RepeatedProgram

__all__ = ["DirectCall", "for_plan", "for_sizes"]


class _ForPlannedData:
    """The fast path of a kernel whose plan depends on data.

    Args:
        function: the fast path of the plan.
        plan: the plan.
    """

    def __init__(self, function: runtime.Direct, plan: KnownPlan) -> None:
        self._direct = function.direct
        self._is_for = plan.is_for

    def direct(self, operands: tuple[Any, ...], out: Any = None) -> Any:
        """Returns the result; None for operands that do not fit, or that the plan was not made for."""
        return self._direct(operands, out) if self._is_for(operands) else None


class _WithinLimits:
    """The fast path of a kernel with limits.

    Args:
        function: the fast path without.
        limits: the limits of a call.
    """

    def __init__(self, function: runtime.Direct | _ForPlannedData, limits: _native.Limits) -> None:
        self._function = function
        self._limits = limits

    def direct(self, operands: tuple[Any, ...], out: Any = None) -> Any:
        """Returns the result; None for operands that do not fit."""
        with self._limits:
            return self._function.direct(operands, out)


DirectCall = runtime.Direct | _WithinLimits | _ForPlannedData


def for_plan(function: runtime.Direct, limits: _native.Limits | None, plan: KnownPlan | None) -> DirectCall:
    """Returns the fast path of a call, for operands of the sizes that its plan was made for.

    Args:
        function: the fast path of the plan.
        limits: the limits of a call.
        plan: the plan; None where data decides nothing.
    """
    if plan is None:
        return _limited(function, limits)
    found = None if plan.looks_at_values else for_sizes(function, limits, plan.bounds)
    # To look at values takes threads, too.
    return found or _limited(_ForPlannedData(function, plan), limits)


def for_sizes(
    function: runtime.Direct, limits: _native.Limits | None, bounds: Sequence[tuple[int, int]]
) -> DirectCall | None:
    """Returns the fast path for operands with numbers of entries within bounds; None for one that cannot look at them.

    Args:
        function: the fast path for all sizes.
        limits: the limits of a call.
        bounds: the least and the greatest number of each operand.
    """
    match function:
        case _native.Launcher():
            return _limited(_native.SizedLauncher(function, bounds), limits)
        case _native.SizedLauncher() | _native.ProgramLauncher() | RepeatedProgram() | ArrayMultiplication():
            return _limited(function.within(bounds), limits)
        case _:
            return None


def _limited(function: runtime.Direct | _ForPlannedData, limits: _native.Limits | None) -> DirectCall:
    return function if limits is None else _WithinLimits(function, limits)
