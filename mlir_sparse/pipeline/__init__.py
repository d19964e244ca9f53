"""Lists of passes, and a compiler in a separate process, so that its death is an exception here."""

from typing import TYPE_CHECKING

from mlir_sparse.pipeline.machine_key import code_text, host_text
from mlir_sparse.process.first_use import at_first_use

if TYPE_CHECKING:
    from mlir_sparse.pipeline.compiler_process import compile_module, remarks_on, warm_up
    from mlir_sparse.pipeline.cpu_passes import cpu
    from mlir_sparse.pipeline.machine_vectors import machine_name, scalar_asked, scatters_fast, vector_lanes
    from mlir_sparse.pipeline.module_compilation import compile_user_module
    from mlir_sparse.pipeline.module_passes import module_to_buffers, module_to_llvm
    from mlir_sparse.pipeline.pass_values import Pass, Pipeline
    from mlir_sparse.pipeline.process_messages import DeclaredFunction
    from mlir_sparse.pipeline.sparsifier_passes import Results, sparsifier
    from mlir_sparse.pipeline.trace import Snapshot, Trace, trace_module, trace_user_module
else:
    __getattr__ = at_first_use(
        __name__,
        {
            "compiler_process": ("compile_module", "remarks_on", "warm_up"),
            "cpu_passes": ("cpu",),
            "machine_vectors": ("machine_name", "scalar_asked", "scatters_fast", "vector_lanes"),
            "module_compilation": ("compile_user_module",),
            "module_passes": ("module_to_buffers", "module_to_llvm"),
            "pass_values": ("Pass", "Pipeline"),
            "process_messages": ("DeclaredFunction",),
            "sparsifier_passes": ("Results", "sparsifier"),
            "trace": ("Snapshot", "Trace", "trace_module", "trace_user_module"),
        },
    )

__all__ = [
    "DeclaredFunction",
    "Pass",
    "Pipeline",
    "Results",
    "Snapshot",
    "Trace",
    "code_text",
    "compile_module",
    "compile_user_module",
    "cpu",
    "host_text",
    "machine_name",
    "module_to_buffers",
    "module_to_llvm",
    "remarks_on",
    "scalar_asked",
    "scatters_fast",
    "sparsifier",
    "trace_module",
    "trace_user_module",
    "vector_lanes",
    "warm_up",
]
