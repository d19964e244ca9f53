"""Rows, columns and lists of entries beside NumPy: places of nonzeros, joined matrices, blocks, SciPy's formats."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from mlir_sparse import _native
from mlir_sparse.encoding.derived_fact import fact_of

LINES = ("CSR", "CSC")
LISTS = ("COO", "SoA-COO")
OTHERS = ("DCSR", "BSR(2, 2)", "DIA", "UnorderedCOO", "CSR(unordered)", "CSC(unordered)")
DTYPES = ("?", "i1", "u2", "i8", "f2", "f4", "f8", "c8", "c16")
SHAPES = ((0, 3), (3, 0), (1, 1), (1, 9), (9, 1), (6, 8), (40, 300))


def _matrix(shape: tuple[int, int], dtype: str, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    found = np.where(random.random(shape) < 0.3, random.integers(-4, 5, shape), 0).astype(dtype)
    if found.dtype.kind in "fc" and found.size:
        found.flat[random.integers(found.size)] = np.nan
    return found


def _with_zeros(array: np.ndarray, storage: str) -> ms.SparseTensor:
    """Returns a tensor with an entry for each element of every other column, zeros among them."""
    kept = array != 0
    kept[:, ::2] = True
    places = np.nonzero(kept)
    return ms.tensor((places, array[places]), "COO", shape=array.shape).convert(storage)


@pytest.mark.parametrize("storage", LINES + LISTS + OTHERS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_nonzero_counts_no_stored_zero(storage: str, dtype: str) -> None:
    for seed, shape in enumerate(SHAPES):
        array = _matrix(shape, dtype, seed)
        for made in (ms.tensor(array, "CSR").convert(storage), _with_zeros(array, storage)):
            for found, wanted in zip(made.nonzero(), array.nonzero(), strict=True):
                assert found.dtype == np.intp
                np.testing.assert_array_equal(found, wanted)
            np.testing.assert_array_equal(made.to_numpy(), array)


@pytest.mark.parametrize("storage", LINES + LISTS + OTHERS)
@pytest.mark.parametrize("widths", [(32, 32), (64, 32), (32, 64), (64, 64), (32, 8), (8, 8), (16, 16)])
def test_matrices_beside_each_other_keep_their_entries(storage: str, widths: tuple[int, int]) -> None:
    kind = ms.encoding(storage).with_widths(*widths)
    for seed, (rows, dtype) in enumerate(product((0, 1, 7, 30), ("i1", "f4", "f8", "c16"))):
        arrays = [_matrix((rows, columns), dtype, seed + columns) for columns in (5, 0, 9, 3)]
        parts = [ms.tensor(array, "CSR").convert(kind) for array in arrays]
        for joined, wanted in ((np.hstack(parts), np.hstack(arrays)), (np.hstack(parts[:1]), arrays[0])):
            np.testing.assert_array_equal(joined.to_numpy(), wanted)
            assert joined.dtype == wanted.dtype
            checked = ms.SparseTensor.from_levels(
                joined.encoding,
                joined.shape,
                joined.storage.positions,
                joined.storage.coordinates,
                joined.storage.values,
            )
            np.testing.assert_array_equal(checked.to_numpy(), wanted)


@pytest.mark.parametrize("storage", LINES + LISTS)
def test_widths_grow_where_the_whole_needs_it(storage: str) -> None:
    array = _matrix((4, 200), "f8", 3)
    narrow = ms.tensor(array, "CSR").convert(ms.encoding(storage).with_widths(32, 8))
    joined = np.hstack([narrow, narrow])
    assert joined.encoding.crd_width >= (8 if storage == "CSC" else 16)
    np.testing.assert_array_equal(joined.to_numpy(), np.hstack([array, array]))
    wide = ms.tensor(array, storage)
    if storage != "CSC":  # whose positions of so many columns take 17 GB
        huge = ms.tensor(((np.array([1]), np.array([2**31 - 2])), np.array([5.0])), storage, shape=(4, 2**31 - 1))
        joined = np.hstack([wide, huge])
        assert joined.encoding.crd_width == 64
        assert joined[1, 200 + 2**31 - 2] == 5


@pytest.mark.parametrize("storage", LINES + LISTS + OTHERS)
def test_blocks_have_the_storage_of_the_first(storage: str) -> None:
    first, last = _matrix((6, 8), "f8", 1), _matrix((6, 8), "f8", 2)
    A, B = (ms.tensor(array, "CSR").convert(storage) for array in (first, last))
    zeros = np.zeros_like(first)
    for blocks, wanted in (
        ([[A, None], [B, A]], [[first, zeros], [last, first]]),
        ([[None, A], [B, None]], [[zeros, first], [last, zeros]]),
    ):
        np.testing.assert_array_equal(ms.block(blocks).to_numpy(), np.block(wanted))
    if storage in LINES + LISTS:
        assert ms.block([[None, A], [B, None]]).encoding == A.encoding


@pytest.mark.parametrize("storage", LINES + LISTS + OTHERS)
@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_scipy_arrays_can_be_changed_in_place(storage: str, kind: str) -> None:
    for seed, (shape, dtype) in enumerate(product(SHAPES, ("?", "i4", "f8", "c8"))):
        array = _matrix(shape, dtype, seed)
        made = ms.tensor(array, "CSR").convert(storage)
        found = getattr(made, f"to{kind}")()
        assert (found.format, found.shape, found.dtype) == (kind, shape, array.dtype)
        np.testing.assert_array_equal(found.toarray(), array)
        summed = found.copy()
        summed.sum_duplicates()
        np.testing.assert_array_equal(summed.toarray(), array)
        np.testing.assert_array_equal(found.T.tocsr().toarray(), array.T)
        if kind != made.format:
            found.eliminate_zeros()
            found.data[:] = 0
            assert isinstance(found + found, scipy.sparse.sparray)
            np.testing.assert_array_equal(made.to_numpy(), array)


def test_errors_within_a_function_are_not_told_as_wrong_arguments() -> None:
    A = ms.tensor(np.eye(3))
    with pytest.raises(ms.OperandError, match="unexpected keyword argument 'wrong'"):
        np.clip(A, 0, 1, wrong=2)
    with pytest.raises(ms.SparseError, match="expected axis= of an integer"):
        np.flip(A, axis="rows")


def test_facts_are_those_of_equal_encodings() -> None:
    asked = []

    @fact_of
    def rank(encoding: ms.Encoding) -> int:
        asked.append(encoding)
        return encoding.dim_rank

    kind = ms.encoding("(fact_i, fact_j) -> (fact_i : dense, fact_j : compressed)")
    other = pickle.loads(pickle.dumps(kind))
    assert other == kind
    assert hash(other) == hash(kind)
    assert [rank(kind), rank(kind), rank(other)] == [2, 2, 2]
    assert len(asked) == 1
    assert kind != ms.encoding("CSC")
    assert kind != "CSR"


def test_buffers_are_checked_before_they_are_read() -> None:
    begins, crd, values = np.array([0, 1, 3]), np.array([0, 1, 2], np.int32), np.ones(3)
    with pytest.raises(ValueError, match="where each row begins"):
        _native.rows_beside([begins, begins[:2]], [crd, crd], [0, 3], [values, values], np.dtype(np.int32))
    with pytest.raises(ValueError, match="where each row begins"):
        _native.rows_beside([begins], [crd[:2]], [0], [values], np.dtype(np.int32))
    with pytest.raises(TypeError, match="of the same types"):
        _native.rows_beside([begins] * 2, [crd] * 2, [0, 3], [values, values.astype("f4")], np.dtype(np.int32))
    with pytest.raises(ValueError, match="a truth value for each entry"):
        _native.listed_lines(begins, crd, np.ones(2, bool), 3, True)
    with pytest.raises(ValueError, match="a buffer for each place"):
        _native.level_storage(object, None, (1, 1, 1), (2, 2), (begins,))
