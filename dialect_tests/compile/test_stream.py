"""Statements on tensors that are read in parts: files larger than the memory they are given, and functions."""

from __future__ import annotations

import itertools
import subprocess
import sys
import weakref
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.as_array import as_array

N = 300


@pytest.fixture(scope="module")
def dense() -> np.ndarray:
    random = np.random.default_rng(1)
    return np.where(random.random((N, N)) < 0.05, random.random((N, N)), 0)


@pytest.fixture(scope="module")
def file(dense: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stream") / "a.npz"
    ms.write(path, ms.tensor(dense, "CSR"))
    return path


STATEMENTS = {
    "y(i) = A(i,j) * x(j)": lambda D, x, B: D @ x,
    "y(j) = A(i,j) * x(i)": lambda D, x, B: x @ D,
    "Y(i,k) = A(i,j) * B(j,k)": lambda D, x, B: D @ B,
    "r(i) = x(i) - A(i,j) * x(j)": lambda D, x, B: x - D @ x,
    "m(j) = max(i : A(i,j))": lambda D, x, B: D.max(axis=0),
    "s = A(i,j)": lambda D, x, B: D.sum(),
    "Z(i,j) = 2 * A(i,j)": lambda D, x, B: 2 * D,
}


@pytest.mark.parametrize("memory", [8000, "24 KiB", "1GiB"])
@pytest.mark.parametrize("text", STATEMENTS)
def test_pieces_of_a_file_make_the_whole(text: str, memory: int | str, dense: np.ndarray, file: Path) -> None:
    random = np.random.default_rng(2)
    x, B = random.random(N), random.random((N, 3))
    names = {"x": x} if "x(" in text.replace("max(", "") else {"B": B} if "B(" in text else {}
    seen: list[tuple[int, int]] = []
    found = ms.stream(text, A=ms.source(file), memory=memory, progress=lambda *at: seen.append(at), **names)
    np.testing.assert_allclose(as_array(found), STATEMENTS[text](dense, x, B), rtol=1e-12)
    assert seen[-1] == (N, N)
    assert (len(seen) == 1) == (memory == "1GiB")


@pytest.mark.parametrize("storage", ["CSR", "CSC", "DCSR", "BSR(4, 3)", "LooseCSR", "SoA-COO", "COO"])
def test_parts_of_files_in_other_storage(storage: str, dense: np.ndarray, tmp_path: Path) -> None:
    ms.write(tmp_path / "a.npz", ms.tensor(dense, storage))
    if storage == "COO":  # as SciPy stores it, in any order
        with pytest.raises(ms.UnsupportedError, match="write the tensor in CSR"):
            ms.source(tmp_path / "a.npz")
        return
    source = ms.source(tmp_path / "a.npz")
    assert source.axis == (1 if storage == "CSC" else 0)
    x = np.arange(float(N))
    found = ms.stream("y(i) = A(i,j) * x(j)", A=source, x=x, memory=40_000)
    np.testing.assert_allclose(found, dense @ x, rtol=1e-12)


def test_a_folder_of_files_and_a_sequence_are_parts_in_order(dense: np.ndarray, tmp_path: Path) -> None:
    whole = ms.tensor(dense, "CSR")
    cuts = [0, 10, 10, 140, 300]
    for number in range(4):
        ms.write(tmp_path / f"{number}.npz", whole[cuts[number] : cuts[number + 1]])
    x = np.arange(float(N))
    for source in (ms.source(tmp_path), ms.source(sorted(tmp_path.iterdir()))):
        assert source.shape == (N, N)
        np.testing.assert_array_equal(source.read(5, 150).to_numpy(), dense[5:150])
        found = ms.stream("y(i) = A(i,j) * x(j)", A=source, x=x, memory=20_000)
        np.testing.assert_allclose(found, dense @ x, rtol=1e-12)


def test_files_of_a_folder_are_in_the_order_of_their_numbers(dense: np.ndarray, tmp_path: Path) -> None:
    whole = ms.tensor(dense, "CSR")
    for number in range(12):  # by characters, 10 and 11 would stand before 2
        ms.write(tmp_path / f"part-{number}.npz", whole[25 * number : 25 * number + 25])
    (tmp_path / ".DS_Store").write_bytes(b"what a system leaves")
    np.testing.assert_array_equal(ms.source(tmp_path).read(0, N).to_numpy(), dense)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ms.SparseError, match="expected one part or more, but got none"):
        ms.source(tmp_path / "empty")


def test_text_files_tensors_and_functions_are_sources(dense: np.ndarray, tmp_path: Path) -> None:
    ms.write(tmp_path / "a.mtx", ms.tensor(dense, "CSR"))
    function = ms.source(lambda low, high: dense[low:high], shape=(N, N), type="f64[?,?] CSR", nbytes=60_000)
    x = np.arange(float(N))
    for source in (ms.source(tmp_path / "a.mtx"), ms.source(ms.tensor(dense)), function):
        found = ms.stream("y(i) = A(i,j) * x(j)", A=source, x=x, memory=40_000)
        np.testing.assert_allclose(found, dense @ x, rtol=1e-12)


def test_out_is_written_to_and_two_sources_are_cut_alike(dense: np.ndarray, file: Path) -> None:
    out = np.full(N, np.nan)
    found = ms.stream("y(i) = A(i,j) * x(j)", A=ms.source(file), x=np.ones(N), memory=9000, out=out)
    assert found is out
    np.testing.assert_allclose(out, dense.sum(axis=1), rtol=1e-12)
    total = np.zeros(())
    both = {"A": ms.source(file), "B": ms.source(ms.tensor(dense))}
    found = ms.stream("s = A(i,j) * B(i,j)", **both, memory=30_000, out=total)
    np.testing.assert_allclose(found, (dense * dense).sum(), rtol=1e-12)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (1, 1)])
def test_extents_of_none_and_one(shape: tuple[int, int]) -> None:
    source = ms.source(ms.tensor(np.zeros(shape), "CSR"))
    found = ms.stream("y(i) = A(i,j) * x(j)", A=source, x=np.ones(shape[1]), memory=100)
    np.testing.assert_array_equal(found, np.zeros(shape[0]))


def test_semirings_and_monoids_of_the_user(dense: np.ndarray, file: Path) -> None:
    x = np.arange(float(N))
    found = ms.stream("d(j) = A(i,j) * x(i)", A=ms.source(file), x=x, semiring="min_plus", memory=9000)
    whole = ms.evaluate("d(j) = A(i,j) * x(i)", A=ms.tensor(dense), x=x, semiring="min_plus")
    np.testing.assert_array_equal(found, whole)
    for ring in ("any_second", "any_pair"):  # pieces without an entry have zero there, and no say
        found = ms.stream("d(j) = A(i,j) * x(i)", A=ms.source(file), x=x, semiring=ring, memory=9000)
        rows = dense[1:] if ring == "any_second" else dense  # x[0] is zero
        np.testing.assert_array_equal(found != 0, rows.any(axis=0))
    longest = ms.monoid(lambda a, b: ms.where(abs(a) > abs(b), a, b), 0.0)
    found = ms.stream("m(j) = f(i : A(i,j))", f=longest, A=ms.source(file), memory=9000)
    np.testing.assert_array_equal(found, ms.evaluate("m(j) = f(i : A(i,j))", f=longest, A=ms.tensor(dense)))


def test_what_cannot_be_streamed_is_refused(dense: np.ndarray, file: Path, tmp_path: Path) -> None:
    A, x = ms.source(file), np.ones(N)
    with pytest.raises(ms.UnsupportedError, match="j: b\\(i\\) lacks j: each piece would count it"):
        ms.stream("y(i) = b(i) - A(j,i) * x(j)", A=A, x=x, b=x)
    with pytest.raises(ms.OperandError, match="but got none: use evaluate"):
        ms.stream("y(i) = A(i,j) * x(j)", A=dense, x=x)
    with pytest.raises(ms.UnknownTensorError, match="expected data for tensor x"):
        ms.stream("y(i) = A(i,j) * x(j)", A=A)
    with pytest.raises(ms.OperandError, match="such as \"1GiB\", but got 'much'"):
        ms.stream("y(i) = A(i,j) * x(j)", A=A, x=x, memory="much")
    with pytest.raises(ms.TooLargeError, match="give more memory"):
        ms.stream("y(i) = A(i,j) * x(j)", A=A, x=x, memory=100)
    other = ms.source(ms.tensor(np.eye(7)))
    with pytest.raises(ms.SparseError, match="7"):
        ms.stream("s = A(i,j) * B(i,j)", A=A, B=other)


def test_files_that_lie_are_named(dense: np.ndarray, file: Path, tmp_path: Path) -> None:
    short = tmp_path / "short.npz"
    short.write_bytes(file.read_bytes()[:-3000])
    with pytest.raises(ms.FileFormatError, match=r"short\.npz"):
        ms.source(short)
    (tmp_path / "text.npz").write_text("nothing of the kind")
    with pytest.raises(ms.FileFormatError, match=r"text\.npz"):
        ms.source(tmp_path / "text.npz")
    arrays = dict(np.load(file))
    arrays["indices"] = arrays["indices"].copy()
    arrays["indices"][-1] = N + 5
    np.savez(tmp_path / "wrong.npz", **arrays)
    with pytest.raises(ms.FileFormatError, match=r"wrong\.npz, rows \d+ to 300: expected coordinates"):
        ms.stream("y(i) = A(i,j) * x(j)", A=ms.source(tmp_path / "wrong.npz"), x=np.ones(N), memory=9000)
    np.savez_compressed(tmp_path / "small.npz", **arrays)
    with pytest.raises(ms.UnsupportedError, match="expected arrays that are not compressed"):
        ms.source(tmp_path / "small.npz")


def test_a_function_that_reads_something_else_is_refused() -> None:
    wrong = ms.source(lambda low, high: np.eye(7)[: high - low], shape=(9, 9), type="f64[?,?] CSR", nbytes=100)
    with pytest.raises(ms.ExtentError, match=r"expected a part of shape \(9, 9\) from read\(0, 9\), but got \(7, 7\)"):
        ms.stream("y(i) = A(i,j) * x(j)", A=wrong, x=np.ones(9))

    with pytest.raises(ms.OperandError, match="expected shape=, type= and nbytes="):
        ms.source(wrong.read)


class RemoteError(Exception):
    """What a library of the user's raises."""


@pytest.mark.parametrize("kind", [ConnectionError, RemoteError])
def test_a_part_that_fails_once_is_read_again_and_one_that_always_does_is_named(
    kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[ms.TensorSource.__module__], "_PAUSE", 0)
    failures = {0: 1, 6: 2}

    def remote(low: int, high: int) -> np.ndarray:
        if failures.get(low, 0):
            failures[low] -= 1
            raise kind("the other side is busy")
        return np.eye(9)[low:high]

    def streamed() -> Any:
        rows = ms.source(remote, shape=(9, 9), type="f64[?,?] CSR", nbytes=900)
        return ms.stream("s = A(i,j)", A=rows, memory=1200)

    assert streamed() == 9
    assert failures == {0: 0, 6: 0}
    failures[6] = 3
    wanted = (
        rf"expected rows 6 to 9 of remote\(\), but got {kind.__name__} in each of 3 attempts: the other side is busy"
    )
    with pytest.raises(ms.SourceError, match=wanted) as caught:
        streamed()
    assert isinstance(caught.value, OSError)
    assert isinstance(caught.value.__cause__, kind)


def test_a_mistake_in_a_function_is_raised_at_once_with_the_part() -> None:
    calls = []

    def wrong(low: int, high: int) -> Any:
        calls.append(low)
        return np.eye(9)[low:high] + missing  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(NameError) as caught:
        ms.stream("s = A(i,j)", A=ms.source(wrong, shape=(9, 9), type="f64[?,?] CSR", nbytes=100))
    assert caught.value.__notes__ == ["while rows 0 to 9 of wrong() were read"]
    assert calls == [0]


def test_parts_of_unlike_widths_are_widened_and_unlike_types_are_refused(dense: np.ndarray) -> None:
    whole = ms.tensor(dense, "CSR")
    narrow = whole.encoding.with_widths(16, 16)
    parts = [whole[:100].convert(narrow), whole[100:100], whole[100:]]
    source = ms.source(parts)
    assert str(source.type.encoding) == str(whole.encoding)
    np.testing.assert_array_equal(source.read(0, 90).to_numpy(), dense[:90])
    assert source.read(0, 90).encoding == whole.encoding
    found = ms.stream("y(i) = A(i,j) * x(j)", A=source, x=np.ones(N), memory=9000)
    np.testing.assert_allclose(found, dense.sum(axis=1), rtol=1e-12)
    for other in (whole[:9].convert("DCSR"), whole[:9].astype("f32"), whole[:9].convert("CSC")):
        with pytest.raises(ms.DTypeError, match=r"expected parts of one type, .* for part 1"):
            ms.source([whole, other], along=0)
    with pytest.raises(ms.ExtentError, match=r"but got \(300, 7\) for part 1"):
        ms.source([whole, ms.tensor(dense[:, :7], "CSR")])


_PEAK = """
import resource, sys
import numpy as np
import mlir_sparse as ms
A, x = ms.source(sys.argv[1]), np.ones(200_000)
small = ms.source(ms.tensor(np.eye(4)))
ms.stream("y(i) = A(i,j) * x(j)", A=small, x=np.ones(4))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
y = ms.stream("y(i) = A(i,j) * x(j)", A=A, x=x, memory=sys.argv[2])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, float(y.sum()))
"""


def _sixty_megabytes() -> ms.SparseTensor:
    rows, width = 200_000, 25
    columns = (np.arange(rows)[:, None] + 7 * np.arange(width)) % rows
    columns.sort(axis=1)
    positions = np.arange(0, rows * width + 1, width)
    coordinates = [None, columns.ravel().astype(np.int32)]
    return ms.SparseTensor.from_levels("CSR", (rows, rows), [None, positions], coordinates, np.ones(rows * width))


def _grown(path: Path, memory: str) -> int:
    """Returns by how many KiB a process grows in a stream, beside its operand, result and the interpreter's own."""
    command = [sys.executable, "-c", _PEAK, str(path), memory]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    grown, total = ran.stdout.split()
    assert float(total) == 5_000_000
    return int(grown) - 2 * 200_000 * 8 // 1024 - 2048


def test_the_peak_is_a_few_chunks_whatever_the_file(tmp_path: Path) -> None:
    ms.write(tmp_path / "a.npz", _sixty_megabytes())
    assert _grown(tmp_path / "a.npz", "16 MiB") < 2.5 * (16 << 10) / 4


def _write_hdf5(path: Path, whole: ms.SparseTensor, *, chunk: int = 0, **options: Any) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": whole.shape})
        for name, array in _arrays(whole).items():
            file.create_dataset(name, data=array, chunks=(min(chunk, array.size),) if chunk else None, **options)


def _write_zarr(path: Path, whole: ms.SparseTensor, **options: Any) -> None:
    group = pytest.importorskip("zarr").open_group(path, mode="w", **options)
    group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": list(whole.shape)})
    for name, array in _arrays(whole).items():
        group.create_array(name, shape=array.shape, dtype=array.dtype)[:] = array


def _write_parquet(path: Path, whole: ms.SparseTensor, *, in_order: bool = True, **options: Any) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (rows, columns), values = whole.to_coo()
    if not in_order:  # inside of rows
        columns = np.flip(columns.reshape(whole.shape[0], -1), axis=1).ravel()
    table = arrow.table({"i": rows, "j": columns, "v": values})
    parquet.write_table(table.replace_schema_metadata({"shape": str(list(whole.shape))}), path, **options)


def _arrays(whole: ms.SparseTensor) -> dict[str, np.ndarray]:
    storage = whole.storage
    return {"data": storage.values, "indices": storage.coordinates[1], "indptr": storage.positions[1]}


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.h5", _write_hdf5),
        ("a.h5", partial(_write_hdf5, compression="gzip")),
        ("a.h5", partial(_write_hdf5, compression="gzip", chunk=1 << 17)),
        ("a.zarr", partial(_write_zarr, zarr_format=2)),
        ("a.zarr", partial(_write_zarr, zarr_format=3)),
        ("a.parquet", partial(_write_parquet, row_group_size=40_000)),
        ("a.parquet", _write_parquet),
        ("a.parquet", partial(_write_parquet, in_order=False)),
    ],
)
def test_the_peak_of_other_files_is_a_few_chunks_too(name: str, write: Any, tmp_path: Path) -> None:
    """Chunks as stored and decoded, columns beside rows, and what libraries keep count where parts are chosen."""
    write(tmp_path / name, _sixty_megabytes())
    assert _grown(tmp_path / name, "48 MiB") < 2.5 * (48 << 10) / 4


def test_files_in_chunks_that_no_memory_holds_are_refused(tmp_path: Path) -> None:
    _write_hdf5(tmp_path / "a.h5", _sixty_megabytes(), compression="gzip", chunk=1 << 21)
    source, x = ms.source(tmp_path / "a.h5"), np.ones(200_000)
    with pytest.raises(ms.TooLargeError, match=r"expected a file that is read in 8,388,608 bytes, but got 33,554,432"):
        ms.stream("y(i) = A(i,j) * x(j)", A=source, x=x, memory="8 MiB")
    assert ms.stream("s = A(i,j) * x(j)", A=source, x=x, memory="64 MiB") == 5_000_000


@pytest.mark.parametrize(
    "text", ["y(i) = A(i,j) * x(j)", "y(j) = A(i,j) * x(i)", "s = A(i,j)", "m(j) = max(i : A(i,j))"]
)
def test_while_a_part_is_read_one_other_is_there(text: str, dense: np.ndarray) -> None:
    whole, alive, seen = ms.tensor(dense, "CSR"), weakref.WeakValueDictionary[int, ms.SparseTensor](), list[int]()

    def read(low: int, high: int) -> ms.SparseTensor:
        seen.append(len(alive))
        part = ms.tensor(dense[low:high], "CSR")
        alive[low] = part
        return part

    source = ms.source(read, shape=whole.shape, type=whole.type, nbytes=whole.nbytes)
    operands = {"x": np.ones(N)} if "x(" in text.replace("max(", "") else {}
    ms.stream(text, A=source, memory=whole.nbytes // 20, **operands)
    assert len(seen) > 50
    assert max(seen) == 1


_LARGER = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
import numpy as np
import mlir_sparse as ms
columns, width = 1 << 16, 64
rows = (4 << 30) // (12 * width)
own = np.arange(0, columns, columns // width, dtype=np.int32)
def read(low, high):
    count = (high - low) * width
    coordinates = np.empty((high - low, width), np.int32)
    coordinates[:] = own
    levels = [None, np.arange(0, count + 1, width, dtype=np.int32)], [None, coordinates.ravel()], np.ones(count)
    return ms.SparseTensor.from_levels("CSR", (high - low, columns), *levels)
A = ms.source(read, shape=(rows, columns), type="f64[?,?] CSR", nbytes=12 * rows * width)
y = ms.stream("y(i) = A(i,j) * x(j)", A=A, x=np.ones(columns), memory="128MiB")
assert y.shape == (rows,) and (y == width).all()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="no limit on the address space elsewhere")
def test_four_gigabytes_in_a_process_that_may_have_one() -> None:
    ran = subprocess.run([sys.executable, "-c", _LARGER], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("storage", ["CSR", "BSR(4, 3)", "COO"])
@pytest.mark.parametrize(
    "text",
    [
        "Y(i,j) = A(i + k, j + l) * W(k,l)",
        "Y(i,j) = A(2*i + k, j) * w(k)",
        "Y(i,j) = A(i + 3, j) - A(i + 5, j)",
        "y(i) = A(i + k, j) * w(k) * i",
        "y(k) = A(i + k, j) * b(i)",
        "s = A(i + k, j) * w(k) * x(j)",
    ],
)
def test_pieces_of_a_source_overlap_where_sums_read_neighbours(text: str, storage: str) -> None:
    random = np.random.default_rng(12)
    dense = np.where(random.random((40, 12)) < 0.3, random.integers(1, 9, (40, 12)), 0).astype(float)
    whole = ms.tensor(dense, storage)
    given = {"W": np.arange(6.0).reshape(3, 2), "w": np.arange(1.0, 4), "b": random.random(35), "x": random.random(12)}
    operands = {name: value for name, value in given.items() if f"{name}(" in text}
    read: list[tuple[int, int]] = []

    def part(low: int, high: int) -> ms.SparseTensor:
        read.append((low, high))
        return whole[low:high]

    source = ms.source(part, shape=whole.shape, type=whole.type, nbytes=whole.nbytes)
    found = ms.stream(text, A=source, memory=whole.nbytes, out="dense", **operands)
    np.testing.assert_allclose(found, ms.evaluate(text, A=whole, out="dense", **operands), rtol=1e-12)
    assert len(read) > 2
    assert any(second[0] < first[1] for first, second in itertools.pairwise(read))


def test_operands_beside_a_source_have_its_extent() -> None:
    """The part that no piece reads would be ignored."""
    source = ms.source(lambda low, high: np.eye(6)[low:high], shape=(6, 6), type="f64[?,?] CSR", nbytes=400)
    for text, wrong in (("y(i) = A(i,j) + b(i)", "b"), ("y(i) = A(i,j) * b(j)", "b")):
        for extent in (5, 7):
            with pytest.raises(ms.ExtentError, match=rf"\b{extent}\b"):
                ms.stream(text, A=source, memory=400, **{wrong: np.ones(extent)})


def test_neighbours_that_no_memory_holds_are_refused() -> None:
    source = ms.source(lambda low, high: np.eye(40)[low:high], shape=(40, 40), type="f64[?,?] CSR", nbytes=800)
    with pytest.raises(ms.TooLargeError, match=r"with what they read beside, but got \d+ of A for k from 0 to"):
        ms.stream("y(i) = A(i + k, j) * w(k)", A=source, w=np.ones(30), memory=400)


@pytest.mark.parametrize("ring", ["any_secondi", "min_firsti", "max_firstj1", "plus_secondj", "min_secondi1"])
@pytest.mark.parametrize("text", ["p(j) = A(i,j) * f(i)", "y(i) = A(i,j) * x(j)", "C(i,k) = A(i,j) * B(j,k)"])
def test_positions_of_pieces_are_those_of_the_whole(text: str, ring: str, dense: np.ndarray, file: Path) -> None:
    random = np.random.default_rng(14)
    given = {
        "f": ms.tensor(random.integers(0, 2, N).astype(float), "SparseVector"),
        "x": random.random(N),
        "B": ms.tensor((random.random((N, 5)) < 0.1).astype(float), "CSR"),
    }
    operands = {name: value for name, value in given.items() if f"{name}(" in text}
    found = ms.stream(text, A=ms.source(file), memory=9000, semiring=ring, **operands)
    whole = ms.evaluate(text, A=ms.tensor(dense, "CSR"), semiring=ring, **operands)
    np.testing.assert_array_equal(as_array(found), as_array(whole))


S = np.where(np.random.default_rng(15).random((12, 7)) < 0.4, 1.5, 0)


def _function(read: Any, **given: Any) -> Any:
    return ms.source(read, **{"shape": (12, 7), "type": "f64[?,?] CSR", "nbytes": 600, **given})


@pytest.mark.parametrize(
    "read",
    [
        lambda low, high: ms.tensor(S[low:high], "COO" if low else "DCSR"),
        lambda low, high: ms.tensor(S[low:high], ms.encoding("CSR").with_widths(64 if low else 8, 32)),
        lambda low, high: (2 * S[low:high]).astype("i4") if low else 2 * S[low:high],
    ],
)
def test_chunks_of_unlike_encodings_widths_and_safe_types(read: Any) -> None:
    x, factor = np.arange(7.0), as_array(read(0, 12)).max() / S.max()
    found = ms.stream("y(i) = A(i,j) * x(j)", A=_function(read), x=x, memory=400)
    np.testing.assert_allclose(found, factor * S @ x)


@pytest.mark.parametrize(
    ("read", "error", "words"),
    [
        (lambda low, high: S[low:high] + 0j, ms.DTypeError, "expected elements of f64 .* got complex128"),
        (lambda low, high: ms.tensor(S[low:high].astype("f4"), "CSR"), ms.DTypeError, "f64 .* got float32"),
        (lambda low, high: S[low : high + 1], ms.ExtentError, r"expected a part of shape \(2, 7\)"),
        (lambda low, high: S[low:high, 1:], ms.ExtentError, r"but got \(2, 6\)"),
        (lambda low, high: None, ms.OperandError, "got NoneType"),
        (lambda low, high: next(iter(())), ms.SourceError, "rows 0 to 2 of .* got StopIteration"),
    ],
)
def test_chunks_that_are_wrong_are_refused_with_their_place(read: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as raised:
        ms.stream("y(i) = A(i,j) * x(j)", A=_function(read), x=np.ones(7), memory=400)
    assert "rows 0 to 2" in "".join([str(raised.value), *getattr(raised.value, "__notes__", [])])


@pytest.mark.parametrize("text", ["y(i) = A(i,j) * x(j)", "y(j) = A(i,j) * z(i)"])
def test_an_array_for_the_result_may_share_memory_with_operands(text: str) -> None:
    """Later pieces read what earlier ones would have written over."""
    name, memory = ("x", np.arange(24.0)) if "x(" in text else ("z", np.arange(24.0))
    operand = memory[:7] if name == "x" else memory[:12]
    wanted = ms.evaluate(text, A=ms.tensor(S, "CSR"), **{name: operand.copy()})
    out = memory[: len(wanted)]
    found = ms.stream(text, A=_function(lambda low, high: S[low:high]), memory=400, out=out, **{name: operand})
    assert found is out
    np.testing.assert_allclose(out, wanted)


def test_an_array_for_the_result_may_be_memory_of_the_source() -> None:
    held = np.arange(1.0, 25.0)
    positions, columns = np.arange(0, 25, 4, dtype=np.int32), np.tile(np.arange(4, dtype=np.int32), 6)
    A = ms.SparseTensor.from_levels("CSR", (6, 4), [None, positions], [None, columns], held)
    wanted = ms.evaluate("y(i) = A(i,j)", A=A)
    assert np.shares_memory(A.storage.values, held)
    found = ms.stream("y(i) = A(i,j)", A=ms.source(A), memory=400, out=held[18:])  # values of the last rows
    np.testing.assert_array_equal(found, wanted)


def test_arrays_for_results_and_operands_that_do_not_fit_are_refused() -> None:
    A = _function(lambda low, high: S[low:high])
    for text, extent in (("y(i) = A(i,j)", 12), ("y(j) = A(i,j)", 7)):
        for out, error in (
            (np.zeros(extent, "i4"), ms.DTypeError),
            (np.zeros(extent + 1), ms.ExtentError),
            (np.zeros((extent, 1)), ms.RankError),
            (np.broadcast_to(0.0, extent), ms.OperandError),
        ):
            with pytest.raises(error):
                ms.stream(text, A=A, out=out, memory=400)
    with pytest.raises(ms.UnknownTensorError, match=r"expected a tensor of .* but got q"):
        ms.stream("y(i) = A(i,j)", A=A, q=np.ones(7), memory=400)
    with pytest.raises(ms.UnknownTensorError, match="expected data for tensor x, but got none"):
        ms.stream("y(i) = A(i,j) * x(j)", A=A, memory=400)
    with pytest.raises(ms.OperandError, match=r"nbytes=, 0 or more, but got -5"):
        _function(lambda low, high: S[low:high], nbytes=-5)


@pytest.mark.parametrize("sizes", [[0, 5, 0, 7, 0], [1] * 12, [12], [3, 9]])
@pytest.mark.parametrize("storage", ["CSR", "BSR(4, 1)"])
def test_parts_without_rows_and_of_blocks_that_do_not_divide(sizes: list[int], storage: str) -> None:
    ends = np.cumsum([0, *sizes])
    parts = [ms.tensor(S[low:high], storage) for low, high in itertools.pairwise(ends)]
    x = np.arange(7.0)
    for memory in (2000, "1MiB"):
        found = ms.stream("y(i) = A(i,j) * x(j)", A=ms.source(parts), x=x, memory=memory)
        np.testing.assert_allclose(found, S @ x)


@pytest.mark.parametrize("storage", ["BatchedCSR", "(b, i, j) -> (b : dense, i : dense, j : compressed)"])
@pytest.mark.parametrize("text", ["y(b,i) = A(b,i,j) * x(j)", "y(i) = A(b,i,j) * x(j)", "C(b,i,j) = 2 * A(b,i,j)"])
def test_batches_are_parts_in_their_own_storage(text: str, storage: str) -> None:
    random = np.random.default_rng(2)
    whole = ms.tensor(random.random((5, 8, 6)) * (random.random((5, 8, 6)) < 0.4), storage)
    named = {"x": np.arange(6.0)} if "x(" in text else {}
    found = ms.stream(text, A=ms.source(whole), memory=whole.nbytes, **named)
    np.testing.assert_allclose(as_array(found), as_array(ms.evaluate(text, A=whole, **named)), rtol=1e-12)
