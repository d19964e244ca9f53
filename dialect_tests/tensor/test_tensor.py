"""`tensor` and the methods of its result, against NumPy."""

from __future__ import annotations

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialect_tests.crossing import examples
from dialect_tests.tensor.reference import MATRICES, WHOLE, dense_arrays, fits_structured, same, to_dense
from mlir_sparse.dtypes import DTYPES
from mlir_sparse.encoding import encoding
from mlir_sparse.errors import DTypeError, ExtentError, OperandError, RankError
from mlir_sparse.tensor import SparseTensor, tensor

DENSE = np.array([[0.0, 2.0, 0.0], [3.0, 0.0, np.nan]])


def test_default_encodings_of_dense_sources() -> None:
    assert tensor(DENSE[0]).encoding.map_text() == "(i) -> (i : compressed)"
    assert tensor(DENSE).encoding.map_text() == "(i, j) -> (i : dense, j : compressed)"
    assert tensor(DENSE[None]).encoding.level_types == encoding("CSF", rank=3).level_types
    assert tensor(([0, 1], [1.0, 2.0])).encoding == tensor(DENSE[0]).encoding
    assert tensor(([[0], [1]], [1.0])).encoding.level_types == encoding("COO", rank=2).level_types
    assert tensor(np.eye(4), block=(2, 2)).encoding.is_blocked


def test_nan_is_an_entry() -> None:
    assert tensor(DENSE).nse == 3
    assert np.array_equal(tensor(DENSE).to_numpy(), DENSE, equal_nan=True)
    assert np.array_equal(tensor(DENSE, "BSR").convert("CSR").to_numpy(), DENSE, equal_nan=True)


@pytest.mark.parametrize("name", ["CSR", "COO", "dense", "BSR"])
@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[::-1, ::-2],
        lambda a: a.T,
        lambda a: a.astype(">f8"),
        lambda a: np.asfortranarray(a),
        lambda a: np.lib.stride_tricks.as_strided(a, (3, 4), (0, 8)),
        lambda a: a[:0],
        lambda a: a[:, :0],
    ],
)
def test_dense_arrays_however_they_lie(name: str, view: object) -> None:
    base = np.arange(24.0).reshape(4, 6) % 5
    source = view(base)  # type: ignore[operator]
    source.flags.writeable = False
    before = source.copy()
    assert np.array_equal(tensor(source, name).to_numpy(), before)
    assert np.array_equal(source, before)


def test_dense_encodings_share_the_array_in_their_order() -> None:
    rows = np.arange(6.0).reshape(2, 3)
    assert tensor(rows, "dense").storage.values.ctypes.data == rows.ctypes.data
    columns = "(i, j) -> (j : dense, i : dense)"
    assert tensor(rows.T, columns).storage.values.ctypes.data == rows.ctypes.data
    copied = tensor(rows, columns)
    assert copied.storage.values.tolist() == [0, 3, 1, 4, 2, 5]
    assert np.array_equal(copied.to_numpy(), rows)


@pytest.mark.parametrize("dtype", [d.name for d in DTYPES])
def test_element_types(dtype: str) -> None:
    kind = next(d for d in DTYPES if d.name == dtype).numpy
    made = tensor([[0, 1], [2, 0]], dtype=dtype)
    assert made.dtype == kind
    assert made.type.dtype.name == dtype
    assert same(made.to_numpy(), np.array([[0, 1], [2, 0]]).astype(kind))
    assert tensor(np.array([[0, 1], [2, 0]]).astype(kind)).dtype == kind


def test_booleans_are_stored_as_they_are() -> None:
    flags = np.array([True, False])
    assert tensor(flags).to_numpy().tolist() == [1, 0]
    assert tensor(flags).dtype == np.bool_
    assert tensor(flags, "dense").storage.values.ctypes.data == flags.ctypes.data


@pytest.mark.parametrize("dtype", [np.longdouble, np.clongdouble, "M8[s]", "U3"])
def test_element_types_that_sparse_tensors_do_not_have(dtype: str) -> None:
    with pytest.raises(DTypeError, match=r"expected an element type of .*, but got .*: convert "):
        tensor(np.zeros((2, 2), dtype))


def test_unsigned_integers_are_taken_with_a_dtype() -> None:
    assert tensor(np.array([0, 200], np.uint8)).to_numpy().dtype == np.uint8
    assert tensor(np.array([0, 200], np.uint8), dtype="i16").to_numpy().tolist() == [0, 200]


def test_complex_values_are_not_made_real() -> None:
    with pytest.raises(DTypeError, match=r"expected real values for f64, but got complex128: take \.real or abs\(\)"):
        tensor([1j, 0], dtype="f64")
    with pytest.raises(DTypeError, match=r"expected real values for f32"):
        tensor([1j, 0]).astype("f32")


def test_astype_shares_structure() -> None:
    given_ = tensor(DENSE)
    cast = given_.astype(ml_dtypes.bfloat16)
    assert cast.dtype == ml_dtypes.bfloat16
    assert cast.storage.coordinates[1].ctypes.data == given_.storage.coordinates[1].ctypes.data
    assert given_.astype("float64") is given_


def test_numbers() -> None:
    assert tensor(2.5, "CSR", shape=(2, 2)).to_numpy().tolist() == [[2.5, 2.5], [2.5, 2.5]]
    with pytest.raises(RankError, match=r"but got a number: give shape=\.\.\. to fill one with it"):
        tensor(2.5)
    with pytest.raises(RankError, match=r"but got a number"):
        tensor(np.float32(2.5))


@pytest.mark.parametrize("source", [None, "CSR", {"a": 1}, [object()], [[1, 2], None]])
def test_what_is_no_tensor(source: object) -> None:
    with pytest.raises(OperandError, match=r"^expected "):
        tensor(source)


def test_a_shape_that_is_not_the_sources() -> None:
    with pytest.raises(OperandError, match=r"expected a source of shape \(3, 2\), as given, but got \(2, 3\)"):
        tensor(DENSE, shape=(3, 2))
    with pytest.raises(OperandError, match=r"expected a source of shape \(3, 2\)"):
        tensor(tensor(DENSE), shape=(3, 2))


def test_the_shape_of_a_pair_is_inferred() -> None:
    assert tensor(([[0, 4], [2, 0]], [1.0, 2.0])).shape == (5, 3)
    with pytest.raises(RankError, match=r"expected shape=\.\.\. with coordinates of no entries"):
        tensor((np.empty((2, 0), int), []))
    assert tensor((np.empty((2, 0), int), []), shape=(4, 5)).nse == 0


def test_a_sparse_tensor_is_converted() -> None:
    given_ = tensor(DENSE)
    assert tensor(given_) is given_
    assert tensor(given_, "CSC", dtype="f32").dtype == np.float32
    assert tensor(given_, "CSC").encoding.level_order == (1, 0)


def test_coo_out() -> None:
    coordinates, values = tensor(DENSE, "CSC").to_coo()
    assert coordinates.tolist() == [[1, 0, 1], [0, 1, 2]]
    assert np.array_equal(values, [3, 2, np.nan], equal_nan=True)
    values[:] = 0  # a copy


def test_numpy_takes_it_as_an_array() -> None:
    assert np.asarray(tensor(DENSE[:, :2])).tolist() == DENSE[:, :2].tolist()
    assert np.asarray(tensor(DENSE[:, :2]), dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="expected copy to be allowed"):
        np.array(tensor(DENSE), copy=False)


def test_text() -> None:
    made = tensor(np.arange(24.0).reshape(2, 12), "CSR", pos_width=64)
    head = (
        "SparseTensor f64[2,12] (i, j) -> (i : dense, j : compressed), posWidth = 64, crdWidth = 32, 23 entries, 300 B"
    )
    assert repr(made) == f"<{head}>"
    assert str(made).splitlines()[:2] == [head, "  (0, 1) 1.0"]
    assert str(made).splitlines()[-1] == "  ... 13 more"
    assert str(tensor([0.0, 0.0])).endswith("0 entries, 8 B")
    assert "1 entry" in repr(tensor([0, 1j]))


def test_bytes_and_entries() -> None:
    made = tensor(np.eye(4), "BSR", block=(2, 2))
    assert (made.nse, made.nbytes) == (8, 12 + 8 + 64)


PLAIN = [enc for name, enc in MATRICES if enc.level_types[-1].format.value != "structured"]


@examples(150)
@given(data=st.data())
def test_chains_of_conversions_return_the_same_tensor(data: st.DataObject) -> None:
    rank = data.draw(st.sampled_from([1, 2, 2, 2, 3]))
    dense = data.draw(dense_arrays(rank, ["f64", "i8", "bf16", "c64"]))
    known = PLAIN if rank == 2 else [enc for _, enc in WHOLE[rank] if enc.level_types[-1].format.value != "structured"]
    at = tensor(dense)
    for stored_as in data.draw(st.lists(st.sampled_from(known), min_size=1, max_size=4)):
        at = at.convert(stored_as)
        assert same(to_dense(at), dense)
        assert same(at.to_numpy(), dense)
        coordinates, values = at.to_coo()
        scattered = np.zeros_like(dense)
        scattered[tuple(coordinates)] = values
        assert same(scattered, dense)


@examples(40)
@given(data=st.data())
def test_structured_tensors_convert_both_ways(data: st.DataObject) -> None:
    two_of_four = encoding("NV_24", rank=2)
    dense = fits_structured(data.draw(dense_arrays(2)), two_of_four)
    made = tensor(dense, two_of_four)
    other = made.convert(data.draw(st.sampled_from(PLAIN)))
    assert same(other.to_numpy(), dense)
    assert same(other.convert(two_of_four).to_numpy(), dense)


def test_stored_zeros_survive_conversion_but_padding_does_not() -> None:
    zero = tensor(([[0, 1], [1, 0]], [0.0, 2.0]), "COO", shape=(2, 2))
    for name in ("CSR", "CSC", "DCSR", "DCSC", "SoA-COO", "ELL", "CSF"):
        zero = zero.convert(name)
        assert zero.nse == 2
    assert zero.convert("BSR", block=(2, 2)).convert("CSR").nse == 1


def test_conversion_to_the_same_is_free() -> None:
    given_ = tensor(DENSE)
    assert given_.convert("CSR", pos_width=32, crd_width=32) is given_
    loose = given_.convert("(i, j) -> (i : dense, j : compressed(nonunique, nonordered))")
    assert [b.ctypes.data for b in loose.storage.buffers()] == [b.ctypes.data for b in given_.storage.buffers()]
    strict = loose.convert("CSR")
    assert same(strict.to_numpy()[:, :2], DENSE[:, :2])
    wide = given_.convert("CSR", pos_width=64)
    assert wide.storage.positions[1].dtype == np.int64
    assert wide.storage.values.ctypes.data == given_.storage.values.ctypes.data


def test_conversion_that_cannot_be() -> None:
    with pytest.raises(RankError, match="dimension-rank mismatch"):
        tensor(DENSE).convert("(i) -> (i : compressed)")
    with pytest.raises(ExtentError, match=r"of extent 1 in dimension 0, .*with A\.slice"):
        tensor(DENSE).convert("(i : #sparse_tensor<slice(1, 1, 1)>, j) -> (i : dense, j : compressed)")


def test_kept_duplicates_are_added_when_the_format_forbids_them() -> None:
    repeats = "(i, j) -> (i : dense, j : compressed(nonunique))"
    made = tensor(([[0, 0], [1, 1]], [1.0, 2.0]), repeats, shape=(2, 2), sum_duplicates=False)
    assert isinstance(made, SparseTensor)
    assert made.nse == 2
    assert made.convert("CSR").storage.values.tolist() == [3.0]


def test_scipy_stays_out_until_it_is_needed() -> None:
    code = (
        "import sys, numpy as np; from mlir_sparse.tensor import tensor;"
        "tensor(np.eye(3), 'BSR').convert('CSR').to_numpy();"
        "assert not {'scipy', 'torch_mlir', 'ml_dtypes'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
