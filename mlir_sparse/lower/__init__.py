"""Writes the loop nests of a program as `linalg.generic` on encoded tensors, in a verified module.

`generic_module` builds a function for each nest. `scalar_region` emits the payload of a generic, and `entry_region_ops`
that of operators on stored entries. Both use `arithmetic_ops` and `truth_ops`, which choose MLIR's operation by the
element type, and `function_ops`, which composes functions that MLIR lacks.
"""

from mlir_sparse.lower.cancelled_operands import cancels_operands
from mlir_sparse.lower.generic_module import LoweredProgram, lower

__all__ = ["LoweredProgram", "cancels_operands", "lower"]
