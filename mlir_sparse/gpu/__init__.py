"""From sparsified loops to kernels for NVIDIA's GPUs: loops given to threads, then NVVM, then PTX."""

from typing import TYPE_CHECKING

from mlir_sparse.process.first_use import at_first_use

if TYPE_CHECKING:
    from mlir_sparse.gpu.kernels.in_place_results import share_structure
    from mlir_sparse.gpu.map_functions import map_loops
    from mlir_sparse.gpu.parallel_loops import parallelize_loops
    from mlir_sparse.gpu.ptx.buffer_addresses import pass_addresses
    from mlir_sparse.gpu.ptx.emit_ptx import assemble_kernels
    from mlir_sparse.gpu.user_kernels import expect_kernels
else:
    __getattr__ = at_first_use(
        __name__,
        {
            "kernels.in_place_results": ("share_structure",),
            "map_functions": ("map_loops",),
            "ptx.buffer_addresses": ("pass_addresses",),
            "ptx.emit_ptx": ("assemble_kernels",),
            "parallel_loops": ("parallelize_loops",),
            "user_kernels": ("expect_kernels",),
        },
    )

__all__ = [
    "assemble_kernels",
    "expect_kernels",
    "map_loops",
    "parallelize_loops",
    "pass_addresses",
    "share_structure",
]
