"""Arrays of the package sparse (pydata): COO, GCXS and DOK.

| class | encoding | memory |
|---|---|---|
| `COO` | SoA-COO, SparseVector, and out of COO | shared |
| `GCXS` of two dimensions | CSR, CSC | shared |
| `GCXS` of others, `DOK` | as COO | copied |

A fill value other than zero is that of a FilledTensor.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.errors import OperandError
from mlir_sparse.tensor.borders.foreign_parts import ForeignParts, compressed, entries
from mlir_sparse.tensor.borders.imported_library import imported, index_pair
from mlir_sparse.tensor.borders.listed_entries import listed_entries
from mlir_sparse.tensor.fill_values import is_zero_fill

if TYPE_CHECKING:
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["pydata_of", "pydata_parts"]


def pydata_parts(source: Any) -> ForeignParts:
    """Returns the arrays of an array of pydata's.

    Raises:
        RankError: for an array without dimensions.
        OperandError: for a fill value that is no number.
    """
    parts = _parts_beside_fill(source)
    fill = np.asarray(source.fill_value)
    if fill.ndim or fill.dtype.kind not in "biufc":
        raise OperandError(f"expected a number as fill value, but got {source.fill_value!r}: pass x.todense()")
    return parts if is_zero_fill(fill[()]) else replace(parts, fill=source.fill_value)


def _parts_beside_fill(source: Any) -> ForeignParts:
    axes = getattr(source, "compressed_axes", None)
    if axes is not None and len(source.shape) == 2:
        name = "CSR" if tuple(axes) == (0,) else "CSC"
        return compressed(name, source.shape, source.indptr, source.indices, source.data)
    listed = source if hasattr(source, "coords") else source.asformat("coo")
    return entries(listed.shape, list(listed.coords), listed.data)


def pydata_of(tensor: SparseTensor, fill: Any = None, /) -> Any:
    """Returns a tensor as GCXS of CSR or CSC, which shares its arrays, else as COO.

    Args:
        tensor: what is stored.
        fill: the value of all else; zero when None.
    """
    sparse = imported("sparse", "pydata/sparse", "sparse")
    pair = index_pair(tensor)
    if pair is None:
        coordinates, values = listed_entries(tensor)
        return sparse.COO(coordinates, values, shape=tensor.shape, has_duplicates=False, sorted=True, fill_value=fill)
    name, positions, coordinates = pair
    axes = [0] if name == "CSR" else [1]
    data = tensor.storage.values, coordinates, positions
    return sparse.GCXS(data, shape=tensor.shape, compressed_axes=axes, fill_value=fill)
