"""What users hold: kernels of every kind, from what was asked for to what runs."""

from mlir_sparse.compile.compiled_kernel import CompiledKernel
from mlir_sparse.compile.comprehension.comprehension_kernel import ComprehensionKernel
from mlir_sparse.compile.cpu_build import STAGES
from mlir_sparse.compile.cpu_kernel import Kernel
from mlir_sparse.compile.entry_points import compile, evaluate, load, parse
from mlir_sparse.compile.tuning.tune import Tuning, tune

__all__ = [
    "STAGES",
    "CompiledKernel",
    "ComprehensionKernel",
    "Kernel",
    "Tuning",
    "compile",
    "evaluate",
    "load",
    "parse",
    "tune",
]
