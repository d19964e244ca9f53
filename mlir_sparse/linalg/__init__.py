"""Linear systems of sparse matrices: conjugate gradients, triangles, incomplete factors, and direct solvers.

Other Krylov solvers and those of eigenvalues are SciPy's: a tensor is a linear operator, so that
`scipy.sparse.linalg.gmres(A, b)` takes one of any storage, and a preconditioner of this room as its `M`.

>>> import numpy as np
>>> from mlir_sparse.tensor import tensor
>>> A = tensor([[4.0, 1.0, 0.0], [1.0, 4.0, 1.0], [0.0, 1.0, 4.0]])
>>> x, failed = cg(A, np.array([5.0, 6.0, 5.0]), M=IC0(A))
>>> x.round(6).tolist(), failed
([1.0, 1.0, 1.0], 0)
"""

from mlir_sparse.linalg.conjugate_gradients import cg
from mlir_sparse.linalg.direct_solvers import DirectSolver, factorized, solve
from mlir_sparse.linalg.incomplete_factors import IC0, ILU0
from mlir_sparse.linalg.jacobi import Jacobi
from mlir_sparse.linalg.linear_map import LinearMap
from mlir_sparse.linalg.triangular_solve import solve_triangular

__all__ = ["IC0", "ILU0", "DirectSolver", "Jacobi", "LinearMap", "cg", "factorized", "solve", "solve_triangular"]
