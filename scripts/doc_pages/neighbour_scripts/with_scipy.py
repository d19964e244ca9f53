"""SciPy: a tensor of any storage where its solvers take a linear operator, and its sparse arrays on the same memory.

`S @ A` and `S + A` of a sparse array of SciPy's and a tensor are tensors. What reads the arrays of a CSR matrix itself,
as `scipy.sparse.csgraph` does, takes `A.to("scipy")`, which copies nothing.
"""

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sl
from scipy.sparse.csgraph import connected_components

import mlir_sparse as ms

points = 40
line = sp.diags_array([-np.ones(points - 1), 2 * np.ones(points), -np.ones(points - 1)], offsets=[-1, 0, 1])
S = sp.csr_array(sp.kron(line, sp.eye_array(points)) + sp.kron(sp.eye_array(points), line))
A, b = ms.tensor(S), np.ones(points * points)
print(repr(A), np.shares_memory(A.storage.values, S.data))

# Solvers, with a preconditioner that is a tensor's too.
for storage in ("CSR", "CSC", "DIA"):
    x, failed = sl.cg(A.convert(storage), b, rtol=1e-10, M=ms.linalg.IC0(A))
    print(storage, failed, np.allclose(S @ x, b))
print(sl.eigsh(A, k=2, return_eigenvectors=False).round(3), sl.svds(A, k=1, return_singular_vectors=False).round(3))
print(np.allclose(sl.expm_multiply(sl.aslinearoperator(-A), b, traceA=-A.trace()), sl.expm_multiply(-S, b)))
print(np.allclose(ms.linalg.solve_triangular(A, b), sl.spsolve_triangular(sp.csr_array(sp.tril(S)), b)))

# Sparse arrays beside tensors, and back.
print(type(S @ A).__name__, (S @ A).nse == (S @ S).nnz, type(S - A).__name__, (S - A).sum())
back = A.to("scipy")
print(type(back).__name__, np.shares_memory(back.data, S.data), connected_components(back)[0])
