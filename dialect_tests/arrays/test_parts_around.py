"""Elements, rows and blocks of every storage, found in a part around them: beside the same of a dense array."""

from __future__ import annotations

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.tensor import reference
from mlir_sparse.arrays import entries_between
from mlir_sparse.encoding import PRESETS

FOREIGN = [
    (name, ms.encoding(name, rank=2))
    for name, preset in PRESETS.items()
    if preset.min_rank <= 2 <= (preset.max_rank or 3) and not ms.encoding(name, rank=2).is_native
]
MATRICES = [*reference.MATRICES, *FOREIGN]
INDICES = [
    *((3, 4), (-1, 0), (0, -1), 5, (slice(None), 2), (slice(2, 7), 3), (slice(7, 2, -2), slice(1, None))),
    *((slice(5, 5), slice(None)), (slice(1, None, 3), slice(None, None, -1)), (None, 6, slice(2, 3)), (..., 8)),
    *((slice(8, 9), None, slice(0, 4, 3)), (slice(4, 6), [1, 0, 1])),
]


@pytest.mark.parametrize("widths", [(0, 0), (8, 8), (16, 32), (64, 8)])
@pytest.mark.parametrize(("name", "encoding"), MATRICES, ids=[name for name, _ in MATRICES])
def test_matrices(name: str, encoding: ms.Encoding, widths: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries_between, "_FEW", -1)
    generator = np.random.default_rng(len(name))
    for shape in ((9, 10), (10, 9), (12, 16)):
        dense = generator.integers(1, 9, shape) * (generator.random(shape) < 0.3)
        try:
            A = ms.tensor(dense, encoding.with_widths(*widths))
        except ms.SparseError:  # blocks that do not divide, and storage that does not hold any matrix
            continue
        for index in INDICES:
            found = A[index]
            found = found.to_numpy() if isinstance(found, ms.SparseTensor) else found
            np.testing.assert_array_equal(found, dense[index], err_msg=f"{shape} {index}")


@pytest.mark.parametrize(("name", "encoding"), reference.WHOLE[3], ids=[name for name, _ in reference.WHOLE[3]])
def test_tensors(name: str, encoding: ms.Encoding, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries_between, "_FEW", -1)
    generator = np.random.default_rng(len(name))
    dense = generator.integers(1, 9, (4, 6, 8)) * (generator.random((4, 6, 8)) < 0.3)
    dense[..., 2:4] = dense[..., 6:] = 0  # two of four, as structured levels hold
    A = ms.tensor(dense, encoding)
    for index in ((1, 2, 3), (3, slice(1, 4), 2), (slice(2, 0, -1), slice(None), 7), (slice(None), 5), 2, (..., 1, 1)):
        found = A[index]
        found = found.to_numpy() if isinstance(found, ms.SparseTensor) else found
        np.testing.assert_array_equal(found, dense[index], err_msg=str(index))


def test_only_the_part_is_read() -> None:
    """An element of entries in order took a pass over all of them."""
    A = ms.random((3000, 3000), 0.002, rng=0)
    for name in ("COO", "DCSR", "BSR", "LooseCSR", "ELL", "SlotELL", "HashedRows"):
        B = A.convert(name)
        assert entries_between.entries_between(B, [range(7, 8), range(3000)]).values.size < B.nse / 50, name
    for name in ("[c](i, j) -> (c * j : dense, j : dense, i : singleton)", "(i, j) -> (j : dense, i : hashed)"):
        B = A.convert(name)
        assert entries_between.entries_between(B, [range(3000), range(7, 8)]).values.size < B.nse / 50, name


TABLES = [
    *("SlotELL", "HashedRows", "(i, j) -> (j : dense, i : hashed)", "(i, j) -> (i : compressed, j : hashed)"),
    *("[c](i, j) -> (c * j : dense, j : dense, i : singleton)", "(i, j, k) -> (i : dense, j : dense, k : hashed)"),
    *("(i, j, k) -> (j : dense, i : dense, k : hashed)", "(i, j, k) -> (i : dense, j : compressed, k : hashed)"),
    *("(i, j) -> (i : hashed, j : dense)", "HashVector"),
]


@pytest.mark.parametrize("dtype", ["f64", "i8", "c64", "bool"])
@pytest.mark.parametrize("storage", TABLES)
def test_parts_of_slots_and_tables(storage: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any subscripts, of rows that are empty and full too; none of the parts shares memory that a result may change."""
    monkeypatch.setattr(entries_between, "_FEW", -1)
    generator = np.random.default_rng(len(storage))
    rank = 1 if storage == "HashVector" else ms.encoding(storage).dim_rank
    for shape in (tuple(generator.integers(1, 9, rank)) for _ in range(6)):
        dense = (generator.integers(1, 9, shape) * (generator.random(shape) < 0.4)).astype(ms.DType(dtype).numpy)
        dense[0], dense[-1] = 0, 1
        A = ms.tensor(dense, storage)
        for _ in range(30):
            key = tuple(_subscript(generator, extent) for extent in shape[: generator.integers(1, rank + 1)])
            found = A[key]
            if isinstance(found, ms.SparseTensor):
                assert not np.shares_memory(found.storage.values, A.storage.values), key
                found = found.to_numpy()
            np.testing.assert_array_equal(found, dense[key], err_msg=f"{shape} {key}")
            assert np.asarray(found).dtype == dense.dtype


def _subscript(generator: np.random.Generator, extent: int) -> int | slice:
    if generator.random() < 0.5:
        return int(generator.integers(-extent, extent))
    start, stop = (int(end) if generator.random() < 0.8 else None for end in generator.integers(-9, 10, 2))
    return slice(start, stop, int(generator.choice([-3, -1, 1, 1, 2])))
