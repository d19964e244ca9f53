"""Read by Python at its start where this folder is on PYTHONPATH: takes the native module from another build."""

import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec


class _Instrumented:
    """Finds `mlir_sparse._native` in the file that MLIR_SPARSE_NATIVE names."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != "mlir_sparse._native":
            return None
        return importlib.util.spec_from_file_location(name, os.environ["MLIR_SPARSE_NATIVE"])


if "MLIR_SPARSE_NATIVE" in os.environ:
    sys.meta_path.insert(0, _Instrumented())  # type: ignore[arg-type]  # as importlib's protocol asks
