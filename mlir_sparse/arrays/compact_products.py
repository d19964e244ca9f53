"""Products over axes too long for a loop or an array, computed over the stored coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from mlir_sparse.arrays.broadcast import Labels, Value
from mlir_sparse.arrays.entry_lists import WIDEST, EntryList, entries_of
from mlir_sparse.arrays.flat_places import Array, sorted_unique, unlinear
from mlir_sparse.tensor import SparseTensor

__all__ = ["compacted", "wide_labels"]


def wide_labels(operands: Sequence[Value], labels: Sequence[Labels]) -> dict[str, int]:
    """Returns the extents of sparse operands' labels that exceed 2^31 - 1."""
    if _fit(tuple([operand.shape for operand in operands])):
        return {}
    return {
        label: extent
        for operand, names in zip(operands, labels, strict=True)
        for label, extent in zip(names, operand.shape, strict=True)
        if extent > WIDEST and isinstance(operand, SparseTensor)
    }


@lru_cache(maxsize=512)
def _fit(shapes: tuple[tuple[int, ...], ...]) -> bool:
    return all(max(shape, default=0) <= WIDEST for shape in shapes)


def compacted(
    compute: Callable[[Sequence[Value]], Any],
    operands: Sequence[Value],
    labels: Sequence[Labels],
    output: Labels,
    wide: dict[str, int],
) -> Any:
    """Returns a product of operands, summed over the indices that the output lacks.

    Coordinates that no operand stores contribute nothing. The others are renumbered from 0, so that no extent exceeds
    the number of entries. A result that would be dense along such an axis is sparse.

    Args:
        compute: computes the product of operands with shorter axes.
        operands: arrays and tensors.
        labels: for each operand the index of each axis.
        output: the indices of the result.
        wide: the labels to renumber, with their extents.
    """
    lists = [entries_of(operand) if isinstance(operand, SparseTensor) else None for operand in operands]
    met: dict[str, list[Array]] = {label: [] for label in wide}
    for entries, names in zip(lists, labels, strict=True):
        for axis, label in enumerate(names):
            if entries is not None and label in wide:
                met[label].append(entries.dims[axis])
    stored = {label: sorted_unique(np.concatenate(columns)) for label, columns in met.items()}
    found = compute([_renumbered(*case, stored) for case in zip(operands, lists, labels, strict=True)])
    if not any(label in wide for label in output):
        return found
    return _placed(found, [stored.get(label) for label in output], [wide.get(label, 0) for label in output])


def _renumbered(operand: Value, entries: EntryList | None, names: Labels, stored: dict[str, Array]) -> Value:
    """Returns an operand whose wide axes are renumbered."""
    if entries is None:
        assert isinstance(operand, np.ndarray)
        for axis, label in enumerate(names):
            operand = operand.take(stored[label], axis) if label in stored else operand
        return operand
    dims = tuple(
        np.searchsorted(stored[label], dim) if label in stored else dim
        for label, dim in zip(names, entries.dims, strict=True)
    )
    extents = zip(names, entries.shape, strict=True)
    shape = tuple(stored[label].size if label in stored else extent for label, extent in extents)
    assert isinstance(operand, SparseTensor)
    return EntryList(dims, entries.values, shape).tensor(operand)


def _placed(found: Any, stored: Sequence[Array | None], wide: Sequence[int]) -> SparseTensor:
    """Returns a result with the original coordinates of its entries."""
    like = found if isinstance(found, SparseTensor) else None
    if like is not None:
        entries = entries_of(like)
    else:
        entries = EntryList(unlinear(np.arange(found.size), found.shape), found.reshape(-1), found.shape)
    dims = tuple(
        dim if coordinates is None else coordinates[dim] for coordinates, dim in zip(stored, entries.dims, strict=True)
    )
    shape = tuple(extent or original for extent, original in zip(wide, entries.shape, strict=True))
    return EntryList(dims, entries.values, shape).tensor(like)
