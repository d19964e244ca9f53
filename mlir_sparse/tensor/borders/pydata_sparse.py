"""Arrays of the package sparse (pydata): COO, GCXS and DOK.

| class | encoding | memory |
|---|---|---|
| `COO` | SoA-COO, SparseVector | shared |
| `GCXS` of two dimensions | CSR, CSC | shared |
| `GCXS` of others, `DOK` | as COO | copied |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlir_sparse.tensor.borders.foreign_parts import ForeignParts, compressed, entries, refuse_fill
from mlir_sparse.tensor.borders.imported_library import imported, index_pair

if TYPE_CHECKING:
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["pydata_of", "pydata_parts"]


def pydata_parts(source: Any) -> ForeignParts:
    """Returns the arrays of an array of pydata's.

    Raises:
        UnsupportedError: for a fill value other than zero, and for an array without dimensions.
    """
    refuse_fill(source.fill_value, "pass x.todense(), or subtract the fill value")
    axes = getattr(source, "compressed_axes", None)
    if axes is not None and len(source.shape) == 2:
        name = "CSR" if tuple(axes) == (0,) else "CSC"
        return compressed(name, source.shape, source.indptr, source.indices, source.data)
    listed = source if hasattr(source, "coords") else source.asformat("coo")
    return entries(listed.shape, list(listed.coords), listed.data)


def pydata_of(tensor: SparseTensor) -> Any:
    """Returns a tensor as GCXS of CSR or CSC, which shares its arrays, else as COO."""
    sparse = imported("sparse", "pydata/sparse", "sparse")
    pair = index_pair(tensor)
    if pair is None:
        coordinates, values = tensor.convert("SparseVector" if tensor.ndim == 1 else "SoA-COO").to_coo()
        return sparse.COO(coordinates, values, shape=tensor.shape, has_duplicates=False, sorted=True)
    name, positions, coordinates = pair
    axes = [0] if name == "CSR" else [1]
    return sparse.GCXS((tensor.storage.values, coordinates, positions), shape=tensor.shape, compressed_axes=axes)
