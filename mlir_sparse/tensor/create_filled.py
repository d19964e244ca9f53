"""Tensors with a fill value from the sources that `tensor` takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlir_sparse.dtypes import DType
from mlir_sparse.encoding.buffer_layout import check_shape
from mlir_sparse.errors import OperandError
from mlir_sparse.tensor.borders.foreign_arrays import as_host, is_sparse_source
from mlir_sparse.tensor.borders.neighbours import neighbour_of
from mlir_sparse.tensor.buffer_arrays import value_array
from mlir_sparse.tensor.convert.pack import pack
from mlir_sparse.tensor.create import dense_source, tensor, wanted_encoding
from mlir_sparse.tensor.fill_values import fill_of, is_filling
from mlir_sparse.tensor.filled_tensor import FilledTensor, filled
from mlir_sparse.tensor.level_storage import Array
from mlir_sparse.tensor.sparse_tensor import SparseTensor
from mlir_sparse.tensor.virtual_tensor import VirtualTensor

__all__ = ["tensor_with_fill"]

_DENSE_DEFAULTS = {1: "SparseVector", 2: "CSR"}


def tensor_with_fill(
    source: Any, encoding: Any, fill_value: object, dtype: Any, options: dict[str, Any], parameters: dict[str, Any]
) -> Any:
    """Returns the tensor that `tensor` makes of a source, with a fill value.

    Of a dense source the elements other than the fill value are stored; of a sparse one what it stores.

    Args:
        source: as for `tensor`.
        encoding: likewise.
        fill_value: the value of all else.
        dtype: the element type.
        options: the other options of `tensor`, by name.
        parameters: parameters of a preset.

    Raises:
        OperandError: for an array with a fill value of its own that is another one; for options that are about zeros.
    """
    if options["drop_zeros"] or options["prune"]:
        raise OperandError("expected neither drop_zeros nor prune with fill_value=, but got one: they are about zeros")
    if not options["sum_duplicates"]:
        raise OperandError("expected duplicates to be summed with fill_value=, but got sum_duplicates=False")
    shape = options["shape"]
    if isinstance(source, VirtualTensor):
        source = source.made()
    if _has_own(source):
        return _with_own(tensor(source, encoding, shape=shape, dtype=dtype, **parameters), fill_value)
    is_pair = isinstance(source, tuple) and len(source) == 2
    if is_pair or neighbour_of(source) is not None or is_sparse_source(source):
        return filled(tensor(source, encoding, shape=shape, dtype=dtype, **parameters), fill_value)
    array, kind = value_array(dense_source(as_host(source), shape), dtype)
    return filled(_elements(array, fill_of(fill_value, kind), encoding, parameters), fill_value)


def _has_own(source: Any) -> bool:
    if isinstance(source, SparseTensor | FilledTensor):
        return True
    # Columns of pandas have theirs in their types.
    return neighbour_of(source) is not None and (hasattr(source, "fill_value") or hasattr(source, "sparse"))


def _with_own(made: Any, fill_value: object) -> Any:
    wanted = fill_of(fill_value, DType.of(made.dtype))
    if not is_filling(np.asarray(made.fill_value).reshape(1), wanted)[0]:
        raise OperandError(
            f"expected fill_value={made.fill_value}, as the source has, but got {fill_value}: "
            f"A.with_fill({fill_value}) gives the entries of a tensor another one"
        )
    return made


def _elements(array: Array, fill: np.generic, encoding: Any, parameters: dict[str, Any]) -> SparseTensor:
    """Returns the elements of an array that are no fill value, as stored entries."""
    wanted = wanted_encoding(encoding, _DENSE_DEFAULTS.get(array.ndim, "CSF"), array.ndim, parameters)
    extents = check_shape(array.shape, wanted)
    dims = np.nonzero(~is_filling(array, fill))
    storage = pack(wanted, extents, dims, array[dims])
    return SparseTensor._trusted(storage.encoding, extents, storage)
