"""Minus zero that is stored stays what it is: in every storage, through conversions, files and quotients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from mlir_sparse.encoding import PRESETS

Array = np.ndarray[Any, Any]

ROWS, COLUMNS, VALUES = np.array([0, 0, 1, 2, 3]), np.array([0, 2, 1, 3, 0]), np.array([1.0, -0.0, 3.0, -0.0, -0.0])
DENSE = np.zeros((4, 4))
DENSE[ROWS, COLUMNS] = VALUES
# Of triangles and bands, which do not hold these entries.
LIMITED = ("Banded", "PackedLower", "PackedUpper", "Skyline", "UpperSkyline")
STORAGE = (*(p.name for p in PRESETS.values() if p.min_rank <= 2 <= (p.max_rank or 2)), "RowBlocked(2)")
STORAGE = tuple(name for name in STORAGE if name not in LIMITED)


def same(found: Array, wanted: Array) -> None:
    np.testing.assert_array_equal(found, wanted)
    for part in ("real", "imag"):
        np.testing.assert_array_equal(np.signbit(getattr(found, part)), np.signbit(getattr(wanted, part)))


def stored(storage: str, values: Array = VALUES) -> ms.SparseTensor:
    return ms.tensor((np.stack([ROWS, COLUMNS]), values), storage, shape=(4, 4))


@pytest.mark.parametrize("storage", STORAGE)
def test_storage_and_conversions(storage: str) -> None:
    tensor = stored(storage)
    same(tensor.to_numpy(), DENSE)
    for other in ("CSR", "COO", "BSR(2, 2)", "DIA", "RowBlocked(2)", "Dense", "HashedRows", "CSC"):
        same(tensor.convert(other).to_numpy(), DENSE)
        same(stored(other).convert(storage).to_numpy(), DENSE)


@pytest.mark.parametrize("storage", ["CSR", "BSR(2, 2)", "Dense", "DIA"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
def test_element_types(storage: str, dtype: str) -> None:
    values = VALUES.astype(dtype)
    if dtype[0] == "c":
        values[0], values[2] = complex(-0.0, 2.0), complex(1.0, -0.0)
    dense = np.zeros((4, 4), dtype)
    dense[ROWS, COLUMNS] = values
    same(stored(storage, values).to_numpy(), dense)


@pytest.mark.parametrize("storage", ["CSR", "Dense", "BSR(2, 2)"])
def test_entries_given_twice_are_added(storage: str) -> None:
    places = np.zeros((2, 2), int)
    for pair, total in (((-0.0, -0.0), -0.0), ((-0.0, 0.0), 0.0), ((0.0, -0.0), 0.0), ((-0.0, 2.0), 2.0)):
        wanted = np.zeros((2, 2))
        wanted[0, 0] = total
        same(ms.tensor((places, np.array(pair)), storage, shape=(2, 2)).to_numpy(), wanted)


def test_neighbours_and_files(tmp_path: Path) -> None:
    same(ms.tensor(scipy.sparse.csr_array((VALUES, (ROWS, COLUMNS)), shape=(4, 4))).to_numpy(), DENSE)
    blocks = scipy.sparse.bsr_array((np.array([[[-0.0, 1.0], [0.0, 2.0]]]), [0], [0, 1]), shape=(2, 2))
    same(ms.tensor(blocks).to_numpy(), np.array([[-0.0, 1.0], [0.0, 2.0]]))
    same(ms.tensor(blocks, "CSR").to_numpy(), np.array([[-0.0, 1.0], [0.0, 2.0]]))
    for storage in ("CSR", "BSR(2, 2)"):
        for name in ("a.mtx", "a.tns", "a.ttx"):
            ms.write(tmp_path / name, stored(storage))
            same(ms.read(tmp_path / name).to_numpy(), DENSE)


@pytest.mark.parametrize("storage", ["CSR", "COO", "BSR(2, 2)", "DIA", "RowBlocked(2)"])
def test_quotients_have_the_sign_of_the_zero(storage: str) -> None:
    over = np.full((4, 4), 2.0)
    with np.errstate(all="ignore"):
        wanted = over / DENSE
        same(ms.evaluate("C(i,j) = A(i,j) / B(i,j)", A=over, B=stored(storage)), wanted)
        same(np.asarray(over / stored(storage)), wanted)
        same(ms.evaluate("C(i,j) = A(i,j) / B(i,j)", A=ms.tensor(over, "CSR"), B=stored(storage), out="dense"), wanted)


@pytest.mark.parametrize("storage", ["BSR(2, 2)", "DIA", "RowBlocked(2)", "CompressedDense"])
def test_padding_is_no_entry_after_functions(storage: str) -> None:
    tensor = ms.tensor(np.array([[1.0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 2, 0], [0, 0, 0, 3]]), storage)
    for found in (-tensor, tensor * -2.0, np.tanh(-tensor)):
        assert found.convert("CSR").nse == 3
