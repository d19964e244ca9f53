"""What `spy` and `draw` return: a picture that shows itself, and that is saved as SVG, PNG or text."""

from __future__ import annotations

import os

from mlir_sparse.classes import dataclass
from mlir_sparse.disk import write_whole
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.tensor.draw.canvas import Canvas
from mlir_sparse.tensor.draw.canvas_png import png_of
from mlir_sparse.tensor.draw.canvas_svg import svg_of

__all__ = ["Drawing"]

_SUFFIXES = (".png", ".svg", ".txt")


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture: in a notebook it shows itself, in a terminal it prints as characters.

    Args:
        text: the picture in characters.
        canvas: what is drawn.

    >>> from mlir_sparse.tensor import tensor
    >>> tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]]).spy()
    2 x 3, 3 entries
    (i, j) -> (i : dense, j : compressed)
    ·█·
    █·█
    """

    text: str
    canvas: Canvas

    def svg(self) -> str:
        """Returns a self-contained SVG document on white."""
        return svg_of(self.canvas)

    def png(self) -> bytes:
        """Returns a PNG file of two pixels for each unit of the SVG document.

        Raises:
            TooLargeError: for more than 64 million pixels.
        """
        return png_of(self.canvas)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture to a file, whole or not at all.

        Args:
            path: the file; its name ends in `.svg`, `.png` or `.txt`, and says what is written.

        Raises:
            UnsupportedError: for another ending.
            OSError: for a file that cannot be written.
        """
        match os.path.splitext(os.fspath(path))[1].lower():
            case ".svg":
                data = self.svg().encode("utf-8")
            case ".png":
                data = self.png()
            case ".txt":
                data = f"{self.text}\n".encode()
            case _:
                raise UnsupportedError(
                    f"expected a name that ends in {', '.join(_SUFFIXES)}, but got {os.fspath(path)}"
                )
        write_whole(path, data)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        """Returns the picture in the colours of the page that it stands in; a wide one is moved sideways."""
        return f'<div style="max-width:100%;overflow-x:auto">{svg_of(self.canvas, themed=True)}</div>'
