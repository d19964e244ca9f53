"""Pictures as values: boxes, lines, words and pixels at places, which `canvas_svg` and `canvas_png` write."""

from __future__ import annotations

from typing import Literal, TypeAlias

from mlir_sparse.classes import dataclass
from mlir_sparse.tensor.level_storage import Array

__all__ = ["CHARACTER", "Box", "Canvas", "Paint", "Pixels", "Shape", "Stroke", "Words"]

CHARACTER = 7.3
"""The width of a character of words: 12 pixels high, in common monospaced fonts."""

Paint: TypeAlias = Literal["paper", "ink", "faint", "stored", "value", "position", "mark"]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with a frame.

    Args:
        x: its left side.
        y: its top.
        width: its width.
        height: its height.
        fill: what fills it.
        frame: the colour of its frame.
        dashed: whether the frame is dashed.
    """

    x: float
    y: float
    width: float
    height: float
    fill: Paint = "paper"
    frame: Paint = "ink"
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Stroke:
    """A faint line from one point to another."""

    x: float
    y: float
    to_x: float
    to_y: float


@dataclass(frozen=True, slots=True)
class Words:
    """Text on a line.

    Args:
        x: where it starts, has its middle, or ends.
        y: its base line.
        text: the text.
        anchor: which of these `x` is.
        paint: its colour.
    """

    x: float
    y: float
    text: str
    anchor: Literal["start", "middle", "end"] = "start"
    paint: Paint = "ink"


@dataclass(frozen=True, slots=True)
class Pixels:
    """A rectangle of marks.

    Args:
        x: its left side.
        y: its top.
        width: its width.
        height: its height.
        shades: the shade of each pixel, uint8 of shape (rows, columns); 0 is no mark, 255 a full one.
    """

    x: float
    y: float
    width: float
    height: float
    shades: Array


Shape: TypeAlias = Box | Stroke | Words | Pixels


@dataclass(frozen=True, slots=True)
class Canvas:
    """A picture: shapes, later ones over earlier ones.

    Args:
        width: in units, which are pixels of the screen.
        height: likewise.
        title: what it shows, for those who do not see it.
        shapes: what is on it.
    """

    width: float
    height: float
    title: str
    shapes: tuple[Shape, ...]
