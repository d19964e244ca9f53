"""SciPy's matrices again and again: what is remembered of them must never outlive what they hold."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import mlir_sparse as ms

SPMV = "y(i) = A(i,j) * x(j)"
Matrix = Any


def random(seed: int, shape: tuple[int, int] = (9, 7), density: float = 0.4) -> Matrix:
    return sp.csr_array(sp.random(*shape, density, format="csr", random_state=seed))


@pytest.fixture(params=[sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix])
def seen(request: pytest.FixtureRequest) -> Matrix:
    """A matrix that was made a tensor before."""
    matrix = request.param(random(1))
    ms.tensor(matrix)
    return matrix


def same(matrix: Matrix) -> None:
    """Compares the tensor and a product of a matrix with what SciPy says of it."""
    tensor, x = ms.tensor(matrix), np.arange(1.0, matrix.shape[1] + 1)
    np.testing.assert_array_equal(tensor.to_numpy(), matrix.toarray())
    np.testing.assert_allclose(ms.evaluate(SPMV, A=matrix, x=x), matrix @ x)


def test_a_tensor_shares_the_arrays_of_a_matrix(seen: Matrix) -> None:
    tensor = ms.tensor(seen)
    assert np.shares_memory(tensor.storage.values, seen.data)
    assert not any(array.flags.writeable for array in tensor.storage.buffers()[:-1])
    seen.data[0] = 77.0
    assert 77.0 in tensor.storage.values
    assert seen.indices.flags.writeable
    same(seen)


def test_another_tensor_each_time(seen: Matrix) -> None:
    assert ms.tensor(seen) is not ms.tensor(seen)
    assert ms.tensor(seen).encoding == ms.tensor(seen.copy()).encoding


@pytest.mark.parametrize("name", ["data", "indices", "indptr"])
def test_arrays_that_are_replaced(seen: Matrix, name: str) -> None:
    other = type(seen)(random(2, (9, 7)))
    for each in ("data", "indices", "indptr"):
        setattr(seen, each, getattr(other, each))
    setattr(seen, name, getattr(seen, name).copy())
    same(seen)


def test_indices_that_are_written_to(seen: Matrix) -> None:
    start, stop = next((a, b) for a, b in pairwise(seen.indptr.tolist()) if b - a > 2)
    seen.indices[start:stop] = seen.indices[start:stop][::-1].copy()
    same(seen)  # unsorted entries are sorted in a copy
    seen.indices[start] = seen.indices[start + 1]
    same(seen)  # and equal ones are summed


@pytest.mark.parametrize("wrong", [-1, 1 << 20, np.iinfo(np.int32).max])
def test_indices_out_of_range_are_found_each_time(seen: Matrix, wrong: int) -> None:
    right = seen.indices[3]
    seen.indices[3] = wrong
    with pytest.raises(ms.CoordinatesError):
        ms.tensor(seen)
    with pytest.raises(ms.CoordinatesError):
        ms.evaluate(SPMV, A=seen, x=np.ones(7))
    seen.indices[3] = right
    same(seen)


@pytest.mark.parametrize(("at", "wrong"), [(0, 1), (1, 1 << 20), (2, -3), (-1, 1 << 20)])
def test_positions_that_are_none_are_found_each_time(seen: Matrix, at: int, wrong: int) -> None:
    seen.indptr[at] = wrong
    with pytest.raises(ms.SparseError):
        ms.tensor(seen)
    with pytest.raises(ms.SparseError):
        ms.evaluate(SPMV, A=seen, x=np.ones(7))


def test_capacity_that_is_not_used(seen: Matrix) -> None:
    wide = [np.concatenate([array, array[:2]]) for array in (seen.indices, seen.data)]
    seen.indices, seen.data = wide
    same(seen)


def test_arrays_of_other_types(seen: Matrix) -> None:
    x, before = np.arange(1.0, 8.0), seen.copy()
    seen.indices = seen.indices.astype(np.int64)
    np.testing.assert_array_equal(ms.tensor(seen).to_numpy(), before.toarray())
    seen.indptr = seen.indptr.astype(np.int64)
    assert ms.tensor(seen).encoding.pos_width == 64
    np.testing.assert_allclose(ms.evaluate(SPMV, A=seen, x=x), before @ x)
    seen.data = seen.data.astype(np.float32)
    assert ms.tensor(seen).dtype == np.float32
    seen.data = seen.data.astype(">f4")
    np.testing.assert_allclose(ms.tensor(seen).to_numpy(), before.toarray(), rtol=1e-6)
    seen.data = np.arange(seen.nnz, dtype=np.uint32)
    assert ms.tensor(seen).dtype == np.uint32
    np.testing.assert_array_equal(ms.tensor(seen).to_numpy(), seen.toarray())
    seen.data = np.arange(seen.nnz).astype("datetime64[s]")
    with pytest.raises(ms.DTypeError):
        ms.tensor(seen)


class Doubled(np.ndarray[Any, Any]):
    """An array whose elements are other than its memory says."""


def test_arrays_of_other_classes_and_layouts(seen: Matrix) -> None:
    expected = seen.toarray()
    for change in (
        lambda array: array.view(Doubled),
        lambda array: np.repeat(array, 2)[::2],
        lambda array: np.frombuffer(b"\0" + array.tobytes(), np.uint8)[1:].view(array.dtype),
    ):
        other = seen.copy()
        for name in ("data", "indices", "indptr"):
            setattr(other, name, change(getattr(seen, name)))
        np.testing.assert_array_equal(ms.tensor(other).to_numpy(), expected)


def test_truth_values_of_other_bytes() -> None:
    matrix = random(3).astype(bool)
    ms.tensor(matrix)
    matrix.data = np.full(matrix.nnz, 2, np.uint8).view(bool)
    assert ms.tensor(matrix).storage.values.view(np.uint8).max() == 1


class Own(sp.csr_array):  # type: ignore[misc]  # SciPy has no types
    """A user's matrix, which is none of SciPy's classes."""


def test_a_class_of_the_users(seen: Matrix) -> None:
    same(Own(seen))
    same(Own(seen))


def test_empty_matrices_and_vectors() -> None:
    for shape in ((0, 0), (0, 5), (5, 0), (3, 4)):
        empty = sp.csr_array(shape)
        for _ in range(2):
            assert ms.tensor(empty).shape == shape
            assert ms.tensor(empty).nse == 0
    vector = sp.csr_array(np.array([0.0, 2.0, 3.0]))
    assert ms.tensor(vector).to_numpy().tolist() == [0.0, 2.0, 3.0]
    wrong = sp.csr_array((3, 0))
    ms.tensor(wrong)
    wrong.indices, wrong.data, wrong.indptr = np.zeros(1, np.int32), np.ones(1), np.array([0, 1, 1, 1], np.int32)
    with pytest.raises(ms.CoordinatesError):
        ms.tensor(wrong)


def test_matrices_whose_memory_is_used_again() -> None:
    """New matrices get the addresses and identities of old ones; each must be itself."""
    for seed in range(200):
        matrix = random(seed, (8, 8))
        np.testing.assert_array_equal(ms.tensor(matrix).to_numpy(), matrix.toarray())
        del matrix
        if seed % 50 == 0:
            gc.collect()


def test_a_tensor_keeps_the_arrays_of_a_matrix_that_is_gone(seen: Matrix) -> None:
    expected, tensor = seen.toarray(), ms.tensor(seen)
    counts = [ms.tensor(random(seed)) for seed in range(20)]  # asks for memory again
    del seen
    gc.collect()
    np.testing.assert_array_equal(tensor.to_numpy(), expected)
    assert len(counts) == 20


def test_kernels_take_matrices_as_they_take_tensors(seen: Matrix) -> None:
    kernel = ms.compile(SPMV, A=seen, x=np.ones(7))
    x, y = np.arange(1.0, 8.0), np.empty(9)
    for _ in range(3):
        np.testing.assert_allclose(kernel(seen, x), seen @ x)
        assert kernel(seen, x, out=y) is y
        np.testing.assert_allclose(kernel(A=seen, x=x), seen @ x)
        np.testing.assert_allclose(kernel(ms.tensor(seen), x), seen @ x)
    with pytest.raises(ms.OperandError):
        kernel(sp.coo_array(seen), x)
    with pytest.raises(ms.ExtentError):
        kernel(seen, np.ones(6))
    with pytest.raises(ms.DTypeError):
        kernel(seen.astype(np.float32), x)


def test_several_threads() -> None:
    """Threads that make tensors of matrices of all classes at once get their own."""
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for round_ in range(100):
                kind = (sp.csr_array, sp.csc_matrix)[round_ % 2]
                same(kind(random(seed * 1000 + round_)))
        except BaseException as error:
            failures.append(error)

    run: list[Callable[[], None]] = [lambda seed=seed: work(seed) for seed in range(4)]  # type: ignore[misc]
    threads = [threading.Thread(target=one) for one in run]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
