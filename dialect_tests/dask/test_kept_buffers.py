"""Buffers that are filled anew for each piece: one user at a time, and none once the parts have ended."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
import scipy.sparse as sp

import mlir_sparse as ms

pytest.importorskip("dask.array")
msd = pytest.importorskip("mlir_sparse.dask")
kept_buffers = pytest.importorskip("mlir_sparse.dask.kept_buffers")
buffer_for = kept_buffers.buffer_for

SHAPE = (1 << 17, 2)


class _Part:
    """Something that lives for a while."""


def test_a_buffer_is_given_again_once_nothing_refers_to_it() -> None:
    part, other = _Part(), _Part()
    first = buffer_for(part, SHAPE, np.float64)
    first[7] = 3
    second = buffer_for(other, SHAPE, np.float64)
    assert not np.shares_memory(first, second)
    view = first[5:9]
    del first
    assert not np.shares_memory(buffer_for(part, SHAPE, np.float64), view)
    address = view.ctypes.data - 5 * 16
    del view
    again = buffer_for(other, SHAPE, np.float64)
    assert again.ctypes.data == address
    assert again[7].tolist() == [3, 3]
    assert not np.shares_memory(buffer_for(part, SHAPE, np.float32), again)
    del part
    assert (*SHAPE, "<f8") in kept_buffers._known
    del other
    gc.collect()
    assert not kept_buffers._known


def test_threads_never_share_a_buffer() -> None:
    part, wrong = _Part(), []

    def fill(number: int) -> None:
        for _ in range(30):
            own = buffer_for(part, SHAPE, np.float64)
            own[:] = number
            if not (own == number).all():
                wrong.append(number)

    threads = [threading.Thread(target=fill, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong


def test_what_other_pieces_have_left_is_not_read() -> None:
    n = 1 << 17
    lines = [np.full(n, 2.0), np.full(n - 1, -1.0), np.full(n - 1, -1.0)]
    tridiagonal = sp.diags_array(lines, offsets=[0, 1, -1], shape=(n, n)).tocsr()
    A = msd.from_tensor(ms.tensor(tridiagonal), pieces=6)
    for x in (np.arange(float(n)), np.where(np.arange(n) % 5000 == 0, np.nan, 1.0), np.full(n, np.inf), np.ones(n)):
        found = ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x).compute(scheduler="threads")
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(found, ms.evaluate("y(i) = A(i,j) * x(j)", A=ms.tensor(tridiagonal), x=x))
