"""The rule of widths, with numbers alone."""

from __future__ import annotations

import numpy as np
import pytest

from mlir_sparse.encoding import encoding
from mlir_sparse.errors import WidthError
from mlir_sparse.tensor import tensor
from mlir_sparse.tensor.widths import check_width, resolve_width, resolve_widths


@pytest.mark.parametrize(("width", "limit"), [(8, 255), (16, 65535), (32, 2**31 - 1), (64, 2**63 - 1)])
def test_limits(width: int, limit: int) -> None:
    check_width("posWidth", width, limit)
    with pytest.raises(WidthError, match=rf"of at most {limit} for posWidth = {width}, but got {limit + 1}: use"):
        check_width("posWidth", width, limit + 1)


@pytest.mark.parametrize(
    ("named", "source", "largest", "width"),
    [
        (0, None, 2**31 - 1, 32),
        (0, None, 2**31, 64),
        (0, 64, 7, 64),
        (0, 32, 7, 32),
        (0, 32, 2**31, 64),
        (0, 16, 7, 32),
        (0, 8, 7, 32),
        (16, 64, 7, 16),
        (64, 32, 7, 64),
    ],
)
def test_named_then_the_sources_then_what_fits(named: int, source: int | None, largest: int, width: int) -> None:
    assert resolve_width("crdWidth", named, source, largest) == width


def test_a_tensor_with_more_than_2_to_the_31_entries_and_pos_width_32() -> None:
    csr = encoding("CSR", pos_width=32)
    with pytest.raises(WidthError, match=r"but got 2147483648: use posWidth = 64, or leave it out"):
        resolve_widths(csr, largest_position=2**31, largest_coordinate=10)
    resolved = resolve_widths(encoding("CSR"), largest_position=2**31, largest_coordinate=10)
    assert (resolved.pos_width, resolved.crd_width) == (64, 32)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_coordinates_keep_their_width(dtype: type) -> None:
    coordinates = np.array([[0, 1], [1, 0]], dtype)
    width = np.dtype(dtype).itemsize * 8
    for name in ("CSR", "COO", "DCSC"):
        made = tensor((coordinates, [1.0, 2.0]), name, shape=(2, 2))
        assert (made.encoding.pos_width, made.encoding.crd_width) == (width, width)
    assert tensor((coordinates.tolist(), [1.0, 2.0])).encoding.pos_width == 32


@pytest.mark.parametrize("name", ["CSR", "DCSR", "COO", "BSR"])
def test_named_widths_are_held_against_the_data_that_comes(name: str) -> None:
    stored_as = encoding(name, rank=2, pos_width=8, crd_width=8)
    made = tensor(([[5, 0], [255, 3]], [1.0, 2.0]), stored_as, shape=(9, 100_000))
    assert made.encoding == stored_as
    assert made.to_coo()[0].T.tolist() == [[0, 3], [5, 255]]
    with pytest.raises(
        WidthError, match=r"coordinates of at most 255 for crdWidth = 8, but got \d+: use crdWidth = 16"
    ):
        tensor(([[5, 0], [60_000, 3]], [1.0, 2.0]), stored_as, shape=(9, 100_000))
    with pytest.raises(WidthError, match=r"positions of at most 255 for posWidth = 8, but got \d+: use posWidth = 16"):
        tensor(np.ones((100, 100)), stored_as)


def test_duplicates_count_once() -> None:
    stored_as = encoding("DCSR", pos_width=8)
    assert tensor((np.zeros((2, 1000), int), np.ones(1000)), stored_as, shape=(3, 3)).storage.values.tolist() == [1000]
