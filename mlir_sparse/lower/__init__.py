"""A program to a verified `ir.Module`: `linalg.generic` on encoded tensors."""

from mlir_sparse.lower.fold import cancels_operands
from mlir_sparse.lower.mappings import guards_of, level_buffers, with_mappings
from mlir_sparse.lower.module import Function, LoweredProgram, functions_of, identity_of, lower

__all__ = [
    "Function",
    "LoweredProgram",
    "cancels_operands",
    "functions_of",
    "guards_of",
    "identity_of",
    "level_buffers",
    "lower",
    "with_mappings",
]
