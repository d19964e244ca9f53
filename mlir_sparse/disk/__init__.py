"""Files: `replace` writes them whole or not at all, `bad_file_errors` makes faults in them errors of this package."""

from mlir_sparse.disk.bad_file_errors import refusing
from mlir_sparse.disk.replace import PARTIAL, replacing, write_whole

__all__ = [
    "PARTIAL",
    "refusing",
    "replacing",
    "write_whole",
]
