"""Tensors whose missing elements are one value other than zero."""

from __future__ import annotations

import warnings
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.dtypes import DType, numpy_dtype
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.errors import DenseCopyWarning, OperandError, StorageError, UnsupportedError
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.process.first_use import import_at_first_call, in_hints
from mlir_sparse.process.forks import importing
from mlir_sparse.tensor.batch_and_slice_parts import is_plain, plain_encoding
from mlir_sparse.tensor.borders.scipy_callers import caller, is_large_copy, left_to_the_tensor
from mlir_sparse.tensor.buffer_arrays import Casting
from mlir_sparse.tensor.fill_values import cast_fill, fill_of, is_zero_fill, no_fill
from mlir_sparse.tensor.filled_methods import FilledMethods
from mlir_sparse.tensor.level_storage import Array
from mlir_sparse.tensor.sparse_tensor import SparseTensor

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from mlir_sparse.tensor.convert.coordinates_of import expand_dims
    from mlir_sparse.tensor.draw.drawing import Drawing
else:
    import_at_first_call(__name__, {"tensor.convert.coordinates_of": ("expand_dims",)})
    DTypeLike = in_hints("numpy.typing", "DTypeLike")
    Drawing = in_hints("mlir_sparse.tensor.draw.drawing", "Drawing")

__all__ = ["FilledTensor", "filled"]


class FilledTensor(FilledMethods):
    """A sparse tensor whose missing elements are one value other than zero, its `fill_value`.

    Make one with `tensor(..., fill_value=...)` or `A.with_fill(...)`. What it stores is a SparseTensor, `stored`, of
    any storage without padding. NumPy's functions take it, and keep it sparse (see `FilledMethods`). It is no
    SparseTensor: what computes with zeros where nothing is stored refuses it by name.

    >>> from mlir_sparse.tensor import tensor
    >>> D = tensor([[np.inf, 2.0], [3.0, np.inf]], fill_value=np.inf)
    >>> D
    <FilledTensor of inf: f64[2,2] (i, j) -> (i : dense, j : compressed), 2 entries, 36 B>
    >>> (D + 1).fill_value, D.min(axis=0), (D < np.inf).nse
    (np.float64(inf), array([3., 2.]), 2)
    """

    __slots__ = ("__weakref__", "_definitions", "_fill", "_stored")

    _stored: SparseTensor
    _fill: np.generic
    # What statements read it as (`compile.definitions.filled_operands`), kept for the next call.
    _definitions: dict[Any, Any]

    def __init__(self, *_: object, **__: object) -> None:
        raise OperandError("expected tensor(..., fill_value=...) or A.with_fill(...) to make a FilledTensor")

    @classmethod
    def _of(cls, stored: SparseTensor, fill: np.generic) -> FilledTensor:
        """Returns a tensor of storage and a fill value that `filled` has looked at."""
        self = object.__new__(cls)
        self._stored, self._fill, self._definitions = stored, fill, {}
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self._stored, self._fill)

    def __copy__(self) -> FilledTensor:
        return FilledTensor._of(self._stored.copy(), self._fill)

    def __deepcopy__(self, memo: dict[int, Any]) -> FilledTensor:
        return self.__copy__()

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes

    def __dask_tokenize__(self) -> tuple[object, ...]:
        return "FilledTensor", self._stored.__dask_tokenize__(), np.asarray(self._fill)

    @property
    def fill_value(self) -> np.generic:
        """Returns the value of every element that is not stored."""
        return self._fill

    @property
    def stored(self) -> SparseTensor:
        """Returns the stored entries as a SparseTensor, whose missing elements are zeros."""
        return self._stored

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]  # an attribute there
        """Returns the extent of each dimension."""
        return self._stored.shape

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """Returns the NumPy dtype of the values."""
        return self._stored.dtype

    @property
    def encoding(self) -> Encoding:
        """Returns the encoding of what is stored."""
        return self._stored.encoding

    @property
    def nse(self) -> int:
        """Returns the number of stored entries."""
        return self._stored.nse

    @property
    def nnz(self) -> int:
        """Returns `nse`, by the name of SciPy and pydata/sparse."""
        return self.nse

    @property
    def nbytes(self) -> int:
        """Returns the bytes of all buffers."""
        return self._stored.nbytes

    @property
    def device(self) -> str:
        """Returns `cpu`, the tensor's place."""
        return "cpu"

    def with_fill(self, fill_value: complex) -> Any:
        """Returns the same stored entries with another value for all other elements; a SparseTensor for zero.

        >>> from mlir_sparse.tensor import tensor
        >>> tensor([[1.0, 2.0]], fill_value=1).with_fill(0).to_numpy()
        array([[0., 2.]])
        """
        return filled(self._stored, fill_value)

    def to_coo(self) -> tuple[Array, Array]:
        """Returns the coordinates and values of the stored entries, in storage order, as SparseTensors do."""
        return self._stored.to_coo()

    def to_numpy(self) -> Array:
        """Returns a dense array of the same shape and dtype.

        Raises:
            TooLargeError: for an array that would not fit in memory.
        """
        check_fits(prod(self.shape) * self.dtype.itemsize, f"a dense array of shape {self.shape}")
        dense = np.full(self.shape, self._fill, self.dtype)
        dims, values = expand_dims(self._stored.storage, self.shape)
        dense[tuple(dims)] = values
        return dense

    toarray = todense = to_numpy

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise StorageError(
                "expected copy to be allowed, but got copy=False: a dense array of a sparse tensor is new"
            )
        who = caller()
        if who == "scipy.sparse":
            return left_to_the_tensor(self)
        size = self.size * self.dtype.itemsize
        if who == "sklearn" or is_large_copy(size, self.nbytes):
            warnings.warn(
                f"a dense array of {size} bytes is made of a tensor of {self.nbytes} bytes and a fill value: "
                "pass A.to_numpy() for a dense copy",
                DenseCopyWarning,
                stacklevel=2,
            )
        array = self.to_numpy()
        return array if dtype is None else array.astype(numpy_dtype(dtype))

    def convert(self, encoding: str | Encoding, **parameters: Any) -> FilledTensor:
        """Returns this tensor in another encoding without padding; parameters are those of a preset.

        Raises:
            UnsupportedError: for storage with padding, such as blocks and diagonals.
        """
        wanted = as_encoding(encoding, rank=self.ndim, **parameters)
        _check_storage(wanted, self._fill)
        return FilledTensor._of(_tidied(self._stored.convert(wanted)), self._fill)

    def astype(self, dtype: DTypeLike | DType, *, casting: Casting = "unsafe", copy: bool = False) -> Any:
        """Returns the tensor with another element type; a SparseTensor where the fill value becomes zero.

        Args:
            dtype: the element type.
            casting: the casts allowed, as in `numpy.can_cast`.
            copy: whether values are copied where the type is the same.

        Raises:
            DTypeError: for complex values as real ones, and for a fill value that the type does not hold.
        """
        wanted = DType.of(dtype)
        if wanted == self._stored.type.dtype and not copy:
            return self
        return filled(self._stored.astype(wanted, casting=casting, copy=copy), cast_fill(self._fill, wanted))

    def to(self, where: str, **options: Any) -> Any:
        """Returns the tensor as a sparse array of another library, which must have fill values.

        Args:
            where: `cpu`, for the tensor itself, or `pydata`.
            options: none.

        Raises:
            UnsupportedError: for a library, and for a device, without fill values.
            MissingPackageError: without the library.
        """
        if where == "cpu" and not options:
            return self
        if where == "pydata" and not options:
            with importing():
                from mlir_sparse.tensor.borders.pydata_sparse import pydata_of  # what most tensors never need

            return pydata_of(self._stored, self._fill)
        raise no_fill(
            self._fill,
            f"a tensor for {where!r}",
            "pass A.to_numpy() for a dense copy, A.to('pydata'), or A.stored for the stored entries beside zeros",
        )

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """Returns `to(device)`, by the array API's name; `stream` is not needed."""
        return self.to(device)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # kDLCPU

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError(
            f"expected an array without fill value for DLPack, but got one of {self._fill}: pass A.to_numpy()"
        )

    def spy(self, *, pixels: int = 160) -> Drawing:
        """Returns a picture of the stored entries' places (see `SparseTensor.spy`)."""
        return self._stored.spy(pixels=pixels)

    def _head(self) -> str:
        return f"FilledTensor of {self._fill}:"

    def __repr__(self) -> str:
        return repr(self._stored).replace("SparseTensor", self._head(), 1)

    def __str__(self) -> str:
        return str(self._stored).replace("SparseTensor", self._head(), 1)

    def _repr_html_(self) -> str:
        with importing():
            from mlir_sparse.tensor.draw.tensor_html import tensor_html  # what most tensors never need

        return tensor_html(self._stored, fill=str(self._fill))


def filled(stored: SparseTensor, fill_value: object) -> Any:
    """Returns a tensor's stored entries with a value for all other elements: a SparseTensor itself for zero.

    Raises:
        DTypeError: for a value that the element type does not hold.
        UnsupportedError: for storage with padding, which cannot be told from entries.
    """
    fill = fill_of(fill_value, stored.type.dtype)
    if is_zero_fill(fill):
        return stored
    _check_storage(stored.encoding, fill)
    return FilledTensor._of(_tidied(stored), fill)


def _check_storage(encoding: Encoding, fill: np.generic) -> None:
    if encoding.implicit_val is not None:
        raise OperandError(
            f"expected no implicitVal beside fill value {fill}, but got {encoding.implicit_val}: the dialect has zero "
            "alone there"
        )
    if encoding.has_padding or not encoding.holds_all:
        raise UnsupportedError(
            f"expected storage whose entries are told from padding for fill value {fill}, but got "
            f"{encoding.map_text()}: store it as CSR, COO, CSF or other levels that end compressed or singleton, "
            "or take zero"
        )


def _tidied(stored: SparseTensor) -> SparseTensor:
    """Returns the same entries, each once, in storage of their own."""
    encoding = stored.encoding
    if not is_plain(encoding):
        stored = stored.convert(plain_encoding(encoding))
    if not stored.encoding.is_unique:
        stored = stored.convert("COO" if stored.ndim > 1 else "SparseVector")
    if stored.encoding.explicit_val is not None:
        plain = replace(stored.encoding, explicit_val=None)
        stored = SparseTensor._trusted(plain, stored.shape, stored.storage)
    return stored


def _unpickled(stored: SparseTensor, fill: np.generic) -> FilledTensor:
    return FilledTensor._of(stored, fill)
