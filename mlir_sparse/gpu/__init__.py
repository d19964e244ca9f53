"""From sparsified loops to kernels for NVIDIA's GPUs: loops given to threads, then NVVM, then PTX."""

from mlir_sparse.gpu.kernels.in_place_results import share_structure
from mlir_sparse.gpu.map_functions import map_loops
from mlir_sparse.gpu.ptx.buffer_addresses import pass_addresses
from mlir_sparse.gpu.ptx.emit_ptx import assemble_kernels

__all__ = [
    "assemble_kernels",
    "map_loops",
    "pass_addresses",
    "share_structure",
]
