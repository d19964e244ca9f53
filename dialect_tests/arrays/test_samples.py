"""Functions of samples along an axis, and of several variables: differences, gradients, integrals, covariances."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mlir_sparse as ms
from dialect_tests.as_array import as_array

RNG = np.random.default_rng(5)
KINDS = ["f8", "f4", "f2", "i4", "u1", "c8", "c16"]


def made(shape: tuple[int, ...], kind: str, fill: float = 0) -> Any:
    wide = RNG.integers(0 if kind[0] == "u" else -9, 9, shape)
    found = np.where(RNG.random(shape) < 0.4, wide, fill).astype(kind)
    return found + (1j * np.where(RNG.random(shape) < 0.3, wide, 0)).astype(kind) if kind[0] == "c" else found


def same(found: Any, wanted: Any, rough: float = 1e-12) -> None:
    if isinstance(wanted, tuple):
        for one, other in zip(found, wanted, strict=True):
            same(one, other, rough)
        return
    found = as_array(found)
    assert (found.shape, found.dtype) == (np.shape(wanted), np.asarray(wanted).dtype)
    coarse = {2: 4e-3, 4: 4e-6, 8: 4e-6 if found.dtype.kind == "c" else rough}.get(found.dtype.itemsize, rough)
    assert_allclose(found.astype(complex), np.asarray(wanted).astype(complex), rtol=coarse, atol=coarse)


@pytest.mark.parametrize("fill", [0, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_and_integrals(kind: str, fill: float) -> None:
    array = made((6, 7), kind, fill)
    A = ms.tensor(array, fill_value=np.asarray(fill, array.dtype)[()])
    places = np.cumsum(RNG.integers(1, 5, 7)) / 4
    for options in (
        {},
        {"axis": 0},
        {"axis": (1, 0)},
        {"axis": [-1]},
        {"edge_order": 2},
        {"axis": 1, "edge_order": 2},
    ):
        same(np.gradient(A, **options), np.gradient(array, **options))
        same(np.gradient(A, 0.5, **options), np.gradient(array, 0.5, **options))
    for order in (1, 2):
        same(np.gradient(A, places, axis=1, edge_order=order), np.gradient(array, places, axis=1, edge_order=order))
        same(np.gradient(A, 3, places, edge_order=order), np.gradient(array, 3, places, edge_order=order))
    for options in ({}, {"dx": 0.25, "axis": 0}, {"x": places}, {"x": np.cumsum(np.ones((6, 7)), 1) ** 2}):
        same(np.trapezoid(A, **options), np.trapezoid(array, **options))
    if fill == 0:
        assert isinstance(np.gradient(A, axis=0), ms.SparseTensor)
        assert isinstance(np.gradient(A, places, axis=1, edge_order=2), ms.SparseTensor)


def test_gradients_of_few_samples_and_bad_arguments() -> None:
    array = made((2, 3), "f8")
    A = ms.tensor(array, "CSR")
    same(np.gradient(A), np.gradient(array))
    same(np.gradient(A, [1.0, 4.0], axis=0), np.gradient(array, [1.0, 4.0], axis=0))
    with pytest.raises(ms.ExtentError, match="3 samples or more along axis 0"):
        np.gradient(A, edge_order=2)
    with pytest.raises(ms.ExtentError, match=r"coordinates of shape \(3,\)"):
        np.gradient(A, [1.0, 2.0], axis=1)
    with pytest.raises(ms.OperandError, match="one distance"):
        np.gradient(A, 1.0, 2.0, axis=1)
    with pytest.raises(ms.OperandError, match="edge_order"):
        np.gradient(A, edge_order=3)
    with pytest.raises(ms.DTypeError, match="truth values"):
        np.gradient(A != 0)
    with pytest.raises(ms.ExtentError, match="coordinates of shape"):
        np.trapezoid(A, [1.0, 2.0])


@pytest.mark.parametrize("kind", KINDS)
def test_differences_of_all_elements(kind: str) -> None:
    array = made((4, 5), kind)
    A = ms.tensor(array)
    same(np.ediff1d(A), np.ediff1d(array))
    ends = (np.array([1, 2], array.dtype), array.dtype.type(3))
    same(np.ediff1d(A, *ends), np.ediff1d(array, *ends))
    if kind[0] != "c":
        with pytest.raises(ms.DTypeError, match="complex128"):
            np.ediff1d(A, 1j)


@pytest.mark.parametrize("kind", ["f8", "f4", "i4", "u1", "c16"])
@pytest.mark.parametrize("storage", ["CSR", "CSC", "COO", "DCSR", "Dense"])
def test_covariances(storage: str, kind: str) -> None:
    array, more = made((5, 40), kind), made((3, 40), kind)
    A, B = (ms.tensor(one, storage) for one in (array, more))
    counts, weights = RNG.integers(0, 4, 40), RNG.random(40)
    for options in (
        {},
        {"bias": True},
        {"ddof": 3},
        {"fweights": counts},
        {"aweights": weights},
        {"fweights": counts, "aweights": weights, "ddof": 0},
        {"fweights": counts, "aweights": weights},
    ):
        same(np.cov(A, **options), np.cov(array, **options), 1e-11)
        same(np.cov(A, B, **options), np.cov(array, more, **options), 1e-11)
    same(np.cov(A, rowvar=False), np.cov(array, rowvar=False), 1e-11)
    same(np.corrcoef(A, B), np.corrcoef(array, more), 1e-11)
    same(np.corrcoef(A.T, rowvar=False), np.corrcoef(array), 1e-11)
    same(np.cov(A[0]), np.cov(array[0]), 1e-11)
    same(np.cov(A[0], more[1]), np.cov(array[0], more[1]), 1e-11)


def test_covariances_keep_their_digits_beside_large_means() -> None:
    array = 1e9 + RNG.random((3, 50))
    array[2] = np.where(RNG.random(50) < 0.5, array[2], 0)
    same(np.cov(ms.tensor(array, "CSR")), np.cov(array), 1e-9)


def test_covariances_of_nothing_and_bad_weights() -> None:
    array = made((2, 6), "f8")
    A = ms.tensor(array, "CSR")
    assert np.cov(ms.tensor(np.zeros((0, 4)), "CSR")).shape == (0, 0)
    array[1, 2] = np.nan
    same(np.cov(ms.tensor(array, "CSR")), np.cov(array))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(np.cov(A[:, :1]), np.cov(array[:, :1]))
    with pytest.warns(RuntimeWarning, match="Degrees of freedom"):
        np.cov(A[:, :1])
    with pytest.raises(ms.ExtentError, match="one for each sample"):
        np.cov(A, fweights=[1, 2])
    with pytest.raises(ms.OperandError, match="not negative"):
        np.cov(A, aweights=-np.ones(6))
    with pytest.raises(ms.OperandError, match="integers"):
        np.cov(A, fweights=np.full(6, 0.5))
    with pytest.raises(ms.ExtentError, match="as many samples"):
        np.cov(A, np.ones(5))
    with pytest.raises(ms.RankError, match="two dimensions"):
        np.cov(ms.tensor(np.ones((2, 2, 2))))


@pytest.mark.parametrize("fill", [0, 3])
def test_partitions(fill: int) -> None:
    array = made((5, 8), "f8", fill)
    A = ms.tensor(array, fill_value=fill)
    for axis in (0, 1, -1, None):
        for kth in (0, -2, [1, 3]):
            found = as_array(np.partition(A, kth, axis))
            places = np.argpartition(A, kth, axis)
            flat = array if axis is not None else array.ravel()
            assert_allclose(np.sort(found, axis), np.sort(array, axis))
            assert_allclose(np.take_along_axis(flat, places, -1 if axis is None else axis), found)
            assert_allclose(
                np.take(found, kth, -1 if axis is None else axis),
                np.take(np.partition(array, kth, axis), kth, -1 if axis is None else axis),
            )
    with pytest.raises(ms.IndexRangeError, match="kth="):
        np.partition(A, 8)
    with pytest.raises(ms.DTypeError, match="integers"):
        np.partition(A, 1.5)


@pytest.mark.parametrize("fill", [0, 3])
def test_choices_bins_and_trimmed_zeros(fill: int) -> None:
    array = made((5, 8), "i4", fill)
    A = ms.tensor(array, fill_value=fill)
    for choices in ((lambda a: [a * 10, -a]), (lambda a: [a * 0.5, 7])):
        for default in (0, -1.5):
            found = np.select([A > 2, A < 0], choices(A), default)
            same(found, np.select([array > 2, array < 0], choices(array), default))
    with pytest.raises(ms.OperandError, match="truth values"):
        np.select([A], [A])
    with pytest.raises(ms.OperandError, match="a choice for each"):
        np.select([A > 0], [A, A])
    framed = np.pad(array, ((2, 1), (0, 3)))
    B = ms.tensor(framed, "CSR")
    for options in ({}, {"trim": "f"}, {"trim": "b"}, {"axis": 0}, {"axis": (0, 1)}):
        same(np.trim_zeros(B, **options), np.trim_zeros(framed, **options))
    same(np.trim_zeros(ms.tensor(np.zeros((3, 4)), "CSR")), np.trim_zeros(np.zeros((3, 4))))
    with pytest.raises(ms.OperandError, match="trim="):
        np.trim_zeros(B, "x")
    if fill == 0:
        for edges in ([-3, 0, 2], [5, 1, -2]):
            for right in (False, True):
                same(np.digitize(A, edges, right), np.digitize(array, edges, right))
        with pytest.raises(ms.OperandError, match="edges"):
            np.digitize(A, [1, 5, 2])


@pytest.mark.parametrize("fill", [0, 2])
def test_counts_of_numbers(fill: int) -> None:
    for kind in ("i8", "u1", "?"):
        array = np.where(RNG.random(30) < 0.4, RNG.integers(0, 9, 30), fill).astype(kind)
        A = ms.tensor(array, fill_value=array.dtype.type(fill))
        weights = RNG.random(30)
        same(np.bincount(A), np.bincount(array))
        same(np.bincount(A, minlength=15), np.bincount(array, minlength=15))
        same(np.bincount(A, weights), np.bincount(array, weights))
        same(np.bincount(A, ms.tensor(weights), 12), np.bincount(array, weights, 12))
    same(np.bincount(ms.tensor(np.zeros(0, "i4"))), np.bincount(np.zeros(0, "i4")))
    with pytest.raises(ms.OperandError, match="negative"):
        np.bincount(ms.tensor([0, -1, 2]))
    with pytest.raises(ms.DTypeError, match="integers"):
        np.bincount(ms.tensor([0.0, 1.0]))
    with pytest.raises(ms.RankError, match="vector"):
        np.bincount(ms.tensor([[0, 1]]))
    with pytest.raises(ms.ExtentError, match="weights"):
        np.bincount(A, [1.0])


def test_choices_by_number() -> None:
    array = made((4, 6), "i4") % 3
    A = ms.tensor(array, "CSR")
    choices = [0, RNG.random((4, 6)), RNG.random(6)]
    same(np.choose(A, choices), np.choose(array, choices))
    same(np.choose(A, [0, 7], mode="clip"), np.choose(array, [0, 7], mode="clip"))
    with pytest.raises(ms.OperandError, match="choose"):
        np.choose(ms.tensor([0, 3]), [0, 1])


def test_the_namespace_says_what_arguments_it_does_not_take() -> None:
    A = ms.tensor([[0.0, 1.0], [2.0, 0.0]])
    with pytest.raises(ms.OperandError, match=r"expected arguments of xp\.any"):
        ms.xp.any(A, nothing=1)
    out = np.zeros(2)
    assert ms.xp.sum(A, axis=0, out=out) is out
    assert out.tolist() == [2, 1]


def test_cross_products_along_axes() -> None:
    left, right = made((4, 3), "f8"), made((4, 3), "f8")
    A, B = ms.tensor(left, "CSR"), ms.tensor(right.T, "CSR")
    same(np.cross(A, B, axisb=0), np.cross(left, right))
    same(np.cross(A, right, axisc=0), np.cross(left, right, axisc=0))
    with pytest.raises(ms.ExtentError, match="3 elements"):
        np.cross(A.T, B.T)
