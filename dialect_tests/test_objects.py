"""Every kind of Python object in every place that takes one, and storage right and broken: see the modules of cases."""

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests import object_cases, storage_cases
from dialect_tests.crossing import seeds


@pytest.mark.parametrize("call", object_cases.CALLS)
def test_objects_are_taken_right_or_refused_by_name(call: str) -> None:
    for one in range(object_cases.COUNT):
        case = object_cases.Case(call, one, 7)
        try:
            object_cases.run(case)
        except ms.SparseError as error:
            if "expected" not in str(error):
                raise


@pytest.mark.parametrize("seed", seeds(1))
def test_storage_is_taken_right_or_refused_by_name(seed: int) -> None:
    for harms in (0, 1):
        for name in storage_cases.NAMES:
            try:
                storage_cases.run(storage_cases.Case(name, seed, harms))
            except ms.SparseError:
                assert harms


def test_shapes_of_numpys_integers_are_counted_exactly() -> None:
    wide = np.array([2**32, 2**32])
    for A in (
        ms.tensor(([[0], [1]], [1.0]), "COO", shape=wide),
        ms.SparseTensor.from_levels("COO", wide, [[0, 1], None], [[0], [1]], [1.0]),
    ):
        assert A.shape == (2**32, 2**32)
        assert A.size == 2**64
        assert type(A.shape[0]) is int
    with pytest.raises(ms.SparseError, match="expected a tensor full of a number"):
        ms.tensor(1.0, shape=wide)


@pytest.mark.parametrize("inner", ["compressed", "loose_compressed"])
def test_dense_levels_of_more_places_than_64_bits_count(inner: str) -> None:
    encoding = f"(i, j, k) -> (i : dense, j : dense, k : {inner})"
    with pytest.raises(ms.SparseError, match="expected positions"):
        ms.SparseTensor.from_levels(encoding, (2**40, 2**40, 3), [None, None, [0, 0]], [None, None, []], [])
