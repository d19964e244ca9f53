"""Files: `replace` writes them whole or not at all, `refuse` turns faults in files of strangers into errors."""

from mlir_sparse.disk.refuse import refusing
from mlir_sparse.disk.replace import PARTIAL, replacing, write_whole

__all__ = [
    "PARTIAL",
    "refusing",
    "replacing",
    "write_whole",
]
