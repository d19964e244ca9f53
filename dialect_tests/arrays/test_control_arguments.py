"""Tensors and arrays of one element in the place of numbers and vectors that say where, how often or between what."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.arrays.control_arguments import CONTROLS

MATRIX = np.array([[0.0, 2, 0], [1, 0, 3], [0, 0, -1]])
VECTOR = np.array([0, 2, 1, 0])
# By a function's name: its arguments, and the place of one that says where or how.
CASES: dict[str, tuple[tuple[Any, ...], int]] = {
    "np.array_split": ((MATRIX, np.array([1, 2])), 1),
    "np.bincount": ((VECTOR, np.array([0.5, 0, 2, 0])), 1),
    "np.delete": ((MATRIX, np.array([0, 2]), 0), 1),
    "np.digitize": ((MATRIX, np.array([0, 1, 2])), 1),
    "np.dsplit": ((MATRIX.reshape(1, 3, 3), np.array([0, 2])), 1),
    "np.ediff1d": ((MATRIX, np.array([0.0, 7])), 1),
    "np.gradient": ((MATRIX, np.array([0.0, 1, 3]), 2.0), 1),
    "np.histogram": ((MATRIX, np.array([-1.0, 0, 3])), 1),
    "np.hsplit": ((MATRIX, np.array([0, 2])), 1),
    "np.interp": ((MATRIX, np.array([0.0, 1, 3]), np.array([0.0, 5, 6])), 1),
    "np.linalg.matrix_power": ((MATRIX, np.array(2)), 1),
    "np.linalg.norm": ((MATRIX, np.array(1)), 1),
    "np.linalg.tensordot": ((MATRIX, MATRIX, np.array(1)), 2),
    "np.nanpercentile": ((MATRIX, np.array([0.0, 50])), 1),
    "np.nanquantile": ((MATRIX, np.array([0.0, 0.75])), 1),
    "np.pad": ((MATRIX, np.array([[0, 1], [2, 0]])), 1),
    "np.percentile": ((MATRIX, np.array([0.0, 50])), 1),
    "np.quantile": ((MATRIX, np.array([0.0, 0.75])), 1),
    "np.repeat": ((MATRIX, np.array([2, 0, 1]), 0), 1),
    "np.roll": ((MATRIX, np.array([1, 0]), (0, 1)), 1),
    "np.searchsorted": ((np.array([3.0, 0, 1]), np.array([0.0, 2]), "left", np.array([1, 2, 0])), 3),
    "np.split": ((MATRIX, np.array([0, 2])), 1),
    "np.take": ((MATRIX, np.array([0, 5, 0])), 1),
    "np.take_along_axis": ((VECTOR, np.array([0, 3]), 0), 1),
    "np.tensordot": ((MATRIX, MATRIX, np.array(1)), 2),
    "np.tile": ((MATRIX, np.array([2, 1])), 1),
    "np.vsplit": ((MATRIX, np.array([0, 2])), 1),
}

# What NumPy does with zeros beside the elements, so that operands with another fill value are refused by name.
ZEROS_ALONE = {"np.digitize", "np.ediff1d", "np.linalg.matrix_power", "np.linalg.tensordot", "np.pad"}


def of_numpy(name: str) -> Any:
    found: Any = np
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def dense(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [dense(one) for one in value]
    return value.to_numpy() if hasattr(value, "to_numpy") else np.asarray(value)


def sparse(value: Any, fill: float) -> Any:
    return ms.tensor(value, fill_value=value.dtype.type(fill)) if getattr(value, "ndim", 0) else value


def test_each_has_a_case() -> None:
    assert CASES.keys() == CONTROLS.keys()


@pytest.mark.parametrize("name", CONTROLS)
def test_numpy_has_the_argument(name: str) -> None:
    assert set(CONTROLS[name]) <= set(inspect.signature(of_numpy(name)).parameters)


@pytest.mark.parametrize("fill", [0, 1])
@pytest.mark.parametrize("which", ["operand", "control", "both"])
@pytest.mark.parametrize("name", CASES)
def test_a_tensor_says_where(name: str, which: str, fill: int) -> None:
    function, (arguments, at) = of_numpy(name), CASES[name]
    if name == "np.linalg.tensordot":

        def function(left: Any, right: Any, axes: Any) -> Any:
            return np.linalg.tensordot(left, right, axes=axes)

    given = [
        sparse(value, fill) if which == "both" or (which == "control") == (place == at) else value
        for place, value in enumerate(arguments)
    ]
    if fill and which != "control" and name in ZEROS_ALONE:
        with pytest.raises(ms.UnsupportedError):
            function(*given)
        return
    expected = function(*arguments)
    several = isinstance(expected, list | tuple)
    found = function(*given)
    for one, other in zip(found, expected, strict=True) if several else [(found, expected)]:
        np.testing.assert_allclose(dense(one), other)


@pytest.mark.parametrize("fill", [0, 1])
def test_tolerances_by_elements(fill: int) -> None:
    near = MATRIX + np.array([0.1, 0.0, 0.001])
    allowed = np.array([0.0, 0.0, 0.01])
    expected = np.isclose(MATRIX, near, 0, allowed)
    for A, b, t in ((True, False, False), (False, False, True), (True, True, True), (True, False, True)):
        given = [sparse(value, fill) if chosen else value for value, chosen in ((MATRIX, A), (near, b), (allowed, t))]
        np.testing.assert_array_equal(dense(np.isclose(given[0], given[1], 0, given[2])), expected)
        assert np.allclose(given[0], given[1], 0, given[2]) is False
        assert np.allclose(given[0], given[0], given[2]) is True


def test_shapes_that_do_not_broadcast_are_not_equivalent() -> None:
    for fill in (0, 1):
        A = sparse(MATRIX, fill)
        assert np.array_equiv(A, VECTOR) is False
        assert np.array_equiv(A, np.stack([MATRIX, MATRIX])) is True
        assert bool(np.isin(2.0, A))
        assert not np.isin(7.0, A)


def test_masks_as_indices_are_numbers() -> None:
    A = ms.tensor(MATRIX, "CSR")
    np.testing.assert_array_equal(dense(np.take(A, np.array([True, False]))), np.take(MATRIX, [1, 0]))


def test_select_takes_rows_of_tensors() -> None:
    conditions, choices = MATRIX > 0, MATRIX + 1
    found = np.select(ms.tensor(conditions), ms.tensor(choices))
    np.testing.assert_array_equal(dense(found), np.select(list(conditions), list(choices)))


@pytest.mark.parametrize("fill", [0, 1])
@pytest.mark.parametrize("times", [2, 3, 4, 2**40, 2**70])
def test_differences_of_nothing_end(times: int, fill: int) -> None:
    """Orders above the extent took as many steps, in which nothing was left to subtract."""
    found = np.diff(sparse(MATRIX, fill), times, axis=0)
    np.testing.assert_array_equal(dense(found), np.diff(MATRIX, min(times, 3), axis=0))
    assert found.shape == (max(3 - times, 0), 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda A, v: np.bincount(ms.tensor([0, 10**15])),
        lambda A, v: np.bincount(v, minlength=2**60),
        lambda A, v: np.bincount(ms.tensor(np.array([0, 2**63 + 5], np.uint64))),
        lambda A, v: np.histogram(A, 2**60),
        lambda A, v: np.array_split(A, 2**60),
        lambda A, v: np.tile(A, (2**40, 2**20)),
        lambda A, v: np.tile(A, 2**60),
    ],
)
def test_more_than_fits_is_refused_before_it_is_made(call: Any) -> None:
    with pytest.raises(ms.TooLargeError):
        call(ms.tensor(MATRIX, "CSR"), ms.tensor(VECTOR))


def test_axes_beyond_the_rank_make_no_list_of_them() -> None:
    A = ms.tensor(MATRIX, "CSR")
    with pytest.raises(ms.RankError, match="expected from 0 to 2 axes"):
        np.tensordot(A, A, 2**60)


def test_repeats_are_whole_numbers() -> None:
    A = ms.tensor(MATRIX, "CSR")
    with pytest.raises(ms.OperandError):
        np.tile(A, 1.5)
    with pytest.raises(ms.ExtentError, match="not negative"):
        np.tile(A, (1, -1))


def test_two_samples_at_one_place_have_no_slope() -> None:
    with pytest.raises(ms.OperandError, match=r"sample to sample, but got 1\.0 twice.*leave one of them out"):
        np.gradient(ms.tensor(MATRIX[0]), np.array([0.0, 1.0, 1.0]))


@pytest.mark.parametrize("value", [-1, -5])
def test_negative_numbers_have_no_count(value: int) -> None:
    with pytest.raises(ms.OperandError, match=f"not negative for np.bincount, but got {value}"):
        np.bincount(ms.tensor([0, 3, value]))
