"""The contents of a picture of a storage: one level tree, or one for each batch."""

from __future__ import annotations

import itertools

from mlir_sparse.classes import dataclass
from mlir_sparse.tensor.batch_and_slice_parts import plain_encoding
from mlir_sparse.tensor.batch_levels import batch_depth, one_batch
from mlir_sparse.tensor.draw.level_tree import Batch, LevelTree, level_tree
from mlir_sparse.tensor.level_storage import LevelStorage

__all__ = ["Picture", "left_out_text", "picture_of"]

_BATCHES = 8


@dataclass(frozen=True, slots=True)
class Picture:
    """A title, and trees below each other.

    Args:
        title: the map and the sizes of the levels.
        trees: the tree, or those of the first batches.
        left_out: the number of further batches.
    """

    title: str
    trees: tuple[LevelTree, ...]
    left_out: int = 0


def picture_of(storage: LevelStorage, columns: int) -> Picture:
    """Returns the contents to draw, in time that depends on their size and not on the storage.

    >>> from mlir_sparse.tensor import tensor
    >>> [tree.label for tree in picture_of(tensor([[[1.0, 2.0]], [[0.0, 3.0]]], "BatchedCSR").storage, 9).trees]
    ['batch i = 0', 'batch i = 1']
    """
    encoding = storage.encoding
    sizes = " x ".join(map(str, storage.level_sizes))
    title = f"{encoding.map_text()}, levels of {sizes}"
    lead = storage.level_sizes[: batch_depth(encoding)]
    if not lead:
        return Picture(title, (level_tree(storage, columns),))
    indices = itertools.product(*map(range, lead))
    trees = tuple(_batch_tree(storage, index, columns) for index in itertools.islice(indices, _BATCHES))
    total = 1
    for size in lead:
        total *= size
    return Picture(title, trees, total - len(trees))


def _batch_tree(storage: LevelStorage, index: tuple[int, ...], columns: int) -> LevelTree:
    encoding = storage.encoding
    names = [spec.expr.to_text(encoding.dim_names) for spec in encoding.levels[: len(index)]]
    where = ", ".join(f"{name} = {at}" for name, at in zip(names, index, strict=True))
    part, padding, values = one_batch(storage, plain_encoding(encoding), index)
    return level_tree(part, columns, Batch(f"batch {where}", index, padding, values))


def left_out_text(picture: Picture) -> str:
    """Returns a note on the batches that are not drawn."""
    return f"... {picture.left_out} more batch{'es' if picture.left_out > 1 else ''}"
