"""How loops run fast: a strategy to a file, which says whether it applies to a loop, and writes what is faster."""

from mlir_sparse.loops.strategy import StrategyPass, StrategySequence
from mlir_sparse.strategies.array_sums import ARRAY_SUMS
from mlir_sparse.strategies.block_tiles import BLOCK_TILES
from mlir_sparse.strategies.fibre_workspace import FIBRE_WORKSPACE
from mlir_sparse.strategies.flatten_rows import FLATTEN_ROWS
from mlir_sparse.strategies.fuse_fill import FUSE_FILL
from mlir_sparse.strategies.inner_sums import INNER_SUMS
from mlir_sparse.strategies.join_segments import JOIN_SEGMENTS
from mlir_sparse.strategies.leapfrog_lists import LEAPFROG_LISTS
from mlir_sparse.strategies.nontemporal_stores import NONTEMPORAL_STORES
from mlir_sparse.strategies.one_value import ONE_VALUE
from mlir_sparse.strategies.prefetch_gathers import PREFETCH_GATHERS
from mlir_sparse.strategies.prefetch_rows import PREFETCH_ROWS
from mlir_sparse.strategies.prefetch_streams import PREFETCH_STREAMS
from mlir_sparse.strategies.read_slots import READ_SLOTS
from mlir_sparse.strategies.register_tile import REGISTER_TILE
from mlir_sparse.strategies.rows_apart import ROWS_APART
from mlir_sparse.strategies.scatter_runs import SCATTER_RUNS
from mlir_sparse.strategies.several_entries import SEVERAL_ENTRIES
from mlir_sparse.strategies.share_equal_nests import SHARE_EQUAL_NESTS
from mlir_sparse.strategies.slot_rows import SLOT_ROWS
from mlir_sparse.strategies.split_merges import SPLIT_MERGES
from mlir_sparse.strategies.sum_rows import SUM_ROWS
from mlir_sparse.strategies.sum_runs import SUM_RUNS
from mlir_sparse.strategies.unroll_blocks import UNROLL_BLOCKS

__all__ = ["STRATEGIES"]

STRATEGIES: tuple[StrategyPass, ...] = (
    ARRAY_SUMS,
    FIBRE_WORKSPACE,
    FLATTEN_ROWS,
    FUSE_FILL,
    JOIN_SEGMENTS,
    LEAPFROG_LISTS,
    NONTEMPORAL_STORES,
    ONE_VALUE,
    PREFETCH_GATHERS,
    PREFETCH_ROWS,
    PREFETCH_STREAMS,
    READ_SLOTS,
    ROWS_APART,
    SCATTER_RUNS,
    SHARE_EQUAL_NESTS,
    SLOT_ROWS,
    SPLIT_MERGES,
    StrategySequence("register-tile", (BLOCK_TILES, REGISTER_TILE, SEVERAL_ENTRIES, INNER_SUMS)),
    SUM_ROWS,
    SUM_RUNS,
    UNROLL_BLOCKS,
)
"""All strategies, each a pass of its name."""
