"""Storage arrays against arrays worked out by hand, and the order in which compiled code takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dialect_tests.tensor.reference import addresses
from mlir_sparse.encoding import encoding
from mlir_sparse.errors import StorageError
from mlir_sparse.tensor import LevelStorage, SparseTensor, tensor

# The matrix of the dialect's documentation of BSR.
BSR_EXAMPLE = np.array([[1, 2, 0, 0, 4, 0], [0, 3, 0, 0, 0, 5], [0, 0, 6, 7, 0, 0], [0, 0, 8, 0, 0, 0]], float)
# The matrix of Chou et al. 2018, figure 2.
FORMATS = np.zeros((4, 6))
for _i, _j, _v in [(0, 0, 5), (0, 1, 1), (1, 0, 7), (1, 1, 3), (3, 1, 8), (3, 3, 4), (3, 4, 9)]:
    FORMATS[_i, _j] = _v


def arrays(given: SparseTensor) -> dict[str, Any]:
    """Returns what each level stores, as lists."""
    found: dict[str, Any] = {}
    for level, (pos, crd) in enumerate(zip(given.storage.positions, given.storage.coordinates, strict=True)):
        if pos is not None:
            found[f"pos{level}"] = pos.tolist()
        if crd is not None:
            found[f"crd{level}"] = crd.tolist()
    return {**found, "values": given.storage.values.tolist()}


def test_bsr_is_stored_as_documented() -> None:
    assert arrays(tensor(BSR_EXAMPLE, "BSR", block=(2, 2))) == {
        "pos1": [0, 2, 3],
        "crd1": [0, 2, 1],
        "values": [1, 2, 0, 3, 4, 0, 0, 5, 6, 7, 8, 0],
    }


def test_two_of_four_is_stored_as_documented() -> None:
    columns = ["02020202", "13131313", "01230123", "23012301", "01010101", "01010101", "23232323", "23232323"]
    dense = np.zeros((16, 16))
    for row in range(16):
        r = row % 8
        where = [4 * (k // 2) + int(c) for k, c in enumerate(columns[r])]
        dense[row, where] = [4 * r + 1 + k % 4 for k in range(8)]
    stored = tensor(dense, "NV_24").storage
    assert stored.coordinates[2].reshape(16, 8).tolist() == [[int(c) for c in columns[r % 8]] for r in range(16)]
    assert stored.values.reshape(16, 8).tolist() == [[4 * (r % 8) + 1 + k % 4 for k in range(8)] for r in range(16)]
    assert (stored.positions, stored.coordinates[:2]) == ((None,) * 3, (None,) * 2)


def test_short_blocks_of_structured_levels_are_filled_up_in_order() -> None:
    stored = arrays(tensor([[0, 0, 0, 7, 0, 0, 0, 0], [5, 0, 0, 0, 0, 3, 0, 0]], "NV_24"))
    # Unused coordinates with value 0, the smallest there are, such that each pair ascends.
    assert stored == {"crd2": [0, 3, 0, 1, 0, 1, 0, 1], "values": [0, 7, 0, 0, 5, 0, 0, 3]}


EXPECTED = {
    "COO": {"pos0": [0, 7], "crd0": [0, 0, 1, 1, 3, 3, 3], "crd1": [0, 1, 0, 1, 1, 3, 4]},
    "SoA-COO": {"pos0": [0, 7], "crd0": [0, 0, 1, 1, 3, 3, 3], "crd1": [0, 1, 0, 1, 1, 3, 4]},
    "CSR": {"pos1": [0, 2, 4, 4, 7], "crd1": [0, 1, 0, 1, 1, 3, 4]},
    "DCSR": {"pos0": [0, 3], "crd0": [0, 1, 3], "pos1": [0, 2, 4, 7], "crd1": [0, 1, 0, 1, 1, 3, 4]},
    "CSC": {"pos1": [0, 2, 5, 5, 6, 7, 7], "crd1": [0, 1, 0, 1, 3, 3, 3], "values": [5, 7, 1, 3, 8, 4, 9]},
    "(i, j) -> (i : dense, j : loose_compressed)": {"pos1": [0, 2, 2, 4, 4, 4, 4, 7], "crd1": [0, 1, 0, 1, 1, 3, 4]},
    "BSR(2, 2)": {
        "pos1": [0, 1, 4],
        "crd1": [0, 0, 1, 2],
        "values": [5, 1, 7, 3, 0, 0, 0, 8, 0, 0, 0, 4, 0, 0, 9, 0],
    },
    # Blocks of entries: two block rows and three block columns are dense, each block lists its own.
    "(i, j) -> (i floordiv 2 : dense, j floordiv 2 : dense, i mod 2 : compressed(nonunique), j mod 2 : singleton)": {
        "pos2": [0, 4, 4, 4, 5, 6, 7],
        "crd2": [0, 0, 1, 1, 1, 1, 1],
        "crd3": [0, 1, 0, 1, 1, 1, 0],
    },
    "(i, j) -> (i : compressed, j : dense)": {
        "pos0": [0, 3],
        "crd0": [0, 1, 3],
        "values": [5, 1, 0, 0, 0, 0, 7, 3, 0, 0, 0, 0, 0, 8, 0, 4, 9, 0],
    },
}


@pytest.mark.parametrize("name", EXPECTED)
def test_formats_of_the_literature(name: str) -> None:
    in_row_order = {"values": [5, 1, 7, 3, 8, 4, 9]}
    assert arrays(tensor(FORMATS, name)) == {**in_row_order, **EXPECTED[name]}


def test_csf_shares_prefixes() -> None:
    coordinates = [[0, 0, 0, 2, 2], [0, 0, 2, 1, 1], [1, 3, 0, 0, 1]]
    stored = arrays(tensor((coordinates, [1, 2, 3, 4, 5]), "CSF", shape=(3, 3, 4)))
    assert stored == {
        "pos0": [0, 2], "crd0": [0, 2],
        "pos1": [0, 2, 3], "crd1": [0, 2, 1],
        "pos2": [0, 2, 3, 5], "crd2": [1, 3, 0, 0, 1],
        "values": [1, 2, 3, 4, 5],
    }  # fmt: skip


def test_blocks_that_do_not_divide_the_shape_are_filled_with_zeros() -> None:
    stored = tensor(np.ones((3, 3)), "BSR", block=(2, 2)).storage
    assert stored.level_sizes == (2, 2, 2, 2)
    assert stored.values.reshape(4, 4).tolist() == [[1, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]]


def test_buffers_are_positions_then_coordinates_by_level_then_values() -> None:
    dcsr = tensor(FORMATS, "DCSR").storage
    by_level = [dcsr.positions[0], dcsr.coordinates[0], dcsr.positions[1], dcsr.coordinates[1], dcsr.values]
    assert addresses(dcsr.buffers()) == addresses(by_level)
    csr = tensor(FORMATS, "CSR").storage
    assert addresses(csr.buffers()) == addresses([csr.positions[1], csr.coordinates[1], csr.values])


def test_an_array_of_structs_is_one_buffer() -> None:
    stored = tensor(FORMATS, "COO").storage
    pos, crd, values = stored.buffers()
    assert pos.tolist() == [0, 7]
    assert crd.tolist() == [0, 0, 0, 1, 1, 0, 1, 1, 3, 1, 3, 3, 3, 4]
    assert values is stored.values
    assert [c.strides for c in stored.coordinates] == [(8,), (8,)]
    assert [c.ctypes.data - crd.ctypes.data for c in stored.coordinates] == [0, 4]


def test_an_array_of_structs_ends_where_the_singletons_do() -> None:
    text = (
        "(i, j) -> (i floordiv 2 : compressed(nonunique), j floordiv 2 : singleton, i mod 2 : dense, j mod 2 : dense)"
    )
    pos, crd, values = tensor(FORMATS, text).storage.buffers()
    assert pos.tolist() == [0, 4]
    assert crd.tolist() == [0, 0, 1, 0, 1, 1, 1, 2]
    assert values.size == 16


def test_separate_coordinate_arrays_become_one() -> None:
    coo = encoding("COO", rank=2, pos_width=32, crd_width=32)
    rows, columns = np.array([0, 1], np.int32), np.array([2, 3], np.int32)
    made = LevelStorage(coo, (4, 4), (np.array([0, 2], np.int32), None), (rows, columns), np.ones(2))
    assert made.buffers()[1].tolist() == [0, 2, 1, 3]
    assert [c.tolist() for c in made.coordinates] == [[0, 1], [2, 3]]


@pytest.mark.parametrize("name", ["CSR", "COO", "SoA-COO", "DCSR", "BSR", "ELL", "NV_24"])
def test_from_buffers_is_the_inverse_of_buffers(name: str) -> None:
    given = tensor(np.eye(8), name).storage
    made = LevelStorage.from_buffers(given.encoding, given.level_sizes, given.buffers())
    assert addresses(made.buffers()) == addresses(given.buffers())
    for mine, theirs in zip((*made.positions, *made.coordinates), (*given.positions, *given.coordinates), strict=True):
        assert (mine is None) == (theirs is None)
        assert mine is None or mine.tolist() == theirs.tolist()


@pytest.mark.parametrize("count", [2, 4])
def test_from_buffers_counts(count: int) -> None:
    csr = encoding("CSR", pos_width=32, crd_width=32)
    with pytest.raises(StorageError, match=rf"expected positions and coordinates .*, but got (only )?{count} buffers"):
        LevelStorage.from_buffers(csr, (1, 1), [np.zeros(1, np.int32)] * count)


def test_structure_is_read_only_and_values_are_not() -> None:
    given = tensor(FORMATS, "COO")
    for array in (given.storage.positions[0], *given.storage.coordinates, *given.storage.buffers()[:-1]):
        assert not array.flags.writeable
    given.storage.values[0] = 50
    assert given.to_numpy()[0, 0] == 50
    with pytest.raises(AttributeError):
        given.shape = (1, 1)  # type: ignore[misc]


def test_a_sparse_tensor_is_not_made_by_its_class() -> None:
    with pytest.raises(TypeError, match=r"expected tensor\(\.\.\.\) or SparseTensor\.from_levels"):
        SparseTensor()
