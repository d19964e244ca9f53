"""Operators again and again: the kernels of earlier calls must take none but the operands that they fit."""

from __future__ import annotations

import itertools
import operator
import threading
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

FORMATS = ("CSR", "CSC", "COO", "DCSR", "dense")
DTYPES = (np.float64, np.float32, np.int32, np.int8, np.bool_, np.complex128)


def dense(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return (rng.integers(-3, 4, shape) * (rng.random(shape) < 0.6)).astype(dtype)


def as_array(found: Any) -> Any:
    return found.to_numpy() if isinstance(found, ms.SparseTensor) else found


def check(found: Any, expected: Any) -> None:
    assert as_array(found).dtype == expected.dtype
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_array_equal(as_array(found), expected)


# Each pair of types after each other, twice, so that every kernel is tried on what others are for.
PAIRS = list(itertools.product(FORMATS, DTYPES)) * 2


@pytest.mark.parametrize("function", [operator.add, operator.mul, operator.gt, np.maximum])
def test_elementwise_functions_of_changing_types(function: Any) -> None:
    for number, (form, dtype) in enumerate(PAIRS):
        a, b = dense((5, 4), dtype, number), dense((5, 4), dtype, number + 1)
        if function is not operator.add and function is not operator.mul and dtype is np.complex128:
            continue
        expected = function(a, b)
        check(function(ms.tensor(a, form), ms.tensor(b, form)), expected)
        check(function(ms.tensor(a, form), ms.tensor(b, "CSR")), expected)


@pytest.mark.parametrize("function", [operator.mul, operator.truediv])
def test_rows_and_columns_of_changing_types(function: Any) -> None:
    for number, (form, dtype) in enumerate(PAIRS):
        for shape in ((4, 4), (5, 4), (1, 4), (4, 1)):
            a = dense(shape, dtype, number)
            A = ms.tensor(a, form)
            for size in ((1, shape[1]), (shape[0], 1), (1, shape[1]), shape[1:], (1, 1)):
                for kind in (dtype, np.float64, np.dtype(">f8")):
                    # Powers of two, whose quotients are exact, and no two of which are side by side in memory.
                    powers = (2 ** (np.arange(2 * np.prod(size)) % 5)).astype(kind).reshape(*size, 2)[..., 0]
                    check(function(A, powers), function(a, powers))
            with pytest.raises(ms.ExtentError):
                function(A, np.ones((7, shape[1]) if shape[0] > 1 else (1, 7), dtype))


def test_products_of_changing_types_and_ranks() -> None:
    for number, (form, dtype) in enumerate(PAIRS):
        a, x, b = dense((5, 4), dtype, number), dense((4,), dtype, number + 1), dense((4, 3), dtype, number + 2)
        A = ms.tensor(a, form)
        check(A @ x, a @ x)
        check(A @ b, a @ b)
        check(x @ ms.tensor(b, form), x @ b)
        check(ms.tensor(x) @ x, np.asarray(x @ x)[()])
        check(A @ x.real.astype(np.float64), a @ x.real.astype(np.float64))
        with pytest.raises(ms.ExtentError):
            A @ dense((5,), dtype)


def test_sums_of_changing_types_and_axes() -> None:
    for number, (form, dtype) in enumerate(PAIRS):
        a = dense((5, 4), dtype, number)
        A, stack = ms.tensor(a, form), ms.tensor(dense((3, 5, 4), dtype, number), "CSF")
        for axis in (None, 0, 1, -1, (0, 1)):
            check(A.sum(axis), np.asarray(a.sum(axis=axis))[()])
            assert np.asarray(A.sum(axis)).shape == a.sum(axis=axis).shape
        check(A.sum(), a.sum())
        check(stack.sum(), as_array(stack).sum())
        check(stack.sum(1), as_array(stack).sum(1))
        check(A.sum(dtype=np.complex128), a.sum(dtype=np.complex128))
        check(A.sum(1, keepdims=True), a.sum(1, keepdims=True))
        with pytest.raises(ms.RankError):
            A.sum(2)
        with pytest.raises(ms.SparseError):
            A.sum(True)


def test_axes_of_found_elements_are_stretched_after_others() -> None:
    a, b = dense((5, 4), np.float64, 1), dense((5, 4), np.float64, 2)
    for left, right in ((a, b), (a[:1], b), (a, b[:, :1]), (a[:1, :1], b), (a[:1], b[:, :1]), (a, b)):
        check(ms.tensor(left) + ms.tensor(right), left + right)
        check(ms.tensor(left) * ms.tensor(right), left * right)


def test_numbers_of_half_precision_are_summed_in_single() -> None:
    values = np.full((64, 64), 4.0)
    for dtype in (np.float32, np.float16, np.float32, np.float16):
        found = ms.tensor(values.astype(dtype)).sum()
        assert found.dtype == dtype
        check(found, values.astype(dtype).sum())


def test_subclasses_and_other_layouts_of_vectors() -> None:
    a, x = dense((5, 4), np.float64, 3), np.arange(1.0, 5.0)
    A = ms.tensor(a)
    check(A @ x, a @ x)
    for other in (x[::-1], np.repeat(x, 2)[::2], x.astype(">f8"), x.view(type("Own", (np.ndarray,), {})), x.tolist()):
        check(A @ other, a @ np.asarray(other, float))
    masked = np.ma.array(x, mask=[True, False, False, False])
    with pytest.raises(ms.OperandError):
        A @ masked


def test_values_that_are_written_between_calls() -> None:
    a = dense((5, 4), np.float64, 4)
    A, B, x = ms.tensor(a), ms.tensor(a), np.arange(1.0, 5.0)
    for factor in (1.0, 2.0, -3.0):
        A.storage.values[...] = B.storage.values * factor
        check(A @ x, factor * a @ x)
        check(A + B, factor * a + a)
        check(A.sum(), (factor * a).sum())


@pytest.mark.parametrize("form", ["CSR", "CSC", "COO", "DCSR", "dense", "BSR(2, 2)"])
@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int8, np.bool_, np.complex64])
def test_each_element(form: str, dtype: Any) -> None:
    a = dense((6, 4), dtype, 5)
    a[2], a[:, 1] = 0, 0
    A = ms.tensor(a, form)
    for i, j in itertools.product(range(-6, 6), range(-4, 4)):
        check(A[i, j], a[i, j])
        assert type(A[i, j]) is type(a[i, j])
        check(A[np.int32(i), j], a[i, j])
    for outside in ((6, 0), (-7, 0), (0, 4), (0, -5), (1 << 70, 0)):
        with pytest.raises(ms.IndexRangeError):
            A[outside]
    with pytest.raises(ms.UnsupportedError):
        A[True, 1]


def test_elements_that_are_stored_twice_are_added() -> None:
    B = ms.SparseTensor.from_levels(
        "(i, j) -> (i : dense, j : compressed(nonunique))",
        (2, 2),
        [None, [0, 2, 3]],
        [None, [1, 1, 0]],
        [2.0, 3.0, 4.0],
    )
    assert B[0, 1] == 5.0
    assert B[1, 0] == 4.0
    assert B[1, 1] == 0.0


def test_unordered_rows() -> None:
    B = ms.SparseTensor.from_levels(
        "(i, j) -> (i : dense, j : compressed(nonordered))",
        (2, 9),
        [None, [0, 3, 3]],
        [None, [7, 1, 4]],
        [1.0, 2.0, 3.0],
    )
    assert [B[0, j] for j in range(9)] == [0, 2, 0, 0, 3, 0, 0, 1, 0]


def test_slices_and_batches_of_elements() -> None:
    a = dense((6, 4), np.float64, 6)
    part = ms.tensor(a).slice(slice(1, 6, 2), slice(0, 4, 3))
    for i, j in itertools.product(range(3), range(2)):
        check(part[i, j], a[1:6:2, 0:4:3][i, j])


def test_several_threads() -> None:
    """Threads that take turns with types find their own kernels."""
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for number in range(60):
                form, dtype = PAIRS[(number * 7 + seed) % len(PAIRS)]
                a, b = dense((5, 4), dtype, number), dense((5, 4), dtype, number + seed)
                check(ms.tensor(a, form) + ms.tensor(b, form), a + b)
                check(ms.tensor(a, form) @ b[0], a @ b[0])
                check(ms.tensor(a, form).sum(), a.sum())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_changed_optimization_changes_no_result() -> None:
    a, x = dense((5, 4), np.float64, 7), np.arange(1.0, 5.0)
    try:
        for optimize in ("off", "algebra", "auto", None):
            ms.set_optimize(optimize)
            check(ms.tensor(a) @ x, a @ x)
    finally:
        ms.set_optimize(None)


@pytest.mark.parametrize("storage", ["CSR", "COO", "BSR(2, 2)"])
def test_a_kernel_kept_for_an_array_takes_none_of_another_shape(storage: str) -> None:
    whole = np.diag(np.arange(1.0, 5.0))
    A, W = ms.tensor(whole, storage), np.arange(16.0).reshape(4, 4)
    read_only = W.copy()
    read_only.flags.writeable = False
    views = [W, W, W.T, W[::-1], W[:, ::-1], W[:1], W[:, :1], W[0], read_only, np.broadcast_to(W[0], (4, 4))]
    for other in (*views, W.astype("f4"), W.astype("i2"), W.astype(">f8"), W):
        np.testing.assert_array_equal(as_array(A + other), whole + other)
        np.testing.assert_array_equal(as_array(other - A), other - whole)
        np.testing.assert_array_equal(as_array(A * other), whole * other)
    for wrong in (W[:3], W[:, :2]):
        with pytest.raises(ms.SparseError):
            A + wrong
    np.testing.assert_array_equal(as_array(A[:2] + W[:2]), whole[:2] + W[:2])
