"""The level tree of a storage as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlir_sparse.errors import OperandError
from mlir_sparse.tensor.draw.characters import text_of
from mlir_sparse.tensor.draw.drawing import Drawing
from mlir_sparse.tensor.draw.picture import picture_of
from mlir_sparse.tensor.draw.tree_canvas import tree_canvas

if TYPE_CHECKING:  # level_storage imports this module
    from mlir_sparse.tensor.level_storage import LevelStorage

__all__ = ["draw_storage"]


def draw_storage(storage: LevelStorage, columns: int) -> Drawing:
    """Returns the picture (see `LevelStorage.draw`).

    Raises:
        OperandError: for no columns.
    """
    if columns < 1:
        raise OperandError(f"expected room for 1 column or more, but got {columns}")
    picture = picture_of(storage, columns)
    return Drawing(text_of(picture), tree_canvas(picture))
