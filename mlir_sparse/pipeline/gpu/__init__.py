"""From sparsified loops to kernels for NVIDIA's GPUs: mapped to threads, then NVVM, then PTX."""

from mlir_sparse.pipeline.gpu.bare import pass_addresses
from mlir_sparse.pipeline.gpu.in_place import share_structure
from mlir_sparse.pipeline.gpu.mapper import map_loops
from mlir_sparse.pipeline.gpu.ptx import assemble_kernels

__all__ = ["assemble_kernels", "map_loops", "pass_addresses", "share_structure"]
