"""Pictures of how a tensor is stored: its level tree in characters or SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from mlir_sparse.errors import OperandError, UnsupportedError
from mlir_sparse.tensor.batches import batch_depth
from mlir_sparse.tensor.draw_svg import svg_of
from mlir_sparse.tensor.draw_text import text_of
from mlir_sparse.tensor.level_tree import level_tree

if TYPE_CHECKING:  # the storage draws itself with this module
    from mlir_sparse.tensor.storage import LevelStorage

__all__ = ["PictureFormat", "draw_storage"]

PictureFormat: TypeAlias = Literal["text", "svg"]


def draw_storage(storage: LevelStorage, format: PictureFormat, columns: int) -> str:
    """Returns the level tree as text or as SVG (see `LevelStorage.draw`).

    Args:
        storage: what to draw.
        format: `text` or `svg`.
        columns: how many values, and parents without any, there is room for.

    Raises:
        OperandError: for another format, or for no columns.
        UnsupportedError: for batches.
    """
    if format not in get_args(PictureFormat):
        raise OperandError(f"expected 'text' or 'svg' as format of a picture, but got {format!r}")
    if columns < 1:
        raise OperandError(f"expected room for 1 column or more, but got {columns}")
    if batch_depth(storage.encoding):
        raise UnsupportedError(
            f"expected levels of one tree to draw, but got batches in {storage.encoding.map_text()}: "
            "convert to dense for batch first"
        )
    tree = level_tree(storage, columns)
    return text_of(tree) if format == "text" else svg_of(tree)
