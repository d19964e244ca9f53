"""`ir.Module` to `ir.Module`: lists of passes, and a compiler that cannot take the process with it."""

from mlir_sparse.pipeline.cpu import cpu
from mlir_sparse.pipeline.host import host_text
from mlir_sparse.pipeline.isolate import compile_module, warm_up
from mlir_sparse.pipeline.passes import Pass, Pipeline
from mlir_sparse.pipeline.sparsifier import Results, sparsifier
from mlir_sparse.pipeline.target import cpu_features, machine_name, scalar_asked, vector_lanes
from mlir_sparse.pipeline.trace import Snapshot, Trace, trace_module

__all__ = [
    "Pass",
    "Pipeline",
    "Results",
    "Snapshot",
    "Trace",
    "compile_module",
    "cpu",
    "cpu_features",
    "host_text",
    "machine_name",
    "scalar_asked",
    "sparsifier",
    "trace_module",
    "vector_lanes",
    "warm_up",
]
