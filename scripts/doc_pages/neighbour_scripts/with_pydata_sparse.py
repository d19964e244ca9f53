"""pydata/sparse: its arrays are operands as they are, of functions and of statements, and results go back.

`COO` and `GCXS` share their memory. Functions have NumPy's names in both, so that most programs change an import.
"""

import tempfile
from pathlib import Path

import numpy as np
import sparse

import mlir_sparse as ms

theirs = sparse.random((30, 40, 50), density=0.02, random_state=0)
A = ms.tensor(theirs)
print(A.encoding.level_types[0], np.shares_memory(A.storage.values, theirs.data))

# The same calls on either.
for function in (np.sin, lambda x: x.sum(axis=2), lambda x: x.transpose((2, 0, 1)), lambda x: x[3:9, ::2], abs):
    ours, wanted = function(A), function(theirs)
    print(type(ours).__name__, np.allclose(ours.to_numpy(), wanted.todense()))
flat = sparse.GCXS.from_numpy(theirs.todense()[0])
print(ms.tensor(flat).format, np.allclose(ms.tensor(flat) @ np.ones(50), flat @ np.ones(50)))

# A fill value goes along, and comes back.
filled = ms.tensor(sparse.COO.from_numpy(np.array([[np.inf, 2.0], [3.0, np.inf]]), fill_value=np.inf))
print(type(filled).__name__, filled.min(axis=0), (filled + 1).to("pydata").fill_value)

# `ms.xp` has all of its functions, by its names and arguments, and reads its files.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "filled.npz"
    sparse.save_npz(path, filled.to("pydata"))
    of_both = [of.elemwise(np.maximum, of.load_npz(path), 2.5).todense() for of in (ms.xp, sparse)]
    print(np.array_equal(*of_both), ms.xp.load_npz(path).fill_value)
print([name for name in sparse.__all__ if not hasattr(ms.xp, name)])

# Statements that pydata/sparse has no function for, on its own arrays.
C, D = np.ones((40, 4)), np.ones((50, 4))
M = ms.evaluate("M(i,r) = T(i,j,k) * C(j,r) * D(k,r)", T=theirs, C=C, D=D)
print(np.allclose(M[:, 0], theirs.sum((1, 2)).todense()))
back = (A * 2).to("pydata")
print(type(back).__name__, np.array_equal(back.todense(), 2 * theirs.todense()))
