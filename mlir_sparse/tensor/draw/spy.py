"""Spy plots (as in MATLAB): the places of the entries of a matrix, or of each matrix in a tensor."""

from __future__ import annotations

import math
from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import OperandError
from mlir_sparse.tensor.draw.canvas import CHARACTER, Box, Canvas, Pixels, Shape, Words
from mlir_sparse.tensor.draw.drawing import Drawing
from mlir_sparse.tensor.draw.entry_raster import entry_raster, panel_name, pixel_numbers
from mlir_sparse.tensor.level_storage import Array
from mlir_sparse.text.given_arguments import integer_of

if TYPE_CHECKING:  # sparse_tensor imports this module
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["most_pixels", "spy", "spy_canvas"]

_MOST_PIXELS = 4096
_SIDE, _GAP, _LINE, _PANEL_SIDE = 320, 12, 16, 150
_ROWS, _COLUMNS = 24, 64  # of a picture in characters
_CHARACTERS = np.array(list("·░▒▓█"))
_WRAPPED = 48


def most_pixels(pixels: int) -> int:
    """Returns the number of pixels that a spy plot may have in each dimension, checked.

    Raises:
        OperandError: for none, or for more than a picture can show.
    """
    if not 1 <= integer_of(pixels, "pixels") <= _MOST_PIXELS:
        raise OperandError(f"expected 1 to {_MOST_PIXELS} pixels in each dimension of a picture, but got {pixels}")
    return pixels


def spy(tensor: SparseTensor, pixels: int) -> Drawing:
    """Returns the picture (see `SparseTensor.spy`)."""
    raster = entry_raster(tensor, most_pixels(pixels))
    lines = list(_caption(tensor, raster))
    panels = raster.reshape(-1, *raster.shape[-2:])
    characters = list(lines)
    for number, panel in enumerate(panels):
        characters += [panel_name(tensor, number, len(panels))] if tensor.ndim > 2 else []
        characters += _in_characters(panel, _is_elements(tensor, raster))
    return Drawing("\n".join(characters), spy_canvas(tensor, raster, lines))


def _caption(tensor: SparseTensor, raster: Array) -> Iterator[str]:
    sizes = " x ".join(map(str, tensor.shape)) or "a scalar"
    yield f"{sizes}, {tensor.nse} entr{'y' if tensor.nse == 1 else 'ies'}"
    yield from wrap(tensor.encoding.map_text(), _WRAPPED)
    if tensor.ndim == 1:
        yield "one row: the elements from left to right"
    elif tensor.ndim > 2:
        names = tensor.encoding.dim_names
        each = "a matrix" if math.prod(tensor.shape[:-2]) <= len(raster) else "adjacent matrices, one over the other,"
        yield f"each picture: {each} of {names[-2]} down and {names[-1]} across"
    if not _is_elements(tensor, raster):
        shape = (1, *tensor.shape)[-2:]
        each = " x ".join(str(-(-extent // size)) for extent, size in zip(shape, raster.shape[-2:], strict=True))
        yield f"a mark: up to {each} elements, at most {raster.max()} entries"


def _is_elements(tensor: SparseTensor, raster: Array) -> bool:
    """Returns whether each pixel is an element."""
    return math.prod(tensor.shape) <= raster.size


def _shades(panel: Array, is_elements: bool, most: int) -> Array:
    """Returns the shade of each pixel: a full one for each element, else one of six by the logarithm of its count."""
    if is_elements or most <= 1:
        return np.where(panel > 0, 255, 0).astype(np.uint8)
    part = np.ceil(5 * np.log(np.maximum(panel, 1)) / math.log(most))
    return np.where(panel > 0, 135 + 24 * part, 0).astype(np.uint8)


def _in_characters(panel: Array, is_elements: bool) -> list[str]:
    for axis, most in ((0, _ROWS), (1, _COLUMNS)):
        size = panel.shape[axis]
        if size > most:
            starts = np.searchsorted(pixel_numbers(np.arange(size), size, most), np.arange(most))
            panel, is_elements = np.add.reduceat(panel, starts, axis=axis), False
    shades = _shades(panel, is_elements, int(panel.max()))
    levels = np.ceil(shades / 64).astype(np.intp)
    return ["".join(row) for row in _CHARACTERS[np.minimum(levels, 4)]]


@dataclass(frozen=True, slots=True)
class _Panel:
    """The place of a matrix on the canvas, and what its sides are labelled with."""

    x: float
    y: float
    width: float
    height: float
    rows: int
    columns: int


def spy_canvas(tensor: SparseTensor, raster: Array, caption: list[str]) -> Canvas:
    """Returns a raster as a canvas, with a caption above."""
    panels = raster.reshape(-1, *raster.shape[-2:])
    rows, columns = (1, 1, *tensor.shape)[-2:]
    across = math.isqrt(max(1, len(panels)) - 1) + 1
    side = _SIDE if len(panels) == 1 else _PANEL_SIDE
    aspect = min(4.0, max(0.1, rows / max(columns, 1)))
    width, height = (side, side * aspect) if aspect <= 1 else (side / aspect, float(side))
    left = _GAP + len(str(max(rows - 1, 0))) * CHARACTER + 4
    top = _GAP + _LINE * len(caption) + 4
    step_x, step_y = left + max(width, _named(tensor)), height + 2.5 * _LINE + (_LINE if tensor.ndim > 2 else 0)
    shapes: list[Shape] = [Words(_GAP, _GAP + _LINE * (line + 0.75), text) for line, text in enumerate(caption)]
    for number, panel in enumerate(panels):
        x, y = left + number % across * step_x, top + number // across * step_y
        if tensor.ndim > 2:
            shapes.append(Words(x, y + 12, panel_name(tensor, number, len(panels)), "start", "faint"))
            y += _LINE
        place = _Panel(x, y + _LINE, width, height, rows, columns)
        shapes += _panel(place, _shades(panel, _is_elements(tensor, raster), int(raster.max())))
    words = max((len(line) for line in caption), default=0) * CHARACTER
    whole_x = max(words + _GAP, step_x * min(across, max(1, len(panels)))) + _GAP
    return Canvas(whole_x, top + step_y * -(-len(panels) // across) + _GAP, " ".join(caption), tuple(shapes))


def _named(tensor: SparseTensor) -> float:
    """Returns the width that the names of panels may take, so that they do not run into each other."""
    return 0.0 if tensor.ndim <= 2 else float(_PANEL_SIDE)


def _panel(at: _Panel, shades: Array) -> Iterator[Shape]:
    """Yields the frame, the marks, and the first and the last number of each side."""
    yield Box(at.x - 1, at.y - 1, at.width + 2, at.height + 2, "paper", "faint")
    if at.rows and at.columns:
        yield Pixels(at.x, at.y, at.width, at.height, shades)
    for number in dict.fromkeys((0, at.columns - 1) if at.columns else ()):
        end = number > 0
        yield Words(at.x + at.width * end, at.y - 5, str(number), "end" if end else "start", "faint")
    for number in dict.fromkeys((0, at.rows - 1) if at.rows else ()):
        y = at.y + (at.height if number else min(12.0, at.height))
        yield Words(at.x - 5, y, str(number), "end", "faint")
