"""Arrays of the package sparse (pydata): COO, GCXS and DOK.

| class | encoding | memory |
|---|---|---|
| `COO` | SoA-COO, SparseVector, and out of COO | shared |
| `GCXS` of two dimensions | CSR, CSC | shared |
| `GCXS` of others, `DOK` | as COO | copied |

A fill value other than zero is that of a FilledTensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.errors import OperandError
from mlir_sparse.tensor.borders.foreign_parts import Entries, Lines
from mlir_sparse.tensor.borders.imported_library import imported, index_pair
from mlir_sparse.tensor.borders.listed_entries import listed_entries
from mlir_sparse.tensor.fill_values import is_zero_fill

if TYPE_CHECKING:
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["pydata_of", "pydata_parts"]

_NUMBERS = frozenset(np.dtype(code).type for code in np.typecodes["AllInteger"] + np.typecodes["AllFloat"])


def pydata_parts(source: Any) -> Entries | Lines:
    """Returns the arrays of an array of pydata's.

    Raises:
        RankError: for an array without dimensions.
        OperandError: for a fill value that is no number.
    """
    fill = source.fill_value
    if type(fill) not in _NUMBERS:
        given = np.asarray(fill)
        if given.ndim or given.dtype.kind not in "biufc":
            raise OperandError(f"expected a number as fill value, but got {fill!r}: pass x.todense()")
        fill = given[()]
    return _parts_beside(source, None if is_zero_fill(fill) else source.fill_value)


def _parts_beside(source: Any, fill: Any) -> Entries | Lines:
    axes = getattr(source, "compressed_axes", None)
    if axes is not None and len(source.shape) == 2:
        name = "CSR" if tuple(axes) == (0,) else "CSC"
        return Lines(name, source.shape, source.indptr, source.indices, source.data, fill)
    listed = source if hasattr(source, "coords") else source.asformat("coo")
    return Entries(listed.shape, listed.coords, listed.data, fill=fill)


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
