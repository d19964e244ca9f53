"""Element types: the ten that the dialect's code generation takes, bool, and their names elsewhere.

bool is stored as bytes of 0 and 1, and is `i8` in MLIR: the dialect refuses `i1`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlir_sparse.errors import DTypeError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["DTYPES", "DType", "numpy_dtype"]

_MLIR_NAMES = {"c64": "complex<f32>", "c128": "complex<f64>", "bool": "i8"}
_NUMPY_NAMES = {
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
    "bool": "bool",
}
# NumPy reads "i8" as eight bytes and "f8" as float64; here the number counts bits, as in MLIR.
_SPELLINGS = {
    **{name: name for name in [*_NUMPY_NAMES, "bf16"]},
    **{numpy_name: name for name, numpy_name in _NUMPY_NAMES.items()},
    **{mlir_name: name for name, mlir_name in _MLIR_NAMES.items() if name != "bool"},
    "bfloat16": "bf16",
    "half": "f16",
    "single": "f32",
    "double": "f64",
    "float": "f64",
    "complex": "c128",
    "int": "i64",
    "i1": "bool",
}


# No records, and not NumPy's deprecated `a` for byte strings.
_ONE_NUMPY_TYPE = re.compile(r"[<>=|]?(?!a[0-9]*$)[A-Za-z?][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class DType:
    """An element type by its short name, such as `f64` or `c64`.

    >>> DType.of("float32").mlir, DType.of("complex<f64>").name
    ('f32', 'c128')
    """

    name: str

    NAMES: ClassVar[tuple[str, ...]] = ("i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "c64", "c128", "bool")

    def __post_init__(self) -> None:
        if self.name not in self.NAMES:
            raise DTypeError(f"expected an element type of {', '.join(self.NAMES)}, but got {self.name!r}")

    @classmethod
    def of(cls, dtype: DTypeLike | DType) -> DType:
        """Returns the element type meant by any usual spelling.

        Args:
            dtype: a DType, a NumPy dtype or scalar type, a Python type, or a name in
                the spelling of this package, NumPy or MLIR.

        Raises:
            DTypeError: for a type that sparse tensors cannot hold.

        >>> DType.of(np.float32), DType.of(bool)
        (DType(name='f32'), DType(name='bool'))
        """
        if isinstance(dtype, DType):
            return dtype
        if isinstance(dtype, str):
            name = _SPELLINGS.get(dtype.replace(" ", ""))
            if name is not None:
                return cls(name)
        return cls(_name_of_numpy(_to_numpy(dtype)))

    @property
    def mlir(self) -> str:
        """Returns MLIR's name of the type, such as `complex<f32>`; `i8` for bool."""
        return _MLIR_NAMES.get(self.name, self.name)

    @property
    def numpy(self) -> np.dtype[Any]:
        """Returns the NumPy dtype, in native byte order (bf16 comes from `ml_dtypes`)."""
        if self.name == "bf16":
            return _bfloat16()
        return np.dtype(_NUMPY_NAMES[self.name])

    @property
    def kind(self) -> str:
        """Returns "b", "i", "f" or "c": truth values, integers, floating point or complex."""
        return "f" if self.name == "bf16" else self.name[0]

    @property
    def bits(self) -> int:
        """Returns the number of bits of one element."""
        return 8 if self.name == "bool" else int(self.name.lstrip("ibfc"))

    @property
    def itemsize(self) -> int:
        """Returns the number of bytes of one element."""
        return self.bits // 8

    def __str__(self) -> str:
        return self.name


DTYPES: tuple[DType, ...] = tuple(DType(name) for name in DType.NAMES)


def _bfloat16() -> np.dtype[Any]:
    try:
        import ml_dtypes  # heavy to import, and few need it
    except ImportError as error:
        raise DTypeError("expected the package ml_dtypes for bf16 data, but got none: pip install ml_dtypes") from error
    dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return dtype


def numpy_dtype(dtype: DTypeLike | DType) -> np.dtype[Any]:
    """Returns the NumPy dtype that one of NumPy's functions is asked for: its own spellings first, then a DType's.

    Raises:
        DTypeError: for what is no element type.

    >>> numpy_dtype("i8"), numpy_dtype("f32"), numpy_dtype(np.uint8)
    (dtype('int64'), dtype('float32'), dtype('uint8'))
    """
    if not isinstance(dtype, DType):
        try:
            return _to_numpy(dtype)
        except DTypeError:
            if not isinstance(dtype, str):
                raise
    return DType.of(dtype).numpy


def _to_numpy(dtype: Any) -> np.dtype[Any]:
    if dtype is None:  # NumPy would take it for float64
        raise DTypeError(f"expected an element type of {', '.join(DType.NAMES)}, but got None")
    if isinstance(dtype, str) and not _ONE_NUMPY_TYPE.fullmatch(dtype):
        raise DTypeError(f"expected an element type of {', '.join(DType.NAMES)}, but got {dtype!r}")
    try:
        result: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError) as error:
        names = ", ".join(DType.NAMES)
        raise DTypeError(f"expected an element type of {names}, but got {dtype!r}") from error
    return result


@lru_cache(maxsize=64)
def _name_of_numpy(dtype: np.dtype[Any]) -> str:
    name = _SPELLINGS.get(dtype.name)
    if name is None or dtype.subdtype is not None or dtype.fields is not None:
        rule = f"expected an element type of {', '.join(DType.NAMES)}"
        raise DTypeError(f"{rule}, but got {dtype.name}: {_way_out(dtype)}")
    return name


def _way_out(dtype: np.dtype[Any]) -> str:
    match dtype.kind:
        case "u":
            wider = min(64, dtype.itemsize * 16)
            return f"convert with astype('int{wider}') (MLIR's integers have no sign of their own)"
        case "f":
            return "convert with astype('float64')"
        case "c":
            return "convert with astype('complex128')"
        case "O":
            return "convert the Python objects with astype to a numeric type first"
        case "M" | "m":
            return "convert with astype('int64')"
        case _:
            return "convert with astype to a numeric type first"
