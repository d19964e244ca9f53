"""Sparse results written into buffers that the caller allocates.

The sparsifier inserts into a tensor that its code generation grows entry by entry, by
calls, and without a look at what malloc returns. This pass stands between the two. It
takes the tensor out: its buffers become arguments, an insertion becomes stores to
them, and what the loops hand on is the number of entries so far.
"""

from mlir_sparse.pipeline.assembly.rewrite import MODES, assemble_sparse_results

__all__ = ["MODES", "assemble_sparse_results"]
