"""NumPy's functions on order, NaN and running sums, creation, the array API namespace, and libraries that use it."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.as_array import as_array

RNG = np.random.default_rng(23)
MATRIX = RNG.integers(-4, 5, (6, 7)) * (RNG.random((6, 7)) < 0.5).astype(float)
WITH_NAN = MATRIX.copy()
WITH_NAN[0, 0] = WITH_NAN[2] = np.nan
CUBE = (RNG.integers(-3, 4, (3, 4, 5)) * (RNG.random((3, 4, 5)) < 0.4)).astype("i2")
ARRAYS = {
    "matrix": MATRIX,
    "nan": WITH_NAN,
    "cube": CUBE,
    "vector": MATRIX[0],
    "nothing": np.zeros((3, 4), "f4"),
    "complex": MATRIX + 1j * MATRIX[::-1],
    "infinite": np.array([[np.inf, 0, -np.inf, -0.0], [0, 0, np.nan, 1]]),
}


def same(function: Callable[[Any], Any], array: Any, storage: str | None = None) -> None:
    """Compares a function on a tensor with NumPy's on the array: elements, shape and type."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found, wanted = function(ms.tensor(array, storage)), function(array)
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, list | tuple) else [(found, wanted)]
    for one, other in pairs:
        np.testing.assert_allclose(as_array(one), other, rtol=1e-6)
        assert (as_array(one).shape, as_array(one).dtype) == (np.shape(other), np.asarray(other).dtype)


@pytest.mark.parametrize("name", ARRAYS)
def test_order(name: str) -> None:
    array = ARRAYS[name]
    for axis in (None, *range(-1, array.ndim)):
        same(lambda x, a=axis: np.sort(x, axis=a), array)
        same(lambda x, a=axis: np.argsort(x, axis=a, kind="stable"), array)
        if array.dtype.kind != "c":
            for keep in (False, True):
                same(lambda x, a=axis, k=keep: np.median(x, axis=a, keepdims=k), array)
    same(lambda x: np.unique(x, return_counts=True), array)
    same(lambda x: np.unique(x, return_index=True, return_inverse=True, return_counts=True), array)
    for tested in ([0, 2], [1, 2]):
        same(lambda x, t=tested: np.isin(x, t), array)
        same(lambda x, t=tested: np.isin(x, t, invert=True), array)


@pytest.mark.parametrize("name", ARRAYS)
def test_reductions_without_nan(name: str) -> None:
    array = ARRAYS[name]
    names = ["nansum", "nanprod", "nanmean", "nanvar", "nanstd"]
    if array.dtype.kind != "c":
        names += ["nanmax", "nanmin", "nanmedian"]
    with np.errstate(all="ignore"):
        for function in names:
            for axis in (None, *range(array.ndim)):
                same(lambda x, f=function, a=axis: getattr(np, f)(x, axis=a), array)
                same(lambda x, f=function, a=axis: getattr(np, f)(x, axis=a, keepdims=True), array)


@pytest.mark.parametrize("share", [0, 0.3, 0.9])
@pytest.mark.parametrize("shape", [(5, 7), (1, 3), (6, 1), (2, 3, 4)])
def test_positions_without_nan(shape: tuple[int, ...], share: float) -> None:
    random = np.random.default_rng(7)
    array = random.integers(-3, 4, shape) * (random.random(shape) < 0.5).astype(float)
    array[random.random(shape) < share] = np.nan
    array[random.random(shape) < 0.1] = random.choice([-np.inf, np.inf])
    for function in (np.nanargmax, np.nanargmin):
        for axis, keepdims in itertools.product((None, *range(-array.ndim, array.ndim)), (False, True)):
            options = {"axis": axis, "keepdims": keepdims}
            try:
                expected = function(array, **options)
            except ValueError as error:
                with pytest.raises(ms.ExtentError, match=str(error)):
                    function(ms.tensor(array), **options)
            else:
                same(lambda x, f=function, o=options: f(x, **o), array)
                assert np.array_equal(np.asarray(function(ms.tensor(array, "COO"), **options)), expected)


@pytest.mark.parametrize("name", ["matrix", "nan", "cube", "vector"])
def test_sequences(name: str) -> None:
    array = ARRAYS[name]
    for axis in (None, *range(array.ndim)):
        for function in ("cumsum", "cumprod", "nancumsum", "nancumprod"):
            same(lambda x, f=function, a=axis: getattr(np, f)(x, axis=a), array)
    same(lambda x: np.pad(x, ((1, 2),) * x.ndim), array)
    same(lambda x: np.pad(x, 2), array)
    same(lambda x: np.take_along_axis(x, np.zeros((*x.shape[:-1], 2), int), axis=-1), array)
    if hasattr(np, "unstack"):
        same(lambda x: np.unstack(x, axis=-1), array)
        same(lambda x: np.cumulative_sum(x, axis=0, include_initial=True), array)


@pytest.mark.parametrize("storage", ["CSC", "COO", "DIA", "DCSR", "dense"])
def test_storages(storage: str) -> None:
    for function in (np.sort, np.unique, np.median, np.nanmean, np.cumsum):
        same(function, MATRIX, storage)
    assert isinstance(np.sort(ms.tensor(MATRIX, storage)), ms.SparseTensor)
    assert isinstance(np.pad(ms.tensor(MATRIX, storage), 1), ms.SparseTensor)


def test_what_has_no_order_or_no_elements() -> None:
    with pytest.raises(ms.DTypeError, match="order"):
        np.median(ms.tensor(ARRAYS["complex"]))
    with pytest.raises(ms.ExtentError, match="an element or more"):
        np.median(ms.zeros((0, 3)), axis=0)
    with pytest.raises(ms.UnsupportedError, match="zeros to pad"):
        np.pad(ms.tensor(MATRIX), 1, constant_values=2)
    with pytest.raises(ms.UnsupportedError, match="zeros to pad"):
        np.pad(ms.tensor(MATRIX), 1, mode="edge")
    with pytest.raises(ms.OperandError, match="widths of zero or more"):
        np.pad(ms.tensor(MATRIX), -1)
    with pytest.raises(ms.OperandError, match="a pair of widths"):
        np.pad(ms.tensor(MATRIX), ((1, 1), (1, 1), (1, 1)))
    with pytest.raises(ms.RankError):
        np.sort(ms.tensor(MATRIX), axis=2)


def test_wide_tensors_are_sorted_and_counted_without_arrays() -> None:
    A = ms.tensor(([[5, 7], [2**40, 3]], [2.0, -1.0]), "DCSR", shape=(10, 2**41))
    assert np.sort(A, axis=1).to_coo()[0].tolist() == [[5, 7], [2**41 - 1, 0]]
    values, counts = np.unique(A, return_counts=True)
    assert values.tolist() == [-1, 0, 2]
    assert counts.tolist() == [1, 10 * 2**41 - 2, 1]
    assert np.median(A) == 0
    with pytest.raises(ms.TooLargeError):
        np.argsort(A)
    with pytest.raises(ms.TooLargeError):
        np.cumsum(A)


# -- creation ---------------------------------------------------------------------------------------------------


def test_creation() -> None:
    for rows, columns, k in ((3, None, 0), (3, 5, 1), (5, 3, -2), (2, 2, 7), (0, 3, 0)):
        same_array(ms.eye(rows, columns, k=k), np.eye(rows, columns, k=k))
    assert ms.eye(4, dtype="f32", encoding="DIA").dtype == np.float32
    assert ms.eye(4).encoding.pos_width == 32
    for shape in (4, (2, 3), (2, 3, 4), (0, 2)):
        same_array(ms.zeros(shape, dtype="i32"), np.zeros(shape, "i4"))
        np.testing.assert_array_equal(ms.ones(shape), np.ones(shape))
    assert ms.zeros(()).shape == ()
    assert isinstance(ms.ones((2, 2)), np.ndarray)
    assert ms.full((2, 2), 3, encoding="CSR").nse == 4
    np.testing.assert_array_equal(ms.arange(2, 9, 3), [2, 5, 8])
    assert ms.linspace(0, 1, 5, encoding="SparseVector").nse == 4
    same_array(ms.from_coo([[0, 1], [1, 0]], [2.0, 3.0], (2, 2), "CSR"), np.array([[0, 2.0], [3, 0]]))
    with pytest.raises(ms.OperandError, match="device"):
        ms.zeros(3, device="cuda")
    with pytest.raises(ms.TooLargeError):
        ms.ones((2**30, 2**30))


def same_array(found: ms.SparseTensor, wanted: Any) -> None:
    assert isinstance(found, ms.SparseTensor)
    np.testing.assert_array_equal(found.to_numpy(), wanted)
    assert found.dtype == wanted.dtype


def test_diags_and_blocks() -> None:
    import scipy.sparse as sp

    for given in (([[1.0, 2], [3.0]], [0, 1]), ([[1.0, 2, 3]], [-2]), ([[4.0], [5.0]], [0, 2], (5, 4))):
        same_array(ms.diags(*given), sp.diags_array(given[0], offsets=given[1], shape=(*given, None)[2]).toarray())
    same_array(ms.diags(np.arange(1.0, 4)), np.diag(np.arange(1.0, 4)))
    found = ms.block([[ms.tensor(MATRIX), None], [None, np.eye(2)]])
    same_array(found, sp.block_array([[MATRIX, None], [None, sp.csr_array(np.eye(2))]]).toarray())
    same_array(ms.kron(ms.eye(2), ms.tensor(MATRIX)), np.kron(np.eye(2), MATRIX))
    same_array(ms.tril(ms.tensor(MATRIX), 1), np.tril(MATRIX, 1))
    same_array(ms.triu(ms.tensor(MATRIX), -1), np.triu(MATRIX, -1))
    with pytest.raises(ms.ExtentError, match="elements on diagonal 1"):
        ms.diags([[1.0, 2, 3], [1.0, 2, 3]], [0, 1])
    with pytest.raises(ms.OperandError, match="once"):
        ms.diags([[1.0], [1.0]], [0, 0])
    with pytest.raises(ms.ExtentError, match="as its neighbours have"):
        ms.block([[np.eye(2), np.eye(3)]])
    with pytest.raises(ms.ExtentError, match="other than None"):
        ms.block([[None, None]])


def test_random() -> None:
    A = ms.random((30, 40), 0.25, rng=7)
    assert A.nse == 300
    assert A.encoding.crd_width == 32
    np.testing.assert_array_equal(A.to_numpy(), ms.random((30, 40), 0.25, rng=7).to_numpy())
    assert ms.random((10**9, 10**9), 1e-15, encoding="DCSR", rng=0).nse == 1000
    assert ms.random(5, 0).nse == 0
    assert ms.random((3, 3), 1, encoding="COO").nse == 9
    with pytest.raises(ms.OperandError, match="from 0 to 1"):
        ms.random((3, 3), 2)


# -- the namespace ----------------------------------------------------------------------------------------------

# Of the standard of 2024, functions of one and of two arrays.
ONE = (
    "abs ceil floor exp expm1 sin tanh sqrt sign square isnan isfinite isinf negative positive real conj "
    "round trunc log1p atan signbit all any max min mean sum prod std var argmax argmin count_nonzero "
    "flip squeeze sort argsort unique_values matrix_transpose zeros_like ones_like tril triu imag"
)
TWO = "add multiply subtract maximum minimum less equal hypot greater not_equal logical_and copysign"


@pytest.mark.parametrize("name", f"{ONE} {TWO}".split())
def test_functions_of_the_standard(name: str) -> None:
    xp, A = ms.xp, ms.tensor(MATRIX)
    given = (A,) if name in ONE.split() else (A, ms.tensor(MATRIX[::-1].copy()))
    arrays = [as_array(one) for one in given]
    with np.errstate(all="ignore"):
        found, plain = getattr(xp, name)(*given), getattr(xp, name)(*arrays)
    np.testing.assert_allclose(as_array(found), as_array(plain), rtol=1e-12)


def test_the_namespace() -> None:
    A = ms.tensor(MATRIX)
    assert A.__array_namespace__() is ms.xp
    assert A.__array_namespace__(api_version="2023.12") is ms.xp
    with pytest.raises(ms.UnsupportedError, match="array API"):
        A.__array_namespace__(api_version="2100.12")
    assert A.to_device("cpu") is A
    info = ms.xp.__array_namespace_info__()
    assert info.devices() == ["cpu"]
    assert "float32" in info.dtypes(kind="real floating")
    assert ms.xp.isdtype(A.dtype, ("integral", "real floating"))
    assert not ms.xp.isdtype(A.dtype, "bool")
    assert ms.xp.asarray(A) is A
    assert ms.xp.asarray(A, dtype=ms.xp.float32).dtype == np.float32
    assert not np.shares_memory(ms.xp.asarray(A, copy=True), A)
    np.testing.assert_allclose(ms.xp.std(A, correction=1), np.std(MATRIX, ddof=1))
    np.testing.assert_array_equal(as_array(ms.xp.sort(A, descending=True)), np.sort(MATRIX)[:, ::-1])
    np.testing.assert_array_equal(ms.xp.argsort(A, descending=True), np.argsort(-MATRIX, axis=-1, kind="stable"))
    values, counts = ms.xp.unique_counts(A)
    assert counts.sum() == MATRIX.size
    np.testing.assert_array_equal(values[ms.xp.unique_inverse(A).inverse_indices], MATRIX)
    assert len(ms.xp.unstack(A)) == 6
    np.testing.assert_array_equal(as_array(ms.xp.concat([A, A], axis=1)), np.hstack([MATRIX, MATRIX]))
    np.testing.assert_allclose(ms.xp.linalg.matrix_norm(A), np.linalg.norm(MATRIX))
    assert all(hasattr(ms.xp, name) for name in dir(ms.xp))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ms.xp.nothing  # noqa: B018
    with pytest.raises(ms.OperandError, match="integral"):
        ms.xp.isdtype(A.dtype, "whole")


def test_scipys_habits() -> None:
    A = ms.tensor(MATRIX)
    S = A.to_scipy()
    assert (A.nnz, A.getnnz(), A.format) == (S.nnz, S.nnz, "csr")
    for axis in (0, 1, -1):
        np.testing.assert_array_equal(A.getnnz(axis), np.count_nonzero(MATRIX, axis))
    for axis in (2, -3, 0.5):
        with pytest.raises(ms.RankError, match="an axis of it, -2 to 1"):
            A.getnnz(axis)
    for storage, form in (("CSC", "csc"), ("DIA", "dia"), ("DCSR", "coo")):
        assert A.convert(storage).format == form == A.convert(storage).to_scipy().format
    for found in (A.tocsr(), A.tocsc(), A.tocoo()):
        np.testing.assert_array_equal(found.toarray(), MATRIX)
    assert np.shares_memory(A.tocsr().data, A.data)
    np.testing.assert_array_equal(A.indptr, S.indptr)
    np.testing.assert_array_equal(A.indices, S.indices)
    assert not hasattr(A.convert("COO"), "indptr")
    np.testing.assert_array_equal(A.toarray(), A.todense())
    np.testing.assert_array_equal(as_array(A.diagonal(1)), np.diagonal(MATRIX, 1))


# -- libraries --------------------------------------------------------------------------------------------------


def test_array_api_compat() -> None:
    compat = pytest.importorskip("array_api_compat", reason="expected array_api_compat (extra neighbours)")
    A = ms.tensor(MATRIX)
    assert compat.is_array_api_obj(A)
    assert compat.array_namespace(A) is ms.xp
    assert (compat.device(A), compat.size(A)) == ("cpu", A.size)


def test_xarray() -> None:
    xr = pytest.importorskip("xarray", reason="expected xarray (extra neighbours)")
    A, D = (xr.DataArray(data, dims=("x", "y")) for data in (ms.tensor(WITH_NAN), WITH_NAN))
    for name in ("mean", "sum", "max", "min", "std", "var", "median", "prod", "count"):
        for options in ({}, {"dim": "x"}, {"dim": "y"}):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                found, wanted = getattr(A, name)(**options), getattr(D, name)(**options)
            np.testing.assert_allclose(as_array(found.data), wanted.data)
    kept = {"T": A.T, "scaled": A * 2 + A, "isel": A.isel(x=1), "stack": A.stack(z=("x", "y")), "clip": A.clip(-1, 1)}
    for one in kept.values():
        assert isinstance(one.data, ms.SparseTensor)
    np.testing.assert_array_equal(as_array(A.pad(x=1, constant_values=0).data), np.pad(WITH_NAN, ((1, 1), (0, 0))))


def test_sklearn() -> None:
    pytest.importorskip("sklearn", reason="expected scikit-learn (extra neighbours)")
    from sklearn.cluster import KMeans
    from sklearn.linear_model import LogisticRegression

    X, y = ms.random((200, 30), 0.1, rng=0), np.arange(200) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("error", ms.DenseCopyWarning)
        clusters = KMeans(3, n_init=1, random_state=0).fit(X.to("scipy"))
        model = LogisticRegression().fit(X.to("scipy"), y)
    with pytest.warns(ms.DenseCopyWarning, match=r"A\.to_scipy\(\)"):
        again = KMeans(3, n_init=1, random_state=0).fit(X)
    assert again.inertia_ == pytest.approx(clusters.inertia_)
    np.testing.assert_allclose(X @ model.coef_[0] + model.intercept_, model.decision_function(X.to("scipy")))


def test_networkx_reads_a_tensor() -> None:
    nx = pytest.importorskip("networkx", reason="expected networkx (extra neighbours)")
    A = ms.random((20, 20), 0.2, rng=1)
    for storage in ("CSR", "CSC", "COO", "DIA"):
        graph = nx.from_scipy_sparse_array(A.convert(storage), create_using=nx.DiGraph)
        np.testing.assert_array_equal(nx.to_numpy_array(graph), A.to_numpy())


def test_medians_along_several_axes() -> None:
    random = np.random.default_rng(0)
    array = np.where(random.random((5, 4, 6)) < 0.6, random.normal(size=(5, 4, 6)), 0)
    tensor = ms.tensor(array)
    for axis in ((0, 2), [1], [2, 0], (0, 1, 2), None):
        for keepdims in (False, True):
            found = np.median(tensor, axis=axis, keepdims=keepdims)
            np.testing.assert_array_equal(as_array(found), np.median(array, axis=axis, keepdims=keepdims))
    with pytest.raises(ms.RankError, match="each axis once"):
        np.median(tensor, axis=[1, 1])


def test_arrays_made_like_tensors_are_those_to_compute_with_beside_them() -> None:
    tensor = ms.tensor(np.eye(3))
    for function in (np.asarray, np.asanyarray, np.array):
        made = function([1, 2], dtype="f4", like=tensor)
        assert (type(made), made.dtype) == (np.ndarray, np.float32)
        assert function(tensor, dtype="f4", like=tensor).dtype == np.float32
    assert np.asarray(tensor, like=tensor) is tensor
    assert np.array(tensor, like=tensor) is not tensor
    assert np.array([1.0], ndmin=2, like=tensor).shape == (1, 1)
