"""The sparse tensor: shape, encoding and level storage, and its conversions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import TensorType
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.encoding.dim_slice import DimSlice
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.sketch import Sketch
from mlir_sparse.errors import DTypeError, OperandError
from mlir_sparse.process.available_memory import NEVER_CHECKED, check_fits
from mlir_sparse.process.first_use import import_at_first_call, in_hints
from mlir_sparse.process.progress import progress_of_many
from mlir_sparse.tensor.batch_and_slice_parts import plain_encoding, sliced
from mlir_sparse.tensor.buffer_arrays import Casting, cast_values, check_cast
from mlir_sparse.tensor.convert.convert import convert_storage, work_of
from mlir_sparse.tensor.convert.pack import pack
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.library_methods import LibraryMethods
from mlir_sparse.tensor.validate import storage_of_levels
from mlir_sparse.text.given_arguments import shown

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from mlir_sparse.tensor.convert.coordinates_of import count_entries, expand_dims
    from mlir_sparse.tensor.dense_entries import dense_of_listed
    from mlir_sparse.tensor.draw.drawing import Drawing
    from mlir_sparse.tensor.draw.spy import spy
    from mlir_sparse.tensor.draw.tensor_html import tensor_html
    from mlir_sparse.tensor.drop_entries import structured_level
    from mlir_sparse.tensor.printed_tensor import describe_tensor
else:
    import_at_first_call(
        __name__,
        {
            "tensor.convert.coordinates_of": ("count_entries", "expand_dims"),
            "tensor.dense_entries": ("dense_of_listed",),
            "tensor.draw.spy": ("spy",),
            "tensor.draw.tensor_html": ("tensor_html",),
            "tensor.drop_entries": ("structured_level",),
            "tensor.printed_tensor": ("describe_tensor",),
        },
    )
    DTypeLike, Drawing = in_hints("numpy.typing", "DTypeLike"), in_hints("mlir_sparse.tensor.draw.drawing", "Drawing")

__all__ = ["SparseTensor"]

_FEW = 1 << 12  # entries that one call of NumPy's writes: what a loop of its own saves is less than its call takes


class SparseTensor(LibraryMethods):
    """A tensor in the storage format of its encoding; make one with `tensor` or `from_levels`.

    Its structure never changes: positions and coordinates are read-only. Values can be written through
    `storage.values`, unless their array was read-only.

    >>> from mlir_sparse.tensor import tensor
    >>> A = tensor([[0.0, 2.0], [3.0, 0.0]])
    >>> A.shape, A.nse, A.storage.positions[1].tolist()
    ((2, 2), 2, [0, 1, 2])
    """

    __slots__ = ("__weakref__", "_dtype", "_fibres", "_mirrored", "_nse", "_operand",
                 "_shape", "_sketch", "_storage", "_structures", "_triangles", "_view")  # fmt: skip

    _shape: tuple[int, ...]
    _storage: LevelStorage
    _dtype: DType
    _nse: int | None
    # The runtime's arguments for compiled functions, kept for the next call.
    _operand: Any
    # The view in level space (`level_view`), likewise.
    _view: SparseTensor | None
    _fibres: Any  # that of its fibres (`fibres_of`), and what it was made by
    # How its entries spread (`sketch_of`), once it was asked for.
    _sketch: Sketch | None
    # Whether its structure is that of its transpose (`is_symmetric`), once it was asked for.
    _mirrored: bool | None
    # What a kernel assembled for this result, for `Kernel.compute`.
    _structures: Any
    # The order in which to solve with its triangles (`linalg.solve_triangular`), likewise for the next call.
    _triangles: Any

    def __init__(self, *_: object, **__: object) -> None:
        raise OperandError("expected tensor(...) or SparseTensor.from_levels(...) to make a SparseTensor")

    @classmethod
    def from_levels(
        cls,
        encoding: str | Encoding,
        shape: Sequence[int],
        positions: Sequence[object],
        coordinates: Sequence[object],
        values: object,
        *,
        dtype: DTypeLike | DType | None = None,
    ) -> SparseTensor:
        """Returns a tensor on level buffers, after checking every rule of the encoding.

        Memory is shared where width, byte order and layout agree. For the levels of an array-of-structs COO region they
        agree if the arrays are views of one interleaved array.

        Args:
            encoding: any argument of `encoding`; widths that it does not name are those of the arrays.
            shape: the extent of each dimension.
            positions: for each level an array of integers, or None where it has none.
            coordinates: likewise.
            values: the values at the innermost level's positions, of any shape, in row-major order.
            dtype: the element type, that of `values` by default.

        Raises:
            PositionsError: for positions of the wrong number, not monotone, or out of range.
            CoordinatesError: for coordinates out of range, out of order, or repeated.
            StorageError: for values or levels that do not match.
            WidthError: for named widths too small for the numbers.
            DTypeError: for arrays of the wrong type.

        >>> A = SparseTensor.from_levels("CSR", (2, 3), [None, [0, 1, 3]], [None, [2, 0, 1]], [5.0, 6.0, 7.0])
        >>> A.to_numpy()
        array([[0., 0., 5.],
               [6., 7., 0.]])
        """
        storage, extents, kind = storage_of_levels(encoding, shape, positions, coordinates, values, dtype)
        return cls._from_parts(extents, storage, kind)

    @classmethod
    def _trusted(cls, encoding: Encoding, shape: Sequence[int], storage: LevelStorage) -> SparseTensor:
        """Returns a tensor on buffers of this package's making; nothing is checked."""
        if storage.encoding is not encoding:
            storage = LevelStorage.from_buffers(encoding, storage.level_sizes, storage.buffers())
        return cls._from_parts(tuple(shape), storage, DType.of(storage.values.dtype))

    @classmethod
    def _from_parts(cls, shape: tuple[int, ...], storage: LevelStorage, dtype: DType) -> SparseTensor:
        self = object.__new__(cls)
        self._shape, self._storage, self._dtype, self._nse, self._fibres = shape, storage, dtype, None, None
        self._operand = self._view = self._sketch = self._mirrored = self._structures = self._triangles = None
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # The runtime's arguments are addresses in this process, and are left out.
        storage = self._storage
        if storage.view:  # what a slice shows goes without the rest of its parent
            plain = self.convert(plain_encoding(self.encoding))._storage
            storage, _ = sliced(plain, self._shape, [slice(0, extent) for extent in self._shape])
        return _unpickled, (storage.encoding, self._shape, storage.level_sizes, storage.buffers(), storage.view)

    def __copy__(self) -> SparseTensor:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> SparseTensor:
        return self.copy()

    @property
    def shape(self) -> tuple[int, ...]:
        """Returns the extent of each dimension."""
        return self._shape

    @property
    def ndim(self) -> int:
        """Returns the number of dimensions."""
        return len(self._shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Returns the NumPy dtype of the values."""
        dtype: np.dtype[Any] = self._storage.values.dtype
        return dtype

    @property
    def encoding(self) -> Encoding:
        """Returns the encoding, with widths."""
        return self._storage.encoding

    @property
    def storage(self) -> LevelStorage:
        """Returns positions and coordinates by level, and the values.

        Values may be written in place, but the parts of blocks beyond the last row and column stay zeros.
        """
        return self._storage

    @property
    def type(self) -> TensorType:
        """Returns the type that kernels are compiled for: any shape of this element type and encoding.

        >>> from mlir_sparse.tensor import tensor
        >>> print(tensor([0, 7, 0]).type.mlir_text())
        tensor<?xi64, #sparse_tensor.encoding<{ map = (d0) -> (d0 : compressed), posWidth = 32, crdWidth = 32 }>>
        """
        return TensorType(self._dtype, (None,) * self.ndim, self.encoding)

    @property
    def nse(self) -> int:
        """Returns the number of stored entries, explicit zeros and the padding of blocks included."""
        if self._nse is None:
            self._nse = count_entries(self._storage)
        return self._nse

    @property
    def nbytes(self) -> int:
        """Returns the bytes of all buffers."""
        return self._storage.nbytes

    def to_coo(self) -> tuple[Array, Array]:
        """Returns coordinates and values, in storage order.

        Stored zeros are kept. Formats whose innermost level is dense or structured cannot distinguish them from padding
        and leave them out.

        Returns:
            an array of shape (rank, entries), int32 or int64, and an array of the values.

        >>> from mlir_sparse.tensor import tensor
        >>> coordinates, values = tensor([[0.0, 2.0], [3.0, 0.0]], "CSC").to_coo()
        >>> coordinates.tolist(), values.tolist()
        ([[1, 0], [0, 1]], [3.0, 2.0])
        """
        dims, values = expand_dims(self._storage, self._shape)
        return np.stack(dims), values.copy() if values is self._storage.values else values

    def to_numpy(self, fill_value: float | complex = 0) -> Array:
        """Returns a dense array of the same shape and dtype; entries stored twice are added.

        Args:
            fill_value: the value of missing elements, such as `math.inf` for distances.

        Raises:
            TooLargeError: for an array that would not fit in memory.
            DTypeError: for a fill value outside the element type.
            OperandError: for a fill value that is no number.

        >>> from mlir_sparse.tensor import tensor
        >>> tensor([[0.0, 2.0], [3.0, 0.0]]).to_numpy(fill_value=float("inf"))
        array([[inf,  2.],
               [ 3., inf]])
        """
        nbytes = prod(self._shape) * self._storage.values.itemsize
        if nbytes > NEVER_CHECKED:  # the text takes longer than the check
            check_fits(nbytes, f"a dense array of shape {self._shape}")
        if type(fill_value) is not int or fill_value:
            return self._filled(fill_value)
        found = dense_of_listed(self._storage, self._shape)
        if found is not None:
            return found
        dims, values = expand_dims(self._storage, self._shape)
        if values.size <= _FEW and self.encoding.is_unique:
            found = np.zeros(self._shape, self.dtype)
            found[tuple(dims)] = values
            return found
        dense = as_encoding("dense", rank=self.ndim)
        return pack(dense, self._shape, dims, values).values.reshape(self._shape)

    def _filled(self, fill_value: float | complex) -> Array:
        is_number = isinstance(fill_value, int | float | complex | np.generic | np.ndarray) and np.ndim(fill_value) == 0
        if not is_number or np.asarray(fill_value).dtype.kind not in "biufcV":
            raise OperandError(f"expected a number as fill value, but got {shown(fill_value)}")
        with np.errstate(all="ignore"):
            filling = np.asarray(fill_value).astype(self.dtype)
        if filling != fill_value and fill_value == fill_value:
            raise DTypeError(f"expected a fill value that {self._dtype} holds, but got {fill_value!r}")
        dense = np.full(self._shape, filling, self.dtype)
        once = self.convert("SparseVector" if self.ndim == 1 else "COO")  # entries stored twice are added
        coordinates, values = once.to_coo()
        dense[tuple(coordinates)] = values
        return dense

    def spy(self, *, pixels: int = 160) -> Drawing:
        """Returns a picture of the stored entries' places, with explicit zeros, without the padding of blocks.

        It shows itself in notebooks and terminals, and `save` writes it as `.svg`, `.png` or `.txt`. Of a large matrix
        each mark is a rectangle of elements, the darker the more entries it has. A tensor with more than two
        dimensions, such as batches, has a picture for each matrix in its last two dimensions, or for each run of
        matrices where there are many; a vector is a row.

        Args:
            pixels: the greatest number of marks in each dimension.

        Raises:
            OperandError: for fewer pixels than 1, or more than 4096.

        >>> from mlir_sparse.tensor import tensor
        >>> print(tensor([[0.0, 2.0], [3.0, 0.0]], "CSC").spy())
        2 x 2, 2 entries
        (i, j) -> (j : dense, i : compressed)
        ·█
        █·
        """
        return spy(self, pixels)

    def convert(
        self,
        encoding: str | Encoding,
        *,
        sum_duplicates: bool = True,
        drop_zeros: bool = False,
        prune: bool = False,
        **parameters: Any,
    ) -> SparseTensor:
        """Returns this tensor in another encoding; itself if nothing changes.

        Stored zeros are kept, except in a conversion from a format whose innermost level is dense or structured to
        another format: there zeros are padding.

        Args:
            encoding: anything that `encoding` takes.
            sum_duplicates: False keeps each of several entries with equal coordinates, if the encoding allows it.
            drop_zeros: True leaves out stored zeros, also duplicates that add up to zero.
            prune: True keeps the n of greatest magnitude in each group of m, for n:m formats.
            parameters: parameters of a preset, as for `encoding` (`block`, `order`, `pos_width`, ...).

        >>> from mlir_sparse.tensor import tensor
        >>> tensor([[0.0, 2.0], [3.0, 0.0]]).convert("DCSC").storage.coordinates[0].tolist()
        [0, 1]
        >>> tensor([[1.0, -7.0, 5.0, 2.0]]).convert("NV_24", prune=True).to_numpy().tolist()
        [[0.0, -7.0, 5.0, 0.0]]
        """
        wanted = as_encoding(encoding, rank=self.ndim, **parameters)
        if prune:
            structured_level(wanted)
        if (drop_zeros or prune) and not sum_duplicates:
            raise OperandError("expected duplicates to be summed to leave entries out, but got sum_duplicates=False")
        if wanted == self.encoding and not drop_zeros:
            return self
        size = work_of(self._storage, self._shape, wanted)
        with progress_of_many(size, lambda: f"converting to {wanted.preset or wanted.map_text()}"):
            storage = convert_storage(
                self._storage, self._shape, wanted, sum_duplicates=sum_duplicates, drop_zeros=drop_zeros, prune=prune
            )
        return self._from_parts(self._shape, storage, self._dtype)

    def slice(self, *slices: slice | DimSlice) -> SparseTensor:
        """Returns a slice of this tensor, which shares all buffers: values written to one change the other.

        Kernels convert a slice to plain storage first, which copies its entries.

        Args:
            slices: for each dimension Python's slice, with start and stop inside it, or offset, size and stride as
                `DimSlice` (the dialect's `dimSlices`).

        Raises:
            RankError: for another number of slices than dimensions.
            OperandError: for slices out of range or empty.
            UnsupportedError: for levels that are not dimensions, as in blocks and batches.

        >>> from mlir_sparse.tensor import tensor
        >>> part = tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]]).slice(slice(1, 2), slice(0, 3, 2))
        >>> part.to_numpy().tolist(), str(part.encoding.slices[1])
        ([[3.0, 4.0]], '#sparse_tensor<slice(0, 2, 2)>')
        """
        storage, shape = sliced(self._storage, self._shape, slices)
        return self._from_parts(shape, storage, self._dtype)

    def astype(self, dtype: DTypeLike | DType, *, casting: Casting = "unsafe", copy: bool = False) -> SparseTensor:
        """Returns the tensor with another element type; itself if it has that type.

        Args:
            dtype: the element type.
            casting: the casts allowed, as in `numpy.can_cast`.
            copy: whether values are copied where the type is the same.

        Raises:
            DTypeError: for complex values as real ones, and for a cast that is not allowed.
        """
        wanted = DType.of(dtype)
        check_cast(self._dtype, wanted, casting)
        if wanted == self._dtype:
            return self.copy() if copy else self
        storage = self._storage.with_values(cast_values(self._storage.values, wanted))
        return self._from_parts(self._shape, storage, wanted)

    def __repr__(self) -> str:
        return describe_tensor(self, entries=False)

    def __str__(self) -> str:
        return describe_tensor(self, entries=True)

    def _repr_html_(self) -> str:
        """Returns type, storage and sizes as a table for notebooks, and where the entries are."""
        return tensor_html(self)


def _unpickled(
    encoding: Encoding,
    shape: tuple[int, ...],
    level_sizes: tuple[int, ...],
    buffers: tuple[Array, ...],
    view: tuple[tuple[int, int, int], ...],
) -> SparseTensor:
    storage = LevelStorage.from_buffers(encoding, level_sizes, buffers)
    return SparseTensor._trusted(encoding, shape, replace(storage, view=view) if view else storage)
