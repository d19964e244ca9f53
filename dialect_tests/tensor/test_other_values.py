"""Tensors on the structure of others: what is shared, where values are elements, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.tensor.other_values import value_places

RNG = np.random.default_rng(20)
MATRIX = np.where(RNG.random((6, 8)) < 0.4, RNG.standard_normal((6, 8)), 0)
EDGES = {"RowBlocked", "SlotELL", "DIA", "HashedRows"}
STORAGES = [
    "CSR",
    "CSC",
    "DCSR",
    "COO",
    "UnorderedCOO",
    "NonuniqueCOO",
    "ELL",
    "CountedELL",
    "LooseCSR",
    *sorted(EDGES),
]


@pytest.mark.parametrize("name", STORAGES)
def test_values_change_and_structure_is_shared(name: str) -> None:
    A = ms.tensor(MATRIX).convert(name)
    twice = A.with_values(2 * A.storage.values)
    np.testing.assert_array_equal(twice.to_numpy(), 2 * MATRIX)
    for ours, theirs in zip(twice.storage.buffers()[:-1], A.storage.buffers()[:-1], strict=True):
        assert np.shares_memory(ours, theirs)


@pytest.mark.parametrize("name", STORAGES)
def test_each_value_is_found_at_its_element(name: str) -> None:
    A = ms.tensor(MATRIX).convert(name)
    dims, places = value_places(A)
    found = np.zeros(A.shape)
    np.add.at(found, tuple(dims), A.storage.values[places])
    np.testing.assert_array_equal(found, MATRIX)
    assert (places.size < A.storage.values.size) is (name in EDGES)


def test_memory_and_element_type_are_those_of_the_values() -> None:
    A = ms.tensor(MATRIX)
    values = np.ones(A.nse, np.float32)
    other = A.with_values(values)
    assert np.shares_memory(other.storage.values, values)
    assert other.dtype == np.float32
    assert A.with_values(values[::-1]).storage.values.flags.c_contiguous
    assert A.with_values(values.reshape(-1, 1)).storage.values.shape == values.shape


def test_an_empty_tensor_takes_no_values() -> None:
    empty = ms.tensor(np.zeros((0, 3)), "CSR")
    assert empty.with_values([]).shape == (0, 3)


def test_another_number_of_values_is_refused() -> None:
    A = ms.tensor(MATRIX)
    with pytest.raises(ms.StorageError, match=rf"expected {A.nse} values, .* but got 2 \(shape \(2,\)\)"):
        A.with_values([1.0, 2.0])


@pytest.mark.parametrize("name", sorted(EDGES))
def test_values_beside_the_elements_are_refused(name: str) -> None:
    A = ms.tensor(MATRIX).convert(name)
    with pytest.raises(
        ms.StorageError, match=r"expected zeros where .* has no element of shape \(6, 8\), but got 1.0 at"
    ):
        A.with_values(np.ones(A.storage.values.size))


def test_slices_objects_and_tensors_are_refused() -> None:
    A = ms.tensor(MATRIX)
    with pytest.raises(ms.UnsupportedError, match="but got a slice"):
        A.slice(slice(1, 4), slice(0, 8)).with_values([1.0])
    with pytest.raises(ms.DTypeError, match="expected numbers as values"):
        A.with_values(["a"] * A.nse)
    with pytest.raises(ms.OperandError, match=r"pass its storage\.values"):
        A.with_values(A)


def test_kernels_take_the_new_values() -> None:
    A = ms.tensor(MATRIX)
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=np.ones(8))
    other = A.with_values(RNG.standard_normal(A.nse))
    np.testing.assert_allclose(kernel(other, np.ones(8)), other.to_numpy().sum(1))
