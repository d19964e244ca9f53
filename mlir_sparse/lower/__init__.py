"""A program to a verified `ir.Module`: `linalg.generic` on encoded tensors."""

from mlir_sparse.lower.cancelled_operands import cancels_operands
from mlir_sparse.lower.generic_module import LoweredProgram, lower
from mlir_sparse.lower.plan_attributes import guards_of, with_mappings

__all__ = [
    "LoweredProgram",
    "cancels_operands",
    "guards_of",
    "lower",
    "with_mappings",
]
