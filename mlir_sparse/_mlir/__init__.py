"""The only importer of MLIR's bindings, which hides differences between their versions."""

from typing import TYPE_CHECKING

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
from mlir_sparse._mlir.operation_classes import operation_classes, without_classes
from mlir_sparse._mlir.provider import (
    Bindings,
    bindings,
    bindings_name,
    bindings_stamp,
    installed_bindings,
    unfit_error,
)
from mlir_sparse.process.first_use import at_first_use

if TYPE_CHECKING:
    from mlir_sparse._mlir.bindings_probe import require_fit
    from mlir_sparse._mlir.older_passes import pass_manager
    from mlir_sparse._mlir.probe_process import death_in_probe, probe_elsewhere
else:
    __getattr__ = at_first_use(
        __name__,
        {
            "bindings_probe": ("require_fit",),
            "older_passes": ("pass_manager",),
            "probe_process": ("death_in_probe", "probe_elsewhere"),
        },
    )

__all__ = [
    "QUICK",
    "Bindings",
    "Engine",
    "attribute_by_caller",
    "bindings",
    "bindings_name",
    "bindings_stamp",
    "death_in_probe",
    "diagnostics_of",
    "execution_engine",
    "installed_bindings",
    "mlir_context",
    "object_code",
    "operation_classes",
    "parse_module",
    "parsed_by_caller",
    "pass_manager",
    "plain_engine",
    "probe_elsewhere",
    "require_fit",
    "set_options",
    "type_by_caller",
    "unfit_error",
    "without_classes",
]
