"""Arrays as sparse vectors, the coordinates of which are found in order: nothing is left to sort or to check."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.encoding import Encoding
from mlir_sparse.encoding.derived_fact import fact_of
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["can_list", "few_listed", "is_listed", "listed_vector"]

_LONGEST = 1 << 31
# Zero has bits of 0, but for the sign.
_WORDS = frozenset(map(np.dtype, "?bhilqBHILQefd"))
_WIDTHS: dict[int, np.dtype[Any]] = {32: np.dtype(np.int32), 64: np.dtype(np.int64)}


@fact_of
def is_listed(kind: Encoding) -> bool:
    """Returns whether an encoding is that of vectors which store the coordinates of their entries, each once."""
    if kind.lvl_rank != 1 or not kind.is_permutation or kind.slices or kind.explicit_val is not None:
        return False
    level = kind.level_types[0]
    return level.has_adjacent_lists and not level.properties


def can_list(array: Array, kind: Encoding) -> bool:
    """Returns whether `listed_vector` takes an array and an encoding."""
    widths = kind.pos_width in _WIDTHS and kind.crd_width in _WIDTHS
    return widths and array.size < _LONGEST and is_listed(kind)


def listed_vector(array: Array, kind: Encoding, absent: complex = 0) -> SparseTensor:
    """Returns the sparse vector of the elements of an array that are not `absent`; NaN is none that is.

    Args:
        array: of an element type that tensors have.
        kind: an encoding that `can_list` takes.
        absent: the element that is left out.
    """
    found = few_listed(array, kind, absent, array.size)
    assert found is not None, "it has no more elements"
    return found


def few_listed(array: Array, kind: Encoding, absent: complex, limit: int) -> SparseTensor | None:
    """Returns the same for at most so many elements; None for more, which ends early where zeros are left out.

    Args:
        array: of an element type that tensors have.
        kind: an encoding that `can_list` takes.
        absent: the element that is left out.
        limit: the greatest number of elements that are not.
    """
    flags = array.flags
    if absent == 0 and array.dtype in _WORDS and flags.c_contiguous and flags.aligned:
        places = _native.nonzero_places(array, limit)
    else:
        places = np.flatnonzero(array if array.dtype == np.bool_ and absent == 0 else array != absent)
    if places is None or places.size > limit:
        return None
    positions, coordinates = _WIDTHS[kind.pos_width], _WIDTHS[kind.crd_width]
    buffers = np.array([0, places.size], positions), places.astype(coordinates, copy=False), array[places]
    return SparseTensor._trusted(kind, array.shape, LevelStorage.from_buffers(kind, array.shape, buffers))
