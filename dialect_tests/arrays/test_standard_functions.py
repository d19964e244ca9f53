"""The array API standard's names, arguments and extensions, and functions of NumPy's beside it."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.as_array import as_array

RNG = np.random.default_rng(23)
MATRIX = RNG.integers(-4, 5, (6, 7)) * (RNG.random((6, 7)) < 0.5).astype(float)
CUBE = (RNG.integers(-3, 4, (3, 4, 5)) * (RNG.random((3, 4, 5)) < 0.4)).astype("i2")


STANDARD = (
    "abs acos acosh add all any arange argmax argmin argsort asarray asin asinh astype atan atan2 atanh "
    "bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor broadcast_arrays "
    "broadcast_to can_cast ceil clip concat conj copysign cos cosh count_nonzero cumulative_prod cumulative_sum "
    "diff divide empty empty_like equal exp expand_dims expm1 eye finfo flip floor floor_divide from_dlpack full "
    "full_like greater greater_equal hypot iinfo imag isdtype isfinite isin isinf isnan less less_equal linspace "
    "log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor matmul matrix_transpose max "
    "maximum mean meshgrid min minimum moveaxis multiply negative nextafter nonzero not_equal ones ones_like "
    "permute_dims positive pow prod real reciprocal remainder repeat reshape result_type roll round searchsorted "
    "sign signbit sin sinh sort sqrt square squeeze stack std subtract sum take take_along_axis tan tanh "
    "tensordot tile tril triu trunc unique_all unique_counts unique_inverse unique_values unstack var vecdot "
    "where zeros zeros_like"
)
EXTENSIONS = {
    "linalg": "cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank "
    "matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm",
    "fft": "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift",
}


def test_each_name_of_the_standard_has_its_arguments() -> None:
    lacks = [name for name in STANDARD.split() if not hasattr(ms.xp, name)]
    lacks += [f"{kind}.{name}" for kind, names in EXTENSIONS.items() for name in names.split()
              if not hasattr(getattr(ms.xp, kind), name)]  # fmt: skip
    assert lacks == []
    assert str(inspect.signature(ms.xp.sum)) == "(x, /, *, axis=None, dtype=None, keepdims=False)"
    assert str(inspect.signature(ms.xp.linalg.svd)) == "(x, /, *, full_matrices=True)"
    assert ms.xp.sum.__name__ == "sum"
    assert ms.xp.linalg.svd.__name__ == "svd"


def test_what_needs_dense_arrays_says_what_to_do() -> None:
    A = ms.tensor(np.eye(4) * 3)
    ways = {
        "cholesky": r"ms\.linalg\.solve",
        "det": "splu",
        "eigh": r"eigsh\(A\)",
        "eigvalsh": r"eigsh\(A\)",
        "inv": r"ms\.linalg\.factorized",
        "matrix_rank": r"svds\(A\)",
        "pinv": r"lsqr\(A, b\)",
        "qr": r"lsqr\(A, b\)",
        "slogdet": "splu",
        "svd": r"svds\(A\)",
        "svdvals": r"svds\(A\)",
    }
    for name, way in ways.items():
        for function in (getattr(ms.xp.linalg, name), getattr(np.linalg, name)):
            with pytest.raises(ms.OperandError, match=way):
                function(A)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            getattr(ms.xp.linalg, name)(A.to_numpy())  # arrays are NumPy's
    with pytest.raises(ms.OperandError, match=r"ms\.linalg\.solve\(A, b\)"):
        ms.xp.linalg.solve(A, np.ones(4))
    np.testing.assert_allclose(ms.linalg.solve(A, np.ones(4)), np.full(4, 1 / 3))
    with pytest.raises(ms.OperandError, match="a transform has values everywhere"):
        ms.xp.fft.fft(A)
    np.testing.assert_allclose(ms.xp.fft.fft(np.ones(4)), [4, 0, 0, 0])


@pytest.mark.parametrize("fill", [0, 2])
def test_linear_algebra_of_the_standard(fill: float) -> None:
    xp = ms.xp
    for array in (MATRIX, CUBE.astype("f8"), MATRIX[0]):
        array = np.where(array == 0, fill, array)
        A = ms.tensor(array, fill_value=fill)
        for axis in (None, 0, -1, *([(0, 1), (1, 0)] if array.ndim > 1 else [])):
            for keepdims in (False, True):
                for order in (1, 2, np.inf, 0, 3):
                    options = {"axis": axis, "keepdims": keepdims, "ord": order}
                    found = as_array(xp.linalg.vector_norm(A, **options))
                    wanted = np.linalg.vector_norm(array, **options)
                    assert found.shape == np.shape(wanted)
                    np.testing.assert_allclose(found, wanted)
    square = np.where(MATRIX[:, :6] == 0, fill, MATRIX[:, :6])
    A = ms.tensor(square, fill_value=fill)
    for offset in (0, 1, -2):
        found = xp.linalg.trace(A, offset=offset, dtype=np.float32)
        assert found == np.trace(square, offset, dtype=np.float32)
        assert found.dtype == np.float32
        assert np.trace(A, offset, dtype="f4") == found
    triples = np.where(RNG.random((5, 3)) < 0.5, RNG.integers(-3, 4, (5, 3)), fill).astype(float)
    others = triples[::-1].copy()
    T, U = (ms.tensor(one, fill_value=fill) for one in (triples, others))
    np.testing.assert_array_equal(as_array(xp.linalg.cross(T, U)), np.linalg.cross(triples, others))
    np.testing.assert_array_equal(as_array(xp.linalg.cross(T.T, U.T, axis=0)), np.linalg.cross(triples, others).T)
    with pytest.raises(ms.ExtentError, match="vectors of 3 elements"):
        xp.linalg.cross(A, A)


@pytest.mark.parametrize("fill", [0, 2])
def test_differences_with_ends(fill: float) -> None:
    array = np.where(MATRIX == 0, fill, MATRIX)
    A = ms.tensor(array, fill_value=fill)
    for axis in (0, 1, -1):
        ends = np.take(array, [0, 1], axis)
        for options in ({"prepend": 0}, {"append": ends}, {"prepend": ends, "append": 5.0}, {"append": A, "n": 2}):
            plain = {key: value.to_numpy() if hasattr(value, "to_numpy") else value for key, value in options.items()}
            wanted = np.diff(array, axis=axis, **plain)
            np.testing.assert_array_equal(as_array(np.diff(A, axis=axis, **options)), wanted)
            np.testing.assert_array_equal(as_array(ms.xp.diff(A, axis=axis, **options)), wanted)
        np.testing.assert_array_equal(as_array(ms.xp.diff(A, axis=axis, prepend=None)), np.diff(array, axis=axis))


@pytest.mark.parametrize("fill", [0, 2])
def test_functions_that_users_of_numpy_ask_for(fill: float) -> None:
    array = np.where(MATRIX == 0, fill, MATRIX)
    A = ms.tensor(array, fill_value=fill)
    cube = np.where(CUBE == 0, fill, CUBE).astype("i4")
    C = ms.tensor(cube, fill_value=fill)
    weights = np.array([1, 0.5, 2, 0, 3, 1])
    cases: list[Callable[[Any, Any], Any]] = [
        lambda m, c: np.amax(m, axis=0),
        lambda m, c: np.amin(m),
        lambda m, c: np.ptp(m, axis=1),
        lambda m, c: np.ptp(c, axis=(0, 2), keepdims=True),
        lambda m, c: np.average(m),
        lambda m, c: np.average(m, axis=1),
        lambda m, c: np.average(m, axis=0, weights=weights),
        lambda m, c: np.average(m, axis=0, weights=weights, returned=True),
        lambda m, c: np.average(c, axis=(0, 1), keepdims=True),
        lambda m, c: np.average(m, weights=array + 10),
        lambda m, c: np.average(m, axis=1, returned=True),
        lambda m, c: np.rollaxis(c, 2),
        lambda m, c: np.rollaxis(c, 0, 3),
        lambda m, c: np.rollaxis(c, -1, 1),
        lambda m, c: np.dsplit(c, 5),
        lambda m, c: np.delete(m, 1, axis=0),
        lambda m, c: np.delete(m, [0, -1], axis=1),
        lambda m, c: np.delete(c, slice(1, 3), axis=2),
        lambda m, c: np.delete(m, [5, 7]),
        lambda m, c: np.var(m, 0, np.float32),
        lambda m, c: np.std(c, axis=1, dtype="f8", ddof=1),
        lambda m, c: np.interp(m, [-4.0, 4], [4.0, -4], left=0, right=1),
    ]
    for case in cases:
        found, wanted = case(A, C), case(array, cube)
        for one, other in zip(*(x if isinstance(x, tuple | list) else [x] for x in (found, wanted)), strict=True):
            assert (as_array(one).shape, as_array(one).dtype) == (np.shape(other), np.asarray(other).dtype)
            np.testing.assert_allclose(as_array(one), other, rtol=1e-5)
    if not fill:
        corner = MATRIX[:2, :2]
        np.testing.assert_array_equal(as_array(np.diagflat(ms.tensor(corner), 1)), np.diagflat(corner, 1))
    with pytest.raises(ms.ExtentError, match="sum is not zero"):
        np.average(A, axis=0, weights=np.zeros(6))
    with pytest.raises(ms.OperandError, match="axis="):
        np.average(A, weights=[1, 2])


def test_types_and_copies_of_the_standard() -> None:
    xp, A, F = ms.xp, ms.tensor(MATRIX), ms.tensor(MATRIX, fill_value=2.0)
    for one in (A, F):
        assert xp.astype(one, np.float64) is not one
        assert xp.astype(one, np.float64, copy=False) is one
        assert xp.can_cast(one, np.complex128)
        assert not xp.can_cast(one, np.int8)
        assert xp.result_type(one, np.complex64) == np.complex128
        assert xp.finfo(one).bits == 64
    with pytest.raises(ms.OperandError, match="device"):
        xp.astype(A, np.float32, device="cuda")
    assert xp.finfo(ms.DType.of("f8e4m3fn").numpy).max == 448
    assert xp.finfo(np.float32).eps == np.finfo(np.float32).eps
    assert xp.iinfo("uint8").max == 255
    assert xp.broadcast_shapes((3, 1), (4,)) == (3, 4)
    with pytest.raises(ms.ExtentError):
        xp.broadcast_shapes((3,), (4,))
    with pytest.raises(ms.StorageError, match="copy=False"):
        xp.asarray([1, 2], copy=False)
    array = np.arange(3)
    assert xp.asarray(array, copy=False) is array
    assert not np.shares_memory(xp.asarray(array, copy=True), array)


@pytest.mark.parametrize("fill", [0, 2])
def test_norms_of_nothing(fill: float) -> None:
    for shape in ((0, 6), (4, 0), (0, 0), (0,)):
        A = ms.tensor(np.full(shape, 1.0), fill_value=fill)
        for keepdims in (False, True):
            for order in (1, np.inf):
                found = as_array(ms.xp.linalg.vector_norm(A, ord=order, keepdims=keepdims))
                np.testing.assert_array_equal(found, np.zeros((1,) * len(shape) if keepdims else ()))
                if len(shape) == 2:
                    found = as_array(ms.xp.linalg.matrix_norm(A, ord=order, keepdims=keepdims))
                    np.testing.assert_array_equal(found, np.zeros((1, 1) if keepdims else ()))
        with pytest.raises(ms.ExtentError, match="an element or more for a norm"):
            np.linalg.norm(A, -np.inf)
