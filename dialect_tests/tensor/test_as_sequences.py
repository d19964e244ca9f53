"""Elements of tensors as numbers of Python's, by the arguments that NumPy's method takes."""

from __future__ import annotations

import numpy as np
import pytest

import mlir_sparse as ms

DENSE = np.array([[[0, 5, 0], [7, 0, 9]]])
STORAGES = ("COO", "CSF", "(i, j, k) -> (k : compressed, j : dense, i : compressed)")


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("fill", [0, 4])
def test_elements_by_their_places(storage: str, fill: int) -> None:
    dense = np.where(DENSE == 0, fill, DENSE)
    A = ms.tensor(DENSE, storage).with_fill(fill)
    for place in range(-dense.size, dense.size):
        found = A.item(place)
        assert (found, type(found)) == (dense.item(place), int)
    for place in np.ndindex(dense.shape):
        assert A.item(*place) == A.item(place) == A.item(*map(np.int64, place)) == dense.item(place)
    assert A.item(0, -1, -1) == dense.item(0, -1, -1)
    assert A[0, 0].item(2) == dense[0, 0].item(2)


def test_places_that_there_are_not() -> None:
    A = ms.tensor(DENSE, "CSF")
    for places in ((6,), (-7,), (0, 2, 0), ((0, 0, 3),)):
        with pytest.raises(ms.IndexRangeError):
            A.item(*places)
        with pytest.raises(IndexError):
            DENSE.item(*places)
    with pytest.raises(ms.IndexRangeError):
        ms.tensor(np.zeros((0, 3)), "CSR").item(0)
    with pytest.raises(ms.RankError, match="3 coordinates or a place in row-major order"):
        A.item(0, 1)
    with pytest.raises(ms.RankError, match=r"A\.item\(0\)"):
        A.item()
    for places in ((1.0,), ("a",), (slice(1), 0, 0)):
        with pytest.raises(ms.OperandError, match="integers as the place"):
            A.item(*places)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("insert", "ms.from_coo"),
        ("pack", "A.convert"),
        ("to_array", "A.to_numpy"),
        ("to_sp_csc", r"A\.convert\('CSC'\)\.to_scipy"),
        ("get_coordinates_and_values", "A.to_coo"),
        ("evaluate", "ms.evaluate"),
        ("assemble", "ms.compile"),
        ("searchsorted", "A.to_numpy"),
    ],
)
def test_methods_of_taco_and_numpy_that_stand_elsewhere(name: str, instead: str) -> None:
    with pytest.raises(AttributeError, match=instead):
        getattr(ms.tensor(DENSE, "CSF"), name)
