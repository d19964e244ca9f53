"""`dask.array` works on tensors as chunks with nothing registered, and knows their size and identity."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.as_array import as_array

da = pytest.importorskip("dask.array")

_RANDOM = np.random.default_rng(0)
D = np.where(_RANDOM.random((40, 30)) < 0.2, _RANDOM.integers(1, 9, (40, 30)), 0).astype(float)
E = np.where(_RANDOM.random((40, 30)) < 0.2, _RANDOM.integers(1, 9, (40, 30)), 0).astype(float)
X = _RANDOM.random((30, 4))


def doubled(block: Any) -> Any:
    return 2 * block


OPERATIONS: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "itself": (lambda A, B: A, D),
    "sum of two": (lambda A, B: A + B, D + E),
    "product of two": (lambda A, B: A * B, D * E),
    "scaled": (lambda A, B: 2 * A, 2 * D),
    "negative": (lambda A, B: -A, -D),
    "ufunc": (lambda A, B: np.sin(A), np.sin(D)),
    "comparison": (lambda A, B: A > 3, D > 3),
    "sum": (lambda A, B: A.sum(), D.sum()),
    "sum of columns": (lambda A, B: A.sum(axis=0), D.sum(axis=0)),
    "max of rows": (lambda A, B: A.max(axis=1), D.max(axis=1)),
    "mean": (lambda A, B: A.mean(axis=0), D.mean(axis=0)),
    "variance": (lambda A, B: A.var(axis=0), D.var(axis=0)),
    "transpose": (lambda A, B: A.T, D.T),
    "slice": (lambda A, B: A[5:17, 3:], D[5:17, 3:]),
    "row": (lambda A, B: A[7], D[7]),
    "rows": (lambda A, B: A[[3, 1, 20]], D[[3, 1, 20]]),
    "rechunk": (lambda A, B: A.rechunk((20, 10)), D),
    "concatenate": (lambda A, B: da.concatenate([A, B]), np.concatenate([D, E])),
    "stack": (lambda A, B: da.stack([A, B]), np.stack([D, E])),
    "times a matrix": (lambda A, B: A @ da.from_array(X, chunks=(15, 4)), D @ X),
    "sparse times sparse": (lambda A, B: A @ B.T, D @ E.T),
    "tensordot": (lambda A, B: da.tensordot(A, B, axes=([1], [1])), D @ E.T),
    "einsum": (lambda A, B: da.einsum("ij,kj->ik", A, B), D @ E.T),
    "map_blocks": (lambda A, B: A.map_blocks(doubled), 2 * D),
    "where": (lambda A, B: da.where(A > 3, A, 0), np.where(D > 3, D, 0)),
    "any": (lambda A, B: (A > 3).any(axis=0), (D > 3).any(axis=0)),
    "place of the greatest": (lambda A, B: da.argmax(A), D.argmax()),
    "places of the greatest": (lambda A, B: da.argmax(A, axis=0), D.argmax(axis=0)),
    "places of the least": (lambda A, B: A.argmin(axis=1), D.argmin(axis=1)),
    "padded": (lambda A, B: da.pad(A, 2), np.pad(D, 2)),
    "median": (lambda A, B: da.median(A, axis=1), np.median(D, axis=1)),
    "median of all": (lambda A, B: da.median(A.rechunk(-1), axis=(0, 1)), np.median(D)),
    "running sums": (lambda A, B: da.cumsum(A, axis=0), np.cumsum(D, axis=0)),
    "neighbours": (lambda A, B: A.map_overlap(doubled, depth=2, boundary="periodic"), 2 * D),
    "rows of blocks": (lambda A, B: A.rechunk((7, -1)).map_blocks(np.sum, axis=1, drop_axis=1), D.sum(axis=1)),
    "several at once": (lambda A, B: A.sum(axis=0, split_every=2), D.sum(axis=0)),
    "norm": (lambda A, B: da.linalg.norm(A), np.linalg.norm(D)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_on_tensors_as_chunks(name: str) -> None:
    operation, wanted = OPERATIONS[name]
    A, B = (da.from_array(ms.tensor(array, "CSR"), chunks=(10, 15)) for array in (D, E))
    found = operation(A, B)
    computed = found.compute(scheduler="threads")
    shown = computed.to_numpy() if isinstance(computed, ms.SparseTensor) else np.asarray(computed)
    assert found.shape == np.shape(wanted)
    np.testing.assert_allclose(shown, wanted, rtol=1e-12)


BESIDE: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "product": (lambda A, T: A * T, D * E),
    "product from the left": (lambda A, T: T * A, D * E),
    "difference": (lambda A, T: T - A, E - D),
    "quotient": (lambda A, T: T / (A + 1), E / (D + 1)),
    "comparison": (lambda A, T: T <= A, E <= D),
    "equal": (lambda A, T: T == A, E == D),
    "unequal to an array": (lambda A, T: da.ones((40, 30), chunks=7) != T, E != 1),
    "matrix product": (lambda A, T: A @ T.T, D @ E.T),
    "matrix product from the left": (lambda A, T: T.T @ A, E.T @ D),
    "times a vector": (lambda A, T: T @ da.arange(30, chunks=7), E @ np.arange(30)),
    "ufunc": (lambda A, T: np.maximum(T, A), np.maximum(E, D)),
    "two results": (lambda A, T: np.divmod(T, A + 1)[1], np.divmod(E, D + 1)[1]),
    "outer": (lambda A, T: np.multiply.outer(T[0], A[1]), np.multiply.outer(E[0], D[1])),
    "joined": (lambda A, T: np.concatenate([T, A, D]), np.concatenate([E, D, D])),
    "tensordot": (lambda A, T: np.tensordot(T, A, axes=((0,), (0,))), E.T @ D),
    "chosen": (lambda A, T: np.where(A > 3, A, T), np.where(D > 3, D, E)),
    "with a fill value": (lambda A, T: T.with_fill(2.0) + A, np.where(E == 0, 2, E) + D),
    "its reverse": (lambda A, T: A * T.with_fill(2.0), np.where(E == 0, 2, E) * D),
}


@pytest.mark.parametrize("name", BESIDE)
def test_tensors_beside_dask_arrays_give_dask_arrays(name: str) -> None:
    operation, wanted = BESIDE[name]
    found = operation(da.from_array(ms.tensor(D, "CSR"), chunks=(10, 15)), ms.tensor(E, "CSR"))
    assert isinstance(found, da.Array), "nothing runs before it is asked for"
    assert found.shape == np.shape(wanted)
    assert found.dtype == np.asarray(wanted).dtype
    np.testing.assert_allclose(as_array(found.compute(scheduler="threads")), wanted, rtol=1e-12)


def test_its_size_is_that_of_its_buffers() -> None:
    from dask.sizeof import sizeof

    tensor = ms.tensor(np.eye(2000))
    assert tensor.nbytes <= sizeof(tensor) <= 1.05 * tensor.nbytes
    assert sizeof(tensor[:10]) < 1000


def test_equal_tensors_have_one_token_and_others_another() -> None:
    from dask.base import tokenize

    tensor = ms.tensor(D, "CSR")
    assert tokenize(tensor) == tokenize(ms.tensor(D, "CSR"))
    others = [ms.tensor(E, "CSR"), ms.tensor(D, "CSC"), ms.tensor(D.astype("f4"), "CSR"), ms.tensor(D[:39], "CSR")]
    assert len({tokenize(one) for one in (tensor, *others)}) == 5


def test_tasks_are_small_and_the_tensor_is_in_the_graph_once() -> None:
    diagonal = np.arange(20_000)
    tensor = ms.tensor(((diagonal, diagonal), np.ones(20_000)), "CSR", shape=(20_000, 20_000))
    graph = dict(da.from_array(tensor, chunks=(1000, 20_000)).map_blocks(doubled).__dask_graph__())
    sizes = sorted(len(pickle.dumps(task)) for task in graph.values())
    assert sizes[-1] > tensor.nbytes
    assert sizes[-2] <= 2000


def test_the_package_imports_no_dask() -> None:
    code = "import sys, mlir_sparse; print([name for name in sys.modules if name.partition('.')[0] == 'dask'])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
