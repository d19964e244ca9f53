"""lit anywhere: a folder of FileCheck tests on modules of the dialect, without a build of LLVM.

A `lit.cfg.py` of three lines makes a folder a suite (`mlir-sparse lit-init FOLDER` writes it)::

    from mlir_sparse.testing import lit

    lit.configure(config, __file__)
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mlir_sparse._mlir import bindings_name
from mlir_sparse.errors import BindingsError, DeviceError, MissingPackageError
from mlir_sparse.process.installed_programs import find_program
from mlir_sparse.testing.checks.recorded_runs import recorder

__all__ = ["configure", "features", "substitutions", "write_suite"]

_WORD = r"(?<![\w./-]){}(?![\w.-])"
# What `-shared-libs` of upstream's RUN lines names: what these have is in this package.
_LIBRARIES = ("%mlir_c_runner_utils", "%mlir_runner_utils")
_KEPT = ("CUDA_VISIBLE_DEVICES", "HOME", "LD_LIBRARY_PATH")


def configure(config: Any, file: str, name: str | None = None) -> None:
    """Makes the folder of a `lit.cfg.py` a suite of .mlir and .test files.

    Tests may use `mlir-sparse`, `mlir-opt` and `mlir-runner` (this package's), `FileCheck` (LLVM's where it is
    installed, else PyPI's), `not`, `%python` and what lit itself has; `REQUIRES:` the features of `features()`.

    Args:
        config: lit's.
        file: the path of the configuration, `__file__` in it.
        name: the suite's; that of the folder by default.

    Raises:
        MissingPackageError: without FileCheck and filecheck.
    """
    folder = Path(file).resolve().parent
    config.name = name or folder.name
    config.test_format = importlib.import_module("lit.formats").ShTest(execute_external=False)
    config.suffixes = [".mlir", ".test"]
    config.excludes = [*getattr(config, "excludes", ()), "Inputs", "Output"]
    config.test_source_root = str(folder)
    config.test_exec_root = str(folder / "Output")
    config.available_features.update(features())
    config.substitutions += substitutions()
    for variable, value in os.environ.items():
        if variable.startswith("MLIR_SPARSE_") or variable in _KEPT:
            config.environment[variable] = value


def features() -> frozenset[str]:
    """Returns what this machine has, as features of lit: its name, `mlir`, `llvmlite`, `scipy`, `ptxas`, `cuda`."""
    return frozenset(_features())


def _features() -> Iterator[str]:
    yield platform.machine()
    if find_program("FileCheck"):
        yield "filecheck-llvm"
    try:
        bindings_name()
    except BindingsError:
        pass
    else:
        yield "mlir"
    for package in ("llvmlite", "scipy"):
        if importlib.util.find_spec(package):
            yield package
    if find_program("ptxas"):
        yield "ptxas"
    if _has_gpu():
        yield "cuda"


def _has_gpu() -> bool:
    from mlir_sparse import _cuda  # opens the driver, which takes a while
    from mlir_sparse.device import cuda_libraries_found

    try:
        cuda_libraries_found.load_driver()
    except DeviceError:
        return False
    return bool(_cuda.device_count())


def substitutions(programs: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
    """Returns the programs that RUN lines name, as lit's substitutions: patterns, and commands.

    Args:
        programs: the commands of `mlir-sparse`, `filecheck` and `python`, where they are others than those installed.

    Raises:
        MissingPackageError: without FileCheck and filecheck.
    """
    python = shlex.quote(sys.executable)
    module = "mlir_sparse.tools.cli"
    found = {"mlir-sparse": f"{python} -c 'from {module} import main; main()'", "python": python}
    for name in ("mlir-sparse", "filecheck"):
        if path := find_program(name):
            found[name] = shlex.quote(path)
    found |= programs or {}
    check = recorder(python) or find_program("FileCheck") or found.get("filecheck")
    if check is None:
        raise MissingPackageError("expected FileCheck or filecheck for tests, but got neither: pip install filecheck")
    command = found["mlir-sparse"]
    return [
        (_WORD.format("FileCheck"), check),
        *(((_WORD.format("filecheck-py"), found["filecheck"]),) if "filecheck" in found else ()),
        (_WORD.format("mlir-sparse"), command),
        (_WORD.format("mlir-opt"), f"{command} opt"),
        (_WORD.format("mlir-runner"), f"{command} runner"),
        ("%python", found["python"]),
        *((name, f"{name.removeprefix('%')}.so") for name in _LIBRARIES),
    ]


_CONFIGURATION = """from mlir_sparse.testing import lit

lit.configure(config, __file__)
"""
_EXAMPLE = """\
// RUN: mlir-sparse opt "%s" --linalg-generalize-named-ops --sparse-reinterpret-map --sparsification | FileCheck "%s"
// RUN: mlir-sparse run "%s" --entry main | FileCheck "%s" --check-prefix=PRINTED

#CSR = #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed) }>

// CHECK-LABEL: func.func @spmv
// CHECK: scf.for %[[ROW:.*]] =
// CHECK: %[[BEGIN:.*]] = memref.load %{{.*}}[%[[ROW]]]
// CHECK: scf.for %{{.*}} = %[[BEGIN]]
func.func @spmv(%A: tensor<?x?xf64, #CSR>, %x: tensor<?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> {
  %0 = linalg.matvec ins(%A, %x : tensor<?x?xf64, #CSR>, tensor<?xf64>) outs(%y : tensor<?xf64>) -> tensor<?xf64>
  return %0 : tensor<?xf64>
}

// PRINTED: ( 1, 2, 3 )
func.func @main() {
  %v = arith.constant dense<[1, 2, 3]> : vector<3xi32>
  vector.print %v : vector<3xi32>
  return
}
"""


def write_suite(folder: Path) -> list[Path]:
    """Writes a configuration and an example into a folder, and returns their paths; files that are there stay.

    Raises:
        OSError: if the folder cannot be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, text in (("lit.cfg.py", _CONFIGURATION), ("spmv.mlir", _EXAMPLE)):
        path = folder / name
        if not path.exists():
            path.write_text(text, encoding="utf-8")
            written.append(path)
    return written
