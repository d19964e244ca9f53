"""Spy plots (as in MATLAB): the places of the entries of a matrix, or of each matrix in a tensor."""

from __future__ import annotations

import io
import itertools
import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.disk import replacing
from mlir_sparse.errors import MissingPackageError, UnsupportedError
from mlir_sparse.tensor.convert.coordinates_of import expand_dims
from mlir_sparse.tensor.level_storage import Array

if TYPE_CHECKING:  # sparse_tensor imports this module
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["entry_raster", "spy"]

_PIXELS = 512
_PANELS = 16
_INCHES = 5.0


def spy(tensor: SparseTensor, path: str | os.PathLike[str] | None = None) -> str:
    """Returns the picture as SVG, and writes it (see `SparseTensor.spy`)."""
    raster = entry_raster(tensor)
    figure = _figure(tensor, raster)
    text = io.StringIO()
    import matplotlib

    # Makes the bytes of the SVG depend on the tensor only.
    with matplotlib.rc_context({"svg.hashsalt": "spy", "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
        if path is not None:
            _save(figure, path)
    return text.getvalue()


def _save(figure: Any, path: str | os.PathLike[str]) -> None:
    known = figure.canvas.get_supported_filetypes()
    suffix = os.path.splitext(os.fspath(path))[1][1:].lower()
    if suffix not in known:
        raise UnsupportedError(f"expected a name that ends in .{' .'.join(sorted(known))}, but got {os.fspath(path)}")
    with replacing(path) as file:
        figure.savefig(file, format=suffix)


def entry_raster(tensor: SparseTensor) -> Array:
    """Returns the number of entries in each pixel: an element, or a rectangle of elements of a large matrix.

    A tensor with more than two dimensions has a raster for each matrix in its last two dimensions, in order, or for
    each run of adjacent matrices where there are many.

    >>> from mlir_sparse.tensor import tensor
    >>> entry_raster(tensor([[0.0, 2.0], [3.0, 4.0]])).tolist()
    [[0, 1], [1, 1]]
    >>> entry_raster(tensor([[[0.0, 2.0]], [[3.0, 4.0]]])).tolist()
    [[[0, 1]], [[1, 1]]]
    """
    dims, _ = expand_dims(tensor.storage, tensor.shape)
    if tensor.ndim == 1:
        dims = [np.zeros_like(dims[0]), dims[0]]
    *lead, height, width = (1,) * (2 - tensor.ndim) + tensor.shape
    most = _PIXELS // 2 if lead else _PIXELS
    sizes = tuple(max(1, min(extent, most)) for extent in (height, width))
    rows, columns = (_pixels(dim, n, size) for dim, n, size in zip(dims[-2:], (height, width), sizes, strict=True))
    pixels = rows * sizes[1] + columns
    if lead:
        matrices = math.prod(lead)
        sizes = (max(1, min(matrices, _PANELS)), *sizes)
        pixels += _pixels(_matrix_numbers(dims[:-2], lead), matrices, sizes[0]) * (sizes[1] * sizes[2])
    counts: Array = np.bincount(pixels, minlength=math.prod(sizes))
    return counts.reshape(sizes)


def _matrix_numbers(dims: Sequence[Array], extents: Sequence[int]) -> Array:
    """Returns the number of each entry's matrix, from the dimensions before the last two."""
    # Numbers beyond int64 are only used rounded to panels.
    kind = np.int64 if math.prod(extents) <= np.iinfo(np.int64).max else np.float64
    numbers = np.zeros(dims[0].size, kind)
    for dim, extent in zip(dims, extents, strict=True):
        numbers = numbers * extent + dim
    return numbers


def _pixels(dim: Array, extent: int, pixels: int) -> Array:
    if extent <= pixels:
        return dim.astype(np.int64)
    if extent <= np.iinfo(np.int64).max // pixels and dim.dtype.kind != "f":
        found: Array = dim.astype(np.int64) * pixels // extent
        return found
    return np.minimum((dim * (pixels / extent)).astype(np.int64), pixels - 1)


def _figure(tensor: SparseTensor, raster: Array) -> Any:
    try:
        from matplotlib.figure import Figure  # not pyplot: no window, no state
    except ImportError as error:
        raise MissingPackageError(
            f"expected matplotlib for spy plots, but got {error}: pip install 'mlir-sparse[plot]', "
            "or print tensor.storage.draw()"
        ) from None
    sizes = " x ".join(map(str, (1,) * (2 - tensor.ndim) + tensor.shape))
    caption = f"{sizes}, {tensor.nse} entries, {tensor.encoding.map_text()}"
    panels = raster.reshape(-1, *raster.shape[-2:])
    across = math.isqrt(max(1, len(panels)) - 1) + 1
    down = max(1, -(-len(panels) // across))
    height = down / across * _aspect((1, *tensor.shape)[-2:])
    figure = Figure(figsize=(_INCHES, _INCHES * min(1.0, max(0.3, height) + 0.15)), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False).ravel()
    for panel, axes in itertools.zip_longest(panels, grid):
        if panel is None:
            axes.set_axis_off()
        else:
            _show(axes, panel, (1, *tensor.shape)[-2:])
    if tensor.ndim > 2:
        for number, axes in enumerate(grid[: len(panels)]):
            axes.set_title(_panel_name(tensor, number, len(panels)), fontsize="small")
        figure.supxlabel(caption, fontsize="small", wrap=True)
    else:
        grid[0].set_xlabel(caption, fontsize="small", wrap=True)
    return figure


def _show(axes: Any, panel: Array, shape: Sequence[int]) -> None:
    rows, columns = shape
    extent = (-0.5, max(columns, 1) - 0.5, max(rows, 1) - 0.5, -0.5)
    axes.imshow(panel > 0, cmap="binary", vmin=0, vmax=1, interpolation="nearest", extent=extent, aspect="auto")
    axes.set_box_aspect(_aspect(shape))
    axes.xaxis.tick_top()
    for axis, elements in ((axes.xaxis, columns), (axes.yaxis, rows)):  # ticks at integers only
        axis.get_major_locator().set_params(integer=True)
        if elements == 1:
            axis.set_ticks([0])


def _aspect(shape: Sequence[int]) -> float:
    rows, columns = shape
    return min(4.0, max(0.1, rows / max(columns, 1)))


def _panel_name(tensor: SparseTensor, panel: int, panels: int) -> str:
    """Returns a title with the matrices of a panel: `i = 0`, `i = 0 to 9`, `i, j = 0, 0 to 0, 9`."""
    lead = tensor.shape[:-2]
    matrices = math.prod(lead)
    first, last = (_first_matrix(at, matrices, panels) for at in (panel, panel + 1))
    ends = [_matrix_at(first, lead), _matrix_at(max(first, last - 1), lead)]
    return f"{', '.join(tensor.encoding.dim_names[:-2])} = {' to '.join(dict.fromkeys(ends))}"


def _first_matrix(panel: int, matrices: int, panels: int) -> int:
    return -(-panel * matrices // panels)


def _matrix_at(number: int, lead: Sequence[int]) -> str:
    found = []
    for extent in reversed(lead):
        number, at = divmod(number, max(1, extent))
        found.append(str(at))
    return ", ".join(reversed(found))
