"""Sparse results written into buffers that the caller allocates."""

from mlir_sparse.assembly.assemble import MODES, assemble_sparse_results

__all__ = [
    "MODES",
    "assemble_sparse_results",
]
