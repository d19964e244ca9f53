"""The level tree of a storage as text or SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from mlir_sparse.errors import OperandError
from mlir_sparse.tensor.draw.characters import text_of
from mlir_sparse.tensor.draw.picture import picture_of
from mlir_sparse.tensor.draw.svg import svg_of

if TYPE_CHECKING:  # level_storage imports this module
    from mlir_sparse.tensor.level_storage import LevelStorage

__all__ = ["PictureFormat", "draw_storage"]

PictureFormat: TypeAlias = Literal["text", "svg"]


def draw_storage(storage: LevelStorage, format: PictureFormat, columns: int) -> str:
    """Returns the level tree as text or as SVG (see `LevelStorage.draw`).

    Raises:
        OperandError: for another format, or for no columns.
    """
    if format not in get_args(PictureFormat):
        raise OperandError(f"expected 'text' or 'svg' as format of a picture, but got {format!r}")
    if columns < 1:
        raise OperandError(f"expected room for 1 column or more, but got {columns}")
    picture = picture_of(storage, columns)
    return text_of(picture) if format == "text" else svg_of(picture)
