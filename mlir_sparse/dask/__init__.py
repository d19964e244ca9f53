"""Statements over partitions on Dask: the same kernels on threads, on the processes of a machine, and on a cluster.

An operand is a `dask.array` whose chunks are tensors (`from_tensor`, `from_files`, `from_source`), or of NumPy arrays.
`evaluate` cuts a statement along one index variable (`plan.statement_cuts`), and returns a `dask.array` of which
nothing runs before it is asked for. There is no scheduler and no transport here: graphs are Dask's, and run on whatever
runs those. Importing this imports Dask; `import mlir_sparse` does not.
"""

from mlir_sparse.dask.partitioned import from_files, from_source, from_tensor
from mlir_sparse.dask.statements import evaluate, explain, iterate
from mlir_sparse.dask.task_names import expect_short_tasks

__all__ = ["evaluate", "explain", "from_files", "from_source", "from_tensor", "iterate"]

expect_short_tasks()
