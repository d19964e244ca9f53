"""Methods of the arrays of SciPy, NumPy and pydata/sparse that are functions here, and ways out of the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.errors import OperandError
from mlir_sparse.tensor.as_sequences import AsSequences

__all__ = ["NamedMethods"]

_NUMPY: Any = np  # whose types know no tensors
_CHANGES = "a tensor's structure never changes"
_ONCE = "entries are in order, and each there once, in all storage but Unordered and Nonunique ones: use A.convert"
# What arrays of other libraries have, and a tensor has elsewhere.
_STATEMENTS = "use ms.evaluate('y(i) = A(i,j) * x(j)', A=A, x=x), or ms.compile, whose kernel has it"
_ELSEWHERE = {
    "change_compressed_axes": "use A.convert, to CSR or CSC for matrices",
    "assemble": _STATEMENTS,
    "check_format": "tensors are checked when they are made",
    "compile": _STATEMENTS,
    "compressed_axes": "use A.encoding",
    "compute": _STATEMENTS,
    "eliminate_zeros": f"{_CHANGES}, use A.convert(A.encoding, drop_zeros=True)",
    "enable_caching": "kernels keep what they need, use it as it is",
    "evaluate": _STATEMENTS,
    "fill": f"{_CHANGES}, use A.with_values, or A.storage.values[...] = value for stored entries",
    "flat": "use A.ravel()",
    "from_iter": "use ms.from_coo",
    "from_nodes": "use ms.SparseTensor.from_levels",
    "from_numpy": "use ms.tensor",
    "from_scipy_sparse": "use ms.tensor",
    "get_coordinates_and_values": "use A.to_coo()",
    "get_nodes": "use A.storage",
    "has_canonical_format": "use A.encoding.is_unique and A.encoding.is_ordered",
    "has_sorted_indices": "use A.encoding.is_ordered",
    "insert": f"{_CHANGES}, use ms.from_coo, which sums entries of one place, or ms.assign",
    "linear_loc": "use np.ravel_multi_index(A.coords, A.shape)",
    "maybe_densify": "use A.to_numpy()",
    "pack": _ONCE,
    "partition": f"{_CHANGES}, use np.sort(A)",
    "prune": _ONCE,
    "put": f"{_CHANGES}, use ms.assign",
    "resize": f"{_CHANGES}, use np.pad(A, widths) or an index",
    "searchsorted": "use A.to_numpy().searchsorted(...)",
    "setdiag": f"{_CHANGES}, use ms.assign(A, ms.eye(n, dtype=bool), values)",
    "sort": f"{_CHANGES}, use np.sort(A)",
    "sort_indices": _ONCE,
    "sorted_indices": _ONCE,
    "strides": "use A.storage",
    "sum_duplicates": _ONCE,
    "to_array": "use A.to_numpy()",
    "to_scipy_sparse": "use A.to_scipy()",
    "to_sp_csc": "use A.convert('CSC').to_scipy()",
    "to_sp_csr": "use A.convert('CSR').to_scipy()",
    "todok": "use A.to('scipy').todok(), or A.to('pydata')",
    "tolil": "use A.to('scipy').tolil()",
    "tolist": "use A.to_numpy().tolist()",
    "view": "use A.with_values(A.storage.values.view(dtype))",
}


def _of_elements(ufunc: np.ufunc) -> Callable[[Any], Any]:
    def apply(self: Any) -> Any:
        return ufunc(self)

    apply.__name__ = ufunc.__name__
    apply.__qualname__ = f"NamedMethods.{ufunc.__name__}"
    apply.__doc__ = f"Returns `np.{ufunc.__name__}` of the elements."
    return apply


class NamedMethods(AsSequences):
    """NumPy's functions as methods, as SciPy's and pydata/sparse's arrays have them, with NumPy's meaning.

    >>> from mlir_sparse.tensor import tensor
    >>> A = tensor([[0.0, 4.0], [9.0, 0.0]])
    >>> A.sqrt().multiply(A.T).sum(), A.power(2).nanmax(), A.density
    (np.float64(30.0), np.float64(81.0), 0.5)
    """

    __slots__ = ()

    arcsin = _of_elements(np.arcsin)
    arcsinh = _of_elements(np.arcsinh)
    arctan = _of_elements(np.arctan)
    arctanh = _of_elements(np.arctanh)
    ceil = _of_elements(np.ceil)
    deg2rad = _of_elements(np.deg2rad)
    expm1 = _of_elements(np.expm1)
    floor = _of_elements(np.floor)
    isinf = _of_elements(np.isinf)
    isnan = _of_elements(np.isnan)
    log1p = _of_elements(np.log1p)
    rad2deg = _of_elements(np.rad2deg)
    rint = _of_elements(np.rint)
    sign = _of_elements(np.sign)
    sin = _of_elements(np.sin)
    sinh = _of_elements(np.sinh)
    sqrt = _of_elements(np.sqrt)
    tan = _of_elements(np.tan)
    tanh = _of_elements(np.tanh)
    trunc = _of_elements(np.trunc)

    @property
    def density(self) -> float:
        """Returns the share of elements that are stored; 0 where there is none."""
        own: Any = self
        return own.nse / own.size if own.size else 0.0

    @property
    def itemsize(self) -> int:
        """Returns the bytes of an element."""
        own: Any = self
        size: int = own.dtype.itemsize
        return size

    @property
    def coords(self) -> np.ndarray[Any, Any]:
        """Returns the coordinates of the stored entries, of shape (rank, entries), in the order of the storage."""
        own: Any = self
        found: np.ndarray[Any, Any] = own.to_coo()[0]
        return found

    def asformat(self, format: Any, copy: bool = False) -> Any:
        """Returns the tensor in another storage, by SciPy's name of it or any that `convert` takes.

        Args:
            format: such as `csr`, `csc`, `coo`, `bsr` (blocks of 2 x 2) or `dia`; None for the storage that it has.
            copy: whether values are copied where the storage is the same.

        Raises:
            EncodingError: for any other name.
        """
        own: Any = self
        if isinstance(format, str) and format == "bsr":
            found = own.convert("BSR", block=(2, 2))
        else:
            found = own if format is None else own.convert(format.upper() if _is_plain_name(format) else format)
        return found.copy() if copy and found is own else found

    def broadcast_to(self, shape: Any) -> Any:
        """Returns the tensor with axes of one element repeated to a shape."""
        return _NUMPY.broadcast_to(self, shape)

    def multiply(self, other: Any) -> Any:
        """Returns the products of elements, `A * other`; SciPy's name."""
        return _NUMPY.multiply(self, other)

    def maximum(self, other: Any) -> Any:
        """Returns the larger elements of both."""
        return _NUMPY.maximum(self, other)

    def minimum(self, other: Any) -> Any:
        """Returns the smaller elements of both."""
        return _NUMPY.minimum(self, other)

    def power(self, n: Any, dtype: Any = None) -> Any:
        """Returns the elements to a power, in another element type if one is given."""
        return _NUMPY.power(self, n, dtype=dtype)

    def tensordot(self, other: Any, axes: Any = 2) -> Any:
        """Returns the sum of products over axes, as `np.tensordot`."""
        return _NUMPY.tensordot(self, other, axes)

    def reduce(self, method: np.ufunc, axis: Any = (0,), keepdims: bool = False, **options: Any) -> Any:
        """Returns `method.reduce` of the tensor, as pydata/sparse has it.

        Args:
            method: a ufunc that reduces.
            axis: an axis, several, or None for all.
            keepdims: whether reduced axes stay, with one element.
            options: such as `dtype`.
        """
        if not isinstance(method, np.ufunc):
            raise OperandError(f"expected a ufunc to reduce by, such as np.add, but got {type(method).__name__}")
        own: Any = self
        return method.reduce(own, axis=axis, keepdims=keepdims, **options)

    def amax(self, axis: Any = None, keepdims: bool = False, out: Any = None) -> Any:
        """Returns the largest element over axes, by pydata/sparse's name."""
        return _NUMPY.max(self, axis=axis, out=out, keepdims=keepdims)

    def amin(self, axis: Any = None, keepdims: bool = False, out: Any = None) -> Any:
        """Returns the smallest element over axes, by pydata/sparse's name."""
        return _NUMPY.min(self, axis=axis, out=out, keepdims=keepdims)

    def round_(self, decimals: int = 0, out: Any = None) -> Any:
        """Returns the elements rounded to a number of decimals, by pydata/sparse's name."""
        return _NUMPY.round(self, decimals, out=out)

    def nanmax(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Returns the largest element over axes, without NaN."""
        return _NUMPY.nanmax(self, axis=axis, out=out, keepdims=keepdims)

    def nanmin(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Returns the smallest element over axes, without NaN."""
        return _NUMPY.nanmin(self, axis=axis, out=out, keepdims=keepdims)

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Returns running sums along an axis, or over all elements: a dense array."""
        return _NUMPY.cumsum(self, axis=axis, dtype=dtype, out=out)

    def cumprod(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Returns running products along an axis, or over all elements: a dense array."""
        return _NUMPY.cumprod(self, axis=axis, dtype=dtype, out=out)

    def argsort(self, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None) -> Any:
        """Returns the positions that sort the elements along an axis: a dense array."""
        return _NUMPY.argsort(self, axis=axis, kind=kind or ("stable" if stable else None))

    def repeat(self, repeats: Any, axis: Any = None) -> Any:
        """Returns the tensor with each element along an axis repeated."""
        return _NUMPY.repeat(self, repeats, axis)

    def take(self, indices: Any, axis: Any = None) -> Any:
        """Returns the elements at positions along an axis."""
        return _NUMPY.take(self, indices, axis)

    if not TYPE_CHECKING:  # where every name would be an attribute

        def __getattr__(self, name: str) -> Any:
            declared = getattr(type(self), name, None)
            if isinstance(declared, property):  # which found nothing to return, and says why
                return declared.fget(self)
            kind = type(self).__name__
            if hasattr(getattr(type(self), "stored", None), "fget") and hasattr(type(self.stored), name):
                text = f"expected a method of tensors with a fill value, but got {name}: A.stored has it, beside zeros"
            elif name in _ELSEWHERE:
                text = f"expected a method that {kind} has, but got {name}: {_ELSEWHERE[name]}"
            else:
                text = f"{kind!r} object has no attribute {name!r}"
            raise AttributeError(text, name=name, obj=self)


def _is_plain_name(format: object) -> bool:
    return isinstance(format, str) and format in ("csr", "csc", "coo", "dia")
