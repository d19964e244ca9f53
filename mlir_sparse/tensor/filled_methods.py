"""The operators and methods of NumPy's arrays on tensors with a fill value: each is NumPy's function of its name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from mlir_sparse.errors import UnsupportedError
from mlir_sparse.tensor.as_sequences import is_no_array
from mlir_sparse.tensor.borders.dask_arrays import applied_by_dask, has_chunks, register_chunks
from mlir_sparse.tensor.named_methods import NamedMethods
from mlir_sparse.tensor.python_operators import array_namespace, given_once, perform

__all__ = ["FilledMethods"]


class FilledMethods(NamedMethods, np.lib.mixins.NDArrayOperatorsMixin):
    """The methods of arrays, with NumPy's meaning: missing elements are the fill value.

    Results have a fill value of their own: what the function gives for the fill values of its operands. Where that is
    zero the result is a SparseTensor. Reductions to a number or a vector are dense.
    """

    __slots__ = ()
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    # Above SparseTensors and SciPy's sparse arrays, which then leave operators to this class.
    __array_priority__ = 120.0
    # Like NumPy's arrays, objects that compare element by element are no keys.
    __hash__ = None  # type: ignore[assignment]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if any(map(_outranks, inputs)):
            return NotImplemented  # lazy expressions and defined tensors say what they take
        if has_chunks(inputs):
            return applied_by_dask(ufunc, method, inputs, options)
        return perform("filled_ufunc", ufunc, method, *inputs, **options)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        if any(_priority(kind) > FilledMethods.__array_priority__ for kind in types):
            return NotImplemented
        if any(hasattr(kind, "__dask_graph__") for kind in types):
            register_chunks(*(kind for kind in types if hasattr(kind, "with_fill")))
            return NotImplemented
        return perform("filled_function", function, arguments, options)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """Returns the array API's namespace on tensors, `ms.xp`.

        Raises:
            UnsupportedError: for a version that it does not know.
        """
        return array_namespace(api_version)

    def __eq__(self, other: object) -> Any:
        return NotImplemented if is_no_array(other) else super().__eq__(other)

    def __ne__(self, other: object) -> Any:
        return NotImplemented if is_no_array(other) else super().__ne__(other)

    def __getitem__(self, key: Any) -> Any:
        return perform("filled_item", self, key)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise UnsupportedError(
            "expected a tensor to be read, but got an assignment to its elements: its structure never changes. "
            "use np.where(mask, value, A)"
        )

    @property
    def ndim(self) -> int:
        """Returns the number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Returns the number of elements, stored or not."""
        return math.prod(self.shape)

    @property
    def T(self) -> Any:  # noqa: N802 - NumPy's name
        """Returns the tensor with its axes reversed."""
        return np.transpose(self)  # type: ignore[call-overload]  # by the function protocol, as all below

    @property
    def mT(self) -> Any:  # noqa: N802 - NumPy's name
        """Returns the tensor with its last two axes exchanged."""
        return np.swapaxes(self, -1, -2)  # type: ignore[call-overload]

    @property
    def real(self) -> Any:
        """Returns the real parts; the tensor itself where it is real."""
        return np.real(self) if self.dtype.kind == "c" else self

    @property
    def imag(self) -> Any:
        """Returns the imaginary parts."""
        return np.imag(self)

    def conj(self) -> Any:
        """Returns the complex conjugates."""
        return np.conjugate(self)

    conjugate = conj

    def transpose(self, *order: Any, axes: Any = None) -> Any:
        """Returns the tensor with its axes permuted; reversed when none are given."""
        return np.transpose(self, given_once("axes", order, axes))  # type: ignore[call-overload]

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        """Returns the tensor with two axes exchanged."""
        return np.swapaxes(self, axis1, axis2)  # type: ignore[call-overload]

    def reshape(self, *extents: Any, shape: Any = None, order: str = "C", copy: bool | None = None) -> Any:
        """Returns the same elements, in row-major order, in another shape; one extent may be -1."""
        found = np.reshape(self, given_once("shape", extents, shape), order=order)  # type: ignore[call-overload]
        return perform("copied_as_asked", self, found, copy)

    def ravel(self, order: str = "C") -> Any:
        """Returns all elements as a vector."""
        return self.reshape(-1, order=order)

    flatten = ravel

    def squeeze(self, axis: Any = None) -> Any:
        """Returns the tensor without axes of one element."""
        return np.squeeze(self, axis)  # type: ignore[call-overload]

    def copy(self, order: str = "C", *, deep: bool = True) -> Any:
        """Returns a tensor with a copy of the values, or itself; positions and coordinates are shared."""
        return np.copy(self) if deep else self  # type: ignore[call-overload]

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Returns the sum over axes, in 64 bits for integers; each missing element adds the fill value."""
        return np.sum(self, axis=axis, dtype=dtype, out=out, keepdims=keepdims)  # type: ignore[call-overload]

    def prod(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Returns the product over axes."""
        return np.prod(self, axis=axis, dtype=dtype, out=out, keepdims=keepdims)  # type: ignore[call-overload]

    def max(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Returns the largest element over axes; NaN if there is one."""
        return np.max(self, axis=axis, out=out, keepdims=keepdims)  # type: ignore[call-overload]

    def min(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Returns the smallest element over axes; NaN if there is one."""
        return np.min(self, axis=axis, out=out, keepdims=keepdims)  # type: ignore[call-overload]

    def any(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Returns whether some element over axes is nonzero."""
        return np.any(self, axis=axis, out=out, keepdims=keepdims)  # type: ignore[call-overload]

    def all(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Returns whether all elements over axes are nonzero."""
        return np.all(self, axis=axis, out=out, keepdims=keepdims)  # type: ignore[call-overload]

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Returns the average over axes, in f64 for integers."""
        return np.mean(self, axis=axis, dtype=dtype, out=out, keepdims=keepdims)  # type: ignore[call-overload]

    def var(self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
        """Returns the variance over axes."""
        return np.var(self, axis, dtype, out=out, ddof=ddof, keepdims=keepdims)  # type: ignore[call-overload]

    def std(self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
        """Returns the standard deviation over axes."""
        return np.std(self, axis, dtype, out=out, ddof=ddof, keepdims=keepdims)  # type: ignore[call-overload]

    def argmax(self, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """Returns the first position of the largest element: along an axis, or as row-major index."""
        return np.argmax(self, axis, out=out, keepdims=keepdims)  # type: ignore[call-overload]

    def argmin(self, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """Returns the first position of the smallest element: along an axis, or as row-major index."""
        return np.argmin(self, axis, out=out, keepdims=keepdims)  # type: ignore[call-overload]

    def count_nonzero(self, axis: Any = None, keepdims: bool = False) -> Any:
        """Returns the number of nonzero elements over axes, missing ones included."""
        return np.count_nonzero(self, axis, keepdims=keepdims)  # type: ignore[call-overload]

    def nonzero(self) -> Any:
        """Returns the coordinates of all nonzero elements, in row-major order."""
        return np.nonzero(self)  # type: ignore[arg-type]

    def dot(self, other: Any, out: Any = None) -> Any:
        """Returns NumPy's `dot`."""
        return np.dot(self, other, out=out)  # type: ignore[call-overload]

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        """Returns the elements on a diagonal of two axes, which becomes the last axis."""
        return np.diagonal(self, offset, axis1, axis2)  # type: ignore[call-overload]

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        """Returns the sum of a diagonal of two axes."""
        return np.trace(self, offset, axis1, axis2)  # type: ignore[call-overload]

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Any:
        """Returns the elements; those outside two bounds are replaced by the nearer bound."""
        return np.clip(self, min, max, out=out)  # type: ignore[call-overload]

    def round(self, decimals: int = 0, out: Any = None) -> Any:
        """Returns the elements rounded to a number of decimals, halves to even."""
        return np.round(self, decimals, out=out)  # type: ignore[call-overload]


def _outranks(operand: Any) -> bool:
    return _priority(type(operand)) > FilledMethods.__array_priority__


def _priority(kind: type) -> float:
    priority = getattr(kind, "__array_priority__", 0.0)
    return float(priority) if isinstance(priority, int | float) else 0.0
