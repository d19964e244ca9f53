"""The only importer of MLIR's bindings, which hides differences between their versions."""

from mlir_sparse._mlir.execution_engine import Engine, execution_engine, object_code, plain_engine
from mlir_sparse._mlir.llvm_options import QUICK, set_options
from mlir_sparse._mlir.mlir_context import (
    attribute_by_caller,
    diagnostics_of,
    mlir_context,
    parse_module,
    parsed_by_caller,
    type_by_caller,
)
from mlir_sparse._mlir.provider import Bindings, bindings, bindings_name, bindings_stamp

__all__ = [
    "QUICK",
    "Bindings",
    "Engine",
    "attribute_by_caller",
    "bindings",
    "bindings_name",
    "bindings_stamp",
    "diagnostics_of",
    "execution_engine",
    "mlir_context",
    "object_code",
    "parse_module",
    "parsed_by_caller",
    "plain_engine",
    "set_options",
    "type_by_caller",
]
