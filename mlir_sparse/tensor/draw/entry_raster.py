"""The number of entries in each rectangle of a matrix, or of each matrix in a tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mlir_sparse.tensor.convert.coordinates_of import expand_dims
from mlir_sparse.tensor.level_storage import Array

if TYPE_CHECKING:  # sparse_tensor imports this module
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["PANELS", "entry_raster", "panel_name", "pixel_numbers"]

PANELS = 16
"""The greatest number of matrices, or runs of matrices, of a tensor."""


def entry_raster(tensor: SparseTensor, pixels: int = 512) -> Array:
    """Returns the number of entries in each pixel: an element, or a rectangle of elements of a large matrix.

    A tensor with more than two dimensions has a raster for each matrix in its last two dimensions, in order, or for
    each run of adjacent matrices where there are many. It takes time and memory for the entries, not for the elements.

    Args:
        tensor: any tensor.
        pixels: the greatest number of pixels in each dimension.

    >>> from mlir_sparse.tensor import tensor
    >>> entry_raster(tensor([[0.0, 2.0], [3.0, 0.0]])).tolist()
    [[0, 1], [1, 0]]
    >>> entry_raster(tensor([[[0.0, 2.0]], [[3.0, 4.0]]])).tolist()
    [[[0, 1]], [[1, 1]]]
    """
    dims, _ = expand_dims(tensor.storage, tensor.shape)
    if tensor.ndim == 1:
        dims = [np.zeros_like(dims[0]), dims[0]]
    *lead, height, width = (1,) * (2 - tensor.ndim) + tensor.shape
    sizes = tuple(max(1, min(extent, pixels)) for extent in (height, width))
    rows, columns = (
        pixel_numbers(dim, n, size) for dim, n, size in zip(dims[-2:], (height, width), sizes, strict=True)
    )
    found = rows * sizes[1] + columns
    if lead:
        matrices = math.prod(lead)
        sizes = (max(1, min(matrices, PANELS)), *sizes)
        found += pixel_numbers(_matrix_numbers(dims[:-2], lead), matrices, sizes[0]) * (sizes[1] * sizes[2])
    counts: Array = np.bincount(found, minlength=math.prod(sizes))
    return counts.reshape(sizes)


def _matrix_numbers(dims: Sequence[Array], extents: Sequence[int]) -> Array:
    """Returns the number of each entry's matrix, from the dimensions before the last two."""
    # Numbers beyond int64 are only used rounded to panels.
    kind = np.int64 if math.prod(extents) <= np.iinfo(np.int64).max else np.float64
    numbers = np.zeros(dims[0].size, kind)
    for dim, extent in zip(dims, extents, strict=True):
        numbers = numbers * extent + dim
    return numbers


def pixel_numbers(dim: Array, extent: int, pixels: int) -> Array:
    """Returns the pixel of each coordinate of a dimension."""
    if extent <= pixels:
        return dim.astype(np.int64)
    if extent <= np.iinfo(np.int64).max // pixels and dim.dtype.kind != "f":
        found: Array = dim.astype(np.int64) * pixels // extent
        return found
    return np.minimum((dim * (pixels / extent)).astype(np.int64), pixels - 1)


def panel_name(tensor: SparseTensor, panel: int, panels: int) -> str:
    """Returns a title with the matrices of a panel: `i = 0`, `i = 0 to 9`, `i, j = 0, 0 to 0, 9`."""
    lead = tensor.shape[:-2]
    matrices = math.prod(lead)
    first, last = (-(-at * matrices // panels) for at in (panel, panel + 1))
    ends = [_matrix_at(first, lead), _matrix_at(max(first, last - 1), lead)]
    return f"{', '.join(tensor.encoding.dim_names[:-2])} = {' to '.join(dict.fromkeys(ends))}"


def _matrix_at(number: int, lead: Sequence[int]) -> str:
    found = []
    for extent in reversed(lead):
        number, at = divmod(number, max(1, extent))
        found.append(str(at))
    return ", ".join(reversed(found))
