"""Statements of this package, compiled once and called again: what plans by hand are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import mlir_sparse as ms
from benchmarks.on_lines import empty_on_lines
from benchmarks.programs.workload import Plan

__all__ = ["KernelSteps", "is_one_step"]


class KernelSteps:
    """The kernels of a plan.

    Args:
        optimize: as for `compile`.
    """

    def __init__(self, optimize: str = "off") -> None:
        self._optimize = optimize
        self._kernels: dict[str, tuple[Any, tuple[str, ...], Any]] = {}

    def __call__(self, text: str, /, *, out: str = "dense", semiring: str | None = None, **tensors: Any) -> Any:
        """Computes a statement; the array of its result is that of the last call, where it is no operand."""
        known = self._kernels.get(text)
        if known is None:
            return self._first(text, out, semiring, tensors)
        kernel, names, kept = known
        operands = [tensors[name] for name in names]
        for operand in operands:  # a loop, as `any` takes a microsecond, which counts where a plan calls NumPy alone
            if operand is kept:
                return kernel(*operands)
        return kernel(*operands, out=kept)

    @property
    def code(self) -> list[tuple[type, str]]:
        """Returns the kinds of the kernels so far, and their specifications."""
        return [(type(kernel), kernel.ir()) for kernel, _, _ in self._kernels.values()]

    def _first(self, text: str, out: str, semiring: str | None, tensors: dict[str, Any]) -> Any:
        parsed = ms.parse(text)
        several = isinstance(parsed, ms.Comprehension)
        names = tuple(tensors) if several else parsed.inputs
        kernel = ms.compile(
            text, tensors=tensors, out=None if several else out, semiring=semiring, optimize=self._optimize
        )
        result = kernel(*(tensors[name] for name in names))
        # Users call comprehensions without arrays for their results.
        is_array = isinstance(result, np.ndarray) and result.ndim > 0
        kept = empty_on_lines(result.shape, result.dtype) if is_array and not several else None
        self._kernels[text] = kernel, names, kept
        return result


def is_one_step(plan: Plan, tensors: Mapping[str, Any]) -> bool:
    """Returns whether a plan computes one statement, on the tensors as they are, and returns what it gives."""
    seen: list[Mapping[str, Any]] = []
    answer = _Answer()

    def step(text: str, /, *, out: str = "dense", semiring: str | None = None, **given: Any) -> Any:
        seen.append(given)
        return answer

    try:
        result = plan(step, **tensors)
    except Exception:  # of what uses the result as a number, an array or a tensor
        return False
    return result is answer and len(seen) == 1 and all(tensors.get(name) is one for name, one in seen[0].items())


class _Answer:
    """The result of a step that is not computed."""

    __array_ufunc__ = None  # NumPy's functions refuse it
