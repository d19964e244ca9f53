"""Read by Python at its start where this folder is on PYTHONPATH: takes the native modules from another build."""

import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path


class _Instrumented:
    """Finds `mlir_sparse._native` in the file that MLIR_SPARSE_NATIVE names, and `_search` beside it."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name not in ("mlir_sparse._native", "mlir_sparse._search"):
            return None
        native = Path(os.environ["MLIR_SPARSE_NATIVE"])
        return importlib.util.spec_from_file_location(name, native.with_name(name[12:] + native.name[len("_native") :]))


if "MLIR_SPARSE_NATIVE" in os.environ:
    sys.meta_path.insert(0, _Instrumented())  # type: ignore[arg-type]  # as importlib's protocol asks
