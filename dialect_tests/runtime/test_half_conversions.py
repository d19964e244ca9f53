"""Conversions of numbers of 16 bits that compiled code calls: the compiler's own library may have none."""

from __future__ import annotations

import ctypes
import sys

import ml_dtypes
import numpy as np
import pytest

from mlir_sparse import _native

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="compiled code finds functions by name on POSIX")
_HALVES = {"bf": np.dtype(ml_dtypes.bfloat16), "hf": np.dtype(np.float16)}
_ALL_BITS = np.arange(1 << 16, dtype=np.uint16)


def _converted(source: str, half: str, value: float) -> int:
    """Returns the bits of a number rounded to 16 bits, which stand in the low bits of a float."""
    function = ctypes.CDLL(_native.__file__)[f"__trunc{source}{half}2"]
    function.argtypes = [ctypes.c_float if source == "sf" else ctypes.c_double]
    function.restype = ctypes.c_float
    return int(np.float32(function(value)).view(np.uint32))


def _is_same(bits: int, expected: np.ndarray, half: str) -> bool:
    found = np.uint16(bits).view(_HALVES[half])
    return bits == expected.view(np.uint16) or bool(np.isnan(float(found)) and np.isnan(float(expected)))


@pytest.mark.parametrize("half", _HALVES)
@pytest.mark.parametrize("source", ["sf", "df"])
def test_numbers_that_are_exact_stay_as_they_are(source: str, half: str) -> None:
    values = _ALL_BITS[::37].view(_HALVES[half])
    assert all(_is_same(_converted(source, half, float(value)), value, half) for value in values)


@pytest.mark.parametrize("half", _HALVES)
@pytest.mark.parametrize("source", ["sf", "df"])
def test_numbers_between_two_are_rounded_once_to_the_nearest(source: str, half: str) -> None:
    """A double that is rounded to a float first meets ties that it is not."""
    positive = _ALL_BITS[: 0x7F80 if half == "bf" else 0x7C00]  # the last is followed by infinity
    for low in positive[0x91:-1:911]:  # normal numbers: next to those of bf16 below them, floats are coarser
        one, other = (float(np.uint16(bits).view(_HALVES[half])) for bits in (low, low + 1))
        middle, even = (one + other) / 2, int(low + (low & 1))
        last = 2.0**-40 if source == "df" else 2.0**-23
        for sign, bit in ((1, 0), (-1, 0x8000)):
            assert _converted(source, half, sign * middle) == even | bit
            assert _converted(source, half, sign * middle * (1 + last)) == int(low + 1) | bit
            assert _converted(source, half, sign * middle * (1 - last)) == int(low) | bit


@pytest.mark.parametrize("half", _HALVES)
def test_doubles_beyond_all_floats_are_infinite_or_zero(half: str) -> None:
    for value in (1e300, -1e300, 1e-300, -1e-300, np.inf, -np.inf, np.nan):
        with np.errstate(over="ignore"):
            expected = np.asarray(value, np.float32).astype(_HALVES[half])
        assert _is_same(_converted("df", half, value), expected, half)


def test_every_number_of_f16_is_widened() -> None:
    function = ctypes.CDLL(_native.__file__)["__extendhfsf2"]
    function.argtypes, function.restype = [ctypes.c_float], ctypes.c_float
    registers = _ALL_BITS.astype(np.uint32).view(np.float32)
    found = np.array([function(register) for register in registers[::7].tolist()], np.float32)
    np.testing.assert_array_equal(found, _ALL_BITS[::7].view(np.float16).astype(np.float32))
