"""Dense innermost loops on vectors, their rows held in registers across the sparse loops around them.

The sparsifier loads, changes and stores the row of a dense result for each stored entry,
and LLVM cannot tell that nothing else reads it in between. This pass cuts the row into
tiles and carries each as a value through the loops that stay in the row.
"""

from mlir_sparse.pipeline.tiling.blocks import write_blocks_out
from mlir_sparse.pipeline.tiling.bounds import bound_rows
from mlir_sparse.pipeline.tiling.rewrite import register_tile
from mlir_sparse.pipeline.tiling.rows import sum_rows
from mlir_sparse.pipeline.tiling.runs import scatter_runs
from mlir_sparse.pipeline.tiling.segments import join_segments
from mlir_sparse.pipeline.tiling.slots import read_slots
from mlir_sparse.pipeline.tiling.start import start_rows

__all__ = [
    "bound_rows",
    "join_segments",
    "read_slots",
    "register_tile",
    "scatter_runs",
    "start_rows",
    "sum_rows",
    "write_blocks_out",
]
