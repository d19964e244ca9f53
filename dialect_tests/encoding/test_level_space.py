"""Encodings seen over their levels: sizes, offsets, the way back, and the tensor that the buffers are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from dialect_tests.encoding.conformance import FOREIGN, VALID_MAPS
from mlir_sparse.encoding import PRESETS, Encoding, LevelFormat, encoding
from mlir_sparse.encoding.encoding_parser import parse_encoding
from mlir_sparse.encoding.level_maps import slots_of
from mlir_sparse.encoding.level_space import level_space
from mlir_sparse.encoding.levels.plain_levels import Buffer
from mlir_sparse.errors import EncodingError, UnsupportedError

# The matrix of Chou et al. 2018, figure 2.
MATRIX = np.zeros((4, 6))
for at, value in {(0, 0): 5, (0, 1): 1, (1, 0): 7, (1, 1): 3, (3, 1): 8, (3, 3): 4, (3, 4): 9}.items():
    MATRIX[at] = value
LOWER = np.tril(MATRIX[:, :4])
UPPER = np.triu(MATRIX[:, :4])

Arrays = list[list[int] | None]

# Text, matrix, and the plain tensor worked by hand: extents, positions, coordinates, values.
BY_HAND: list[tuple[str, np.ndarray, tuple[int, ...], Arrays, Arrays, list[float]]] = [
    (
        "DIA",
        MATRIX,
        (9, 4),
        [[0, 4], None],
        [[1, 2, 3, 4], None],  # the diagonals -2, -1, 0 and 1, three added
        [0, 0, 0, 8, 0, 7, 0, 0, 5, 3, 0, 4, 1, 0, 0, 9],
    ),
    (
        "Banded(2, 1)",
        MATRIX,
        (4, 4),
        [None, None],
        [None, None],
        [0, 0, 0, 8, 0, 7, 0, 0, 5, 3, 0, 4, 1, 0, 0, 9],
    ),
    (
        "SlotELL(3)",
        MATRIX,
        (3, 4, 6),
        [None, None, [0, 1, 1, 2, 2, 2, 3, 4, 4, 5, 5, 6, 6, 6, 7, 8, 8, 8, 9, 9, 10, 10, 11, 12]],
        [None, None, [0, 0, -1, 1, 1, 1, -1, 3, -1, -1, -1, 4]],
        [5, 7, 0, 8, 1, 3, 0, 4, 0, 0, 0, 9],
    ),
    (
        "CountedELL(3)",
        MATRIX,
        (3, 4, 6),
        [None, None, [0, 1, 2, 2, 3, 4, 5, 5, 6, 6, 6, 6, 7]],
        [None, None, [0, 0, 1, 1, 1, 3, 4]],
        [5, 7, 8, 1, 3, 4, 9],
    ),
    (
        "HashedRows",
        MATRIX,
        (4, 8, 6),
        [None, None, [p for s in range(32) for p in (s, s + (s in (0, 1, 8, 9, 25, 27, 28)))]],
        [None, None, [0, 1, *[-1] * 6, 0, 1, *[-1] * 6, *[-1] * 8, -1, 1, -1, 3, 4, -1, -1, -1]],
        [5, 1, *[0] * 6, 7, 3, *[0] * 6, *[0] * 8, 0, 8, 0, 4, 9, 0, 0, 0],
    ),
    (
        "PackedLower", LOWER, (4, 4),
        [None, [0, 1, 3, 6, 10]],
        [None, [0, 0, 1, 0, 1, 2, 0, 1, 2, 3]],
        [5, 7, 3, 0, 0, 0, 0, 8, 0, 4],
    ),
    (
        "PackedUpper", UPPER, (4, 4),
        [None, [0, 4, 7, 9, 10]],
        [None, [0, 1, 2, 3, 1, 2, 3, 2, 3, 3]],
        [5, 1, 0, 0, 3, 0, 0, 0, 0, 4],
    ),
    ("Skyline", LOWER, (4, 4), [None, [0, 1, 3, 4, 7]], [None, [0, 0, 1, 2, 1, 2, 3]], [5, 7, 3, 0, 8, 0, 4]),
    ("UpperSkyline", UPPER, (4, 4), [None, [0, 1, 3, 4, 5]], [None, [0, 0, 1, 2, 3]], [5, 1, 3, 0, 4]),
    (
        "RowIntervals", MATRIX, (4, 6),
        [None, [0, 2, 4, 4, 8]],
        [None, [0, 1, 0, 1, 1, 2, 3, 4]],
        [5, 1, 7, 3, 8, 0, 4, 9],
    ),
    (
        "RowBlocked(2)",
        MATRIX,
        (2, 6, 2),
        [None, [0, 2, 5], None],
        [None, [0, 1, 1, 3, 4], None],
        [5, 7, 1, 3, 0, 8, 0, 4, 0, 9],
    ),
    (
        "(i,j)->(i floordiv 4:dense, j floordiv 2:compressed, (i mod 4) floordiv 2:dense, i mod 2:dense,j mod 2:dense)",
        MATRIX,
        (1, 3, 2, 2, 2),
        [None, [0, 3], None, None, None],
        [None, [0, 1, 2], None, None, None],
        [5, 1, 7, 3, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 9, 0],
    ),
    (
        "(i, j) -> (j - i : compressed, i : range, j : offset)",
        MATRIX,
        (9, 4),
        [[0, 4], None],
        [[1, 2, 3, 4], None],
        [0, 0, 0, 8, 0, 7, 0, 0, 5, 3, 0, 4, 1, 0, 0, 9],
    ),
    (
        "(i, j) -> (j - i : compressed, i : singleton)",
        np.diag([0, 2, 0, 0])[:3],
        (6, 3),
        [[0, 1], None],
        [[2], [1]],
        [2],
    ),
]  # fmt: skip


def _entries(
    plain: Encoding, shape: tuple[int, ...], pos: Arrays, crd: Arrays
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yields the coordinates and position of each entry of a plain tensor, level by level as the dialect says."""
    found: list[tuple[tuple[int, ...], int]] = [((), 0)]
    for level, kind in enumerate(plain.level_types):
        positions, coordinates, below = pos[level], crd[level], []
        for outer, parent in found:
            match kind.format:
                case LevelFormat.DENSE:
                    below += [((*outer, c), parent * shape[level] + c) for c in range(shape[level])]
                    continue
                case LevelFormat.COMPRESSED:
                    assert positions is not None
                    inside = range(positions[parent], positions[parent + 1])
                case LevelFormat.LOOSE_COMPRESSED:
                    assert positions is not None
                    inside = range(positions[2 * parent], positions[2 * parent + 1])
                case _:
                    inside = range(parent, parent + 1)
            assert coordinates is not None
            below += [((*outer, coordinates[p]), p) for p in inside]
        found = below
    yield from found


@pytest.mark.parametrize(("text", "matrix", "extents", "pos", "crd", "values"), BY_HAND, ids=[c[0] for c in BY_HAND])
def test_the_plain_tensor_is_the_matrix(
    text: str, matrix: np.ndarray, extents: tuple[int, ...], pos: Arrays, crd: Arrays, values: list[float]
) -> None:
    space = encoding(text).level_space()
    widths = [extents[at] for at, view in enumerate(space.views) if view.size is None]
    assert space.shape(matrix.shape, widths) == extents
    assert space.encoding.is_native
    got = np.zeros(matrix.shape)
    bounds = [(low.evaluate((), matrix.shape), high.evaluate((), matrix.shape)) for low, high in space.dim_bounds]
    for coordinates, position in _entries(space.encoding, extents, pos, crd):
        assert all(0 <= c < n for c, n in zip(coordinates, extents, strict=True))
        point = space.lvl_to_dim.evaluate(coordinates, matrix.shape)
        assert all(low <= x < high for x, (low, high) in zip(point, bounds, strict=True))
        if all(0 <= x < n for x, n in zip(point, matrix.shape, strict=True)):
            got[point] += values[position]
        else:
            assert values[position] == 0
    np.testing.assert_array_equal(got, matrix)


TEXTS = [
    *(text for text in VALID_MAPS if "[" not in text.split("(")[0] and "slice" not in text),
    *(text for text, _, _ in FOREIGN if "floordiv 2, j = " not in text),
    *(name for name in PRESETS if name not in ("CSR_SLICE", "Banded")),
]


@pytest.mark.parametrize("text", TEXTS)
def test_every_point_has_a_place_and_comes_back(text: str) -> None:
    value = encoding(text)
    for extent in (1, 3, 5):
        _check_places(value, tuple(extent + d for d in range(value.dim_rank)))


def _check_places(value: Encoding, shape: tuple[int, ...]) -> None:
    value, space = value.with_slots(2), value.with_slots(2).level_space()
    kept = [lvl for lvl, kind in enumerate(value.level_types) if kind.format is not LevelFormat.OFFSET]
    assert list(dict.fromkeys(view.source for view in space.views)) == kept
    bounds, offsets = value.level_bounds(shape), space.offsets(shape)
    slots = [slots_of(level) is not None for level in value.levels]
    extents = space.shape(shape, [1] * sum(view.size is None for view in space.views))
    for point in itertools.product(*map(range, shape)):
        stored = [0 if s else level.expr.evaluate(point) for s, level in zip(slots, value.levels, strict=True)]
        banded = [kind.interval is not None and kind.format is LevelFormat.DENSE for kind in value.level_types]
        if not any(banded):
            assert all(low <= c < high for c, (low, high) in zip(stored, bounds, strict=True))
        # A table's slots stand before its coordinate, at 0.
        plain = [stored[v.source] + o if v.size is not None else 0 for v, o in zip(space.views, offsets, strict=True)]
        assert all(0 <= c < n for c, n in zip(plain, extents, strict=True)) or any(banded)
        assert space.lvl_to_dim.evaluate(plain, shape) == point


def test_where_each_buffer_comes_from() -> None:
    def origins(text: str) -> list[tuple[str, str]]:
        return [(view.positions.value, view.coordinates.value) for view in encoding(text).level_space().views]

    assert origins("CSR") == [("none", "none"), ("stored", "stored")]
    assert origins("DIA") == [("stored", "shifted"), ("none", "none")]
    assert origins("Skyline") == [("none", "none"), ("stored", "derived")]
    assert origins("PackedLower") == [("none", "none"), ("derived", "derived")]
    assert origins("HashVector") == [("none", "none"), ("derived", "stored")]
    assert origins("SlotELL") == [("none", "none"), ("none", "none"), ("derived", "stored")]
    assert not encoding("DIA").level_space().has_derived_buffers
    assert encoding("SlotELL").level_space().has_derived_buffers
    assert Buffer("derived") is Buffer.DERIVED


def test_singletons_without_a_compressed_level_have_arrays_of_their_own() -> None:
    value = encoding("[c](i, j, k) -> (c * i : dense, i : dense, j : singleton(nonunique), k : singleton)")
    assert value.aos_regions == ()
    assert value.level_space().encoding.map_text() == (
        "(c, i, j, k) -> (c : dense, i : dense, j : loose_compressed(nonunique), k : singleton(soa))"
    )
    hicoo = encoding("HiCOO")
    assert hicoo.aos_regions == (range(3), range(3, 6))
    assert hicoo.level_space().encoding.level_types == hicoo.level_types


def test_what_has_no_level_space_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match="expected the encoding of a whole tensor, but got slices"):
        level_space(encoding("CSR_SLICE"))
    rotated = parse_encoding(
        "{a, b}(i = (a + b) floordiv 2, j = (a - b) floordiv 2) -> (a = i + j : compressed, b = i - j : compressed)"
    )
    with pytest.raises(UnsupportedError, match="expected dimensions that are sums of levels"):
        rotated.level_space()
    assert rotated.level_bounds((3, 4)) == ((0, 6), (-3, 3))


def test_slots_get_their_number_from_the_data_or_the_text() -> None:
    ell = encoding("SlotELL")
    with pytest.raises(EncodingError, match="expected a level of known size, but got level 0"):
        ell.level_sizes((4, 6))
    assert ell.with_slots(3) == encoding("SlotELL(3)")
    assert ell.with_slots(3).level_sizes((4, 6)) == (3, 4, 6)
    assert encoding("CSR").with_slots(3) == encoding("CSR")


@pytest.mark.parametrize("last", ["singleton", "compressed"])
def test_one_slot_is_written_with_bounds(last: str) -> None:
    """`c * 1 * i` is `c * i`, which leaves the number to the data."""
    one = encoding(f"[c](i, j) -> (c * i : dense[0, 1], i : dense, j : {last})")
    assert one == encoding(f"[c](i, j) -> (c * i : dense, i : dense, j : {last})").with_slots(1)
    assert one == encoding("SlotELL(1)" if last == "singleton" else "CountedELL(1)") == encoding(str(one))
    assert (one.with_slots(3), one.level_sizes((4, 6))) == (one.with_slots(2).with_slots(3), (1, 4, 6))
    assert not one.holds_all
    assert "level 0: i * c is dense, 1 slot, the n-th entry with the same i in slot n" in one.describe()
    with pytest.raises(EncodingError, match="failed to infer lvlToDim"):
        encoding(f"[c](i, j) -> (c * i : dense[0, 3], i : dense, j : {last})")


def test_widths_and_values_are_kept() -> None:
    dia = encoding("DIA", pos_width=32, crd_width=16)
    assert (dia.level_space().encoding.pos_width, dia.level_space().encoding.crd_width) == (32, 16)
