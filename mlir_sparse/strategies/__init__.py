"""How loops run fast: a strategy to a file, which says whether it applies to a loop, and writes what is faster."""

from mlir_sparse.loops.strategy import StrategyPass
from mlir_sparse.strategies.read_slots import READ_SLOTS
from mlir_sparse.strategies.sum_rows import SUM_ROWS

__all__ = ["STRATEGIES"]

STRATEGIES: tuple[StrategyPass, ...] = (
    READ_SLOTS,
    SUM_ROWS,
)
"""All strategies, each a pass of its name."""
