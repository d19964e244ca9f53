"""The derivative of index notation, as index notation: reverse-mode differentiation of statements.

`derivative_table` has the derivatives of scalar functions; `contributions` walks through a statement and finds what
each access adds to its tensor's cotangent; `adjoint_steps` collects that into statements, several in reverse.
"""

from mlir_sparse.notation.adjoint.adjoint_of import adjoint_of
from mlir_sparse.notation.adjoint.adjoint_values import Adjoint, AdjointStep, Helper, Placed
from mlir_sparse.notation.adjoint.derivative_table import DERIVATIVES, Derivative

__all__ = ["DERIVATIVES", "Adjoint", "AdjointStep", "Derivative", "Helper", "Placed", "adjoint_of"]
