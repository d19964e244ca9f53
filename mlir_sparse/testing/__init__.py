"""Support for tests of kernels: a reference evaluator that shares nothing with the compiler."""

from mlir_sparse.testing.reference.compare import Comparison, compare
from mlir_sparse.testing.reference.evaluator import evaluate
from mlir_sparse.testing.reference.read_elements import Block, Operand

__all__ = [
    "Block",
    "Comparison",
    "Operand",
    "compare",
    "evaluate",
]
