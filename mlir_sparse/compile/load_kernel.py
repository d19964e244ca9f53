"""Kernels from files: machine code that `Kernel.save` wrote."""

from __future__ import annotations

import base64
import os
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

from mlir_sparse import notation, runtime
from mlir_sparse.compile.cpu_build import Build
from mlir_sparse.compile.cpu_kernel import Kernel
from mlir_sparse.disk import refusing
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import FileFormatError
from mlir_sparse.machine import cpu_features
from mlir_sparse.plan.schedule import Schedule
from mlir_sparse.program import ProgramSteps, read_steps
from mlir_sparse.spec import KernelSpec
from mlir_sparse.text.given_arguments import path_of
from mlir_sparse.text.shortened import shortened

__all__ = ["load"]


def load(path: str | os.PathLike[str]) -> Kernel:
    """Loads a kernel that `Kernel.save` wrote, without MLIR.

    Args:
        path: the file. It has machine code: load only files that you trust.

    Raises:
        FileFormatError: for a file that is no kernel, or one of another version.
        UnsupportedError: for a kernel of another machine.
    """
    path = path_of(path, "a saved kernel")
    with refusing(path, runtime.SAVED):
        return _loaded(path, *runtime.read_archive(path, cpu_features()))


def _loaded(path: str | os.PathLike[str], index: Mapping[str, Any], codes: Sequence[runtime.SavedCode]) -> Kernel:
    pickled = base64.b64decode(index["pickled"])  # as trustworthy as the machine code beside it
    assignment = pickle.loads(pickled) if pickled else notation.parse(index["assignment"])

    def spec_of(types: list[str], again: str) -> KernelSpec:
        *inputs, output = map(TensorType.parse, types)
        rewriting = pickle.loads(base64.b64decode(again)) if again else None
        return KernelSpec(assignment, tuple(zip(assignment.inputs, inputs, strict=True)), output, rewriting)

    schedule = Schedule.parse(index["schedule"])
    loaded = Kernel(spec_of(index["declared"], index["rewriting"]), schedule)
    loaded._plans.__dict__["account"] = tuple(index["account"])
    columns = (index["builds"], index["steps"], index["computing"], index["rewritings"])
    for number, (types, text, computing, again) in enumerate(zip(*columns, strict=True)):
        steps = _steps(path, text)
        machines = [
            None if n is None else runtime.machine_of(path, codes[n], steps.functions) for n in (number, computing)
        ]
        build = Build(spec_of(types, again), steps.densified, schedule).given(steps, *machines)
        called, way = tuple(kind for _, kind in build.spec.inputs), loaded.spec.rewriting
        loaded._builds[called, way], loaded._taken[called] = build, way
    return loaded


def _steps(path: str | os.PathLike[str], text: str) -> ProgramSteps:
    try:
        return read_steps(text, ())
    except ValueError as error:
        raise FileFormatError(f"{shortened(str(error))} in {os.fspath(path)}: save it again") from None
