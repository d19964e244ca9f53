"""The only importer of the MLIR bindings; every difference between their versions is settled here."""

from mlir_sparse._mlir.bindings import Bindings, bindings, bindings_name, bindings_stamp
from mlir_sparse._mlir.context import diagnostics_of, mlir_context, parse_module
from mlir_sparse._mlir.engine import execution_engine, object_code
from mlir_sparse._mlir.options import QUICK, set_options

__all__ = [
    "QUICK",
    "Bindings",
    "bindings",
    "bindings_name",
    "bindings_stamp",
    "diagnostics_of",
    "execution_engine",
    "mlir_context",
    "object_code",
    "parse_module",
    "set_options",
]
