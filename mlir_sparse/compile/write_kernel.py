"""What the file of a saved kernel holds."""

from __future__ import annotations

import base64
import os
import pickle
from collections.abc import Sequence

from mlir_sparse import notation, runtime
from mlir_sparse._native import __version__
from mlir_sparse.compile.cpu_build import Build
from mlir_sparse.encoding import TensorType
from mlir_sparse.machine import cpu_features
from mlir_sparse.plan.schedule import Schedule
from mlir_sparse.program import write_steps
from mlir_sparse.spec import KernelSpec

__all__ = ["write_kernel"]


def write_kernel(
    path: str | os.PathLike[str],
    spec: KernelSpec,
    schedule: Schedule,
    builds: Sequence[Build],
    account: Sequence[str],
) -> None:
    """Writes a kernel with its machine code.

    Args:
        path: the file.
        spec: the kernel.
        schedule: its schedule.
        builds: its variants.
        account: how its statement is rewritten and why, a line each.
    """
    machines = [build.executable.module for build in builds]
    computing: list[int | None] = []
    for build in builds:
        computing.append(len(machines) if build.inserts else None)
        if build.inserts:
            machines.append(build.computing.module)
    index = {
        "assignment": str(spec.assignment),
        # Notation with user's operators does not parse back.
        "pickled": _pickled(spec.assignment) if _has_operators(spec) else "",
        "rewriting": _rewriting_of(spec),
        "rewritings": [_rewriting_of(build.spec) for build in builds],
        "account": list(account),
        "declared": [str(kind) for kind in _types(spec)],
        "builds": [[str(kind) for kind in _types(build.spec)] for build in builds],
        "steps": [write_steps(build.steps, ()) for build in builds],
        "computing": computing,
        "schedule": str(schedule),
        "version": __version__,
        "features": sorted(cpu_features()),
    }
    runtime.write_archive(path, index, machines)


def _types(spec: KernelSpec) -> tuple[TensorType, ...]:
    return (*(kind for _, kind in spec.inputs), spec.output)


def _rewriting_of(spec: KernelSpec) -> str:
    return "" if spec.rewriting is None else _pickled(spec.rewriting)


def _pickled(value: object) -> str:
    return base64.b64encode(pickle.dumps(value)).decode()


def _has_operators(spec: KernelSpec) -> bool:
    return any(isinstance(node, notation.Apply | notation.Fold) for node in notation.walk(spec.assignment.value))
