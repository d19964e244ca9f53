"""Where the entries of a matrix are: the picture that MATLAB called spy."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.errors import MissingPackageError, RankError, UnsupportedError
from mlir_sparse.tensor.expand import expand_dims
from mlir_sparse.tensor.storage import Array

if TYPE_CHECKING:  # the tensor shows itself with this module
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["entry_raster", "spy"]

_PIXELS = 512
_INCHES = 5.0


def spy(tensor: SparseTensor, path: str | os.PathLike[str] | None = None) -> str:
    """Returns the picture as SVG, and writes it (see `SparseTensor.spy`)."""
    raster = entry_raster(tensor)
    figure = _figure(tensor, raster)
    text = io.StringIO()
    import matplotlib

    # The same tensor gives the same bytes.
    with matplotlib.rc_context({"svg.hashsalt": "spy"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
        if path is not None:
            _save(figure, path)
    return text.getvalue()


def _save(figure: Any, path: str | os.PathLike[str]) -> None:
    known = figure.canvas.get_supported_filetypes()
    suffix = os.path.splitext(os.fspath(path))[1][1:].lower()
    if suffix not in known:
        raise UnsupportedError(f"expected a name that ends in .{' .'.join(sorted(known))}, but got {os.fspath(path)}")
    figure.savefig(path)


def entry_raster(tensor: SparseTensor) -> Array:
    """Returns how many entries are stored in each pixel: an element, or a rectangle of elements where there are many.

    Raises:
        RankError: for more dimensions than two.

    >>> from mlir_sparse.tensor import tensor
    >>> entry_raster(tensor([[0.0, 2.0], [3.0, 4.0]])).tolist()
    [[0, 1], [1, 1]]
    """
    if tensor.ndim > 2:
        raise RankError(f"expected a matrix or vector to plot, but got a tensor of rank {tensor.ndim}")
    dims, _ = expand_dims(tensor.storage, tensor.shape)
    if tensor.ndim == 1:
        dims = [np.zeros_like(dims[0]), dims[0]]
    extents = (1,) * (2 - tensor.ndim) + tensor.shape
    sizes = tuple(max(1, min(extent, _PIXELS)) for extent in extents)
    rows, columns = (_pixels(dim, n, size) for dim, n, size in zip(dims, extents, sizes, strict=True))
    counts: Array = np.bincount(rows * sizes[1] + columns, minlength=sizes[0] * sizes[1])
    return counts.reshape(sizes)


def _pixels(dim: Array, extent: int, pixels: int) -> Array:
    if extent <= pixels:
        return dim.astype(np.int64)
    return np.minimum((dim * (pixels / extent)).astype(np.int64), pixels - 1)


def _figure(tensor: SparseTensor, raster: Array) -> Any:
    try:
        from matplotlib.figure import Figure  # not pyplot: no window, no state
    except ImportError as error:
        raise MissingPackageError(
            f"expected matplotlib for spy plots, but got {error}: pip install 'mlir-sparse[plot]', "
            "or print tensor.storage.draw()"
        ) from None
    rows, columns = ((1, *tensor.shape)[-2:]) if tensor.ndim else (1, 1)
    figure = Figure(figsize=(_INCHES, _INCHES), layout="constrained")
    axes = figure.add_subplot()
    extent = (-0.5, max(columns, 1) - 0.5, max(rows, 1) - 0.5, -0.5)
    axes.imshow(raster > 0, cmap="binary", vmin=0, vmax=1, interpolation="nearest", extent=extent, aspect="auto")
    axes.set_box_aspect(min(4.0, max(0.1, rows / max(columns, 1))))
    axes.xaxis.tick_top()
    axes.set_xlabel(f"{rows} x {columns}, {tensor.nse} entries, {tensor.encoding.map_text()}", fontsize="small")
    return figure
