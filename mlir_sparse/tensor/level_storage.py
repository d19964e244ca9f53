"""The buffers of one tensor, level by level, in the layout of compiled functions' arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from mlir_sparse import _native
from mlir_sparse.classes import dataclass
from mlir_sparse.encoding.buffer_layout import buffer_places
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.errors import StorageError
from mlir_sparse.process.first_use import in_hints
from mlir_sparse.process.forks import importing

if TYPE_CHECKING:
    from mlir_sparse.tensor.draw.drawing import Drawing
else:
    Drawing = in_hints("mlir_sparse.tensor.draw.drawing", "Drawing")

__all__ = ["Array", "LevelStorage"]

Array: TypeAlias = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class LevelStorage:
    """Positions, coordinates and values of a tensor, unchecked (see `from_levels`).

    Args:
        encoding: with concrete widths.
        level_sizes: the size of each level.
        positions: an array for each level, or None where the level has none.
        coordinates: likewise. The levels of an array-of-structs COO region are strided views of one flat array; other
            arrays are interleaved.
        values: the stored values, explicit zeros and padding included.
        view: offset, size and stride in each dimension if the encoding has slices; all else is the parent's.
    """

    encoding: Encoding
    level_sizes: tuple[int, ...]
    positions: tuple[Array | None, ...]
    coordinates: tuple[Array | None, ...]
    values: Array
    view: tuple[tuple[int, int, int], ...] = field(default=(), kw_only=True)
    _buffers: tuple[Array, ...] = field(default=(), repr=False, kw_only=True)

    def __post_init__(self) -> None:
        if self._buffers:
            return
        flat = list(self.coordinates)
        for region in self.encoding.aos_regions:
            flat[region.start] = _interleave([c for lvl in region if (c := self.coordinates[lvl]) is not None])
            for level in region[1:]:
                flat[level] = None
        pairs = zip(self.positions, flat, strict=True)
        buffers = (*(b for pair in pairs for b in pair if b is not None), self.values)
        rebuilt = LevelStorage.from_buffers(self.encoding, self.level_sizes, buffers)
        for name in ("positions", "coordinates", "values", "_buffers"):
            object.__setattr__(self, name, getattr(rebuilt, name))

    def buffers(self) -> tuple[Array, ...]:
        """Returns the arrays in the order of compiled functions' arguments.

        Each level has positions, then coordinates, if any. The levels of an array-of-structs COO region share one
        coordinates array, at their first level. Values come last. All arrays are contiguous and aligned.
        """
        return self._buffers

    @staticmethod
    def from_buffers(encoding: Encoding, level_sizes: Sequence[int], buffers: Sequence[Array]) -> LevelStorage:
        """Returns the storage with these `buffers()`, unchecked; the encoding has concrete widths.

        Buffers that are unaligned, as from a pickle or a network, or not contiguous are copied once, here.

        Raises:
            StorageError: for a wrong number of buffers.
        """
        places = buffer_places(encoding)
        if len(buffers) != len(places) // 3 + 1:
            raise StorageError(
                f"expected positions and coordinates of each level, then values, of {encoding.map_text()}, "
                f"but got {'only ' if len(buffers) <= len(places) // 3 else ''}{len(buffers)} buffers"
            )
        return _native.level_storage(LevelStorage, encoding, places, tuple(level_sizes), buffers)

    def with_values(self, values: Array) -> LevelStorage:
        """Returns the same structure with as many other values."""
        settled = _settled(values)
        structure = self.encoding, self.level_sizes, self.positions, self.coordinates
        return LevelStorage(*structure, settled, view=self.view, _buffers=(*self._buffers[:-1], settled))

    def draw(self, *, columns: int = 24) -> Drawing:
        """Returns a picture of the level tree: each level's positions and coordinates, and the values.

        A coordinate is above its children, a position above its first coordinate (after Chou et al. 2018, figure 4).
        `(coordinates)` in brackets are not stored; `_` is a gap between parents or the padding of a batch; `...` is the
        rest that is not drawn. Each batch has a tree. The picture shows itself in notebooks and terminals, and `save`
        writes it as `.svg`, `.png` or `.txt`. The documentation shows every preset.

        Args:
            columns: the greatest number of values, and parents without any, in each tree.

        Raises:
            OperandError: for no columns.

        >>> from mlir_sparse.tensor import tensor
        >>> print(tensor([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [3.0, 0.0, 4.0]]).storage.draw())
        (i, j) -> (i : dense, j : compressed), levels of 3 x 3
        level 0, i : dense       (coordinates)  0  1  2
                                                │     ├──┐
        level 1, j : compressed  positions      0  1  1     3
                                 coordinates    1     0  2
                                                │     │  │
        values                                  2     3  4
        """
        with importing():
            from mlir_sparse.tensor.draw.draw import draw_storage  # draw imports this module

        return draw_storage(self, columns)

    @property
    def nbytes(self) -> int:
        """Returns the bytes of all buffers."""
        return sum(buffer.nbytes for buffer in self._buffers)


def _settled(array: Array) -> Array:
    """Returns the array, or a contiguous and aligned copy."""
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.array(array, order="C")


def _interleave(columns: Sequence[Array]) -> Array:
    """Returns the columns interleaved in one array, without a copy if they are already."""
    first, step = columns[0], columns[0].itemsize
    stride = step * len(columns)
    address = first.ctypes.data
    together = all(
        c.ctypes.data == address + i * step and c.dtype == first.dtype and c.strides == (stride,)
        for i, c in enumerate(columns)
    )
    if together and first.size > 0:
        return np.lib.stride_tricks.as_strided(first, (first.size * len(columns),), (step,), writeable=False)
    return np.stack(columns, axis=-1).reshape(*first.shape[:-1], first.shape[-1] * len(columns))
