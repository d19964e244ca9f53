"""Lists of passes, and a compiler in a separate process, so that its death is an exception here."""

from mlir_sparse.loops.remarks import Remark
from mlir_sparse.pipeline.compiler_process import compile_module, remarks_on, warm_up
from mlir_sparse.pipeline.cpu_passes import cpu
from mlir_sparse.pipeline.machine_key import host_text
from mlir_sparse.pipeline.machine_vectors import cpu_features, machine_name, scalar_asked, vector_lanes
from mlir_sparse.pipeline.pass_values import Pass, Pipeline
from mlir_sparse.pipeline.sparsifier_passes import Results, sparsifier
from mlir_sparse.pipeline.trace import Snapshot, Trace, trace_module

__all__ = [
    "Pass",
    "Pipeline",
    "Remark",
    "Results",
    "Snapshot",
    "Trace",
    "compile_module",
    "cpu",
    "cpu_features",
    "host_text",
    "machine_name",
    "remarks_on",
    "scalar_asked",
    "sparsifier",
    "trace_module",
    "vector_lanes",
    "warm_up",
]
