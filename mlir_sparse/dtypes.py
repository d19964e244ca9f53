"""Element types as one table: a row is a type, a column is what the rest of the package asks of types.

A new element type is a row of `_ROWS`, and one of `native/element_types.hpp` for what native code does with it; nothing
else in the package names a type.
"""

from __future__ import annotations

import importlib
import math
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import DTypeError
from mlir_sparse.process.first_use import in_hints

if TYPE_CHECKING:
    from numpy.typing import DTypeLike
else:
    DTypeLike = in_hints("numpy.typing", "DTypeLike")

__all__ = [
    "BYTE",
    "COMPLEX",
    "DTYPES",
    "INTEGER",
    "REAL",
    "ROUNDED",
    "TRUTH",
    "UNSIGNED",
    "VECTOR_TYPES",
    "WIDE_TYPES",
    "DType",
    "is_numeric",
    "numpy_dtype",
]


@dataclass(frozen=True, eq=False, repr=False)
class _Row:
    """What is true of an element type, column by column; other types stand there by name."""

    name: str  # the number in `i8` counts bits, as in MLIR, where NumPy counts bytes
    kind: str  # "b", "i", "f" or "c": truth values, integers, real or complex numbers in floating point
    bits: int  # of an element
    numpy_name: str  # what NumPy calls it; for a type that NumPy does not have, its name in `package`
    spellings: tuple[str, ...] = ()  # what else people call it
    c_names: tuple[str, ...] = ()  # what C calls it, as tensor comprehensions do, which print the first
    precision: int = 0  # the significant bits of a real number, the first included
    quantum: int = 0  # the exponent of the least real number above zero
    is_unsigned: bool = False  # whether integers have no sign: MLIR has one type for both, and two operations
    mlir: str = ""  # the type that elements have in MLIR, where that is not the name
    package: str = "numpy"  # where NumPy has the type from
    parts: str = ""  # the type of the parts of a complex number
    sums_in: str = ""  # the type that sums, products and their temporaries are made in, where it is a wider one
    like: str = ""  # the type that stands for it where NumPy knows no common type of two
    in_vectors: bool = False  # whether the sparsifier makes vectors of it
    widens_in_vectors: bool = False  # whether processors of every make widen vectors of it by one instruction
    cuda_type: int = -1  # NVIDIA's number of it (`cudaDataType`); -1 where its libraries do not compute with it
    is_storage: bool = False  # whether tensors store it alone: kernels convert it to `sums_in` and back


_ROWS = (
    _Row("i8", "i", 8, "int8", (), ("int8",)),
    _Row("i16", "i", 16, "int16", (), ("int16",)),
    _Row("i32", "i", 32, "int32", (), ("int32", "int")),
    _Row("i64", "i", 64, "int64", ("int",), ("int64",)),
    # The dialect refuses `ui8`, and its arithmetic has signless integers alone: operations say how they read them.
    _Row("u8", "i", 8, "uint8", ("ui8",), ("uint8",), is_unsigned=True, mlir="i8"),
    _Row("u16", "i", 16, "uint16", ("ui16",), ("uint16",), is_unsigned=True, mlir="i16"),
    _Row("u32", "i", 32, "uint32", ("ui32",), ("uint32",), is_unsigned=True, mlir="i32"),
    _Row("u64", "i", 64, "uint64", ("ui64",), ("uint64",), is_unsigned=True, mlir="i64"),
    _Row(
        *("f16", "f", 16, "float16", ("half",), ("half",), 11, -24),
        sums_in="f32",
        widens_in_vectors=True,
        cuda_type=2,
    ),
    _Row("bf16", "f", 16, "bfloat16", (), (), 8, -133, package="ml_dtypes", sums_in="f32", like="f16", cuda_type=14),
    # MLIR's sparse tensors hold no numbers of 8 bits, and processors compute with none.
    _Row(
        *("f8e4m3fn", "f", 8, "float8_e4m3fn", (), (), 4, -9),
        mlir="f8E4M3FN",
        package="ml_dtypes",
        sums_in="f32",
        like="f16",
        is_storage=True,
    ),
    _Row(
        *("f8e5m2", "f", 8, "float8_e5m2", (), (), 3, -16),
        mlir="f8E5M2",
        package="ml_dtypes",
        sums_in="f32",
        like="f16",
        is_storage=True,
    ),
    _Row("f32", "f", 32, "float32", ("single",), ("float",), 24, -149, in_vectors=True, cuda_type=0),
    _Row("f64", "f", 64, "float64", ("double", "float"), ("double",), 53, -1074, in_vectors=True, cuda_type=1),
    _Row("c64", "c", 64, "complex64", mlir="complex<f32>", parts="f32", cuda_type=4),
    _Row("c128", "c", 128, "complex128", ("complex",), mlir="complex<f64>", parts="f64", cuda_type=5),
    # The dialect refuses `i1`: truth values are bytes of 0 and 1, as in NumPy.
    _Row("bool", "b", 8, "bool", ("i1",), ("bool",), mlir="i8"),
)
_TABLE = {row.name: row for row in _ROWS}
_SPELLINGS = {text: row.name for row in _ROWS for text in (row.mlir or row.name, row.numpy_name, *row.spellings)}
_SPELLINGS |= {name: name for name in _TABLE}  # `i8` is a type, and what truth values are in MLIR


class DType(_Row):
    """An element type by its short name, such as `f64` or `c64`; the columns of the table are its attributes.

    >>> DType.of("float32").mlir, DType.of("complex<f64>").name
    ('f32', 'c128')
    """

    NAMES: ClassVar[tuple[str, ...]] = tuple(_TABLE)

    __match_args__ = ("name",)

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or name not in _TABLE:
            raise _refused(f"{name!r}: DType.of takes other spellings")
        vars(self).update(vars(_TABLE[name]), mlir=_TABLE[name].mlir or name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DType) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"DType(name={self.name!r})"

    def __str__(self) -> str:
        return self.name

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
        elif isinstance(dtype, np.dtype):
            return _of_numpy(dtype)
        return _of_numpy(_to_numpy(dtype))

    @classmethod
    def named(cls, text: str) -> DType:
        """Returns the element type of a name in MLIR; NumPy's codes are none: `i4` has four bits there, not bytes.

        Raises:
            DTypeError: for a type that sparse tensors cannot hold.

        >>> DType.named("i1"), DType.of("i4")
        (DType(name='bool'), DType(name='i32'))
        """
        name = _SPELLINGS.get(text.replace(" ", ""))
        if name is None:
            raise _refused(repr(text))
        return cls(name)

    @property
    def numpy(self) -> np.dtype[Any]:
        """Returns the NumPy dtype, in native byte order (bf16 comes from `ml_dtypes`)."""
        return _numpy_type(self.name)

    @property
    def is_truth(self) -> bool:
        """Returns whether elements are truth values."""
        return self.kind == "b"

    @property
    def is_integer(self) -> bool:
        """Returns whether elements are integers, truth values aside: sums are exact, and wrap around."""
        return self.kind == "i"

    @property
    def is_exact(self) -> bool:
        """Returns whether elements are integers or truth values: nothing is rounded."""
        return self.kind in "bi"

    @property
    def is_real(self) -> bool:
        """Returns whether elements are real numbers in floating point."""
        return self.kind == "f"

    @property
    def is_complex(self) -> bool:
        """Returns whether elements are complex numbers, which have no order."""
        return self.kind == "c"

    @property
    def itemsize(self) -> int:
        """Returns the number of bytes of one element."""
        return self.bits // 8

    @property
    def part(self) -> DType:
        """Returns the type of the parts of complex numbers; any other type as it is."""
        return DType(self.parts or self.name)

    @property
    def complex(self) -> DType:
        """Returns the complex type that elements become beside an imaginary number."""
        return next((kind for kind in DTYPES if kind.parts == self.accumulated_in.name), COMPLEX)

    @property
    def is_narrow(self) -> bool:
        """Returns whether sums are made in a wider type."""
        return self.sums_in != ""

    @property
    def accumulated_in(self) -> DType:
        """Returns the type that sums and products are made in; the type itself where it is wide enough."""
        return DType(self.sums_in or self.name)

    @property
    def promoted_as(self) -> DType:
        """Returns the type that stands for this one where NumPy knows no common type."""
        return DType(self.like or self.name)

    @property
    def epsilon(self) -> float:
        """Returns the distance from 1 to the next number; 0 where nothing is rounded."""
        return 0.0 if self.is_exact else 2.0 ** (1 - self.part.precision)

    @property
    def limits(self) -> tuple[float, float]:
        """Returns the least and the greatest element; infinities in floating point.

        >>> DType("i8").limits, DType("u8").limits, DType("f16").limits, DType("bool").limits
        ((-128, 127), (0, 255), (-inf, inf), (0, 1))
        """
        if not self.is_exact:
            return -math.inf, math.inf
        if self.is_truth or self.is_unsigned:
            return 0, 1 if self.is_truth else (1 << self.bits) - 1
        return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1


DTYPES: tuple[DType, ...] = tuple(map(DType, DType.NAMES))

VECTOR_TYPES = tuple(dtype for dtype in DTYPES if dtype.in_vectors)
"""The types that the sparsifier makes vectors of."""

WIDE_TYPES = tuple(dtype for dtype in DTYPES if not dtype.is_exact and not dtype.is_narrow)
"""The types of real and complex numbers that sums are made in as they are."""

TRUTH, INTEGER, REAL, COMPLEX = map(DType.of, ("bool", "int", "float", "complex"))
"""The types of Python's numbers. Conditions are TRUTH, counts and places INTEGER; REAL is what a type is by default."""

ROUNDED = DType("bf16")
"""The type that kernels compute in as in a wider one, and round, as few processors have its arithmetic."""

UNSIGNED = DType("u64")
"""The type of the integers that INTEGER cannot hold."""

BYTE = DType("i8")
"""What logic of bytes gives, and what functions that NumPy has of integers alone take truth values as."""


@cache
def _numpy_type(name: str) -> np.dtype[Any]:
    row = _TABLE[name]
    if row.package == "numpy":
        return np.dtype(row.numpy_name)
    try:
        found: np.dtype[Any] = np.dtype(getattr(importlib.import_module(row.package), row.numpy_name))
    except ImportError as error:
        rule = f"expected the package {row.package} for {name} data"
        raise DTypeError(f"{rule}, but got none: pip install {row.package}") from error
    return found


def is_numeric(dtype: np.dtype[Any]) -> bool:
    """Returns whether elements of a NumPy dtype are numbers or truth values, of element types or others.

    >>> is_numeric(np.dtype("uint8")), is_numeric(DType("bf16").numpy), is_numeric(np.dtype("O"))
    (True, True, False)
    """
    return dtype.kind in "biufc" or dtype.name in _SPELLINGS


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
        raise _refused("None")
    if isinstance(dtype, str) and not re.fullmatch(_ONE_NUMPY_TYPE, dtype):
        raise _refused(repr(dtype))
    try:
        result: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError) as error:
        raise _refused(repr(dtype)) from error
    return result


# No records, and not NumPy's deprecated `a` for byte strings.
_ONE_NUMPY_TYPE = r"[<>=|]?(?!a[0-9]*$)[A-Za-z?][A-Za-z0-9_]*"


@lru_cache(maxsize=64)
def _of_numpy(dtype: np.dtype[Any]) -> DType:
    name = _SPELLINGS.get(dtype.name)
    if name is None or dtype.subdtype is not None or dtype.fields is not None:
        raise _refused(f"{dtype.name}: {_way_out(dtype)}")
    return DType(name)


def _refused(got: str) -> DTypeError:
    return DTypeError(f"expected an element type of {', '.join(DType.NAMES)}, but got {got}")


def _way_out(dtype: np.dtype[Any]) -> str:
    if dtype.kind == "O":
        return "convert the Python objects with astype to a numeric type first"
    found = {"f": REAL, "c": COMPLEX, "M": INTEGER, "m": INTEGER}.get(dtype.kind)
    return f"convert with astype({found.numpy_name!r})" if found else "convert with astype to a numeric type first"
