"""Pictures as PNG (ISO/IEC 15948), of two pixels a unit, without a library of pictures."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from mlir_sparse.errors import TooLargeError
from mlir_sparse.tensor.draw.canvas import CHARACTER, Box, Canvas, Paint, Pixels, Shape, Stroke, Words
from mlir_sparse.tensor.draw.glyphs import glyph
from mlir_sparse.tensor.level_storage import Array

__all__ = ["MARK", "png_of", "png_of_shades"]

MARK = "#2f73bd"
"""The colour of marks, which is seen on white and on black."""

_SCALE = 2
_MOST = 1 << 26  # pixels: 200 MB while it is drawn
_COLOURS: dict[Paint, str] = {
    "paper": "#ffffff", "ink": "#222222", "faint": "#999999", "stored": "#dbe9f6", "value": "#fde9c9",
    "position": "#1f5fa8", "mark": MARK,
}  # fmt: skip
_COLOUR, _COLOUR_ALPHA = 2, 6


def png_of(canvas: Canvas) -> bytes:
    """Returns a picture as PNG.

    Raises:
        TooLargeError: for a picture of more than 64 million pixels.
    """
    height, width = (max(1, round(side * _SCALE)) for side in (canvas.height, canvas.width))
    if height * width > _MOST:
        raise TooLargeError(
            f"expected a picture of at most {_MOST:,} pixels, but got {width:,} x {height:,}: "
            "save it as .svg, or draw fewer columns"
        )
    image = np.full((height, width, 3), 255, np.uint8)
    for shape in canvas.shapes:
        _draw(image, shape)
    return _file(image, _COLOUR)


def png_of_shades(shades: Array) -> bytes:
    """Returns marks as PNG that is transparent where there is none, of a pixel each."""
    image = np.empty((*shades.shape, 4), np.uint8)
    image[..., :3] = _rgb("mark")
    image[..., 3] = shades
    return _file(image, _COLOUR_ALPHA)


def _draw(image: Array, shape: Shape) -> None:
    match shape:
        case Box():
            _box(image, shape)
        case Stroke():
            _line(image, shape)
        case Words():
            _words(image, shape)
        case Pixels():
            _pixels(image, shape)


def _rgb(paint: Paint) -> Array:
    return np.frombuffer(bytes.fromhex(_COLOURS[paint][1:]), np.uint8)


def _box(image: Array, box: Box) -> None:
    left, top = round(box.x * _SCALE), round(box.y * _SCALE)
    right, bottom = round((box.x + box.width) * _SCALE), round((box.y + box.height) * _SCALE)
    inside = image[max(top, 0) : bottom, max(left, 0) : right]
    inside[...] = _rgb(box.fill)
    if not inside.size:
        return
    shown = np.ones(inside.shape[:2], bool)
    if box.dashed:
        rows, columns = np.ogrid[: inside.shape[0], : inside.shape[1]]
        shown = (rows + columns) // 4 % 2 == 0
    edge = np.ones(inside.shape[:2], bool)
    edge[_SCALE:-_SCALE, _SCALE:-_SCALE] = False
    inside[edge & shown] = _rgb(box.frame)


def _line(image: Array, line: Stroke) -> None:
    ends = np.array([[line.y, line.x], [line.to_y, line.to_x]]) * _SCALE
    steps = int(np.abs(ends[1] - ends[0]).max()) + 1
    points = np.rint(np.linspace(ends[0], ends[1], steps)).astype(np.intp)
    rows, columns = np.clip(points, 0, np.array(image.shape[:2]) - 1).T
    image[rows, columns] = _rgb("faint")


def _words(image: Array, words: Words) -> None:
    advance = CHARACTER * _SCALE
    width = round(advance * len(words.text))
    left = round(words.x * _SCALE) - {"start": 0, "middle": width // 2, "end": width}[words.anchor]
    top = round(words.y * _SCALE) - 7 * _SCALE
    colour = _rgb(words.paint)
    for number, character in enumerate(words.text):
        dots = np.argwhere(np.kron(glyph(character), np.ones((_SCALE, _SCALE), bool)))
        dots += [top, left + round(number * advance) + _SCALE]
        inside = ((dots >= 0) & (dots < image.shape[:2])).all(axis=1)
        image[dots[inside, 0], dots[inside, 1]] = colour


def _pixels(image: Array, pixels: Pixels) -> None:
    """Draws each mark at least one pixel large, also where there are more of them than pixels."""
    rows, columns = pixels.shades.shape
    top, left = round(pixels.y * _SCALE), round(pixels.x * _SCALE)
    height, width = max(1, round(pixels.height * _SCALE)), max(1, round(pixels.width * _SCALE))
    shades = _resized(_resized(pixels.shades, rows, height).T, columns, width).T[..., np.newaxis] / 255
    part = image[top : top + height, left : left + width]
    part[...] = np.rint(part * (1 - shades) + _rgb("mark") * shades)


def _resized(shades: Array, size: int, wanted: int) -> Array:
    if wanted >= size:
        return shades[np.arange(wanted) * size // wanted]
    found: Array = np.maximum.reduceat(shades, np.arange(wanted) * size // wanted, axis=0)
    return found


def _file(image: Array, kind: int) -> bytes:
    height, width = image.shape[:2]
    lines = np.zeros((height, 1 + width * image.shape[2]), np.uint8)  # each line begins with its filter: none
    lines[:, 1:] = image.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 6)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in parts)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
