"""Quantiles, medians over several axes and histograms, whatever stands where nothing is stored."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.as_array import as_array

RNG = np.random.default_rng(11)
KINDS = ["f8", "f4", "i4", "u1", "?"]


def made(shape: tuple[int, ...], fill: float, kind: str, *, nan: bool = False) -> np.ndarray[Any, Any]:
    found = np.where(RNG.random(shape) < 0.5, RNG.integers(0 if kind in "u1?" else -4, 5, shape), fill).astype(kind)
    if nan and kind[0] == "f":
        found[RNG.random(shape) < 0.2] = np.nan
    return found


@pytest.mark.parametrize("fill", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_quantiles(kind: str, fill: float) -> None:
    for shape, axes in (((4, 7), (None, 0, -1)), ((3, 4, 5), ((0, 1), (-1, 0), [2])), ((9,), (0,))):
        for nan in (False, True):
            array = made(shape, fill, kind, nan=nan)
            A = ms.tensor(array, fill_value=fill)
            for axis, keepdims in zip(axes, (False, True, False), strict=False):
                axis = tuple(axis) if isinstance(axis, list) else axis
                for q in (0.3, 1.0, [0.1, 0.9], np.array([[0.25], [1.0]])):
                    percent = np.asarray(q) * 100 if np.ndim(q) else q * 100
                    for name, shares in (("quantile", q), ("percentile", percent)):
                        _compare(name, A, array, shares, axis, keepdims)
                        if kind != "?" and np.ndim(q) < 2:  # of which NumPy puts the axes elsewhere
                            _compare(f"nan{name}", A, array, shares, axis, keepdims)


def _compare(name: str, A: Any, array: Any, q: Any, axis: Any, keepdims: bool) -> None:
    if array.dtype == np.bool_:
        array = array.astype(np.uint8)  # NumPy subtracts no truth values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        wanted = getattr(np, name)(array, q, axis=axis, keepdims=keepdims)
        found = as_array(getattr(np, name)(A, q, axis=axis, keepdims=keepdims))
    assert (found.shape, found.dtype) == (np.shape(wanted), np.asarray(wanted).dtype), (name, q, axis)
    rough = 4e-6 if array.dtype == np.float32 else 1e-12  # places between neighbours are rounded too
    np.testing.assert_allclose(found, wanted, rtol=rough, atol=rough)


@pytest.mark.parametrize("fill", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_histograms(kind: str, fill: float) -> None:
    array = made((6, 8), fill, kind)
    A = ms.tensor(array, fill_value=fill)
    plain = array.astype("u1") if kind == "?" else array
    for options in (
        {},
        {"bins": 3},
        {"bins": 4, "range": (-2, 2)},
        {"bins": [-5, 0, 1, 9]},
        {"bins": 5, "density": True},
    ):
        for one, other in zip(np.histogram(A, **options), np.histogram(plain, **options), strict=True):
            np.testing.assert_allclose(one, other)
    with pytest.raises(ms.UnsupportedError, match="a number of bins"):
        np.histogram(A, bins="auto")


def test_medians_over_several_axes_beside_a_fill_value() -> None:
    array = made((3, 4, 5), 1, "f8")
    A = ms.tensor(array, fill_value=1)
    for axis in ((0, 1), [2, 0], (0, 1, 2), (1,)):
        for keepdims in (False, True):
            found = as_array(np.median(A, axis=axis, keepdims=keepdims))
            np.testing.assert_array_equal(found, np.median(array, axis=tuple(axis), keepdims=keepdims))


@pytest.mark.parametrize("kind", ["f8", "u8", "?", "bf16", "f8e4m3fn"])
def test_elements_among_those_beside_a_fill_value(kind: str) -> None:
    dtype = ms.DType.of(kind if kind in ("bf16", "f8e4m3fn") else np.dtype(kind)).numpy
    array = made((4, 6), 1, "?" if kind == "?" else "u1").astype(dtype)
    other = made((3, 3), 2, "?" if kind == "?" else "u1").astype(dtype)
    plain, tested = array.astype("f8"), other.astype("f8")
    given = [ms.tensor(array), ms.tensor(array, fill_value=1), array]
    for element in given:
        for among in (ms.tensor(other), ms.tensor(other, fill_value=2 if kind != "?" else True), other):
            for invert in (False, True):
                if isinstance(element, np.ndarray) and isinstance(among, np.ndarray):
                    continue
                found = np.isin(element, among, invert=invert)
                np.testing.assert_array_equal(as_array(found), np.isin(plain, tested, invert=invert))
    places = np.searchsorted(np.array([0, 1, 3], "f4"), ms.tensor(array, fill_value=1))
    np.testing.assert_array_equal(places, np.searchsorted([0, 1, 3], plain))


def test_refusals() -> None:
    A = ms.tensor(made((4, 7), 0, "f8"))
    with pytest.raises(ms.OperandError, match="shares from 0 to 1"):
        np.quantile(A, 1.5)
    with pytest.raises(ms.UnsupportedError, match="method='linear'"):
        np.quantile(A, 0.5, method="nearest")
    with pytest.raises(ms.DTypeError, match="order"):
        np.quantile(A.astype("c16"), 0.5)
    with pytest.raises(ms.ExtentError, match="an element or more"):
        np.quantile(ms.zeros((0, 3)), 0.5, axis=0)
    wide = ms.tensor(([[5, 7], [2**40, 3]], [2.0, -1.0]), "DCSR", shape=(10, 2**41))
    np.testing.assert_array_equal(np.quantile(wide, [0, 0.5, 1], axis=1)[:, [5, 7]], [[0, -1], [0, 0], [2, 0]])
    assert np.histogram(wide, bins=[-2, -0.5, 0.5, 3])[0].tolist() == [1, 10 * 2**41 - 2, 1]
    assert isinstance(ms.xp.transpose(A), ms.SparseTensor)
