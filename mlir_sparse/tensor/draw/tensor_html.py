"""A tensor as HTML: its type, its storage, its bytes, and where its entries are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mlir_sparse.process.available_memory import in_units
from mlir_sparse.tensor.draw.canvas_svg import svg_of
from mlir_sparse.tensor.draw.entry_raster import entry_raster
from mlir_sparse.tensor.draw.spy import spy_canvas
from mlir_sparse.text.html_table import html_rows

if TYPE_CHECKING:  # sparse_tensor imports this module
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["tensor_html"]

_PIXELS = 96
_DRAWN = 10_000_000
"""More entries take too long to look at unasked."""


def tensor_html(tensor: SparseTensor, *, fill: str | None = None) -> str:
    """Returns a table and a spy plot, which tensors with many entries show only when they are asked.

    Args:
        tensor: what is stored.
        fill: the value of all else in a FilledTensor.
    """
    encoding, shape = tensor.encoding, tensor.shape
    buffers = tensor.storage.buffers()
    name = "SparseTensor" if fill is None else "FilledTensor"
    rows = [
        ("shape", " x ".join(map(str, shape)) or "a scalar"),
        ("element type", str(tensor.type.dtype)),
        ("storage", _storage(tensor)),
        *([] if fill is None else [("fill value", fill)]),
        ("entries", f"{tensor.nse:,}{_part(tensor.nse, math.prod(shape))}"),
        ("bytes", f"{in_units(tensor.nbytes)}: {in_units(buffers[-1].nbytes)} values"),
        ("widths", f"positions {encoding.pos_width}, coordinates {encoding.crd_width}"),
    ]
    if tensor.storage.values.size > _DRAWN:
        rows.append(("picture", "many entries: call .spy()"))
        return html_rows(name, rows)
    canvas = spy_canvas(tensor, entry_raster(tensor, _PIXELS), [])
    return html_rows(name, rows, beside=f"<div>{svg_of(canvas, themed=True)}</div>")


def _storage(tensor: SparseTensor) -> str:
    preset = tensor.encoding.preset
    return f"{preset}: {tensor.encoding.map_text()}" if preset else tensor.encoding.map_text()


def _part(entries: int, elements: int) -> str:
    return f" of {elements:,} elements, {entries / elements:.3g}" if elements else ""
