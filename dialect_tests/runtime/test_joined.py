"""Sparse results in pieces that do not fit where they are computed at first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

pytestmark = pytest.mark.usefixtures("whatever_can_be_cut")


def check(text: str, wanted: Any, out: str, **operands: Any) -> None:
    kernel = ms.compile(text, out=out, **operands)
    for threads in (1, 2, 3, 8):
        ms.set_num_threads(threads)
        found = kernel(**operands)
        np.testing.assert_array_equal(found.to_numpy(), wanted, f"{text} on {threads} threads")
        held = found.storage
        levels = {"positions": held.positions, "coordinates": held.coordinates, "values": held.values}
        ms.SparseTensor.from_levels(found.encoding, found.shape, **levels)  # validates


@pytest.mark.parametrize("result", ["CSR", "DCSR", "COO"])
def test_a_row_of_many_times_the_entries_of_others(result: str) -> None:
    """Pieces that are copied have room for twice their share of the bound, and a row is never cut."""
    dense = np.zeros((100, 20_000))
    dense[:, ::40], dense[9], dense[20, ::2] = 1, np.arange(1.0, 20_001.0), 3
    A, B = ms.tensor(dense, "CSR"), ms.tensor(2 * dense, "CSR")
    check("C(i,j) = A(i,j) + B(i,j)", 3 * dense, result, A=A, B=B)


@pytest.mark.parametrize("result", ["CSR", "DCSR", "COO"])
@pytest.mark.parametrize("first", [0, 44, 88])
def test_some_rows_of_nearly_all_entries(result: str, first: int) -> None:
    """No room is as large as their piece needs: it is computed where it is to stay, on either side of the middle."""
    few, many = np.zeros((100, 50)), np.zeros((50, 9_000))
    few[:, 3], few[first : first + 12, 7], many[3, ::900], many[7, 1:] = 2, 1, 1, np.arange(1.0, 9_000.0)
    check("C(i,j) = A(i,k) * B(k,j)", few @ many, result, A=ms.tensor(few, "CSR"), B=ms.tensor(many, "CSR"))


@pytest.mark.parametrize("result", ["CSF", "COO", "(i, j, k) -> (i : compressed, j : dense, k : compressed)"])
def test_a_slice_of_many_times_the_entries_of_others(result: str) -> None:
    dense = np.zeros((30, 40, 400))
    dense[3], dense[:, 5, ::3], dense[8, :, 7] = 1, 2, 3
    dense[3, ::4] = 0
    T, U = ms.tensor(dense, "CSF"), ms.tensor(2 * dense, "CSF")
    check("C(i,j,k) = T(i,j,k) + U(i,j,k)", 3 * dense, result, T=T, U=U)
