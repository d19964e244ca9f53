"""Gradients of index notation on data: what `torch/` and `jax/` differentiate by.

`notation.adjoint` gives the derivative of statements as statements. Here operands are arrays of values, with the
structure of those that are sparse beside them (`value_structure`), and a program of statements runs on these
(`differentiable_program`), as do its adjoint and the adjoint of that. No other library is imported.
"""

from mlir_sparse.gradients.adjoint_entry import adjoint
from mlir_sparse.gradients.differentiable_program import DifferentiableProgram, program_of
from mlir_sparse.gradients.value_structure import ValueStructure

__all__ = ["DifferentiableProgram", "ValueStructure", "adjoint", "program_of"]
