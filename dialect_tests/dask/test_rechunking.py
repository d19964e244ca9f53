"""Chunks of tensors in other chunks on a cluster, whose workers exchange NumPy's arrays alone by themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

da = pytest.importorskip("dask.array")
msd = pytest.importorskip("mlir_sparse.dask")

_RANDOM = np.random.default_rng(11)
D = np.where(_RANDOM.random((240, 200)) < 0.05, _RANDOM.random((240, 200)), 0)
MANY = (240, 5)  # of rows, so that Dask would have workers exchange the chunks


@pytest.mark.parametrize("storage", ["CSR", "CSC", "DCSR", "COO"])
def test_parts_are_cut_anew_on_a_cluster(storage: str, cluster: Any) -> None:
    A = msd.from_tensor(ms.tensor(D, storage), pieces=8)
    found = A.rechunk(MANY if A.chunks[0] != (240,) else (6, 200))
    np.testing.assert_array_equal(found.compute().to_numpy(), D)
    with pytest.raises(ms.UnsupportedError, match="leave it out"):
        A.rechunk(MANY, method="p2p")


def test_statements_cut_anew_what_dask_made(cluster: Any) -> None:
    rows = da.from_array(ms.tensor(D, "CSR"), chunks=(4, 200))
    columns = da.ones(200, chunks=5)
    with pytest.raises(RuntimeError, match="P2P"):  # otherwise this tests nothing
        rows.rechunk(MANY).compute()
    found = msd.evaluate("y(i) = A(i,j) * x(j)", A=rows, x=columns, along="j")
    np.testing.assert_allclose(found.compute(), D.sum(axis=1))


def test_arrays_are_exchanged_as_dask_likes() -> None:
    x = ms.evaluate("y(i) = A(i,j)", A=msd.from_tensor(ms.tensor(D), pieces=4))
    np.testing.assert_allclose(x.rechunk(7).compute(scheduler="threads"), D.sum(axis=1))
    assert x.rechunk(7, method="tasks").chunks[0][0] == 7
