"""Methods by the names and arguments of NumPy's, SciPy's and pydata/sparse's arrays, and the names that are refused."""

from __future__ import annotations

import copy
import operator
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import mlir_sparse as ms
from dialect_tests.as_array import as_array

RNG = np.random.default_rng(3)
MATRIX = RNG.integers(-3, 4, (4, 6)) * (RNG.random((4, 6)) < 0.5).astype(float)
OTHER = RNG.integers(-3, 4, (4, 6)) * (RNG.random((4, 6)) < 0.5).astype(float)
STORAGES = ["CSR", "CSC", "COO", "DCSR", "dense", 2.0]  # a number: CSR with this fill value


def tensor(array: Any, storage: Any) -> Any:
    if isinstance(storage, str):
        return ms.tensor(array, storage)
    return ms.tensor(array, fill_value=array.dtype.type(storage))


def check(found: Any, wanted: Any) -> None:
    one, other = as_array(found), np.asarray(wanted)
    assert (one.shape, one.dtype) == (other.shape, other.dtype)
    np.testing.assert_allclose(one, other, rtol=1e-6 if other.dtype == np.float32 else 1e-12)


ELEMENTS = (
    "arcsin arcsinh arctan arctanh ceil deg2rad expm1 floor isinf isnan log1p rad2deg rint sign sin sinh sqrt tan tanh "
    "trunc"
)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("name", ELEMENTS.split())
def test_functions_of_elements(name: str, storage: Any) -> None:
    with np.errstate(all="ignore"):
        check(getattr(tensor(MATRIX, storage), name)(), getattr(np, name)(MATRIX))


# NumPy's calls on arrays, of a tensor A and another one B of its shape.
CALLS = (
    "A.transpose((1, 0))",
    "A.transpose(1, 0)",
    "A.transpose(None)",
    "A.transpose([1, 0])",
    "A.reshape(8, 3)",
    "A.reshape((8, -1))",
    "A.reshape(24)",
    "A.reshape(2, 12, order='F')",
    "A.ravel()",
    "A.flatten(order='C')",
    "A.round(1)",
    "A.round(decimals=0, out=OUT)",
    "A.clip(-1, 1)",
    "A.clip(min=0.5)",
    "A.clip(None, 1, out=OUT)",
    "A.copy('C')",
    "A.var(1)",
    "A.var(0, np.float32)",
    "A.var(axis=0, ddof=1, keepdims=True)",
    "A.std(1, np.float64, None, 1)",
    "A.std(axis=(0, 1), dtype='f4')",
    "A.mean(0, 'f4')",
    "A.argmax(1)",
    "A.argmin(axis=0, keepdims=True)",
    "A.argmax(0, np.zeros(6, np.int64))",
    "A.sum(axis=(0, 1), keepdims=True)",
    "A.prod(0, np.float32)",
    "A.max(axis=1, out=np.zeros(4))",
    "A.cumsum(axis=0)",
    "A.cumprod(1, dtype='f4')",
    "A.argsort(axis=1, kind='stable')",
    "A.repeat(2, axis=1)",
    "A.repeat([1, 0, 2, 1], 0)",
    "A.take([2, 0], axis=1)",
    "A.dot(B.T)",
    "A.nonzero()",
    "A.trace(1)",
    "A.diagonal(offset=-1)",
    "A.squeeze()",
    "A.swapaxes(0, 1)",
    "A.itemsize",
    "A.conj()",
    "A.conjugate()",
)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("call", CALLS)
def test_calls_of_numpy(call: str, storage: Any) -> None:
    names = {"np": np, "OUT": np.zeros((4, 6))}
    wanted = eval(call, names | {"A": MATRIX, "B": OTHER})
    found = eval(call, names | {"A": tensor(MATRIX, storage), "B": tensor(OTHER, storage)})
    for one, other in zip(*((x if isinstance(x, tuple) else (x,)) for x in (found, wanted)), strict=True):
        check(one, other)


@pytest.mark.parametrize("storage", STORAGES)
def test_calls_of_other_libraries(storage: Any) -> None:
    A, B = tensor(MATRIX, storage), tensor(OTHER, storage)
    check(A.transpose(axes=(1, 0)), MATRIX.T)
    check(A.multiply(B), MATRIX * OTHER)
    check(A.multiply(2), MATRIX * 2)
    check(A.maximum(B), np.maximum(MATRIX, OTHER))
    check(A.minimum(0), np.minimum(MATRIX, 0))
    check(A.power(2), MATRIX**2)
    check(A.power(2, dtype="f4"), (MATRIX**2).astype("f4"))
    check(A.tensordot(B, axes=([0], [0])), np.tensordot(MATRIX, OTHER, axes=([0], [0])))
    check(A.broadcast_to((2, 4, 6)), np.broadcast_to(MATRIX, (2, 4, 6)))
    check(A.reduce(np.add), MATRIX.sum(axis=0))
    check(A.reduce(np.maximum, axis=None), MATRIX.max())
    check(A.reduce(np.add, 1, keepdims=True, dtype="f4"), MATRIX.sum(1, keepdims=True, dtype="f4"))
    check(A.nanmax(axis=0), MATRIX.max(axis=0))
    check(A.nanmin(), MATRIX.min())
    check(A.amax(0), MATRIX.max(0))
    check(A.amin(axis=1, keepdims=True), MATRIX.min(1, keepdims=True))
    check(A.round_(1), MATRIX)
    assert A.density == A.nse / 24
    np.testing.assert_array_equal(A.coords, A.to_coo()[0])
    assert A.copy(deep=False) is A
    assert A.nnz == A.nse
    with pytest.raises(ms.OperandError, match="a ufunc to reduce by"):
        A.reduce("add")
    for name in ("csr", "csc", "coo", "CSR"):
        found = A.asformat(name)
        assert found.encoding.preset == name.upper()
        check(found, MATRIX)
    assert A.asformat(None) is A
    assert A.asformat(None, copy=True) is not A
    with pytest.raises(ms.SparseError):
        A.asformat("nothing")


def test_calls_of_scipy() -> None:
    A, S = ms.tensor(MATRIX), sp.csr_array(MATRIX)
    assert A.asformat("bsr").format == "bsr"
    check(A.asformat("dia"), MATRIX)
    for found, wanted in ((A.tobsr((2, 2)), S.tobsr((2, 2))), (A.todia(), S.todia())):
        assert (found.format, (found != wanted).nnz) == (wanted.format, 0)
    C = A.convert("COO")
    np.testing.assert_array_equal(C.row, S.tocoo().row)
    np.testing.assert_array_equal(C.col, S.tocoo().col)


@pytest.mark.parametrize("storage", ["CSR", 2.0])
def test_reshapes_copy_as_asked(storage: Any) -> None:
    A = tensor(MATRIX, storage)
    check(A.reshape(shape=(3, 8)), MATRIX.reshape(3, 8))
    check(A.reshape((3, 8), copy=True), MATRIX.reshape(3, 8))
    assert A.reshape((4, 6), copy=True) is not A
    check(np.reshape(A, (4, 6), copy=False) if np.__version__ >= "2.1" else A, MATRIX)
    with pytest.raises(ms.StorageError, match="copy=False"):
        A.reshape((3, 8), copy=False)
    with pytest.raises(ms.StorageError, match="copy=False"):
        ms.xp.reshape(A, (3, 8), copy=False)
    with pytest.raises(ms.OperandError, match="axes once"):
        A.transpose(1, 0, axes=(1, 0))
    with pytest.raises(ms.OperandError, match="shape once"):
        A.reshape(3, 8, shape=(3, 8))


def test_names_that_tensors_lack_say_what_to_do() -> None:
    A, F = ms.tensor(MATRIX), ms.tensor(MATRIX, fill_value=1.0)
    for name, way in {
        "eliminate_zeros": "drop_zeros=True",
        "setdiag": r"ms\.assign",
        "sort": r"np\.sort\(A\)",
        "todok": "to_?",
        "from_numpy": r"ms\.tensor",
        "sum_duplicates": "each there once",
    }.items():
        assert not hasattr(A, name)
        with pytest.raises(AttributeError, match=way):
            getattr(A, name)
    with pytest.raises(AttributeError, match=r"A\.stored has it"):
        F.tocsr  # noqa: B018
    with pytest.raises(AttributeError, match="'SparseTensor' object has no attribute 'nothing'"):
        A.nothing  # noqa: B018
    with pytest.raises(AttributeError, match=r"expected csr, csc or bsr for indptr, but got coo"):
        A.convert("COO").indptr  # noqa: B018
    with pytest.raises(AttributeError, match="a matrix in coo for row"):
        A.row  # noqa: B018
    for one in (A, F):
        for again in (pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)):
            check(again, MATRIX)
    assert A.convert(A.encoding, drop_zeros=True).nse == np.count_nonzero(MATRIX)


@pytest.mark.parametrize("kind", ["i1", "u1", "i8", "u8"])
def test_shifts(kind: str) -> None:
    array = np.array([[0, 1, 100], [3, 0, 127]], kind)
    by = np.array([[2, 0, 1], [0, 5, 7]], kind)
    for storage in ("CSR", "COO", 1):
        A, B = tensor(array, storage), tensor(by, storage)
        check(A << 1, array << np.array(1, kind))
        check(A >> B, array >> by)
        check(A << by, array << by)
        check(by >> A % 4, by >> array % np.array(4, kind))
        check(1 << B, np.array(1, kind) << by)
        check(ms.xp.bitwise_left_shift(A, B), array << by)


def test_tensors_are_no_index_of_lists() -> None:
    """As in NumPy, where no array of one dimension or more is one; a tensor's element is a number of NumPy's."""
    for other in (ms.tensor([2.0]), ms.tensor([2]), ms.tensor([True]), ms.tensor([2, 1], fill_value=1)):
        with pytest.raises(ms.OperandError, match="an integer of no dimension"):
            operator.index(other)
    assert [1, 2, 3][ms.tensor([0, 2])[1]] == 3


def test_dlpack_gives_dense_levels_only() -> None:
    cube = np.arange(24.0).reshape(2, 3, 4)
    dense = ms.tensor(cube, "dense")
    for one, wanted in ((dense, cube), (dense.transpose(2, 0, 1), cube.transpose(2, 0, 1)), (dense.T, cube.T)):
        found = np.from_dlpack(one)
        np.testing.assert_array_equal(found, wanted)
        assert np.shares_memory(found, dense.storage.values)
        np.testing.assert_array_equal(ms.xp.from_dlpack(one), wanted)
    assert dense.__dlpack_device__() == (1, 0)
    assert not np.shares_memory(ms.xp.from_dlpack(dense, copy=True), dense.storage.values)
    for storage in ("CSR", "COO", "DIA"):
        with pytest.raises(BufferError, match=r"dense levels only for DLPack.*A\.to_numpy\(\)"):
            np.from_dlpack(ms.tensor(MATRIX, storage))
    with pytest.raises(BufferError, match=r"without fill value for DLPack"):
        np.from_dlpack(ms.tensor(MATRIX, fill_value=1.0))
    with pytest.raises(ms.OperandError, match="device"):
        ms.xp.from_dlpack(dense, device="cuda")
    assert ms.tensor(dense) is dense
    check(ms.evaluate("y(i,j,k) = 2 * A(i,j,k)", A=dense), 2 * cube)
