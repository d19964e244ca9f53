"""Pieces are sent what their parts name of operands that are not cut."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import mlir_sparse as ms

da = pytest.importorskip("dask.array")
msd = pytest.importorskip("mlir_sparse.dask")
offered = pytest.importorskip("mlir_sparse.dask.image_values").offered

N = 4096
GRID = sp.diags_array([np.full(N, 4.0), *[np.full(N, -1.0)] * 4], offsets=[0, -1, 1, -64, 64], shape=(N, N)).tocsr()
_RANDOM = np.random.default_rng(6)
x, B = _RANDOM.random(N), _RANDOM.random((N, 3))


def _sent(array: Any) -> int:
    """Returns the bytes that all tasks of an array's own layer would send with them, or get from other tasks."""
    layer = dict(array.dask.layers[array.name])
    return sum(value.nbytes for value in layer.values() if isinstance(value, np.ndarray))


@pytest.mark.parametrize("pieces", [1, 8, 40])
@pytest.mark.parametrize("storage", ["CSR", "DCSR", "COO"])
def test_pieces_of_a_grid_are_sent_images_and_nothing_else(storage: str, pieces: int) -> None:
    A = msd.from_tensor(ms.tensor(GRID).convert(storage), pieces=pieces)
    y = ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x)
    np.testing.assert_allclose(y.compute(scheduler="synchronous"), GRID @ x, rtol=1e-12)
    parts = [GRID[low : low + size] for low, size in zip(np.cumsum([0, *A.chunks[0]]), A.chunks[0], strict=False)]
    images = sum(8 * np.unique(part.indices).size for part in parts)
    assert _sent(y) == (images if pieces > 1 else x.nbytes)
    if pieces > 1:
        told = msd.explain("y(i) = A(i,j) * x(j)", A=A, x=x)
        assert f"{images / 1024:.3g} KiB of images" in told
        assert told.startswith("cut along i: axis 0 of A; each piece reads of x what A names; results follow")
        chunked = msd.explain("y(i) = A(i,j) * x(j)", A=A, x=da.from_array(x, chunks=512))
        assert f"  {pieces} tasks and " in chunked
        assert " that send, " in chunked


@pytest.fixture(autouse=True)
def _tasks_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operands of tests are so small that their images would not be worth a task."""
    monkeypatch.setattr("mlir_sparse.dask.image_operands.TASK_NBYTES", 0)


@pytest.mark.parametrize("chunks", [N, 500, 64])
def test_images_of_chunked_operands_come_from_their_chunks(chunks: int) -> None:
    A = msd.from_tensor(ms.tensor(GRID), pieces=8)
    for text, named, wanted in (
        ("y(i) = A(i,j) * x(j)", {"x": da.from_array(x, chunks=chunks)}, GRID @ x),
        ("Y(i,k) = A(i,j) * B(j,k)", {"B": da.from_array(B, chunks=(chunks, 2))}, GRID @ B),
        ("Y(i,k) = A(i,j) * B(k,j)", {"B": da.from_array(B.T.copy(), chunks=(2, chunks))}, GRID @ B),
        ("y(i) = z(i) - 2 * (A(i,j) * x(j))", {"x": da.from_array(x, chunks=chunks), "z": x}, x - 2 * (GRID @ x)),
    ):
        found = ms.evaluate(text, A=A, **named)
        np.testing.assert_allclose(found.compute(scheduler="threads"), wanted, rtol=1e-12)
        sends = [key for key in dict(found.dask) if isinstance(key, tuple) and str(key[0]).startswith("image-send-")]
        assert 8 <= len(sends) <= 8 * (2 + (N // 8 + 128) // chunks + 1)


def test_loops_are_sent_images_at_each_step() -> None:
    A = msd.from_tensor(ms.tensor(GRID / 8), pieces=8)
    step = lambda v, A: msd.evaluate("y(i) = A(i,j) * v(j)", A=A, v=v)  # noqa: E731
    last = list(msd.iterate(step, x, A, times=4))[-1]
    wanted = x
    for _ in range(4):
        wanted = GRID / 8 @ wanted
    np.testing.assert_allclose(last.compute(scheduler="synchronous"), wanted, rtol=1e-12)


STATEMENTS = {
    "an addend without the part": ("y(i) = sum(j : A(i,j) * x(j) + x(j))", lambda G: G @ x + x.sum()),
    "two accesses": ("y(i) = A(i,j) * x(j) * x(k)", lambda G: G @ x * x.sum()),
    "a function of the operand": ("y(i) = sum(j : A(i,j) * exp(x(j)))", lambda G: G @ np.exp(x)),
    "a quotient": ("y(i) = sum(j : A(i,j) / x(j))", lambda G: G @ (1 / x)),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_what_is_read_beyond_the_image_is_sent(name: str) -> None:
    text, wanted = STATEMENTS[name]
    found = ms.evaluate(text, A=msd.from_tensor(ms.tensor(GRID), pieces=4), x=x)
    np.testing.assert_allclose(found.compute(scheduler="synchronous"), wanted(GRID), rtol=1e-9)


def test_parts_without_entries_and_under_semirings() -> None:
    empty = sp.csr_array((N, N))
    A = msd.from_tensor(ms.tensor(empty), pieces=4)
    np.testing.assert_array_equal(ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x).compute(), np.zeros(N))
    G = msd.from_tensor(ms.tensor(GRID), pieces=4)
    found = ms.evaluate("y(i) = A(i,j) * x(j)", A=G, x=x, semiring="min_plus").compute()
    np.testing.assert_array_equal(
        found, ms.evaluate("y(i) = A(i,j) * x(j)", A=ms.tensor(GRID), x=x, semiring="min_plus")
    )


def test_operands_of_another_extent_are_refused_as_by_one_kernel() -> None:
    A = msd.from_tensor(ms.tensor(GRID), pieces=4)
    with pytest.raises(ms.ExtentError):
        ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x[:-9]).compute(scheduler="synchronous")


def test_tasks_of_images_are_small() -> None:
    y = ms.evaluate(
        "y(i) = A(i,j) * x(j)", A=msd.from_tensor(ms.tensor(GRID), pieces=8), x=da.from_array(x, chunks=512)
    )
    tasks = {key: task for key, task in dict(y.dask.layers[y.name]).items() if isinstance(key, tuple)}
    assert max(len(pickle.dumps(task)) for task in tasks.values()) < 1200


@pytest.mark.parametrize("chunked", [False, True])
def test_two_pieces_of_a_grid_are_sent_half_and_the_lines_beside_it(chunked: bool) -> None:
    lines = 64 * 4096
    grid = sp.diags_array([np.full(lines, 1.0)] * 5, offsets=[0, -1, 1, -64, 64], shape=(lines, lines)).tocsr()
    A, v = msd.from_tensor(ms.tensor(grid), pieces=2), np.arange(float(lines))
    given = da.from_array(v, chunks=A.chunks[:1]) if chunked else v
    found = ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=given)
    keys = [key[0] for key in dict(found.dask) if isinstance(key, tuple)]
    assert any(str(name).startswith("image-send-" if chunked else "image-known-") for name in keys)
    np.testing.assert_array_equal(found.compute(scheduler="synchronous"), grid @ v)


@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.complex64, bool])
@pytest.mark.parametrize(("shape", "axis"), [((60,), 0), ((60, 5), 0), ((5, 60), 1), ((3, 60, 4), 1), ((0, 4), 0)])
def test_offered_lines_are_those_of_the_chunk_here_and_elsewhere(dtype: Any, shape: Any, axis: int) -> None:
    random = np.random.default_rng(3)
    chunk = (random.random(shape) * 9).astype(dtype)
    places = np.flatnonzero(random.random(shape[axis]) < 0.4).astype(np.int32)
    lines, wanted = offered(chunk, places, axis), np.take(chunk, places, axis)
    buffers: list[Any] = []
    sent = pickle.loads(pickle.dumps(lines, protocol=5, buffer_callback=buffers.append), buffers=buffers)
    assert type(sent) is np.ndarray
    np.testing.assert_array_equal(sent, wanted, strict=True)
    assert lines.shape == wanted.shape
    assert wanted.nbytes <= sys.getsizeof(lines) <= wanted.nbytes + 100
    assert sys.getsizeof(pickle.dumps(lines)) <= wanted.nbytes + 1000  # not the chunk
    beyond = [2 * extent if dim == axis else extent for dim, extent in enumerate(shape)]
    out = np.zeros(beyond, dtype)
    lines.write(out, places + shape[axis])
    np.testing.assert_array_equal(np.take(out, places + shape[axis], axis), wanted, strict=True)
    assert np.count_nonzero(out) == np.count_nonzero(wanted)
