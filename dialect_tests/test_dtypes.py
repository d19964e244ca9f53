"""Element types and all their spellings."""

from __future__ import annotations

import datetime
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from mlir_sparse import _native
from mlir_sparse._mlir import bindings
from mlir_sparse.dtypes import DTYPES, DType
from mlir_sparse.errors import DTypeError

SPELLINGS = {
    "i8": [np.int8, "i8", "int8", "b", np.dtype("i1")],
    "i16": [np.int16, "i16", "int16", "<i2", ">i2", "h"],
    "i32": [np.int32, "i32", "int32", "i4", "intc"],
    "i64": [np.int64, "i64", "int64", int, "int", "<i8", "q"],
    "u8": [np.uint8, "u8", "ui8", "uint8", "B", np.dtype("u1")],
    "u16": [np.uint16, "u16", "ui16", "uint16", "<u2", ">u2", "H"],
    "u32": [np.uint32, "u32", "ui32", "uint32", "u4", "uintc"],
    "u64": [np.uint64, "u64", "ui64", "uint64", np.dtype("u8"), "<u8", "Q", "uint"],
    "f16": [np.float16, "f16", "float16", "half", "f2"],
    "bf16": ["bf16", "bfloat16", ml_dtypes.bfloat16, np.dtype(ml_dtypes.bfloat16)],
    "f32": [np.float32, "f32", "float32", "single", ">f4", np.dtype(">f4")],
    "f64": [np.float64, "f64", "float64", float, "float", "double", "f8", "d"],
    "c64": [np.complex64, "c64", "complex64", "complex<f32>", "F"],
    "c128": [np.complex128, "c128", "complex128", "complex<f64>", "complex< f64 >", complex, "complex", "D"],
    "bool": [bool, np.bool_, "bool", "?", "i1", np.dtype(bool)],
}


@pytest.mark.parametrize(("name", "spelling"), [(n, s) for n, many in SPELLINGS.items() for s in many])
def test_every_spelling(name: str, spelling: object) -> None:
    assert DType.of(spelling) == DType(name)  # type: ignore[arg-type]  # NumPy's stubs know fewer


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_names_elsewhere(dtype: DType) -> None:
    assert DType.of(dtype) is dtype
    assert DType.of(dtype.mlir) == (DType(dtype.mlir) if dtype.is_truth or dtype.is_unsigned else dtype)
    assert DType.of(dtype.numpy) == DType.of(dtype.numpy.name) == dtype
    assert dtype.numpy.itemsize == dtype.itemsize == dtype.bits // 8
    assert dtype.numpy.isnative
    with bindings().ir.Context():
        assert str(bindings().ir.Type.parse(dtype.mlir)) == dtype.mlir


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if not dtype.is_exact], ids=str)
def test_rounding_is_that_of_ml_dtypes(dtype: DType) -> None:
    limits: Any = ml_dtypes.finfo(dtype.part.numpy)  # type: ignore[no-untyped-call]
    assert dtype.epsilon == float(limits.eps)
    assert 2.0**dtype.part.quantum == float(limits.smallest_subnormal)
    assert dtype.part.precision == limits.nmant + 1
    assert dtype.limits == (-np.inf, np.inf)


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype.is_integer], ids=str)
def test_limits_are_numpys(dtype: DType) -> None:
    assert dtype.limits == (np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_parts_and_sums(dtype: DType) -> None:
    assert dtype.part.numpy == (np.zeros((), dtype.numpy).real.dtype if dtype.is_complex else dtype.numpy)
    if dtype.is_real:
        assert dtype.complex.numpy == np.result_type(dtype.accumulated_in.numpy, np.complex64)
    assert dtype.accumulated_in.bits == max(32, dtype.bits) if dtype.is_real else dtype.accumulated_in == dtype


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_native_code_combines_what_is_summed_in_its_own_type(dtype: DType) -> None:
    """Cuts into chunks ask the same of the table as native code does of C++."""
    combined = {op for op in ("sum", "max", "min") if _native.combines(f"{op} {dtype.numpy_name}")}
    ordered = set() if dtype.is_complex else {"max", "min"}
    assert combined == (set() if dtype.is_truth or dtype.is_narrow else {"sum"} | ordered)


def test_seventeen_types_of_four_kinds() -> None:
    assert [d.kind for d in DTYPES] == list("iiii") * 2 + list("f") * 6 + list("cc") + list("b")
    assert [d.name for d in DTYPES if d.is_unsigned] == [f"u{bits}" for bits in (8, 16, 32, 64)]
    assert len({d.name for d in DTYPES}) == 17


@pytest.mark.parametrize(
    ("spelling", "way_out"),
    [
        (np.longdouble, "astype('float64')"),
        (np.clongdouble, "astype('complex128')"),
        (object, "convert the Python objects"),
        (str, "convert with astype to a numeric type"),
        ("datetime64[s]", "expected an element type of i8"),
        (np.dtype("M8[s]"), "astype('int64')"),
        (datetime.date, "convert the Python objects"),
        (np.dtype([("a", "f8")]), "convert with astype"),
        (np.dtype(("f8", 2)), "convert with astype"),
        ("f99", "expected an element type of i8"),
        ("f8,i4", "expected an element type of i8"),
        ("a5", "expected an element type of i8"),
        ("", "expected an element type of i8"),
        (None, "but got None"),
        (3, "but got 3"),
    ],
)
def test_other_types_are_refused_with_the_way_out(spelling: object, way_out: str) -> None:
    with pytest.raises(DTypeError, match="expected an element type") as caught:
        DType.of(spelling)  # type: ignore[arg-type]  # wrong on purpose
    assert way_out in str(caught.value)
    assert isinstance(caught.value, TypeError)


def test_the_constructor_takes_short_names_only() -> None:
    with pytest.raises(DTypeError, match="but got 'float32'"):
        DType("float32")
