"""How classes of plain values are made: `dataclass`, in a fraction of the time."""

from mlir_sparse.classes.quick_dataclass import dataclass

__all__ = ["dataclass"]
