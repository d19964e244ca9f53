"""The methods of arrays on sparse tensors: reductions, shapes, parts."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.process.first_use import in_hints
from mlir_sparse.process.forks import importing
from mlir_sparse.tensor.python_operators import Operators, given_once, perform

if TYPE_CHECKING:
    from mlir_sparse.encoding.encoding_value import Encoding
    from mlir_sparse.tensor.level_storage import LevelStorage
    from mlir_sparse.tensor.sparse_tensor import SparseTensor
else:
    Encoding = in_hints("mlir_sparse.encoding.encoding_value", "Encoding")
    LevelStorage = in_hints("mlir_sparse.tensor.level_storage", "LevelStorage")
    SparseTensor = in_hints("mlir_sparse.tensor.sparse_tensor", "SparseTensor")

__all__ = ["ArrayMethods"]


def _into(out: Any, found: Any) -> Any:
    return found if out is None else perform("written", found, out)


class ArrayMethods(Operators):
    """NumPy's methods, with NumPy's meaning: missing entries are zeros.

    Reductions to a number or a vector are dense. Those to more dimensions are sparse if a reduction over no entries
    gives zero. No method makes a dense array of the tensor.
    """

    __slots__ = ()

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes  # what schedulers that move and spill tensors go by

    def __dask_tokenize__(self) -> tuple[object, ...]:
        storage = self.storage
        return "SparseTensor", str(self.encoding), self.shape, storage.level_sizes, storage.view, storage.buffers()

    if TYPE_CHECKING:

        @property
        def nbytes(self) -> int:
            """Returns the bytes of all buffers."""

        @property
        def encoding(self) -> Encoding:
            """Returns the encoding, with widths."""

        @property
        def storage(self) -> LevelStorage:
            """Returns positions and coordinates by level, and the values."""

        @property
        def shape(self) -> tuple[int, ...]:
            """Returns the extent of each dimension."""

    @property
    def size(self) -> int:
        """Returns the number of elements, stored or not."""
        return prod(self.shape)

    @property
    def T(self) -> SparseTensor:  # noqa: N802 - NumPy's name
        """Returns the tensor with its axes reversed, over the same buffers: the transpose of CSR is CSC.

        >>> from mlir_sparse.tensor import tensor
        >>> tensor([[0.0, 2.0], [3.0, 0.0]]).T
        <SparseTensor f64[2,2] (d0, d1) -> (d1 : dense, d0 : compressed), 2 entries, 36 B>
        """
        return self.transpose()

    @property
    def mT(self) -> SparseTensor:  # noqa: N802 - NumPy's name
        """Returns the tensor with its last two axes exchanged, over the same buffers."""
        return self.swapaxes(-1, -2)

    @property
    def real(self) -> SparseTensor:
        """Returns the real parts; the tensor itself where it is real."""
        return perform("real", self)  # type: ignore[no-any-return]

    @property
    def imag(self) -> SparseTensor:
        """Returns the imaginary parts."""
        return perform("imag", self)  # type: ignore[no-any-return]

    def conj(self) -> SparseTensor:
        """Returns the complex conjugates."""
        return perform("elementwise", np.conjugate, (self,))  # type: ignore[no-any-return]

    conjugate = conj

    def transpose(self, *order: Any, axes: Any = None) -> SparseTensor:
        """Returns the tensor with its axes permuted, over the same buffers.

        Args:
            order: the source axis of each axis of the result, as one tuple or several numbers; reversed when absent.
            axes: the same by name.
        """
        return perform("transpose", self, given_once("axes", order, axes))  # type: ignore[no-any-return]

    def swapaxes(self, axis1: int, axis2: int) -> SparseTensor:
        """Returns the tensor with two axes exchanged, over the same buffers."""
        return perform("swapaxes", self, axis1, axis2)  # type: ignore[no-any-return]

    def reshape(self, *extents: Any, shape: Any = None, order: str = "C", copy: bool | None = None) -> SparseTensor:
        """Returns the same elements, in row-major order, in another shape.

        Args:
            extents: the shape, as one tuple or several numbers; one may be -1.
            shape: the same by name.
            order: `C`, or `F` for column-major order.
            copy: False refuses another shape than the tensor has, whose entries are copied; True copies.
        """
        wanted = given_once("shape", extents, shape)
        found: SparseTensor = perform("reshape", self, wanted, order)
        return perform("copied_as_asked", self, found, copy)  # type: ignore[no-any-return]

    def ravel(self, order: str = "C") -> SparseTensor:
        """Returns all elements as a vector."""
        return self.reshape(-1, order=order)

    flatten = ravel

    def squeeze(self, axis: Any = None) -> Any:
        """Returns the tensor without axes of one element."""
        return perform("squeeze", self, axis)

    def copy(self, order: str = "C", *, deep: bool = True) -> SparseTensor:
        """Returns a tensor with a copy of the values; positions and coordinates never change and are shared.

        Args:
            order: of no effect, as entries stay in the order of the storage; NumPy's.
            deep: False returns the tensor itself.
        """
        return perform("copy", self) if deep else self  # type: ignore[return-value]

    def with_values(self, values: Any) -> SparseTensor:
        """Returns a tensor with other values on this one's structure, which is shared and not validated again.

        Args:
            values: as many numbers as `storage.values` has, in its order; its own memory where it is one contiguous
                array of the machine's byte order. Their element type is the result's.

        Raises:
            StorageError: for another number of values; for values beyond the edges, or in slots without an entry.
            DTypeError: for an element type that the dialect lacks.
            UnsupportedError: for a slice, which has its parent's values.

        >>> from mlir_sparse.tensor import tensor
        >>> A = tensor([[0.0, 2.0], [3.0, 0.0]])
        >>> A.with_values([5.0, 7.0]).to_numpy().tolist()
        [[0.0, 5.0], [7.0, 0.0]]
        """
        with importing():
            from mlir_sparse.tensor.other_values import with_values  # imports this class's tensors

        return with_values(self, values)  # type: ignore[arg-type]

    @property
    def fill_value(self) -> np.generic:
        """Returns the value of every element that is not stored: zero. FilledTensors have another one."""
        zero: np.generic = self.storage.values.dtype.type(0)
        return zero

    def with_fill(self, fill_value: complex) -> Any:
        """Returns the same stored entries with another value for all other elements: a FilledTensor, but for zero.

        Raises:
            DTypeError: for a value that the element type does not hold.
            UnsupportedError: for storage with padding, such as blocks: its zeros are not told from missing elements.

        >>> from mlir_sparse.tensor import tensor
        >>> tensor([[0.0, 2.0], [3.0, 0.0]]).with_fill(np.inf).min(axis=1)
        array([2., 3.])
        """
        from mlir_sparse.tensor.filled_tensor import filled  # imports this class's tensors

        return filled(self, fill_value)  # type: ignore[arg-type]

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Returns the sum over axes, in 64 bits for integers.

        >>> from mlir_sparse.tensor import tensor
        >>> A = tensor([[0.0, 2.0], [3.0, 4.0]])
        >>> A.sum(), A.sum(axis=0), A.max(axis=1), A.argmax(), A.mean()
        (np.float64(9.0), array([3., 6.]), array([2., 4.]), np.int64(3), np.float64(2.25))
        """
        return _into(out, perform("reduce", np.add, self, axis, dtype=dtype, keepdims=keepdims))

    def prod(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Returns the product over axes: zero wherever an entry is missing."""
        return _into(out, perform("reduce", np.multiply, self, axis, dtype=dtype, keepdims=keepdims))

    def max(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Returns the largest element over axes; NaN if there is one."""
        return _into(out, perform("reduce", np.maximum, self, axis, keepdims=keepdims))

    def min(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Returns the smallest element over axes; NaN if there is one."""
        return _into(out, perform("reduce", np.minimum, self, axis, keepdims=keepdims))

    def any(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Returns whether some element over axes is nonzero."""
        return _into(out, perform("reduce", np.logical_or, self, axis, keepdims=keepdims))

    def all(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Returns whether all elements over axes are nonzero."""
        return _into(out, perform("reduce", np.logical_and, self, axis, keepdims=keepdims))

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Returns the average over axes, in f64 for integers."""
        return _into(out, perform("mean", self, axis, dtype=dtype, keepdims=keepdims))

    def var(self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
        """Returns the variance over axes, computed in another element type if one is given."""
        return _into(out, perform("variance", self, axis, dtype, ddof=ddof, keepdims=keepdims))

    def std(self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
        """Returns the standard deviation over axes, computed in another element type if one is given."""
        return _into(out, perform("deviation", self, axis, dtype, ddof=ddof, keepdims=keepdims))

    def argmax(self, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """Returns the first position of the largest element: along an axis, or as row-major index."""
        return _into(out, perform("position", True, self, axis, keepdims=keepdims))

    def argmin(self, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """Returns the first position of the smallest element: along an axis, or as row-major index."""
        return _into(out, perform("position", False, self, axis, keepdims=keepdims))

    def count_nonzero(self, axis: Any = None, keepdims: bool = False) -> Any:
        """Returns the number of nonzero elements over axes; stored zeros do not count."""
        return perform("count_nonzero", self, axis, keepdims=keepdims)

    def nonzero(self) -> tuple[np.ndarray[Any, Any], ...]:
        """Returns the coordinates of all nonzero elements, in row-major order."""
        return perform("nonzero", self)  # type: ignore[no-any-return]

    def dot(self, other: Any, out: Any = None) -> Any:
        """Returns NumPy's `dot`: `@` for vectors and matrices, scaling by numbers."""
        return _into(out, perform("dot", self, other))

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> SparseTensor:
        """Returns the elements on a diagonal of two axes, which becomes the last axis."""
        return perform("diagonal", self, offset, axis1, axis2)  # type: ignore[no-any-return]

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        """Returns the sum of a diagonal of two axes."""
        return perform("trace", self, offset, axis1, axis2)

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Any:
        """Returns the elements; those outside two bounds are replaced by the nearer bound."""
        return _into(out, perform("clip", self, min, max))

    def round(self, decimals: int = 0, out: Any = None) -> SparseTensor:
        """Returns the elements rounded to a number of decimals, halves to even."""
        return _into(out, perform("round", self, decimals))  # type: ignore[no-any-return]
