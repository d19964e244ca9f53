"""The functions and kernels that users hold.

`entry_points` has `parse`, `compile`, `evaluate` and `load`; `compile_options` checks their options. They return a
`CompiledKernel`: `cpu_kernel` and `gpu_kernel` for one statement, `comprehension/` for several. `cpu_build`,
`gpu_build` and `gpu_program` join plan, lowering, pipeline and runtime. `tuning/` searches for the fastest schedule and
storage, and measures the machine.
"""

from typing import TYPE_CHECKING

from mlir_sparse.compile.compiled_kernel import CompiledKernel
from mlir_sparse.compile.cpu_build import STAGES
from mlir_sparse.compile.cpu_kernel import Kernel
from mlir_sparse.compile.entry_points import compile, evaluate, parse
from mlir_sparse.compile.statement_optimizer import get_optimize, set_optimize
from mlir_sparse.process.first_use import at_first_use

if TYPE_CHECKING:
    from mlir_sparse.compile.comprehension.comprehension_kernel import ComprehensionKernel
    from mlir_sparse.compile.definitions.defined_tensor import DefinedTensor, define
    from mlir_sparse.compile.load_kernel import load
    from mlir_sparse.compile.tuning.tune import Tuning, tune
    from mlir_sparse.compile.tuning.tune_machine import tune_machine
else:
    __getattr__ = at_first_use(
        __name__,
        {
            "comprehension.comprehension_kernel": ("ComprehensionKernel",),
            "definitions.defined_tensor": ("DefinedTensor", "define"),
            "load_kernel": ("load",),
            "tuning.tune": ("Tuning", "tune"),
            "tuning.tune_machine": ("tune_machine",),
        },
    )

__all__ = [
    "STAGES",
    "CompiledKernel",
    "ComprehensionKernel",
    "DefinedTensor",
    "Kernel",
    "Tuning",
    "compile",
    "define",
    "evaluate",
    "get_optimize",
    "load",
    "parse",
    "set_optimize",
    "tune",
    "tune_machine",
]
