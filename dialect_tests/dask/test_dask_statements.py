"""Statements on `dask.array`s: equal to the whole on every scheduler, and with workers that die."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.as_array import as_array

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
msd = pytest.importorskip("mlir_sparse.dask")

_RANDOM = np.random.default_rng(3)
D = np.where(_RANDOM.random((400, 300)) < 0.05, _RANDOM.random((400, 300)), 0)
x, z, B = _RANDOM.random(300), _RANDOM.random(400), _RANDOM.random((300, 4))

STATEMENTS: dict[str, tuple[dict[str, Any], Any]] = {
    "y(i) = A(i,j) * x(j)": ({"x": x}, D @ x),
    "y(j) = A(i,j) * z(i)": ({"z": z}, z @ D),
    "Y(i,k) = A(i,j) * B(j,k)": ({"B": B}, D @ B),
    "r(i) = z(i) - A(i,j) * x(j)": ({"x": x, "z": z}, z - D @ x),
    "s = A(i,j)": ({}, D.sum()),
    "m(j) = max(i : A(i,j))": ({}, D.max(axis=0)),
    "C(i,j) = A(i,k) * P(j,k)": ({"P": ms.tensor(D)}, D @ D.T),
    "Z(i,j) = A(i,j) + P(i,j)": ({"P": ms.tensor(D)}, 2 * D),
    "G(i,j) = A(k,i) * P(k,j)": ({"P": ms.tensor(D)}, D.T @ D),
}


@pytest.mark.parametrize("pieces", [1, 5, 17])
@pytest.mark.parametrize("text", STATEMENTS)
def test_statements_on_parts_are_those_on_the_whole(text: str, pieces: int) -> None:
    named, wanted = STATEMENTS[text]
    A = msd.from_tensor(ms.tensor(D, "CSR"), pieces=pieces)
    found = msd.evaluate(text, A=A, **named)
    assert found.shape == np.shape(wanted)
    np.testing.assert_allclose(as_array(found.compute(scheduler="threads")), wanted, rtol=1e-10)


@pytest.mark.parametrize("storage", ["CSR", "CSC", "DCSR", "COO", "BSR(4, 3)", "DIA"])
def test_parts_of_every_storage(storage: str) -> None:
    whole = ms.tensor(D, storage)
    A = msd.from_tensor(whole, pieces=6)
    assert sum(A.chunks[0]) == 400
    np.testing.assert_array_equal(as_array(A.compute(scheduler="synchronous")), D)
    found = ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=da.from_array(x, chunks=70))
    np.testing.assert_allclose(found.compute(scheduler="synchronous"), D @ x, rtol=1e-10)


def test_evaluate_of_the_package_gives_a_dask_array_under_semirings_too() -> None:
    A = msd.from_tensor(ms.tensor(D), pieces=4)
    found = ms.evaluate("d(j) = A(i,j) * z(i)", A=A, z=z, semiring="min_plus")
    assert isinstance(found, da.Array)
    whole = ms.evaluate("d(j) = A(i,j) * z(i)", A=ms.tensor(D), z=z, semiring="min_plus")
    np.testing.assert_array_equal(found.compute(scheduler="synchronous"), whole)
    longest = ms.monoid(lambda a, b: ms.where(abs(a) > abs(b), a, b), 0.0)
    found = ms.evaluate("m(j) = f(i : A(i,j))", f=longest, A=A)
    np.testing.assert_array_equal(found.compute(scheduler="synchronous"), D.max(axis=0))
    with pytest.raises(ms.UnsupportedError, match="without target="):
        ms.evaluate("d(j) = A(i,j) * z(i)", A=A, z=z, deterministic=True)


def test_parts_have_about_as_many_entries() -> None:
    skewed = np.zeros((1000, 200))
    skewed[:100, :40] = 1
    skewed[np.arange(1000), np.arange(1000) % 200] = 1
    A = msd.from_tensor(ms.tensor(skewed, "CSR"), pieces=8)
    entries = [A.blocks[number].compute(scheduler="synchronous").nbytes for number in range(A.numblocks[0])]
    assert len(entries) == 8
    assert max(entries) < 1.2 * np.mean(entries)


def test_the_cut_that_moves_least_is_taken_and_explained() -> None:
    A = msd.from_tensor(ms.tensor(D), pieces=4)
    told = msd.explain("y(i) = z(i) - A(i,j) * x(j)", A=A, x=x, z=z)
    assert told.startswith("cut along i: axis 0 of z, axis 0 of A; each piece reads all of x")
    assert "4 tasks, 9.38 KiB read whole by every piece" in told
    assert "not along j: z(i) lacks j: each piece would count it" in told
    with pytest.raises(ms.UnsupportedError, match="z\\(i\\) lacks j"):
        msd.evaluate("y(i) = z(i) - A(j,i) * x(j)", A=A, x=z, z=x, along="j")


def test_iterate_hands_over_steps_ahead() -> None:
    square = ms.tensor(D[:, :] @ np.ones((300, 400)) / 4e4 + np.eye(400))
    A = msd.from_tensor(square, pieces=4)
    step = lambda v, A: msd.evaluate("y(i) = A(i,j) * v(j)", A=A, v=v)  # noqa: E731
    last = list(msd.iterate(step, z, A, times=5))[-1]
    wanted = z
    for _ in range(5):
        wanted = square.to_numpy() @ wanted
    np.testing.assert_allclose(last.compute(scheduler="synchronous"), wanted, rtol=1e-10)


def test_files_and_functions_are_read_by_tasks(tmp_path: Path) -> None:
    whole = ms.tensor(D, "CSR")
    for number in range(4):
        ms.write(tmp_path / f"{number}.npz", whole[100 * number : 100 * number + 100])
    from_files = msd.from_files(tmp_path, chunk_bytes=30_000)
    from_function = msd.from_source(
        lambda low, high: D[low:high], shape=D.shape, type="f64[?,?] CSR", cuts=[0, 150, 150, 400]
    )
    for A in (from_files, from_function):
        found = ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x)
        np.testing.assert_allclose(found.compute(scheduler="threads"), D @ x, rtol=1e-10)
    with pytest.raises(ms.OperandError, match="expected cuts that ascend from 0 to 400"):
        msd.from_source(lambda low, high: D, shape=D.shape, type="f64[?,?] CSR", cuts=[0, 300])


def test_what_no_chunk_can_be_is_refused_by_name() -> None:
    A = msd.from_tensor(ms.tensor(D), pieces=2)
    unknown = da.from_array(x, chunks=100)
    unknown = unknown[unknown > 0.5]
    text = "y(i) = A(i,j) * x(j)"
    for given, error, message in (
        ({"x": unknown}, ms.OperandError, r"expected chunks of known sizes, but got x .*compute_chunk_sizes"),
        ({"x": x, "q": x}, ms.UnknownTensorError, "q"),
        ({"x": x, "along": ()}, ms.UnsupportedError, "one variable or more to cut along"),
        ({"x": da.from_array(np.array(["a"] * 300), chunks=100)}, ms.DTypeError, "str32"),
        ({"x": x[:-1]}, ms.ExtentError, "300 .*299"),
    ):
        with pytest.raises(error, match=message):
            msd.evaluate(text, A=A, **given)
    for pieces, along in ((2.5, None), ("2", None), ((), None), (2, 7), (2, -1), (True, None)):
        with pytest.raises(ms.OperandError, match=r"expected one piece or more|a dimension from 0 to 1"):
            msd.from_tensor(ms.tensor(D), pieces=pieces, along=along)
    for cuts in ([], [0.0, 400.0], "0400", [0, 10.5, 400]):
        with pytest.raises(ms.OperandError, match=r"expected (integers for cuts=|cuts that ascend from 0 to 400)"):
            msd.from_source(lambda low, high: D[low:high], shape=D.shape, type="f64[?,?] CSR", cuts=cuts)


def test_chunks_of_unlike_types_are_those_of_one_or_refused() -> None:
    upper = msd.from_tensor(ms.tensor(D[:200], "CSR"), pieces=2)
    narrow = ms.tensor(D[:2, :40], ms.encoding("CSR").with_widths(8, 8))
    found = msd.evaluate("y(i) = A(i,j) * x(j)", A=msd.from_tensor(narrow, pieces=2), x=x[:40])
    np.testing.assert_allclose(found.compute(scheduler="synchronous"), D[:2, :40] @ x[:40])
    single = da.concatenate([upper, msd.from_tensor(ms.tensor(D[200:].astype("f4"), "CSR"), pieces=2)])
    found = msd.evaluate("y(i) = A(i,j) * x(j)", A=single, x=x).compute(scheduler="synchronous")
    np.testing.assert_allclose(found, D @ x, rtol=1e-6)
    mixed = da.concatenate([upper, msd.from_tensor(ms.tensor(D[200:], "CSC"), pieces=1)])
    with pytest.raises(ms.OperandError, match=r"expected chunks of A that are stored alike, but got .* beside"):
        msd.evaluate("y(i) = A(i,j) * x(j)", A=mixed, x=x).compute(scheduler="synchronous")
    alike = mixed.map_blocks(lambda part: part.convert("CSR"))
    found = msd.evaluate("y(i) = A(i,j) * x(j)", A=alike, x=x).compute(scheduler="synchronous")
    np.testing.assert_allclose(found, D @ x, rtol=1e-12)


@pytest.mark.parametrize("persisted", [False, True])
def test_chunks_of_unlike_widths_are_read_in_those_of_one(persisted: bool) -> None:
    rows = [D[:2, :40], D[2:40, :40], D[40:45, :40]]
    widths = [(8, 8), (64, 64), (32, 16)]
    for order in ([0, 1, 2], [1, 2, 0]):
        tensors = [ms.tensor(rows[at], ms.encoding("CSR").with_widths(*widths[at])) for at in order]
        mixed = da.concatenate([da.from_array(one, chunks=-1, asarray=False) for one in tensors])
        if persisted:
            mixed = mixed.persist(scheduler="synchronous")
        dense = np.concatenate([rows[at] for at in order])
        found = msd.evaluate("y(i) = A(i,j) * x(j)", A=mixed, x=x[:40]).compute(scheduler="synchronous")
        np.testing.assert_allclose(found, dense @ x[:40], rtol=1e-12)
        found = msd.evaluate("C(i,k) = A(i,j) * B(k,j)", A=mixed, B=mixed).compute(scheduler="synchronous")
        np.testing.assert_allclose(as_array(found), dense @ dense.T, rtol=1e-12)


def test_types_of_chunks_are_cast_as_dask_asks() -> None:
    A = msd.from_tensor(ms.tensor(D, "CSR"), pieces=3)
    found = A.astype(np.float32, copy=False).compute(scheduler="synchronous")
    assert found.dtype == np.float32
    np.testing.assert_allclose(as_array(found), D.astype(np.float32))
    with pytest.raises(ms.DTypeError, match="expected a cast that casting='no' allows, but got f64 to f32"):
        ms.tensor(D).astype(np.float32, casting="no")
    with pytest.raises(ms.OperandError, match="expected casting= one of no, equiv"):
        ms.tensor(D).astype(np.float32, casting="any")  # type: ignore[arg-type]
    whole = ms.tensor(D)
    assert whole.astype(np.float64) is whole
    assert not np.shares_memory(whole.astype(np.float64, copy=True).storage.values, whole.storage.values)
    with pytest.raises(ms.UnsupportedError, match="expected chunks that are arrays to write to Zarr"):
        A.to_zarr("a.zarr")


def test_tasks_of_pieces_are_small() -> None:
    A = msd.from_tensor(ms.tensor(D), pieces=5)
    graph = dict(msd.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x).__dask_graph__())
    pieces = [
        len(pickle.dumps(task)) for key, task in graph.items() if isinstance(key, tuple) and key[0].startswith("y")
    ]
    assert len(pieces) == 5
    assert max(pieces) < 500


def test_another_version_on_a_worker_is_named_before_its_first_task(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = dict(msd.evaluate("s = A(i,j)", A=msd.from_tensor(ms.tensor(D), pieces=2)).__dask_graph__())
    (kernel,) = [key for key in graph if isinstance(key, str) and key.startswith("piece-kernel-")]
    sent = pickle.dumps(graph[kernel])
    monkeypatch.setattr("mlir_sparse.dask.piece_tasks.__version__", "99.0")
    with pytest.raises(ms.UnsupportedError, match=r"expected mlir_sparse .*, but got 99\.0 on the worker"):
        pickle.loads(sent)


@pytest.mark.timeout(200)
def test_two_processes_compute_what_one_does(cluster: Any) -> None:
    A = msd.from_tensor(ms.tensor(D, "CSR"), pieces=4)
    for text in ("y(i) = A(i,j) * x(j)", "y(j) = A(i,j) * z(i)", "C(i,j) = A(i,k) * P(j,k)"):
        named, wanted = STATEMENTS[text]
        np.testing.assert_allclose(as_array(msd.evaluate(text, A=A, **named).compute()), wanted, rtol=1e-10)


@pytest.mark.timeout(200)
def test_what_no_worker_can_hold_is_refused_before_it_is_submitted(cluster: Any) -> None:
    rows = 1 << 20
    calls = []

    def read(low: int, high: int) -> Any:
        calls.append(low)
        return ms.tensor(D[: high - low], "CSR")

    big = ms.source(read, shape=(rows, 300), type="f64[?,?] CSR", nbytes=2 << 30)
    y = ms.evaluate("y(i) = A(i,j) * x(j)", A=msd.from_source(big, cuts=[0, rows // 2, rows]), x=x)
    wanted = r"pieces of at most 192 MiB, .* but got 1 GiB for piece 0 of read read\(\) \(0 to .*: give pieces=1[12]"
    for run in (y.compute, y.persist, lambda: dask.compute(y)):
        with pytest.raises(ms.TooLargeError, match=wanted):
            run()
    shared = np.ones((1 << 25, 1))
    small = msd.from_source(read, shape=(400, 1 << 25), type="f64[?,?] CSR", cuts=[0, 200, 400])
    with pytest.raises(ms.TooLargeError, match=r"every piece reads take 256 MiB: cut along another variable"):
        ms.evaluate("Y(i,k) = A(i,j) * B(j,k)", A=small, B=shared).compute()
    assert not calls
    np.testing.assert_array_equal(msd.from_tensor(ms.tensor(D), pieces=3).compute().to_numpy(), D)


@pytest.mark.timeout(200)
def test_tensors_here_that_workers_have_no_room_for_are_refused(cluster: Any) -> None:
    """Their workers would wait for memory for ever, as tasks that they have been given cannot be written to disk."""
    rows, columns = 1000, 60_000
    positions = np.arange(0, rows * columns + 1, columns, dtype=np.int32)
    coordinates = np.tile(np.arange(columns, dtype=np.int32), rows)
    S = ms.SparseTensor.from_levels(
        "CSR", (rows, columns), (None, positions), (None, coordinates), np.zeros(60_000_000)
    )
    A = msd.from_tensor(S, pieces=16)
    y = ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=np.ones(columns))
    for run in (A.persist, y.compute, lambda: dask.compute(y)):
        with pytest.raises(ms.TooLargeError, match=r"but got 68\d MiB: write them to files"):
            run()
    assert (y.compute(scheduler="threads") == 0).all()


def test_a_result_that_does_not_fit_here_is_refused_before_it_is_computed() -> None:
    rows = 1 << 50
    A = msd.from_source(lambda low, high: 1 / 0, shape=(rows, 4), type="f64[?,?] CSR", cuts=[0, 1 << 49, rows])
    y = ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=np.ones(4))
    assert y.nbytes == 8 << 50
    with pytest.raises(ms.TooLargeError, match="expected the 1125899906842624 result of all chunks in this process"):
        y.compute(scheduler="threads")


@pytest.mark.timeout(200)
def test_ctrl_c_leaves_the_cluster_usable(cluster: Any, tmp_path: Path) -> None:
    def slow(low: int, high: int) -> Any:
        (tmp_path / str(low)).touch()
        time.sleep(0.5)
        return ms.tensor(D[low:high], "CSR")

    A = msd.from_source(slow, shape=D.shape, type="f64[?,?] CSR", cuts=range(0, 401, 10))
    y = ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x)
    timer = threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs have it ignored
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            y.compute()
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    np.testing.assert_allclose(
        ms.evaluate("y(i) = A(i,j) * x(j)", A=msd.from_tensor(ms.tensor(D), pieces=4), x=x).compute(), D @ x
    )
    assert len(list(tmp_path.iterdir())) < 40  # what had not begun never did


def _killed_once(flag: str) -> Callable[[int, int], Any]:
    def read(low: int, high: int) -> Any:
        if low == 100 and not os.path.exists(flag):
            Path(flag).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return ms.tensor(D[low:high], "CSR")

    return read


@pytest.mark.timeout(200)
def test_a_worker_that_is_killed_is_replaced(cluster: Any, tmp_path: Path) -> None:
    flag = str(tmp_path / "killed")
    A = msd.from_source(_killed_once(flag), shape=D.shape, type="f64[?,?] CSR", cuts=[0, 100, 200, 400])
    found = ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x).compute()
    assert os.path.exists(flag)
    np.testing.assert_allclose(found, D @ x, rtol=1e-10)


@pytest.mark.timeout(200)
def test_a_piece_that_kills_every_worker_is_named(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def deadly(low: int, high: int) -> Any:
        if low == 100:
            os.kill(os.getpid(), signal.SIGKILL)
        return ms.tensor(D[low:high], "CSR")

    monkeypatch.setattr(cluster.cluster.scheduler, "allowed_failures", 0)
    A = msd.from_source(deadly, shape=D.shape, type="f64[?,?] CSR", cuts=[0, 100, 400])
    # Where no failure is allowed, what waits on the same worker is blamed too.
    places = r"piece [01] of read deadly\(\) \(\d+ to \d+ of 400\)|(piece [01]|what pieces) of .*y\(i\) = A\(i,j\).*"
    wanted = rf"computed ({places}), but each of the 1 that ran it died"
    with pytest.raises(ms.DistributedError, match=wanted):
        ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x).compute()
