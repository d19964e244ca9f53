"""The array API standard's namespace on sparse tensors: `ms.xp`, and what `A.__array_namespace__()` returns.

Functions are NumPy's, which tensors answer by its protocols, under the standard's names. Results that have values
everywhere are NumPy's arrays, and every function takes both. Creation functions are those of the package. The names
that pydata/sparse has beside the standard's are here too: its users write `sparse = ms.xp`.
"""

from __future__ import annotations

import importlib
from collections import namedtuple
from collections.abc import Callable
from functools import cache
from math import e, inf, nan, pi
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np

from mlir_sparse.arrays.broadcast import broadcast_shape
from mlir_sparse.arrays.creation import arange, empty, eye, full, linspace, ones, tril, triu, zeros
from mlir_sparse.arrays.filled.filled_functions import FILLED_FUNCTIONS
from mlir_sparse.arrays.function_protocol import called
from mlir_sparse.arrays.numpy_functions import FUNCTIONS
from mlir_sparse.arrays.pydata_functions import (
    as_coo,
    asCOO,
    asnumpy,
    diagonalize,
    elemwise,
    load_npz,
    nanreduce,
    random,
    save_npz,
)
from mlir_sparse.arrays.standard_signatures import signature_of
from mlir_sparse.dtypes import DTYPES, TRUTH, DType, numpy_dtype
from mlir_sparse.errors import OperandError, StorageError, UnsupportedError
from mlir_sparse.tensor import FilledTensor, SparseTensor, tensor
from mlir_sparse.tensor.borders.foreign_arrays import is_sparse_source

__all__ = [
    "__array_namespace_info__",
    "arange",
    "asCOO",
    "as_coo",
    "asarray",
    "asnumpy",
    "broadcast_shapes",
    "can_cast",
    "diagonalize",
    "e",
    "elemwise",
    "empty",
    "eye",
    "fft",
    "finfo",
    "from_dlpack",
    "full",
    "iinfo",
    "inf",
    "isdtype",
    "linalg",
    "linspace",
    "load_npz",
    "meshgrid",
    "nan",
    "nanreduce",
    "newaxis",
    "ones",
    "pi",
    "random",
    "result_type",
    "save_npz",
    "tril",
    "triu",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unstack",
    "zeros",
]  # and the names of `_STANDARD`

__array_api_version__ = "2024.12"
newaxis = None

_SAME_NAME = (
    "abs add all any argmax argmin argsort astype bitwise_and bitwise_or bitwise_xor broadcast_arrays "
    "broadcast_to ceil clip conj copysign cos cosh count_nonzero cumulative_prod cumulative_sum diff divide "
    "empty_like equal exp expand_dims expm1 flip floor floor_divide full_like greater greater_equal hypot "
    "imag isfinite isin isinf isnan less less_equal log log10 log1p log2 logaddexp logical_and logical_not "
    "logical_or logical_xor matmul max maximum mean min minimum moveaxis multiply negative nextafter nonzero "
    "not_equal ones_like pad positive prod real reciprocal remainder repeat reshape roll round searchsorted sign "
    "signbit sin sinh sort sqrt square squeeze stack std subtract sum take take_along_axis tan tanh tensordot tile "
    "trunc var where zeros_like"
)
# The standard's names of functions, with NumPy's where these differ.
_STANDARD: dict[str, str] = {
    **{name: name for name in str(_SAME_NAME).split()},
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "concat": "concatenate",
    "matrix_transpose": "matrix_transpose",
    "permute_dims": "transpose",
    "pow": "power",
    "vecdot": "linalg.vecdot",
}
# What pydata/sparse has beside them, by NumPy's names.
_PYDATA = (
    "argwhere concatenate diagonal dot einsum interp isneginf isposinf kron nanmax nanmean nanmin nanprod nansum outer"
)
_STANDARD |= {**{name: name for name in _PYDATA.split()}, "bitwise_not": "invert"}
# Its classes, and what makes a tensor of the kind.
_CLASSES = {
    "COO": "ms.from_coo(coords, data, shape), or ms.tensor(x, 'COO')",
    "DOK": "ms.from_coo(coords, data, shape)",
    "GCXS": "ms.tensor(x, 'CSR'), 'CSC' or 'CSF'",
    "SparseArray": "ms.SparseTensor, and ms.FilledTensor for arrays with a fill value",
}
_LINALG = (
    "cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm matrix_power matrix_rank "
    "matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm"
)
_FFT = "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift"
# The standard's options that NumPy names otherwise.
_OPTIONS = {"std": {"correction": "ddof"}, "var": {"correction": "ddof"}}


def __getattr__(name: str) -> Any:
    if name in _TYPES:
        return _TYPES[name]
    if name in _STANDARD:
        return _function(name, _STANDARD[name])
    if f"np.{name}" in FUNCTIONS:  # beyond the standard: xarray asks for `transpose`, and who knows NumPy for others
        return _function(name, name)
    if name in _CLASSES:
        raise AttributeError(f"expected a name of this namespace, but got pydata/sparse's {name}: use {_CLASSES[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_STANDARD, *_TYPES})


@cache
def _function(name: str, numpys: str) -> Callable[..., Any]:
    ours = FUNCTIONS.get(f"np.{numpys}")
    theirs: Any = np
    for part in numpys.split("."):
        theirs = getattr(theirs, part, None)
    renamed = _OPTIONS.get(name, {})

    def apply(*given: Any, **options: Any) -> Any:
        options = {renamed.get(key, key): value for key, value in options.items()}
        if name in ("sort", "argsort"):
            options["kind"] = "stable" if options.pop("stable", True) else None
            if options.pop("descending", False):
                return _descending(name, given[0], options)
        if name == "diff":
            options = {key: value for key, value in options.items() if value is not None}
        if name == "take_along_axis" and len(given) < 3:
            options.setdefault("axis", -1)  # the standard's, which NumPy has from 2.3 on
        flat = _flat(given)
        if ours is not None and any(isinstance(one, SparseTensor) for one in flat):
            if not any(isinstance(one, FilledTensor) for one in flat):
                return called(f"xp.{name}", ours, given, options)
        elif theirs is None and (filled := FILLED_FUNCTIONS.get(f"np.{numpys}")) is not None:
            return called(f"xp.{name}", filled, given, options)
        if theirs is None:
            raise UnsupportedError(f"expected a NumPy with {numpys} for xp.{name} of arrays, but got {np.__version__}")
        return theirs(*given, **options)

    apply.__name__ = apply.__qualname__ = name.rpartition(".")[2]
    if (signature := signature_of(name)) is not None:
        apply.__signature__ = signature  # type: ignore[attr-defined]
    apply.__doc__ = f"Returns NumPy's `{numpys}`, by the name and with the options of the array API standard."
    return apply


def _flat(given: tuple[Any, ...]) -> list[Any]:
    return [part for one in given for part in (one if isinstance(one, list | tuple) else (one,))]


def _descending(name: str, x: Any, options: dict[str, Any]) -> Any:
    axis = options.get("axis", -1)
    if name == "sort":
        return np.flip(np.sort(x, axis=axis), axis)
    backwards = np.argsort(np.flip(np.asarray(x), axis), axis=axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(backwards, axis)


_TYPES = MappingProxyType({dtype.numpy_name: dtype.numpy for dtype in DTYPES if dtype.package == "numpy"})


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Any:
    """Returns sparse arrays as tensors, and all else as NumPy's arrays, which this namespace's functions take too.

    Raises:
        OperandError: for another device than the host.
        StorageError: for copy=False where a copy is needed.
    """
    if device not in (None, "cpu"):
        raise OperandError(f"expected device='cpu', but got {device!r}: use .to({device!r})")
    if not (isinstance(obj, SparseTensor | FilledTensor) or is_sparse_source(obj)):
        array = np.asarray(obj, dtype=dtype)
        if copy is False and not (isinstance(obj, np.ndarray) and np.shares_memory(array, obj)):
            raise StorageError("expected copy to be allowed for a new array, but got copy=False")
        return array.copy() if copy else array
    found = tensor(obj) if dtype is None else tensor(obj, dtype=dtype)
    if copy is False and dtype is not None and found.dtype != getattr(obj, "dtype", None):
        raise StorageError("expected copy to be allowed to change the element type, but got copy=False")
    return found.copy() if copy else found


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """Returns an array that speaks DLPack as NumPy's.

    Raises:
        OperandError: for another device than the host.
        BufferError: for sparse tensors, which DLPack has no form for, but for those with dense levels only.
    """
    if device not in (None, "cpu"):
        raise OperandError(f"expected device='cpu', but got {device!r}: use ms.to_device")
    found = np.from_dlpack(x)
    return found.copy() if copy else found


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape that arrays of some shapes have together.

    Raises:
        ExtentError: for shapes that do not broadcast.
    """
    return broadcast_shape(shapes, "broadcast_shapes")


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """Returns the parts of an array along an axis, without that axis."""
    if isinstance(x, SparseTensor | FilledTensor):
        table = FUNCTIONS if isinstance(x, SparseTensor) else FILLED_FUNCTIONS
        found: tuple[Any, ...] = table["np.unstack"](x, axis=axis)
        return found
    return tuple(np.moveaxis(x, axis, 0))


_All = namedtuple("_All", "values indices inverse_indices counts")
_Counts = namedtuple("_Counts", "values counts")
_Inverse = namedtuple("_Inverse", "values inverse_indices")


def unique_values(x: Any, /) -> Any:
    """Returns the distinct elements; each NaN is one."""
    return np.unique(x, equal_nan=False)


def unique_counts(x: Any, /) -> Any:
    """Returns the distinct elements, and how often each is there."""
    return _Counts(*np.unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: Any, /) -> Any:
    """Returns the distinct elements, and for each element which of them it is."""
    values, inverse = np.unique(x, return_inverse=True, equal_nan=False)
    return _Inverse(values, np.reshape(inverse, x.shape))


def unique_all(x: Any, /) -> Any:
    """Returns distinct elements, where each is first, which of them each element is, and how often each is there."""
    values, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    return _All(values, first, np.reshape(inverse, x.shape), counts)


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Any]:
    """Returns NumPy's `meshgrid` of dense vectors."""
    return list(np.meshgrid(*arrays, indexing=indexing))  # type: ignore[call-overload]


def result_type(*arrays_and_dtypes: Any) -> Any:
    """Returns the common element type of arrays, tensors, types and numbers."""
    return np.result_type(*(one.dtype if _is_tensor(one) else one for one in arrays_and_dtypes))


def can_cast(from_: Any, to: Any, /) -> bool:
    """Returns whether one element type may be cast to another without loss."""
    return np.can_cast(_kind_of(from_), to)


def finfo(type: Any, /) -> Any:
    """Returns the limits of a floating-point type; ml_dtypes' for its own."""
    kind = numpy_dtype(_kind_of(type))
    return importlib.import_module(DType.of(kind).package).finfo(kind)


def iinfo(type: Any, /) -> Any:
    """Returns the limits of an integer type."""
    return np.iinfo(_kind_of(type))


def _kind_of(given: Any) -> Any:
    return given if isinstance(given, type) else getattr(given, "dtype", given)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, SparseTensor | FilledTensor)


_KINDS = {
    TRUTH.numpy_name: TRUTH.kind,
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Returns whether an element type is of a kind, which the standard names.

    Raises:
        OperandError: for a kind that the standard does not have.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise OperandError(f"expected one of {', '.join(_KINDS)}, but got {kind!r}")
        return np.dtype(dtype).kind in _KINDS[kind]
    return bool(np.dtype(dtype) == np.dtype(kind))


linalg = SimpleNamespace(
    **{name: _function(f"linalg.{name}", f"linalg.{name}") for name in _LINALG.split() if hasattr(np.linalg, name)}
)
fft = SimpleNamespace(**{name: _function(f"fft.{name}", f"fft.{name}") for name in _FFT.split()})


class _Info:
    """What the standard asks of a namespace."""

    def capabilities(self) -> dict[str, Any]:
        """Returns whether shapes depend on data, and the greatest number of dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """Returns the device of new tensors."""
        return "cpu"

    def devices(self) -> list[str]:
        """Returns the devices of this namespace."""
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """Returns the element types of new tensors."""
        names = {"real floating": float, "complex floating": complex, "integral": int, "indexing": int}
        return {kind: np.dtype(type) for kind, type in names.items()}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """Returns the element types of a kind."""
        return {name: dtype for name, dtype in _TYPES.items() if kind is None or isdtype(dtype, kind)}


def __array_namespace_info__() -> _Info:  # noqa: N807
    """Returns what the standard asks of a namespace: devices, element types and capabilities."""
    return _Info()
