"""Kernels of several statements: tensor comprehensions, and statements with ranges."""

from mlir_sparse.comprehend.build import as_comprehension, compile_comprehension, evaluate_comprehension
from mlir_sparse.comprehend.kernel import ComprehensionKernel

__all__ = ["ComprehensionKernel", "as_comprehension", "compile_comprehension", "evaluate_comprehension"]
