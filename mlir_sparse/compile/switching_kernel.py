"""Kernels that read vectors from the storage that takes the least time in each call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from mlir_sparse.compile.call_limits import repeated
from mlir_sparse.compile.compiled_kernel import Result
from mlir_sparse.compile.cpu_build import Build
from mlir_sparse.compile.cpu_kernel import Kernel
from mlir_sparse.compile.direct_calls import DirectCall, for_sizes
from mlir_sparse.compile.vector_storage import Restored, few_entries, is_small, probed_step, restored
from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import IndexVar
from mlir_sparse.plan.schedule import Schedule
from mlir_sparse.plan.vector_uses import VectorUse, vector_uses
from mlir_sparse.runtime import operand_check
from mlir_sparse.spec import KernelSpec, in_order
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.borders.dask_arrays import has_chunks
from mlir_sparse.text.shown_text import ShownText

__all__ = ["switching"]

Value = np.ndarray[Any, Any] | SparseTensor
_ANY = 1 << 62


def switching(kernel: Kernel) -> Kernel:
    """Returns a kernel that reads vectors sparse or dense by their elements; itself where there is nothing to choose.

    Args:
        kernel: the kernel.
    """
    uses = vector_uses(_for_all_values(kernel.spec))
    return _SwitchingKernel(kernel, uses) if uses else kernel


class _SwitchingKernel(Kernel):
    """A kernel that looks at the elements of vectors before each call."""

    def __init__(self, kernel: Kernel, uses: tuple[VectorUse, ...]) -> None:
        super().__init__(kernel.spec, kernel.schedule, kernel._settings)
        self._builds, self._lock, self._received = kernel._builds, kernel._lock, kernel._received
        self._uses = uses
        at = self._inputs.index
        self._places = tuple((at(use.vector), at(use.tensor)) for use in uses)
        # The vectors, where zeros in arrays are all that calls look for.
        by_zeros = all(use.level == 0 and use.absent == 0 for use in uses)
        self._filled = tuple(vector for vector, _ in self._places) if by_zeros else ()
        # By the operand that is in other storage, and its type, the kernel for it.
        self._others: dict[tuple[str, TensorType], Kernel] = {}
        # What calls on few elements take, which are not looked at.
        self._small: DirectCall | None = None

    def _with(self, spec: KernelSpec | None = None, **changed: Any) -> Kernel:
        other = super()._with(spec, **changed)
        return other if spec is not None else switching(other)

    def __call__(self, /, *operands: Any, out: Any = None, **named: Any) -> Result:
        """Computes the result, as `Kernel` does."""
        if self._has_vectors:
            return self._call(self.bound(operands, named, out), out)
        given = in_order(self.parameters, operands, named) if named else operands
        if self._small is not None and given is not None:
            returned: Result | None = repeated(self._small.direct, given, out, self.spec.assignment)
            if returned is not None:
                return returned
            converted = operand_check.with_tensors(given)
            if converted is not None:
                return self(*converted, out=out)
        if given is None or len(given) != len(self.parameters) or (self._filled and self._look_full(given)):
            return super().__call__(*operands, out=out, **named)
        if not has_chunks(given) and not self._are_small(given):
            values = dict(zip(self.parameters, given, strict=True))
            found = restored(self._uses, values)
            if found is not None:
                values[found.name] = found.value
                return self._for(found)(*values.values(), out=out)
        return super().__call__(*operands, out=out, **named)

    def direct(self, operands: tuple[Any, ...], out: Any = None) -> Any:
        """Returns the result of a call on few elements, which are not looked at; None for other operands."""
        return None if self._small is None else repeated(self._small.direct, operands, out, self.spec.assignment)

    def _fast_path(
        self, build: Build, values: Mapping[str, Value], extents: Mapping[str, int], result: Value
    ) -> DirectCall | None:
        found, direct = super()._fast_path(build, values, extents, result), None
        looks = self._plans.known is not None and self._plans.known.looks_at_values
        if found is not None and not looks and self._are_small(tuple(values.values())):
            direct = self._direct(build, values, extents, result)
        self._small = None if direct is None else for_sizes(direct, self._own_limits, self._small_sizes(values))
        return found

    def _small_sizes(self, values: Mapping[str, Value]) -> list[tuple[int, int]]:
        """Returns the least and the greatest number of entries of operands that are small as some are, for the plan."""
        plan = self._plans.known
        found = [(0, _ANY)] * len(values) if plan is None else list(plan.bounds)
        for vector, tensor in self._places:
            size = list(values.values())[vector].size
            for at, most in ((vector, size), (tensor, few_entries(size))):
                found[at] = found[at][0], min(found[at][1], most)
        return found

    def _look_full(self, given: tuple[Any, ...]) -> bool:
        """Returns whether all vectors are arrays without a zero where one is looked for first."""
        vectors = (given[number] for number in self._filled)
        return all(
            type(one) is np.ndarray and one.ndim == 1 and 0 not in one[:: probed_step(one.size)].tolist()
            for one in vectors
        )

    def _are_small(self, given: tuple[Any, ...]) -> bool:
        return all(is_small(given[vector], given[tensor]) for vector, tensor in self._places)

    def _call(self, bound: Mapping[str, Any], out: Any, given: Mapping[IndexVar, int] | None = None) -> Result:
        found = restored(self._uses, bound) if given is None and not has_chunks(bound.values()) else None
        if found is not None:
            return self._for(found)._call({**bound, found.name: found.value}, out)
        return super()._call(bound, out, given)

    def _for(self, found: Restored) -> Kernel:
        """Returns the kernel for a vector in other storage."""
        key = found.name, operand_check.type_of(found.value)
        if key not in self._others:
            kernel = _stored_otherwise(_for_all_values(self.spec), self.schedule, *key)
            limited = self.threads is not None or self.deterministic
            self._others[key] = kernel.within(self.threads, self.deterministic) if limited else kernel
        return self._others[key]

    def explain(self, /, *operands: Any, **named: Any) -> str:
        """Returns an account of the kernel, as `Kernel` does: with data, of the one that a call on it takes."""
        if not operands and not named:
            return ShownText(f"{super().explain()}\n\nvectors{''.join(map(_choice, self._uses))}")
        if has_chunks((*operands, *named.values())):
            return super().explain(*operands, **named)
        found = restored(self._uses, self.bound(operands, named))
        if found is None:
            told = super().explain(*operands, **named)
            return ShownText(f"{told}\n\nvectors\n  all are read from the storage that they have")
        return ShownText(f"{self._for(found).explain()}\n\nvectors\n  {found}")

    def __reduce__(self) -> tuple[Any, ...]:
        plain = Kernel(self.spec, self.schedule, self._settings)
        plain._builds, plain._lock, plain._taken = self._builds, self._lock, dict(self._taken)
        plain._received = self._received
        return switching, (plain,)


def _for_all_values(spec: KernelSpec) -> KernelSpec:
    """Returns a statement as kernels for vectors in other storage compute it, which do not look at values.

    A plan for symmetric matrices is right for some values only.
    """
    chosen = spec.rewriting
    return spec.rewritten(None) if chosen is not None and chosen.symmetric else spec


@lru_cache(maxsize=256)
def _stored_otherwise(spec: KernelSpec, schedule: Schedule, operand: str, kind: TensorType) -> Kernel:
    inputs = tuple((name, kind if name == operand else known) for name, known in spec.inputs)
    return Kernel(replace(spec, inputs=inputs).with_static_extents(), schedule)


def _choice(use: VectorUse) -> str:
    if use.level == 0:
        few = f"few of its elements are not {use.absent}: loops then go through their slices of {use.tensor} alone"
        return f"\n  {use.vector} is read as a sparse vector in calls where {few}"
    if use.absent is None:
        return f"\n  {use.tensor} is converted first in calls where {use.vector} has many entries"
    return (
        f"\n  {use.vector} is read as an array in calls where it has many entries, looked up at those of {use.tensor}"
    )
