"""A program to a verified `ir.Module`: `linalg.generic` on encoded tensors."""

from mlir_sparse.lower.module import Function, LoweredProgram, functions_of, lower

__all__ = ["Function", "LoweredProgram", "functions_of", "lower"]
