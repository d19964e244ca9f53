"""Kernels that other processes get: saved in files, and pickled with their machine code."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

from mlir_sparse import runtime
from mlir_sparse.compile.compiled_kernel import StatementKernel
from mlir_sparse.compile.cpu_build import Build
from mlir_sparse.compile.kernel_settings import KernelSettings
from mlir_sparse.compile.statement_plans import StatementPlans
from mlir_sparse.encoding import TensorType
from mlir_sparse.plan.schedule import Schedule
from mlir_sparse.process.forks import Lock, importing
from mlir_sparse.spec import KernelSpec, Rewriting

__all__ = ["PortableKernel"]

Types = tuple[TensorType, ...]
_K = TypeVar("_K", bound="PortableKernel")


class PortableKernel(StatementKernel):
    """A kernel for the processor, whose variants have machine code."""

    schedule: Schedule
    _settings: KernelSettings
    _plans: StatementPlans
    _builds: dict[tuple[Types, Rewriting | None], Build]
    _taken: dict[Types, Rewriting | None]
    _lock: Lock
    # Code that came with it, which may fit processes that its own does not.
    _received: tuple[runtime.SentCode, ...] = ()

    @abstractmethod
    def __init__(self, spec: KernelSpec, schedule: Schedule, settings: KernelSettings) -> None:
        """Makes a kernel without variants."""

    @property
    @abstractmethod
    def account(self) -> tuple[str, ...]:
        """Returns how the statement is computed and why, a line each."""

    @abstractmethod
    def rewritten(self, rewriting: Rewriting | None) -> PortableKernel:
        """Returns the kernel that computes the statement in another way."""

    @abstractmethod
    def _build_for(self, types: Types, rewriting: Rewriting | None = None) -> Build:
        """Returns the variant for operands of some types, compiled at its first use."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the kernel as machine code, which `load` reads without a compiler.

        The file has the variants that were called, each with the widths of its operands; before the first call, the
        declared types. Each keeps the plan that it has, whatever data the loaded kernel is called with; one that is
        right for symmetric matrices alone is planned again.

        Raises:
            UnsupportedError: if this machine's code must be linked and no linker is installed.
        """
        if (other := self._for_any_values()) is not self:
            other.save(path)
            return
        with self._lock:  # kernels of one text share variants: what another was called with is not this one's
            builds = [self._builds[taken] for taken in self._taken.items()]
        if not builds:
            self.compile_ahead()
            builds = [self._builds[taken] for taken in self._taken.items()]
        for build in builds:
            with self._lock:
                _ = build.computing  # compiled at the first use
        with importing():
            from mlir_sparse.compile.write_kernel import write_kernel  # kernels are seldom saved

        write_kernel(path, self.spec, self.schedule, builds, self.account)

    def _for_any_values(self) -> PortableKernel:
        """Returns the kernel with the variants that were called, by a plan that is right for all values."""
        ways = self.spec.rewriting, *self._taken.values()
        if not any(way is not None and way.symmetric for way in ways):
            return self
        other = self.rewritten(self._plans.unconditional)
        for types in self._taken:
            other._build_for(types, other.spec.rewriting)
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process runs the machine code that there is, where it has the same instructions, or compiles.
        return _unpickled, (type(self), self.spec, self.schedule, self._settings, self._sent())

    def _sent(self) -> tuple[runtime.SentCode, ...]:
        """Returns the machine code of the variants that were called, for other processes."""
        with self._lock:
            builds = [self._builds[taken] for taken in self._taken.items() if taken in self._builds]
        own = [code for build in builds if (code := build.sent) is not None]
        return tuple({**dict(self._received), **dict(own)}.items())

    @property
    def came_with_code(self) -> bool:
        """Returns whether another process has sent machine code with the kernel, which pickles of it send on."""
        return bool(self._received)

    def compile_ahead(self) -> None:
        """Compiles the kernel for the types that it was declared with, so that pickles of it have its machine code."""
        if not self._taken:
            self._build_for(tuple(kind.with_default_widths() for _, kind in self.spec.inputs), self.spec.rewriting)


def _unpickled(
    kind: type[_K], spec: KernelSpec, schedule: Schedule, settings: KernelSettings, sent: Sequence[runtime.SentCode]
) -> _K:
    runtime.keep_sent(sent)
    found = kind(spec, schedule, settings)
    found._received = tuple(sent)
    return found
