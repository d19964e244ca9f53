"""pandas' sparse columns: a SparseArray or Series of one as a vector, a DataFrame of them alone as CSC.

| class | encoding | memory |
|---|---|---|
| `SparseArray`, `Series` | SparseVector | shared |
| `DataFrame` | CSC | copied: each column has arrays of its own |

A fill value other than zero, as NaN is by default, is that of a FilledTensor. Tables whose columns are not all sparse,
or of different fill values, are dense arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.errors import RankError
from mlir_sparse.tensor.borders.foreign_parts import Entries, Lines
from mlir_sparse.tensor.borders.imported_library import imported
from mlir_sparse.tensor.fill_values import is_zero_fill

if TYPE_CHECKING:
    from mlir_sparse.tensor.level_storage import Array
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["is_sparse_pandas", "pandas_of", "pandas_parts"]


def is_sparse_pandas(source: Any) -> bool:
    """Returns whether all that an array or a table has is sparse, and missing elements are one number."""
    kinds = list(source.dtypes) if len(source.shape) == 2 else [source.dtype]
    if not kinds or not all(hasattr(kind, "fill_value") and hasattr(kind, "subtype") for kind in kinds):
        return False
    fills = np.asarray([kind.fill_value for kind in kinds])
    return fills.dtype.kind in "biufc" and bool(
        np.all((fills == fills[0]) | ((fills != fills) & (fills[0] != fills[0])))
    )


def pandas_parts(source: Any) -> Entries | Lines:
    """Returns the arrays of a vector, or of the columns of a table joined."""
    if len(source.shape) == 1:
        rows, values = _column(source if hasattr(source, "sp_index") else source.array)
        return Entries(source.shape, rows[np.newaxis], values, fill=_fill(source.dtype))
    # Columns one by one: of several, pandas makes rows first.
    columns = [_column(source.iloc[:, at].array) for at in range(source.shape[1])]
    positions = np.concatenate([[0], np.cumsum([rows.size for rows, _ in columns])])
    if positions[-1] <= np.iinfo(np.int32).max:  # as wide as rows
        positions = positions.astype(np.int32)
    rows, values = (np.concatenate(arrays) for arrays in zip(*columns, strict=True))
    return Lines("CSC", source.shape, positions, rows, values, _fill(source.dtypes.iloc[0]))


def _column(array: Any) -> tuple[Array, Array]:
    """Returns the places and values of what is stored."""
    return array.sp_index.to_int_index().indices, array.sp_values


def _fill(kind: Any) -> Any:
    return None if is_zero_fill(kind.fill_value) else kind.fill_value


def pandas_of(tensor: SparseTensor) -> Any:
    """Returns a vector as a Series, or a matrix as a DataFrame, of sparse columns with zeros missing.

    Raises:
        RankError: for other tensors.
    """
    pandas = imported("pandas", "pandas", "pandas")
    if tensor.ndim == 2:
        imported("scipy.sparse", "SciPy", "scipy")
        return pandas.DataFrame.sparse.from_spmatrix(tensor.convert("CSC").to_scipy())
    if tensor.ndim != 1:
        raise RankError(f"expected a vector or a matrix for pandas, but got a tensor of shape {tensor.shape}")
    vector = tensor.convert("SparseVector")
    (rows,) = vector.storage.coordinates
    zero = tensor.dtype.type(0)
    index = type(pandas.arrays.SparseArray([zero]).sp_index)(tensor.shape[0], np.asarray(rows, np.int32))
    kind = pandas.SparseDtype(tensor.dtype, zero)
    return pandas.Series(pandas.arrays.SparseArray(vector.storage.values, sparse_index=index, dtype=kind))
