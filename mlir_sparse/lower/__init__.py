"""A program to a verified `ir.Module`: `linalg.generic` on encoded tensors."""

from mlir_sparse.lower.cancelled_operands import cancels_operands
from mlir_sparse.lower.generic_module import LoweredProgram, lower

__all__ = ["LoweredProgram", "cancels_operands", "lower"]
