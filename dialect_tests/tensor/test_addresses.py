"""Buffers of any address, stride, byte order and class: aligned once, on arrival, and read right."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import mlir_sparse as ms

D = np.zeros((8, 12))
D[[0, 0, 1, 3, 3, 5, 7, 7], [0, 5, 2, 3, 11, 5, 0, 7]] = [1.0, 2, 3, 4, 5, 6, 7, 8]
X = np.arange(1.0, 13)

FORMATS = [
    "CSR", "CSC", "DCSR", "COO", "SoA-COO", "BSR", "DIA", "ELL", "SlotELL", "LooseCompressed", "dense",
    "(i, j) -> (j : compressed, i : compressed)", "BSR(2, 3)", "NV_24", "Skyline", "JDS", "BCSR", "HYB", "Hashed",
]  # fmt: skip


def known(name: str) -> bool:
    try:
        ms.tensor(D, name)
    except ms.SparseError:
        return False
    return True


def odd(array: Any, by: int = 1) -> np.ndarray[Any, Any]:
    """Returns a copy that begins `by` bytes behind an address that is a multiple of 64."""
    array = np.ascontiguousarray(array)
    memory = np.empty(array.nbytes + 64 + by, np.uint8)
    start = -memory.ctypes.data % 64 + by
    found = np.frombuffer(memory.data, array.dtype, array.size, start).reshape(array.shape)
    found[...] = array
    return found


def assert_settled(A: ms.SparseTensor) -> None:
    for buffer in A.storage.buffers():
        assert buffer.flags.aligned
        assert buffer.flags.c_contiguous
        assert buffer.dtype.isnative


def assert_holds(A: ms.SparseTensor, dense: np.ndarray[Any, Any] = D) -> None:
    assert_settled(A)
    np.testing.assert_array_equal(A.to_numpy(), dense)
    np.testing.assert_allclose(A @ X[: dense.shape[1]], dense @ X[: dense.shape[1]])


ARRIVALS: dict[str, Callable[[Any], Any]] = {
    "odd": odd,
    "by 2": lambda a: odd(a, 2),
    "by 4": lambda a: odd(a, 4),
    "strided": lambda a: np.repeat(a, 3)[::3],
    "reversed": lambda a: np.ascontiguousarray(a[::-1])[::-1],
    "other byte order": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "odd, other byte order": lambda a: odd(a.astype(a.dtype.newbyteorder(">"))),
    "read-only": lambda a: np.frombuffer(a.tobytes(), a.dtype),
    "field of a record": lambda a: _field(a),
}


def _field(array: Any) -> Any:
    records = np.zeros(array.size, [("tag", "i1"), ("it", array.dtype)])
    records["it"] = array
    return records["it"]


@pytest.mark.parametrize("name", [name for name in FORMATS if known(name)])
@pytest.mark.parametrize("arrival", ARRIVALS)
def test_levels_of_a_caller(name: str, arrival: str) -> None:
    given, change = ms.tensor(D, name), ARRIVALS[arrival]
    levels = [
        [None if array is None else change(np.array(array)) for array in kind]
        for kind in (given.storage.positions, given.storage.coordinates)
    ]
    values = change(given.storage.values)
    assert_holds(ms.SparseTensor.from_levels(given.encoding, D.shape, *levels, values))


@pytest.mark.parametrize("by", [1, 4])
def test_structs_of_coordinates_stay_one_array(by: int) -> None:
    given = ms.tensor(D, "COO")
    rows, columns = given.storage.coordinates
    flat = odd(np.stack([rows, columns], axis=1).reshape(-1), by)
    positions = [odd(given.storage.positions[0], by), None]
    A = ms.SparseTensor.from_levels("COO", D.shape, positions, [flat[::2], flat[1::2]], odd(given.storage.values, by))
    assert_holds(A)


@pytest.mark.parametrize("name", [name for name in [*FORMATS, "BatchedCSR"] if known(name) or name == "BatchedCSR"])
@pytest.mark.parametrize("by", [0, 1, 4])
def test_pickles_whose_buffers_come_apart(name: str, by: int) -> None:
    dense = D if name != "BatchedCSR" else np.stack([D, 2 * D])
    apart: list[pickle.PickleBuffer] = []
    data = pickle.dumps(ms.tensor(dense, name), protocol=5, buffer_callback=apart.append)
    came = [odd(np.frombuffer(one.raw(), np.uint8), by).data for one in apart]
    found = pickle.loads(data, buffers=came)
    assert_settled(found)
    np.testing.assert_array_equal(found.to_numpy(), dense)
    if dense.ndim == 2:
        assert_holds(found)


def test_what_arrives_aligned_is_shared() -> None:
    given = sp.csr_array(D)
    A = ms.tensor(given)
    assert np.shares_memory(A.storage.values, given.data)
    assert np.shares_memory(A.storage.coordinates[1], given.indices)
    assert A.storage.buffers()[-1] is A.storage.values


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "dia"])
@pytest.mark.parametrize("arrival", ["odd", "other byte order", "read-only"])
def test_scipy(kind: str, arrival: str) -> None:
    change = ARRIVALS[arrival]
    source = sp.coo_array(D).asformat(kind)
    if kind == "coo":
        source.coords, source.data = tuple(map(change, source.coords)), change(source.data)
    else:
        for part in ("indptr", "indices", "offsets", "data"):
            if hasattr(source, part):
                array = getattr(source, part)
                setattr(source, part, change(array.reshape(-1)).reshape(array.shape))
    for encoding in (None, "CSR", "DCSR", "BSR", "DIA"):
        assert_holds(ms.tensor(source, encoding))


@pytest.mark.parametrize("arrival", ARRIVALS)
@pytest.mark.parametrize("encoding", ["CSR", "COO", "BSR", "ELL"])
def test_pairs_and_arrays(arrival: str, encoding: str) -> None:
    change = ARRIVALS[arrival]
    places, values = np.argwhere(D).T, D[D != 0]
    assert_holds(ms.tensor(([change(places[0]), change(places[1])], change(values)), encoding, shape=D.shape))
    assert_holds(ms.tensor((change(places.reshape(-1)).reshape(places.shape), values), encoding, shape=D.shape))
    assert_holds(ms.tensor(change(D.reshape(-1)).reshape(D.shape), encoding))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i1", "i2", "i4", "i8"])
def test_element_types_of_the_other_byte_order(dtype: str) -> None:
    array = D.astype(dtype)
    for given in (array.astype(f">{dtype}"), odd(array.astype(f">{dtype}"), 3)):
        found = ms.tensor(given)
        assert found.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(found.to_numpy(), array)


def test_memory_mapped_files(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"?" + D.tobytes())
    mapped = np.memmap(tmp_path / "data", D.dtype, "r", offset=1, shape=D.shape)
    assert not mapped.flags.aligned
    assert_holds(ms.tensor(mapped, "dense"))
    assert_holds(ms.tensor(mapped, "CSR"))
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=ms.tensor(D), x=X)
    np.testing.assert_allclose(kernel(ms.tensor(D), mapped[0]), D @ D[0])
    scaled = ms.compile("C(i,j) = A(i,j) * x(j)", A=ms.tensor(D), x=X)
    np.testing.assert_allclose(scaled(ms.tensor(D), mapped[0]).to_numpy(), D * D[0])


@pytest.mark.parametrize("arrival", ARRIVALS)
def test_dense_operands(arrival: str) -> None:
    A, x = ms.tensor(D), ARRIVALS[arrival](X)
    np.testing.assert_allclose(A @ x, D @ X)
    np.testing.assert_allclose((A * x).to_numpy(), D * X)
    np.testing.assert_allclose(A + x, D + X)
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=X)
    for _ in range(2):
        np.testing.assert_allclose(kernel(A, x), D @ X)


def test_dense_operands_whose_elements_share_memory() -> None:
    A = ms.tensor(D)
    np.testing.assert_allclose(A @ np.broadcast_to(2.0, 12), D @ np.full(12, 2.0))
    windows = np.lib.stride_tricks.sliding_window_view(np.arange(20.0), 12)
    np.testing.assert_allclose(A @ windows[:5].T, D @ windows[:5].T)
    np.testing.assert_allclose(ms.tensor(windows, "dense").to_numpy(), windows)


def test_matrices_of_numpy_are_arrays() -> None:
    np.testing.assert_allclose(ms.tensor(np.matrix(D)).to_numpy(), D)
    product = ms.tensor(D) @ np.matrix(X).T
    assert type(product) is np.ndarray
    np.testing.assert_allclose(product, D @ X[:, None])


RESULTS: dict[str, Callable[[], Any]] = {
    "odd": lambda: odd(np.zeros(8)),
    "strided": lambda: np.zeros(24)[::3],
    "reversed": lambda: np.zeros(8)[::-1],
    "other byte order": lambda: np.zeros(8, ">f8"),
    "odd, other byte order": lambda: odd(np.zeros(8, ">f8"), 5),
    "field of a record": lambda: np.zeros(8, [("tag", "i1"), ("it", "f8")])["it"],
}


@pytest.mark.parametrize("kind", RESULTS)
@pytest.mark.parametrize("threads", [1, 3])
def test_results_in_place(kind: str, threads: int) -> None:
    A, out = ms.tensor(D), RESULTS[kind]()
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=X)
    before = ms.get_num_threads()
    ms.set_num_threads(threads)
    try:
        assert kernel(A, X, out=out) is out
    finally:
        ms.set_num_threads(before)
    np.testing.assert_allclose(out, D @ X)
    adding = ms.compile("y(i) += A(i,j) * x(j)", A=A, x=X, y=np.zeros(8))
    out[...] = np.arange(8.0)
    np.testing.assert_allclose(adding(out, A, X), np.arange(8.0) + D @ X)


def test_results_whose_elements_share_memory_are_refused() -> None:
    A = ms.tensor(D)
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=X)
    shared = [
        np.lib.stride_tricks.as_strided(np.zeros(1), (8,), (0,)),
        np.lib.stride_tricks.as_strided(np.zeros(8), (8,), (4,)),
    ]
    for out in shared:
        with pytest.raises(ms.SparseError, match="expected an array for out whose elements are apart in memory"):
            kernel(A, X, out=out)
    for out in (np.zeros((8, 1))[:, 0], np.zeros((3, 8))[1]):
        np.testing.assert_allclose(kernel(A, X, out=out), D @ X)


def test_masks_are_refused_and_not_dropped() -> None:
    A, masked = ms.tensor(D), np.ma.array(X, mask=X > 3)
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=X)
    scaled = ms.compile("C(i,j) = A(i,j) * x(j)", A=A, x=X)
    for call in (
        lambda: kernel(A, masked),
        lambda: scaled(A, masked),
        lambda: A @ masked,
        lambda: ms.tensor(masked),
        lambda: ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=masked),
    ):
        with pytest.raises(ms.SparseError, match=r"masked|MaskedArray"):
            call()
    with pytest.raises(ms.SparseError, match="masked"):
        kernel(A, X, out=np.ma.zeros(8))


def test_parts_of_complex_tensors_have_values_of_their_own() -> None:
    Z = ms.tensor(D + 2j * D, "CSR")
    for part, dense in ((np.real(Z), D), (np.imag(Z), 2 * D), (Z.real, D), (Z.imag, 2 * D)):
        assert_settled(part)
        np.testing.assert_allclose(part @ X, dense @ X)
        np.testing.assert_array_equal(part.to_numpy(), dense)


@pytest.mark.parametrize(
    "given", [np.zeros(3, [("a", "f8")]), np.zeros(3, "M8[s]"), np.array(["a"]), np.zeros(3, "V8")]
)
def test_what_is_no_number_is_refused(given: Any) -> None:
    with pytest.raises(ms.SparseError):
        ms.tensor(given)
    with pytest.raises(ms.SparseError):
        ms.tensor(D[:, :3]) @ given
