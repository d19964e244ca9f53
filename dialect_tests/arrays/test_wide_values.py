"""Functions of narrow numbers are made in f32, of which results are rounded once; NaN has a place in every order."""

from __future__ import annotations

import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.as_array import as_array

TYPES = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8e5m2": np.dtype(ml_dtypes.float8_e5m2),
}
ROUNDED = (
    "sum prod mean var std median nansum nanprod nanmean nanmax nanmin nanvar nanstd nanmedian cumsum cumprod "
    "nancumsum nancumprod sort"
)
POSITIONS = "argsort argmax argmin nanargmax nanargmin count_nonzero"
NUMBERS = [448, 300, 2, 0.25, -0.5, -96, 3, np.nan]


def _matrix(kind: np.dtype[Any], seed: int, *, beside: float = 0) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    found = np.where(rng.random((5, 8)) < 0.6, rng.choice(NUMBERS, (5, 8)), beside)
    found[0] = np.where(np.isnan(found[0]), 1, found[0])
    found[:, 0] = 448
    return found.astype(kind)


def _of_arrays(name: str, wide: np.ndarray[Any, Any], **options: Any) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        return getattr(np, name)(wide, **options)


@pytest.mark.parametrize("fill", [0, 2])
@pytest.mark.parametrize("kind", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("name", ROUNDED.split())
def test_results_are_rounded_once(name: str, kind: np.dtype[Any], fill: int) -> None:
    for seed, options in enumerate([{"axis": 0}, {"axis": 1}, {"axis": -1}, {"axis": 0}, {"axis": None}]):
        array = _matrix(kind, seed, beside=fill)
        if fill and name in ("nanmedian", "nancumsum", "nancumprod"):
            continue
        wanted = np.asarray(_of_arrays(name, array.astype(np.float32), **options))
        with np.errstate(all="ignore"):
            wanted = wanted.astype(kind)
        for storage in ("CSR", "COO"):
            found = as_array(_of_arrays(name, ms.tensor(array, storage, fill_value=fill), **options))
            assert (found.dtype, found.shape) == (kind, wanted.shape)
            # Sums in another order may round otherwise, by one step of the type.
            steps = {"f16": 2e-3, "bf16": 1e-2, "f8e4m3fn": 0.13, "f8e5m2": 0.26}[ms.DType.of(kind).name]
            exact = name in ("sort", "nanmax", "nanmin", "median", "nanmedian")
            np.testing.assert_allclose(found.astype(float), wanted.astype(float), rtol=0 if exact else steps)


@pytest.mark.parametrize("fill", [0, 2])
@pytest.mark.parametrize("kind", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("name", POSITIONS.split())
def test_positions_are_those_of_numbers_in_f32(name: str, kind: np.dtype[Any], fill: int) -> None:
    if fill and name.startswith("nan"):
        with pytest.raises(ms.SparseError, match=name):
            getattr(np, name)(ms.tensor(_matrix(kind, 0, beside=fill), fill_value=fill), axis=0)
        return
    for seed in range(4):
        array = _matrix(kind, seed, beside=fill)
        options = {"kind": "stable"} if name == "argsort" else {}
        for axis in (0, 1, -1):
            wanted = _of_arrays(name, array.astype(np.float32), axis=axis, **options)
            for storage in ("CSR", "CSC", "COO"):
                found = getattr(np, name)(ms.tensor(array, storage, fill_value=fill), axis=axis, **options)
                np.testing.assert_array_equal(as_array(found), wanted)


@pytest.mark.parametrize("fill", [0, 2])
@pytest.mark.parametrize("kind", TYPES.values(), ids=TYPES)
def test_distinct_numbers_are_counted_once_and_in_order(kind: np.dtype[Any], fill: int) -> None:
    array = _matrix(kind, 5, beside=fill)
    tensor, wide = ms.tensor(array, fill_value=fill), array.astype(np.float32)
    for equal_nan in (True, False):
        for options in ({"return_counts": True}, {"return_counts": True, "return_inverse": True, "return_index": True}):
            found = np.unique(tensor, equal_nan=equal_nan, **options)
            wanted = np.unique(wide, equal_nan=equal_nan, **options)
            assert found[0].dtype == kind
            for one, other in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(np.asarray(one).astype(float), other)
    np.testing.assert_array_equal(np.unique(tensor).astype(float), np.unique(wide))
    if not fill:
        for tested in ([2, 3], [np.nan, 0.25], [0, 448]):
            for invert in (False, True):
                found = as_array(np.isin(tensor, np.array(tested, kind), invert=invert))
                np.testing.assert_array_equal(found, np.isin(wide, tested, invert=invert))


def test_what_is_too_large_only_on_the_way() -> None:
    eighths = ms.tensor(np.array([448, 2, 0.25], TYPES["f8e4m3fn"]))
    assert float(np.prod(eighths)) == 224
    assert float(np.prod(eighths.with_fill(1))) == 224
    equal = ms.tensor(np.array([416, 416, 416], TYPES["f8e4m3fn"]))
    assert float(equal.mean()) == 416
    assert float(np.mean(equal, dtype="float32")) == 416
    assert np.mean(equal, dtype="float32").dtype == np.float32
    apart = ms.tensor(np.array([0, 128], TYPES["f8e4m3fn"]))
    assert float(apart.std()) == float(np.std(apart)) == float(np.nanstd(apart)) == 64
    assert np.isnan(float(apart.var()))
    assert float(np.linalg.norm(ms.tensor(np.array([96, 128], TYPES["f8e4m3fn"])))) == 160
    half = ms.tensor(np.array([[300, 400]], np.float16))
    assert [float(np.linalg.norm(half)), float(np.linalg.norm(half, 2, 1)[0])] == [500, 500]
    square = ms.tensor(np.array([[32, 0.5], [0, 0.125]], TYPES["f8e4m3fn"]))
    power = np.linalg.matrix_power(square, 3)
    with np.errstate(all="ignore"):
        wanted = np.linalg.matrix_power(square.to_numpy().astype("f4"), 3).astype(TYPES["f8e4m3fn"])
    np.testing.assert_array_equal(as_array(power).astype(float), wanted.astype(float))


@pytest.mark.parametrize("fill", [0, 1])
@pytest.mark.parametrize("kind", ["?", "i1", "u1", "i8", "f4", "c16"])
def test_products_of_vectors_keep_their_type(kind: str, fill: int) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 2, (3, 4)).astype(kind) for _ in range(2))
    if kind == "c16":
        a, b = a * (1 + 2j), b * 1j
    left, right = ms.tensor(a, fill_value=np.dtype(kind).type(fill)), ms.tensor(b)
    functions = [np.vdot, np.linalg.vecdot, lambda x, y: np.linalg.vecdot(y, x, axis=0), ms.xp.vecdot]
    for function in [*functions, np.vecdot] if not fill else functions:
        found, wanted = as_array(function(left, right)), np.asarray(function(a, b))
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted)
    if fill:
        with pytest.raises(ms.ExtentError, match="equal inner extents"):
            ms.xp.vecdot(left, ms.tensor(np.zeros(3, kind)))
