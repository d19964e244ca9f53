"""SciPy in and out: every format, arrays and matrices; memory shared, sources untouched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from dialect_tests.crossing import crossed
from dialect_tests.tensor.reference import addresses, same
from mlir_sparse.dtypes import DTYPES
from mlir_sparse.encoding import encoding
from mlir_sparse.errors import CoordinatesError, DTypeError, PositionsError, StorageError
from mlir_sparse.tensor import tensor

DENSE = np.array([[0, 2, 0, 0, 1, 0], [3, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 4, 0, 5, 0, 6]], float)
FORMATS = ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"]
DEFAULTS = {"csr": "CSR", "csc": "CSC", "coo": "COO", "dia": "DIA"}


@crossed(wanted=[None, "CSR", "CSC", "DCSR", "COO", "BSR", "CSB", "dense"], name=FORMATS, kind=["array", "matrix"])
def test_every_format(name: str, kind: str, wanted: str | None) -> None:
    source = getattr(sp, f"{name}_{kind}")(DENSE)
    made = tensor(source, wanted)
    assert same(made.to_numpy(), DENSE)
    assert same(source.toarray(), DENSE)
    default = wanted or DEFAULTS.get(name, "CSR")
    assert made.encoding.level_types == encoding(default, rank=2).level_types
    assert same(made.to_scipy().toarray(), DENSE)


def parts(source: Any) -> list[Any]:
    return [source.indptr, source.indices, source.data]


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("name", ["csr", "csc", "bsr"])
def test_memory_is_shared_in_and_out(name: str, index: type) -> None:
    source = sp.bsr_array(DENSE, blocksize=(2, 3)) if name == "bsr" else sp.csr_array(DENSE).asformat(name)
    source.indptr, source.indices = source.indptr.astype(index), source.indices.astype(index)
    made = tensor(source)
    assert made.encoding.pos_width == np.dtype(index).itemsize * 8
    assert addresses(made.storage.buffers()) == addresses(parts(source))
    back = made.to_scipy()
    assert back.format == name
    assert addresses(parts(back)) == addresses(parts(source))
    assert same(back.toarray(), DENSE)
    assert same((back @ np.eye(6)), DENSE)
    explicit = tensor(source, {"csr": "CSR", "csc": "CSC", "bsr": "BSR(2, 3)"}[name])
    assert addresses(explicit.storage.buffers()) == addresses(parts(source))


def test_blocks_keep_their_size() -> None:
    made = tensor(sp.bsr_array(DENSE, blocksize=(2, 3)))
    assert (made.encoding.block_of(0), made.encoding.block_of(1)) == (2, 3)
    thin = tensor(sp.bsr_array(DENSE, blocksize=(1, 3)))
    assert thin.encoding.level_types == encoding("CSR").level_types
    assert same(thin.to_numpy(), DENSE)


@pytest.mark.parametrize("name", ["csr", "csc", "bsr"])
def test_unsorted_indices_and_duplicates_are_put_right_in_a_copy(name: str) -> None:
    indptr, indices = np.array([0, 3, 3, 4], np.int32), np.array([2, 0, 2, 1], np.int32)
    data = np.array([1.0, 2.0, 4.0, 8.0])
    if name == "bsr":
        source = sp.bsr_array((data[:, None, None] * np.ones((2, 2)), indices, indptr), shape=(6, 6))
    else:
        source = getattr(sp, f"{name}_array")((data, indices, indptr), shape=(3, 3))
    before = [array.copy() for array in parts(source)]
    made = tensor(source)
    assert same(made.to_numpy(), source.toarray())
    assert made.storage.coordinates[1].tolist() == [0, 2, 1]
    assert all(same(now, then) for now, then in zip(parts(source), before, strict=True))


def test_a_nonordered_encoding_takes_unsorted_indices_as_they_are() -> None:
    source = sp.csr_array((np.ones(2), np.array([2, 0], np.int32), np.array([0, 2, 2, 2], np.int32)), shape=(3, 3))
    made = tensor(source, "(i, j) -> (i : dense, j : compressed(nonordered))")
    assert addresses(made.storage.buffers()) == addresses(parts(source))
    assert same(made.to_numpy(), source.toarray())
    assert same(made.to_scipy().toarray(), source.toarray())


def test_room_to_spare_is_left_out() -> None:
    source = sp.csr_array(DENSE)
    source.indices, source.data = np.append(source.indices, [77, 77]).astype(np.int32), np.append(source.data, [9, 9])
    assert same(tensor(source).to_numpy(), DENSE)


def test_explicit_zeros_are_kept() -> None:
    source = sp.csr_array(DENSE)
    source.data[1] = 0
    assert tensor(source).nse == 6
    assert tensor(source, "DCSC").nse == 6
    assert tensor(source).to_scipy().nnz == 6


def test_broken_arrays_are_refused() -> None:
    source = sp.csr_array(DENSE)
    source.indices[2] = 99
    with pytest.raises(CoordinatesError, match=r"coordinates\[1\] from 0 to 5, .* but got 99 at coordinates\[1\]\[2\]"):
        tensor(source)
    source = sp.csr_array(DENSE)
    source.indptr[1] = 5
    with pytest.raises(PositionsError, match=r"positions\[1\] to never decrease, but got 3 after 5"):
        tensor(source)


def _changed(name: str, **attributes: object) -> sp.sparray:
    source = getattr(sp, f"{name}_array")(DENSE)
    for key, value in attributes.items():
        setattr(source, key, value)
    return source


@pytest.mark.parametrize(
    ("name", "attributes", "said"),
    [
        ("csr", {"indices": [0, 1]}, "expected indices of a csr to be an array, but got list"),
        ("csc", {"indptr": None}, "expected indptr of a csc to be an array, but got NoneType"),
        (
            "csr",
            {"indptr": np.zeros((6, 1), np.int32)},
            r"expected indptr of a csr to have axes: 1, but got shape \(6, 1\)",
        ),
        ("csr", {"indptr": np.zeros(0, np.int32)}, "expected indptr of a csr to start at 0, but got no element"),
        ("csr", {"data": np.ones((2, 2))}, "expected data of a csr to have axes: 1"),
        ("bsr", {"data": np.ones((2, 2))}, "expected data of a bsr to have axes: 3"),
        ("dia", {"offsets": np.array([0])}, r"expected an offset for each of the \d rows of data of a dia, but got 1"),
        ("dia", {"data": np.ones(4)}, "expected data of a dia to have axes: 2"),
        ("dia", {"offsets": np.array([0.5])}, "expected offsets of a dia to be integers, but got float64"),
        ("lil", {"rows": np.array([[1, 2]])}, "expected rows of a lil to have axes: 1"),
    ],
)
def test_attributes_that_cannot_belong_together_are_refused(
    name: str, attributes: dict[str, object], said: str
) -> None:
    """SciPy's own conversion of a dia with fewer offsets than diagonals wrote past the end of an array."""
    for wanted in (None, "COO", "CSC"):
        with pytest.raises(StorageError, match=said):
            tensor(_changed(name, **attributes), wanted)


def test_lists_and_keys_that_lie_are_refused() -> None:
    beyond, ragged, keys = sp.lil_array(DENSE), sp.lil_array(DENSE), sp.dok_array(DENSE)
    beyond.rows[0] = [99] * len(beyond.rows[0])
    ragged.rows[0] = [*ragged.rows[0], 3]
    keys._dict[99, 0] = 1.0
    with pytest.raises(StorageError, match=r"expected lists of as many coordinates as values in row 0 of a lil"):
        tensor(ragged)
    for source in (beyond, keys):
        with pytest.raises(StorageError, match=f"expected a {source.format} that SciPy itself can read, but got from"):
            tensor(source)


@pytest.mark.parametrize("count", [0, 1, 40])
@pytest.mark.parametrize("shape", [(5, 7), (1, 1), (0, 3), (3, 0), (9, 1)])
def test_coo_with_duplicates(shape: tuple[int, int], count: int) -> None:
    rng = np.random.default_rng(3)
    count = count if 0 not in shape else 0
    coordinates = tuple(rng.integers(0, max(extent, 1), count) for extent in shape)
    source = sp.coo_array((rng.integers(1, 9, count), coordinates), shape=shape)
    for wanted in (None, "CSR", "CSC", "DCSC", "BSR"):
        assert same(tensor(source, wanted).to_numpy(), source.toarray())


def test_one_dimension() -> None:
    vector = sp.coo_array(DENSE[3])
    assert same(tensor(vector).to_numpy(), DENSE[3])
    assert same(tensor(sp.csr_array(DENSE[3])).to_scipy().toarray(), DENSE[3])


def test_three_dimensions() -> None:
    cube = sp.coo_array(np.stack([DENSE, 2 * DENSE]))
    assert tensor(cube).encoding.level_types == encoding("COO", rank=3).level_types
    assert same(tensor(cube, "CSF").to_scipy().toarray(), cube.toarray())


@pytest.mark.parametrize("dtype", [d.name for d in DTYPES if not d.is_narrow])
@pytest.mark.parametrize("name", ["CSR", "COO", "CSC", "BSR"])
def test_element_types(dtype: str, name: str) -> None:
    kind = next(d for d in DTYPES if d.name == dtype).numpy
    source = sp.csr_array(DENSE.astype(kind))
    made = tensor(source, name)
    assert made.dtype == kind
    assert same(made.to_scipy().toarray(), source.toarray())


@pytest.mark.parametrize("dtype", [d.numpy for d in DTYPES if d.is_narrow], ids=str)
def test_element_types_that_scipy_has_not(dtype: type) -> None:
    with pytest.raises(DTypeError, match=r"expected an element type that SciPy has, .*astype\('f32'\)"):
        tensor(DENSE, dtype=dtype).to_scipy()


def test_booleans_and_unsigned_integers() -> None:
    flags = sp.csr_array(DENSE != 0)
    made = tensor(flags)
    assert made.dtype == np.bool_
    assert np.shares_memory(made.storage.values, flags.data)
    assert made.storage.values.ctypes.data == flags.data.ctypes.data
    for kind in (np.uint8, np.uint16, np.uint32, np.uint64):
        matrix = sp.csr_array(DENSE.astype(kind))
        made = tensor(matrix)
        assert np.shares_memory(made.storage.values, matrix.data)
        assert made.to_scipy().dtype == kind
        assert np.array_equal(made.to_scipy().toarray(), matrix.toarray())
    assert tensor(sp.csr_array(DENSE.astype(np.uint8)), dtype="i16").dtype == np.int16


def test_blocks_that_do_not_divide_the_shape_leave_as_coo() -> None:
    made = tensor(DENSE, "BSR", block=(3, 4))
    assert made.to_scipy().format == "coo"
    assert same(made.to_scipy().toarray(), DENSE)


def test_narrow_and_mixed_widths_leave_as_scipys() -> None:
    made = tensor(DENSE, "CSR", pos_width=8, crd_width=64).to_scipy()
    assert (made.indptr.dtype, made.indices.dtype) == (np.int64, np.int64)
    assert same(made.toarray(), DENSE)


@pytest.mark.parametrize("name", ["csr", "csc", "bsr"])
def test_scipys_attributes_are_those_of_its_arrays(name: str, tmp_path: Path) -> None:
    """SciPy writes a file of them, of whatever has them."""
    source = sp.bsr_array(DENSE, blocksize=(2, 3)) if name == "bsr" else sp.csr_array(DENSE).asformat(name)
    made = tensor(source)
    for ours, theirs in zip(parts(made), parts(source), strict=True):
        assert same(ours, theirs)
        assert np.shares_memory(ours, theirs)
    sp.save_npz(tmp_path / "ours.npz", made)
    assert same(sp.load_npz(tmp_path / "ours.npz").toarray(), DENSE)
