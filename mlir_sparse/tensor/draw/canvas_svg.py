"""Pictures as SVG: a document of its own, or part of a page, whose colours it takes."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from html import escape

import numpy as np

from mlir_sparse.tensor.draw.canvas import Box, Canvas, Paint, Pixels, Shape, Stroke, Words
from mlir_sparse.tensor.draw.canvas_png import MARK, png_of_shades
from mlir_sparse.tensor.level_storage import Array

__all__ = ["svg_of"]

_RUNS = 3000
"""More runs of pixels than these are written as a picture inside of the picture, which takes fewer bytes."""

_SHRUNK = 480
"""Pictures up to this width shrink with the screen; in wider ones words would be too small to read."""

_WHITE: dict[Paint, str] = {
    "paper": "white", "ink": "#222", "faint": "#999", "stored": "#dbe9f6", "value": "#fde9c9", "position": "#1f5fa8",
    "mark": MARK,
}  # fmt: skip
# Dark pages have light text: what is written takes its colour, what is filled lets the page shine through.
_THEMED: dict[Paint, str] = {
    "paper": "none", "ink": "currentColor", "faint": "#8c959f", "stored": "#4a90d947", "value": "#e8a33d59",
    "position": "#3b82c4", "mark": MARK,
}  # fmt: skip


def svg_of(canvas: Canvas, *, themed: bool = False) -> str:
    """Returns a picture as SVG.

    Args:
        canvas: the picture.
        themed: whether it stands in a page, light or dark, whose width may be less; a document of its own is white.
    """
    colours = _THEMED if themed else _WHITE
    width, height = f"{canvas.width:g}", f"{canvas.height:g}"
    style = ' style="max-width:100%;height:auto"' if themed and canvas.width <= _SHRUNK else ""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="monospace" font-size="12" fill="{colours["ink"]}"{style}>'
    )
    lines = [head, f"<title>{escape(canvas.title)}</title>"]
    if not themed:
        lines.append(f'<rect width="{width}" height="{height}" fill="white"/>')
    lines += [line for shape in canvas.shapes for line in _lines(shape, colours)]
    return "\n".join([*lines, "</svg>", ""])


def _lines(shape: Shape, colours: dict[Paint, str]) -> Iterator[str]:
    match shape:
        case Box():
            dash = ' stroke-dasharray="3 2"' if shape.dashed else ""
            yield (
                f'<rect x="{shape.x:g}" y="{shape.y:g}" width="{shape.width:g}" height="{shape.height:g}" rx="3" '
                f'fill="{colours[shape.fill]}" stroke="{colours[shape.frame]}"{dash}/>'
            )
        case Stroke():
            ends = f'x1="{shape.x:g}" y1="{shape.y:g}" x2="{shape.to_x:g}" y2="{shape.to_y:g}"'
            yield f'<line {ends} stroke="{colours["faint"]}"/>'
        case Words():
            at = f'x="{shape.x:g}" y="{shape.y:g}" text-anchor="{shape.anchor}"'
            yield f'<text {at} fill="{colours[shape.paint]}">{escape(shape.text)}</text>'
        case Pixels():
            yield from _pixels(shape)


def _pixels(shape: Pixels) -> Iterator[str]:
    rows, columns = shape.shades.shape
    runs = _runs(shape.shades)
    if len(runs) > _RUNS:
        data = base64.b64encode(png_of_shades(shape.shades)).decode("ascii")
        yield (
            f'<image x="{shape.x:g}" y="{shape.y:g}" width="{shape.width:g}" height="{shape.height:g}" '
            f'preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>'
        )
        return
    scale = f"scale({shape.width / columns:.6g} {shape.height / rows:.6g})"
    yield f'<g transform="translate({shape.x:g} {shape.y:g}) {scale}" fill="{MARK}" shape-rendering="crispEdges">'
    for shade in np.unique(runs[:, 3]):
        path = "".join(f"M{first} {row}h{stop - first}v1H{first}z" for row, first, stop, _ in runs[runs[:, 3] == shade])
        yield f'<path fill-opacity="{shade / 255:.3g}" d="{path}"/>'
    yield "</g>"


def _runs(shades: Array) -> Array:
    """Returns row, first column, column after the last, and shade of each run of equal pixels that are marked."""
    beside = np.zeros((shades.shape[0], shades.shape[1] + 2), np.int16)
    beside[:, 1:-1] = shades
    rows, at = np.nonzero(beside[:, 1:] != beside[:, :-1])
    after = beside[rows, at + 1]
    starts = np.flatnonzero(after)  # a run ends at the next change, which is in its row as the last column is empty
    return np.stack([rows[starts], at[starts], at[starts + 1], after[starts]], axis=1)
