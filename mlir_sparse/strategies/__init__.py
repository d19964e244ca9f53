"""How loops run fast: a strategy to a file, each a pass over sparsified code."""

from mlir_sparse.strategies.flatten_loops import join_segments
from mlir_sparse.strategies.read_slots import read_slots
from mlir_sparse.strategies.register_tile import register_tile
from mlir_sparse.strategies.rows_from_initial import start_rows
from mlir_sparse.strategies.scatter_to_dense import scatter_runs
from mlir_sparse.strategies.sum_rows import sum_rows
from mlir_sparse.strategies.written_out_blocks import write_blocks_out

__all__ = [
    "join_segments",
    "read_slots",
    "register_tile",
    "scatter_runs",
    "start_rows",
    "sum_rows",
    "write_blocks_out",
]
