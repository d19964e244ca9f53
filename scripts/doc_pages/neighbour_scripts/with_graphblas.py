"""python-graphblas: `Matrix` and `Vector` in and out, and semirings by SuiteSparse's names.

The page on GraphBLAS has each operation of the C interface. Here are two algorithms, computed by both.
"""

import graphblas as gb
import numpy as np

import mlir_sparse as ms

rng = np.random.default_rng(0)
at = np.unique(rng.integers(0, 200, (900, 2)), axis=0)
G = gb.Matrix.from_coo(at[:, 0], at[:, 1], rng.integers(1, 9, len(at)).astype(float), nrows=200, ncols=200)
A = ms.tensor(G)
print(A.shape, A.nse == G.nvals)

# Shortest paths from vertex 0: min_plus, accumulated by min.
theirs = gb.Vector.from_coo([0], [0.0], size=200)
for _ in range(200):
    theirs(gb.binary.min) << gb.semiring.min_plus(theirs @ G)
ours = np.full(200, np.inf)
ours[0] = 0
for _ in range(200):
    ours = ms.evaluate("d(j) += A(i,j) * e(i)", A=A, e=ours, d=ours, semiring="min_plus")
print(np.array_equal(ours, theirs.to_dense(np.inf)))

# Triangles of the undirected graph: a product under a mask, plus_pair.
low = np.tril(ms.tensor(np.sign(A + A.T)), -1)
L = low.to("graphblas")
count = gb.Matrix(float, 200, 200)
count(L.S) << gb.semiring.plus_pair(L @ L.T)
mine = ms.evaluate("C(i,j) = L(i,k) * L(j,k) if L(i,j)", L=low, semiring="plus_pair")
print(int(mine.sum()) == int(count.reduce_scalar().get(0)))
back = ms.tensor(mine).to("graphblas")
print(type(back).__name__, back.isclose(count))
