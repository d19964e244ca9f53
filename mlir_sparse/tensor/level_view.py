"""The view of a tensor in level space: a plain tensor on the same buffers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlir_sparse.encoding.level_space import LevelSpace, LevelView
from mlir_sparse.encoding.levels.level_positions import LevelPositions
from mlir_sparse.encoding.levels.plain_levels import Buffer
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.tensor.batch_and_slice_parts import is_plain
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.sparse_tensor import SparseTensor
from mlir_sparse.tensor.walk_storage import walk_levels
from mlir_sparse.tensor.widths import check_width, width_dtype

__all__ = ["level_view"]


def level_view(tensor: SparseTensor) -> SparseTensor:
    """Returns the tensor of rank lvl_rank with the same values and a dimension for each level.

    Arrays are shared, except shifted copies of coordinates that do not start at 0, and buffers that the storage lacks;
    see `level_space`. The view is cached with the tensor.

    >>> from mlir_sparse.tensor import tensor
    >>> level_view(tensor([[1.0, 2.0], [0.0, 3.0]], "BSR(2, 2)")).shape
    (1, 1, 2, 2)
    """
    if not is_plain(tensor.encoding):
        raise UnsupportedError(f"expected storage of a whole tensor, but got {tensor.encoding.to_text()}")
    if tensor._view is None:
        tensor._view = _new_view(tensor)
    return tensor._view


def _new_view(tensor: SparseTensor) -> SparseTensor:
    space, storage = tensor.encoding.level_space(), tensor.storage
    offsets = space.offsets(tensor.shape)
    plain = space.encoding.with_widths(tensor.encoding.pos_width, tensor.encoding.crd_width)
    walked = _walked(space, storage, tensor.shape)
    shape = space.shape(tensor.shape, _widths(space, storage, walked))
    positions: list[Array | None] = []
    coordinates: list[Array | None] = []
    for view, offset in zip(space.views, offsets, strict=True):
        crd = _coordinates(view, storage.coordinates[view.source], walked, offset, plain.crd_width)
        derived = view.positions is Buffer.DERIVED
        pos = _derived_positions(view, storage, walked, plain.pos_width) if derived else storage.positions[view.source]
        positions.append(None if view.positions is Buffer.NONE else _fitted(pos, plain.pos_width, "posWidth"))
        coordinates.append(crd)
    levels = LevelStorage(plain, shape, tuple(positions), tuple(coordinates), storage.values)
    return SparseTensor._trusted(plain, shape, levels)


def _walked(space: LevelSpace, storage: LevelStorage, shape: Sequence[int]) -> list[LevelPositions]:
    """Returns the positions of all levels down to the last one with derived buffers."""
    sources = [
        view.source
        for view in space.views
        if view.coordinates is Buffer.DERIVED
        or view.size is None
        or (view.positions is Buffer.DERIVED and storage.coordinates[view.source] is None)
    ]
    return walk_levels(storage, shape, max(sources) + 1) if sources else []


def _widths(space: LevelSpace, storage: LevelStorage, walked: Sequence[LevelPositions]) -> list[int]:
    """Returns the widths of the hash tables, from the lengths of their coordinate arrays."""
    found = []
    for view in space.views:
        if view.size is None:
            above = walked[view.source - 1].count if view.source else 1
            coordinates = storage.coordinates[view.source]
            found.append(0 if coordinates is None else coordinates.size // max(1, above))
    return found


def _derived_positions(view: LevelView, storage: LevelStorage, walked: Sequence[LevelPositions], width: int) -> Array:
    coordinates = storage.coordinates[view.source]
    if coordinates is not None:
        return _ranges(coordinates, width)
    places = walked[view.source]
    assert places.parents is not None
    above = walked[view.source - 1].count if view.source else 1
    return np.concatenate([[0], np.cumsum(np.bincount(places.parents, minlength=above))])


def _ranges(coordinates: Array, width: int) -> Array:
    """Returns begin and end of the one position for each coordinate; the segment is empty for -1."""
    count, there = coordinates.size, coordinates >= 0
    check_width("posWidth", width, count - 1 + int(there[-1]) if count else 0)
    ranges = np.empty((count, 2), width_dtype(width))
    ranges[:, 0] = np.arange(count)
    np.add(ranges[:, 0], there, out=ranges[:, 1])
    return ranges.reshape(-1)


def _coordinates(
    view: LevelView, stored: Array | None, walked: Sequence[LevelPositions], offset: int, width: int
) -> Array | None:
    match view.coordinates:
        case Buffer.NONE:
            return None
        case Buffer.DERIVED:
            return _fitted(walked[view.source].columns[-1] + offset, width, "crdWidth")
        case Buffer.STORED | Buffer.SHIFTED:
            assert stored is not None
            if width < 32 and (offset or stored.dtype.kind == "i"):  # widen as signed numbers first
                return (stored.astype(np.int64) + offset).astype(width_dtype(width))
            return stored if view.coordinates is Buffer.STORED else np.add(stored, offset, dtype=stored.dtype)


def _fitted(numbers: Array | None, width: int, key: str) -> Array | None:
    """Returns integers in the width of the encoding."""
    if numbers is None or numbers.dtype == width_dtype(width):
        return numbers
    check_width(key, width, int(numbers.max(initial=0)))
    return numbers.astype(width_dtype(width))
