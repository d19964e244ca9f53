"""How loops run fast: a strategy to a file, each a pass over sparsified code."""

from mlir_sparse.strategies.fuse_fill import fuse_fill
from mlir_sparse.strategies.join_segments import join_segments
from mlir_sparse.strategies.read_slots import read_slots
from mlir_sparse.strategies.register_tile import register_tile
from mlir_sparse.strategies.scatter_runs import scatter_runs
from mlir_sparse.strategies.sum_rows import sum_rows
from mlir_sparse.strategies.unroll_blocks import unroll_blocks

__all__ = [
    "fuse_fill",
    "join_segments",
    "read_slots",
    "register_tile",
    "scatter_runs",
    "sum_rows",
    "unroll_blocks",
]
