"""Shows what becomes of a kernel or a module, pass by pass: as a value, as text, and as a page of its own."""

from typing import TYPE_CHECKING

from mlir_sparse.process.first_use import at_first_use

if TYPE_CHECKING:
    from mlir_sparse.compile.exploring.kernel_sections import cpu_passes, gpu_passes
    from mlir_sparse.compile.exploring.module_sections import module_passes
    from mlir_sparse.compile.exploring.passes_value import Passes, joined
else:
    __getattr__ = at_first_use(
        __name__,
        {
            "kernel_sections": ("cpu_passes", "gpu_passes"),
            "module_sections": ("module_passes",),
            "passes_value": ("Passes", "joined"),
        },
    )

__all__ = ["Passes", "cpu_passes", "gpu_passes", "joined", "module_passes"]
