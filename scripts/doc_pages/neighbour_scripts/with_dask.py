"""Dask: tensors as the chunks of a `dask.array`, and statements on arrays in chunks.

`da.from_array` takes a tensor apart, and NumPy's functions on the chunks are this package's. `mlir_sparse.dask` cuts
tensors and files so that chunks have about as many entries, and statements on them are cut into tasks.
"""

import dask.array as da
import numpy as np

import mlir_sparse as ms
import mlir_sparse.dask as msd

A = ms.random((1000, 800), density=0.02, rng=0)
x = np.linspace(0, 1, 800)

# NumPy's functions, chunk by chunk.
chunks = da.from_array(A, chunks=(250, 800))
total = (2 * chunks - chunks).sum(axis=0).compute(scheduler="threads")
print(type(chunks[:10].compute()).__name__, np.allclose(np.asarray(total), A.sum(axis=0)))

# A statement, cut along the rows of the matrix.
rows = msd.from_tensor(A, pieces=4)
y = ms.evaluate("y(i) = A(i,j) * x(j)", A=rows, x=x)
print(type(y).__module__.partition(".")[0], y.chunks)
print(np.allclose(y.compute(scheduler="threads"), A @ x))
print(msd.explain("y(i) = A(i,j) * x(j)", A=rows, x=x).splitlines()[0])
