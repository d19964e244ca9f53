"""Files: written whole or not at all, and a stranger's read without surprises."""

from mlir_sparse.disk.refuse import refusing
from mlir_sparse.disk.replace import PARTIAL, replacing, write_whole

__all__ = [
    "PARTIAL",
    "refusing",
    "replacing",
    "write_whole",
]
