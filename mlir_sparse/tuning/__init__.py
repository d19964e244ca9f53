"""Tuning: the schedule, and where asked the storage, that computes a kernel fastest on given tensors."""

from mlir_sparse.tuning.table import Row, Table
from mlir_sparse.tuning.tune import Tuning, tune

__all__ = ["Row", "Table", "Tuning", "tune"]
