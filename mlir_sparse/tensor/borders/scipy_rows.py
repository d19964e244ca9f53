"""Compressed rows and columns of SciPy that need no conversion: tensors that share their arrays, by one native check.

`tensor` takes SciPy's matrices in each step of some algorithms. What it finds out about a matrix from its class and the
types of its arrays is kept here. The arrays are looked at each time: what was valid may have been written to.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from mlir_sparse import _native
from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.tensor.level_storage import LevelStorage
from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["keep_form", "shared_rows"]

# Of longer axes, coordinates of 32 bits do not say whether they are in range.
_LONGEST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class _Form:
    """What matrices of one class with arrays of the same types become.

    Args:
        encoding: the encoding, with widths.
        dtype: the element type.
        by_rows: whether rows are compressed, and not columns.
    """

    encoding: Encoding
    dtype: DType
    by_rows: bool


# There are few: two classes for each of two formats, two widths, a dozen element types.
_forms: dict[Hashable, _Form] = {}
_classes: set[type] = set()


def shared_rows(source: Any) -> SparseTensor | None:
    """Returns a matrix as a tensor on its arrays; None for one that must be looked at again, or is none of SciPy's."""
    if type(source) not in _classes:
        return None
    positions, coordinates, values = source.indptr, source.indices, source.data
    form = _forms.get(_key(source))
    if form is None or len(shape := source.shape) != 2 or max(shape) > _LONGEST:
        return None
    sizes = shape if form.by_rows else (shape[1], shape[0])
    found = _native.share_rows(positions, coordinates, values, *sizes)
    if found is None:
        return None
    pos, crd, stored = found
    storage = LevelStorage(form.encoding, sizes, (None, pos), (None, crd), stored, _buffers=found)
    return SparseTensor._from_parts(shape, storage, form.dtype)


def keep_form(source: Any, made: SparseTensor) -> None:
    """Keeps what a matrix became, if that shares its arrays as they are."""
    kind = type(source)
    known = kind.__module__.startswith("scipy.") and source.format in ("csr", "csc") and len(made._shape) == 2
    if not known or made._dtype.is_truth:  # the bytes of truth values are looked at
        return
    if all(map(_shares, made._storage.buffers(), (source.indptr, source.indices, source.data))):
        _forms[_key(source)] = _Form(made.encoding, made._dtype, made.encoding.level_order == (0, 1))
        _classes.add(kind)


def _key(source: Any) -> Hashable:
    return type(source), source.indptr.dtype, source.indices.dtype, source.data.dtype


def _shares(ours: Any, theirs: Any) -> bool:
    same: bool = ours.dtype == theirs.dtype and ours.shape == theirs.shape and ours.ctypes.data == theirs.ctypes.data
    return same
