"""The public constructor of tensors: `tensor` takes arrays, entries and other libraries' tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.encoding.buffer_layout import check_extents, check_shape, check_supported
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.errors import OperandError, RankError
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.process.first_use import import_at_first_call, in_hints
from mlir_sparse.process.forks import importing
from mlir_sparse.process.progress import progress_of_many
from mlir_sparse.tensor.batch_and_slice_parts import is_plain, plain_encoding
from mlir_sparse.tensor.borders.dense_arrays import array_of
from mlir_sparse.tensor.borders.foreign_arrays import as_host, is_scipy, is_semi_structured, is_torch_sparse
from mlir_sparse.tensor.borders.neighbours import neighbour_of
from mlir_sparse.tensor.buffer_arrays import index_array, value_array
from mlir_sparse.tensor.convert.pack import pack
from mlir_sparse.tensor.fill_values import WAY_OUT, no_fill
from mlir_sparse.tensor.filled_tensor import FilledTensor
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.sparse_tensor import SparseTensor
from mlir_sparse.tensor.validate import check_explicit_value
from mlir_sparse.tensor.virtual_tensor import VirtualTensor
from mlir_sparse.text.given_arguments import integers_of

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from mlir_sparse.tensor.borders.known_classes import known_tensor
    from mlir_sparse.tensor.create_foreign import tensor_of_neighbour, tensor_of_scipy, tensor_of_torch
else:
    DTypeLike = in_hints("numpy.typing", "DTypeLike")
    import_at_first_call(
        __name__,
        {
            "tensor.borders.known_classes": ("known_tensor",),
            "tensor.create_foreign": ("tensor_of_neighbour", "tensor_of_scipy", "tensor_of_torch"),
        },
    )

__all__ = ["Asked", "dense_source", "from_entries", "from_library", "tensor", "tensor_with_zeros", "wanted_encoding"]

_DENSE_DEFAULTS = {1: "SparseVector", 2: "CSR"}
_KINDS = (
    "a dense array, a sparse array of SciPy, PyTorch or another library, a pair (coordinates, values), a SparseTensor, "
    "or a number with shape=..."
)


def tensor(
    source: object,
    encoding: str | Encoding | None = None,
    *,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | DType | None = None,
    sum_duplicates: bool = True,
    drop_zeros: bool = False,
    prune: bool = False,
    fill_value: complex | None = None,
    **parameters: Any,
) -> SparseTensor:
    """Returns a sparse tensor with the entries of a source, which is never changed.

    SciPy's csr, csc and bsr share their memory with the tensor if their indices are sorted and without duplicates, and
    the encoding is their format's.

    Args:
        source: one of a dense array or nested lists, whose nonzero elements (NaN included) are stored; PyTorch's
            strided tensors and other arrays in host memory that speak DLPack are dense arrays; a SciPy sparse array or
            matrix of any format, or CuPy's, which is copied to the host; a PyTorch tensor of any sparse layout (see
            `mlir_sparse.tensor.borders.torch_sparse`); a sparse array of pydata/sparse, JAX, TensorFlow, GraphBLAS,
            Arrow or pandas; a graph of networkx or igraph, as its adjacency; a group of HDF5 or Zarr as anndata writes
            it; a pair (coordinates, values): integers of shape (rank, entries), or one array a dimension, in any order,
            duplicates allowed; a SparseTensor; a number, with `shape`, for all elements.
        encoding: any argument of `encoding`. By default a dense source becomes SparseVector,
            CSR or CSF by its rank, a pair COO, csr CSR, csc CSC, coo COO, bsr BSR, dia DIA
            and the rest of SciPy's formats CSR; PyTorch's semi-structured tensors become NV_24. Other libraries' arrays
            have the encoding whose levels they are.
        shape: the extents; needed for a pair whose last rows or columns are empty.
        dtype: the element type, that of the source by default.
        sum_duplicates: False keeps each of a pair's entries with equal coordinates, for encodings whose innermost level
            is nonunique.
        drop_zeros: True leaves out stored zeros, also duplicates that add up to zero.
        prune: True keeps the n of greatest magnitude in each group of m, for n:m formats.
        fill_value: the value of all elements that are not stored, where it is not zero: the result is a FilledTensor.
            Elements of a dense source that have it are not stored. Arrays of pydata/sparse keep their own.
        parameters: parameters of a preset, as for `encoding` (`block`, `order`, `pos_width`, ...).

    Returns:
        a SparseTensor; a FilledTensor for a fill value other than zero, asked for or the source's own.

    Raises:
        OperandError: for any other source, and for another fill value than the source has.
        DTypeError: for elements that sparse tensors cannot have, such as dates.
        CoordinatesError: for coordinates outside the shape.
        TooLargeError: for storage that would not fit in memory.

    >>> A = tensor(([[0, 2, 0], [1, 0, 1]], [1.0, 2.0, 3.0]), "CSR", shape=(3, 2))
    >>> A.to_numpy().tolist()
    [[0.0, 4.0], [0.0, 0.0], [2.0, 0.0]]
    """
    if fill_value is not None:
        with importing():
            from mlir_sparse.tensor.create_filled import tensor_with_fill  # imports this module, and few need it

        asked_for = {"shape": shape, "sum_duplicates": sum_duplicates, "drop_zeros": drop_zeros, "prune": prune}
        return tensor_with_fill(source, encoding, fill_value, dtype, asked_for, parameters)  # type: ignore[no-any-return]
    as_it_is = encoding is None and shape is None and dtype is None and not (drop_zeros or prune or parameters)
    if as_it_is and (found := known_tensor(source)) is not None:
        return found  # type: ignore[no-any-return]
    if drop_zeros or prune:
        whole = tensor(source, shape=shape, dtype=dtype)
        wanted = whole.encoding if encoding is None else encoding
        options = {"sum_duplicates": sum_duplicates, "drop_zeros": drop_zeros, "prune": prune}
        if not isinstance(whole, SparseTensor):
            raise no_fill(whole.fill_value, "drop_zeros and prune", WAY_OUT)
        return whole.convert(wanted, **options, **parameters)
    if type(source) is tuple and len(source) == 2:  # of no library: to ask takes as long as to store a few entries
        return _from_pair(source, Asked(encoding, shape, dtype, sum_duplicates, parameters))
    if is_torch_sparse(source):
        return tensor_of_torch(source, as_it_is, Asked(encoding, shape, dtype, sum_duplicates, parameters))
    if (neighbour := neighbour_of(source)) is not None:
        asked = Asked(encoding, shape, dtype, sum_duplicates, parameters)
        return tensor_of_neighbour(neighbour, source, as_it_is, asked)  # type: ignore[no-any-return]
    if isinstance(source, VirtualTensor):
        source = source.made()
    if isinstance(source, SparseTensor):
        return _from_sparse(source, Asked(encoding, shape, dtype, sum_duplicates, parameters))
    if isinstance(source, FilledTensor):
        return _from_filled(source, Asked(encoding, shape, dtype, sum_duplicates, parameters))  # type: ignore[no-any-return]
    if encoding is None and not parameters and is_semi_structured(source):
        encoding = "NV_24"
    source, asked = as_host(source), Asked(encoding, shape, dtype, sum_duplicates, parameters)
    if is_scipy(source):
        return tensor_of_scipy(source, as_it_is, asked)
    if isinstance(source, tuple) and len(source) == 2:
        return _from_pair(source, asked)
    return _from_dense(source, asked)


@dataclass(frozen=True, slots=True)
class Asked:
    """The user's arguments of `tensor` besides the source."""

    encoding: str | Encoding | None
    shape: Sequence[int] | None
    dtype: DTypeLike | DType | None
    sum_duplicates: bool
    parameters: dict[str, Any]


def _from_sparse(
    source: SparseTensor,
    asked: Asked,
) -> SparseTensor:
    _check_given_shape(asked.shape, source.shape)
    cast = source if asked.dtype is None else source.astype(asked.dtype)
    wanted = source.encoding if asked.encoding is None else asked.encoding
    return cast.convert(wanted, sum_duplicates=asked.sum_duplicates, **asked.parameters)


def _from_filled(source: FilledTensor, asked: Asked) -> Any:
    _check_given_shape(asked.shape, source.shape)
    cast = source if asked.dtype is None else source.astype(asked.dtype)
    if asked.encoding is None and not asked.parameters:
        return cast
    return cast.convert(source.encoding if asked.encoding is None else asked.encoding, **asked.parameters)


def tensor_with_zeros(
    source: object, what: str, encoding: str | Encoding | None = None, dtype: DTypeLike | DType | None = None
) -> SparseTensor:
    """Returns `tensor(source)` where nothing but zeros may be missing.

    Args:
        source: as for `tensor`.
        what: what takes zeros alone, for the message.
        encoding: as for `tensor`.
        dtype: likewise.

    Raises:
        UnsupportedError: for a fill value other than zero.
    """
    made = tensor(source, encoding, dtype=dtype)
    if not isinstance(made, SparseTensor):
        raise no_fill(made.fill_value, what, WAY_OUT)
    return made


def from_library(
    source: Any,
    default: Callable[[Any], Encoding],
    store: Callable[[Any, Encoding, object], LevelStorage],
    asked: Asked,
) -> SparseTensor:
    """Returns the tensor of another library's array.

    Args:
        source: the array, which has a shape.
        default: returns the encoding of an array that nothing was asked for.
        store: returns the levels of an array in an encoding, with elements of a dtype, or of its own.
        asked: what was asked for.
    """
    _check_given_shape(asked.shape, source.shape)
    wanted = wanted_encoding(asked.encoding, default(source), len(source.shape), asked.parameters)
    storage = store(source, plain_encoding(wanted), asked.dtype)
    return SparseTensor._trusted(storage.encoding, source.shape, storage).convert(wanted)


def wanted_encoding(
    encoding: str | Encoding | None, default: str | Encoding, rank: int, parameters: dict[str, Any]
) -> Encoding:
    """Returns the encoding that is asked for, by default another one; parameters alone ask for their preset."""
    if encoding is None and set(parameters) <= {"pos_width", "crd_width"}:
        return as_encoding(default, rank=rank, **parameters)
    if encoding is None and "block" in parameters:
        encoding = "BSR"
    wanted = as_encoding("CSF" if encoding is None else encoding, rank=rank, **parameters)
    check_supported(wanted)
    return wanted


def _check_given_shape(given: Sequence[int] | None, shape: Sequence[int]) -> None:
    if given is not None and (wanted := integers_of(given, "shape=")) != tuple(shape):
        raise OperandError(f"expected a source of shape {wanted}, as given, but got {tuple(shape)}")


def _from_pair(
    source: tuple[Any, Any],
    asked: Asked,
) -> SparseTensor:
    dims = _split_coordinates(source[0])
    extents = _infer_shape(dims) if asked.shape is None else integers_of(asked.shape, "shape=")
    if len(dims) != len(extents):
        raise RankError(
            f"expected coordinates of {len(extents)} dimensions, one row each, for shape {extents}, "
            f"but got {len(dims)}{_transposed_hint(source[0], len(extents))}"
        )
    return from_entries(
        dims,
        source[1],
        extents,
        asked.encoding,
        dtype=asked.dtype,
        parameters=asked.parameters,
        sum_duplicates=asked.sum_duplicates,
        width=_index_width(source[0], dims),
    )


def from_entries(
    dims: Sequence[Array],
    values: object,
    shape: Sequence[int],
    encoding: str | Encoding | None,
    *,
    dtype: object,
    parameters: dict[str, Any],
    sum_duplicates: bool = True,
    width: int | None = None,
) -> SparseTensor:
    """Returns the tensor of entries, with one coordinate array a dimension.

    Args:
        dims: the coordinates.
        values: the values.
        shape: the extents.
        encoding: the encoding; SparseVector or COO when None.
        dtype: the element type, that of the values when None.
        parameters: parameters of a preset.
        sum_duplicates: see `tensor`.
        width: the bits of the coordinates, if they are the user's arrays.
    """
    wanted = wanted_encoding(encoding, "SparseVector" if len(dims) == 1 else "COO", len(dims), parameters)
    source = (width, width)
    storage = pack(wanted, shape, dims, values, dtype=dtype, sum_duplicates=sum_duplicates, source=source)
    return SparseTensor._trusted(storage.encoding, integers_of(shape, "shape="), storage)


def _split_coordinates(given: Any) -> list[Array]:
    """Returns one array a dimension; a flat sequence of numbers is a vector's coordinates."""
    expected = "coordinates of a pair (coordinates, values)"
    if not isinstance(given, list | tuple) or (given and array_of(given[0], expected).ndim == 0):
        given = array_of(given, expected)
    if isinstance(given, np.ndarray) and given.ndim == 1:
        given = [given]
    if isinstance(given, np.ndarray) and given.ndim == 0:
        raise OperandError(f"expected {expected}, but got the number {given}")
    return [index_array(column, f"coordinates[{dim}]") for dim, column in enumerate(given)]


def _transposed_hint(given: object, rank: int) -> str:
    transposed = isinstance(given, np.ndarray) and given.ndim == 2 and given.shape[1] == rank
    return ": transpose them" if transposed else ""


def _infer_shape(dims: Sequence[Array]) -> tuple[int, ...]:
    if not dims or any(dim.size == 0 for dim in dims):
        raise RankError("expected shape=... with coordinates of no entries, but got none")
    return tuple(int(dim.max()) + 1 for dim in dims)


def _index_width(given: object, dims: Sequence[Array]) -> int | None:
    """Returns the bits of coordinates that are arrays; lists have none."""
    if not isinstance(given, np.ndarray):
        for column in given:  # type: ignore[attr-defined]  # it was split already
            if not isinstance(column, np.ndarray):
                return None
    widest = 0
    for dim in dims:
        widest = max(widest, dim.dtype.itemsize)
    return 8 * widest or None


def _from_dense(
    source: object,
    asked: Asked,
) -> SparseTensor:
    array = dense_source(source, asked.shape)
    wanted = wanted_encoding(asked.encoding, _DENSE_DEFAULTS.get(array.ndim, "CSF"), array.ndim, asked.parameters)
    extents = check_shape(array.shape, wanted)
    if wanted.is_dense and wanted.is_permutation and is_plain(wanted):
        storage = _dense_storage(array, wanted, asked.dtype)
    else:
        with progress_of_many(array.size, lambda: f"storing an array of shape {array.shape}"):
            dims = np.nonzero(array)
            values, _ = value_array(array[dims], asked.dtype)
            storage = pack(wanted, extents, dims, values)
    return SparseTensor._trusted(storage.encoding, extents, storage)


def dense_source(source: object, shape: Sequence[int] | None) -> Array:
    """Returns a dense source as an array, a number as one of the shape given.

    Raises:
        OperandError: for any other source, and for a shape that is not its own.
        RankError: for a number without a shape.
    """
    array = array_of(source, _KINDS)
    if array.ndim == 0:
        if shape is None:
            raise RankError(
                "expected a tensor of one dimension or more, but got a number: give shape=... to fill one with it, "
                "or pass the number to kernels as it is"
            )
        return _full(array, integers_of(shape, "shape="))
    _check_given_shape(shape, array.shape)
    return array


def _full(number: Array, shape: tuple[int, ...]) -> Array:
    check_extents(shape)
    check_fits(prod(shape) * number.itemsize, f"a tensor full of a number, of shape {shape}")
    return np.broadcast_to(number, shape)


def _dense_storage(array: Array, encoding: Encoding, dtype: object) -> LevelStorage:
    """Returns all elements in the order of the levels, without a copy if the array has that order."""
    values, kind = value_array(array.transpose(encoding.level_order), dtype)
    flat = values.reshape(-1)
    check_explicit_value(encoding, flat, kind)
    wanted = encoding.with_widths(encoding.pos_width or 32, encoding.crd_width or 32)
    return LevelStorage.from_buffers(wanted, encoding.level_sizes(array.shape), [flat])
