"""What packing needs of an encoding and a shape, whatever the entries are."""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding.buffer_layout import LevelTuple, check_level_sizes, level_tuples
from mlir_sparse.encoding.derived_fact import derived_once
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.tensor.widths import check_width, resolve_widths, width_limit

__all__ = ["PackLayout", "pack_layout"]

_FEW = width_limit(32)


@dataclass(frozen=True, slots=True)
class PackLayout:
    """The levels of a tensor that is packed.

    Args:
        encoding: with widths.
        sizes: the size of each level.
        levels: the levels for native code.
        order: the dimension of each level where each stores one unchanged; None elsewhere.
        prefix_bytes: the bytes of storage that dense levels take whatever is stored below, but for the values.
        prefix_values: how many values they take.
        named_width: whether coordinates have a named width that the extents alone do not fit in.
    """

    encoding: Encoding
    sizes: tuple[int, ...]
    levels: list[LevelTuple]
    order: tuple[int, ...] | None
    prefix_bytes: int
    prefix_values: int
    named_width: bool


def pack_layout(
    encoding: Encoding, shape: tuple[int, ...], entries: int, source: tuple[int | None, int | None]
) -> PackLayout:
    """Returns the levels of a tensor, which the encoding keeps for the next one of its shape.

    Args:
        encoding: native to the dialect and plain; widths that it does not name are chosen.
        shape: the extent of each dimension.
        entries: how many are packed.
        source: the widths of positions and coordinates in the source.

    Raises:
        TooLargeError: for levels beyond 64 bits.
        WidthError: for a named width of 32 bits that is too small for the number of entries.
    """
    if entries > _FEW:
        return _layout(encoding, shape, entries, source)
    return derived_once(encoding, "pack layouts", (shape, source), lambda: _layout(encoding, shape, 0, source))


def _layout(
    encoding: Encoding, shape: tuple[int, ...], entries: int, source: tuple[int | None, int | None]
) -> PackLayout:
    sizes = encoding.level_sizes(shape)
    check_level_sizes(encoding, sizes)
    # Check sizes and widths first: nothing is copied for a refused tensor.
    resolved = _resolve(encoding, sizes, entries, source)
    stored = [size for size, kind in zip(sizes, resolved.level_types, strict=True) if kind.has_coordinates]
    return PackLayout(
        resolved,
        sizes,
        level_tuples(resolved, sizes),
        resolved.level_order if resolved.is_permutation else None,
        *_dense_prefix(resolved, sizes),
        max(stored, default=0) - 1 > width_limit(resolved.crd_width),
    )


def _resolve(encoding: Encoding, sizes: Sequence[int], entries: int, source: tuple[int | None, int | None]) -> Encoding:
    """Returns the encoding with widths; packing checks the named ones against the data.

    Entries too many for a named width are refused here, before any sorting.
    """
    has_positions = any(kind.has_positions for kind in encoding.level_types)
    largest = entries if has_positions else 0
    stored = [size for size, kind in zip(sizes, encoding.level_types, strict=True) if kind.has_coordinates]
    if encoding.pos_width == 32:
        check_width("posWidth", 32, largest)
    return resolve_widths(
        encoding,
        largest_position=0 if encoding.pos_width else largest,
        largest_coordinate=0 if encoding.crd_width else max(stored, default=0) - 1,
        source=source,
    )


def _dense_prefix(encoding: Encoding, sizes: Sequence[int]) -> tuple[int, int]:
    """Returns bytes and values of storage that the extents alone decide, computed with Python's unbounded integers."""
    places, nbytes, values = 1, 0, 1
    for size, kind in zip(sizes, encoding.level_types, strict=True):
        if kind.functions.is_grouped:
            places *= kind.n or 0
            nbytes = encoding.crd_width // 8
        elif kind.functions.has_full_loop:
            places *= size
        else:
            nbytes, values = encoding.pos_width // 8, 0
            break
    return places * nbytes, places * values
