"""`ms.assign` against NumPy's assignment to parts, over storage of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.crossing import crossed

Array = np.ndarray[Any, Any]
STORAGES = ["dense", "CSR", "CSC", "COO", "DCSR", "BSR(2, 3)", "ELL", "DIA", "CSB(2, 2)"]
WHERE: list[Any] = [
    (slice(None), slice(None)),
    (1, slice(None)),
    (2, -1),
    (slice(None, None, -2), slice(1, 5, 3)),
    ([0, 3], slice(1, 4)),
    (slice(None), [5, 0, 2]),
    ([0, 3, 0], [1, 1, 1]),
    (np.array([[0], [2]]), np.array([1, 5])),
    (..., 3),
    (None, 1),
    ([], slice(None)),
    (slice(2, 2), slice(None)),
    np.arange(24).reshape(4, 6) % 5 == 0,
    (np.array([True, False, True, False]), slice(0, 2)),
]


def _matrix(seed: int = 0, shape: tuple[int, ...] = (4, 6), dtype: Any = float) -> Array:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(shape) < 0.5, rng.integers(-3, 4, shape), 0).astype(dtype)


def _expected(D: Array, where: Any, value: Any) -> Array:
    new = D.copy()
    new[where] = value
    return new


@crossed(at=range(len(WHERE)), storage=STORAGES, kind=["zero", "number", "array", "row", "tensor"])
def test_is_numpys_assignment(at: int, storage: str, kind: str) -> None:
    D, where = _matrix(), WHERE[at]
    A = D if storage == "dense" else ms.tensor(D, storage)
    part = D[where]
    value: Any = {"zero": 0, "number": 7, "array": _matrix(1, part.shape), "row": _matrix(2, part.shape[-1:]),
                  "tensor": _matrix(3, part.shape)}[kind]  # fmt: skip
    given = ms.tensor(value) if kind == "tensor" and np.ndim(value) and np.size(value) else value
    found = ms.assign(A, where, given)
    whole = found if storage == "dense" else found.to_numpy()
    np.testing.assert_array_equal(whole, _expected(D, where, value))
    np.testing.assert_array_equal(A if storage == "dense" else A.to_numpy(), D)  # stays as it is
    if storage in ("CSR", "CSC", "COO", "DCSR", "ELL"):
        assert found.encoding.levels == A.encoding.levels or storage == "ELL"


@pytest.mark.parametrize("dtype", ["i8", "i32", "f32", "f64", "bf16", "c64", "bool"])
def test_elements_take_the_type_of_the_tensor(dtype: str) -> None:
    kind = ms.DType.of(dtype).numpy
    D = np.abs(_matrix()).astype(kind)
    for value in (1, np.array([1.0, 0, 1]), ms.tensor(np.array([0.0, 1, 1]))):
        found = ms.assign(ms.tensor(D, "CSR"), (slice(0, 2), [0, 1, 4]), value)
        dense = value.to_numpy() if isinstance(value, ms.SparseTensor) else np.asarray(value)
        assert found.dtype == kind
        np.testing.assert_array_equal(found.to_numpy(), _expected(D, (slice(0, 2), [0, 1, 4]), dense.astype(kind)))


def test_entries_of_a_tensor_are_stored_and_zeros_of_an_array_are_not() -> None:
    A = ms.tensor(np.eye(3), "CSR")
    B = ms.from_coo([[0], [1]], [0.0], (2, 2))
    assert ms.assign(A, (slice(0, 2), slice(0, 2)), B).nse == 2
    assert ms.assign(A, (slice(0, 2), slice(0, 2)), np.zeros((2, 2))).nse == 1
    odd = ms.assign(A, (0, slice(None)), np.array([np.nan, np.inf, -0.0])).to_numpy()[0]
    assert np.isnan(odd[0])
    assert (odd[1], np.signbit(odd[2])) == (np.inf, True)


def test_masks_of_tensors_and_other_ranks() -> None:
    D = _matrix()
    A, big = ms.tensor(D, "CSC"), ms.from_coo([[3], [4]], [1.0], (2**40, 2**40), "COO")
    np.testing.assert_array_equal(ms.assign(A, A > 0, 9).to_numpy(), np.where(D > 0, 9, D))
    np.testing.assert_array_equal(ms.assign(D, A > 0, 9), np.where(D > 0, 9, D))
    T = _matrix(4, (3, 4, 5))
    for where in ((1, [0, 2], slice(None)), (slice(None), 2, [1, 4]), ([0, 2], slice(1, 3), [0, 1]), (..., 0)):
        value = _matrix(5, T[where].shape)
        np.testing.assert_array_equal(
            ms.assign(ms.tensor(T, "CSF"), where, value).to_numpy(), _expected(T, where, value)
        )
    x = np.array([0.0, 1, 2])
    np.testing.assert_array_equal(ms.assign(ms.tensor(x, "SparseVector"), 1, 0).to_numpy(), [0, 0, 2])
    found = ms.assign(ms.assign(big, ([2**39, 5], [7, 2**39 + 1]), [3.0, 4.0]), (5, slice(None)), 0)
    assert (found.nse, found[2**39, 7], found[3, 4]) == (2, 3.0, 1.0)
    assert ms.assign(ms.zeros((0, 3)), slice(None), 5).shape == (0, 3)


def test_accumulates_by_reading_first() -> None:
    D, B = _matrix(), np.arange(8.0).reshape(4, 2)
    A = ms.tensor(D)
    where = (slice(None), [0, 5])
    np.testing.assert_array_equal(ms.assign(A, where, A[where] + B).to_numpy(), _expected(D, where, D[where] + B))


@pytest.mark.parametrize(
    ("where", "value", "error", "message"),
    [
        ((0, 9), 1, ms.IndexRangeError, "expected an index from -3 to 2 for axis 1, but got 9"),
        ((0, 0, 0), 1, ms.RankError, "expected at most 2 subscripts, but got 3"),
        ((0.5,), 1, ms.OperandError, "expected integers, slices"),
        (
            (0,),
            [1.0, 2.0],
            ms.ExtentError,
            "expected B to broadcast to the shape (3,) of the places, but got shape (2,)",
        ),
        ((0,), 1j, ms.DTypeError, "expected real numbers for elements of float64, but got complex128"),
        ((slice(None),), "text", ms.OperandError, "expected an array or tensor of numbers for B"),
    ],
)
def test_mistakes(where: Any, value: Any, error: type[Exception], message: str) -> None:
    for A in (ms.tensor(np.eye(3)), np.eye(3)):
        with pytest.raises(error) as caught:
            ms.assign(A, where, value)
        assert message in str(caught.value)


def test_a_number_at_too_many_places_is_refused() -> None:
    with pytest.raises(ms.TooLargeError):
        ms.assign(ms.from_coo([[3], [4]], [1.0], (2**40, 2**40), "COO"), slice(None), 1)
