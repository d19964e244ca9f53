"""Typed literals: the values of `explicitVal` and `implicitVal`, printed as MLIR prints them."""

from __future__ import annotations

import math
import re
import struct

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import COMPLEX, DTYPES, INTEGER, REAL
from mlir_sparse.errors import EncodingError

__all__ = ["FLOAT_TYPES", "TypedValue"]

_INTEGER = r"(?P<sign>[su]?)i(?P<bits>[1-9]\d{0,2})|index"


_USUAL_DIGITS = 6  # significant digits, and decimals, in MLIR's usual form


FLOAT_TYPES = {dtype.mlir: dtype for dtype in DTYPES if dtype.is_real}
"""The types of real numbers by MLIR's name."""

# The formats that Python packs, by the exponent of the least normal number: a shorter one has its leading bits.
_PACKED = {-14: ("<e", "<H", 16), -126: ("<f", "<I", 32), -1022: ("<d", "<Q", 64)}


@dataclass(frozen=True, slots=True)
class TypedValue:
    """A literal with its type. Two are equal if MLIR's attributes are.

    >>> print(TypedValue.of(1.5, "f32"), "|", TypedValue.of(1))
    1.500000e+00 : f32 | 1 : i64
    """

    literal: str
    type: str

    @classmethod
    def of(cls, value: int | float | complex, dtype: str | None = None) -> TypedValue:
        """Returns the literal of a number, rounded to the type as MLIR does.

        Args:
            value: an int, float or complex number.
            dtype: MLIR's name of the type; by default i64, f64 or complex<f64>.

        Raises:
            EncodingError: for a number out of the type's range.
        """
        if dtype is None:
            number_type = INTEGER if isinstance(value, int) else COMPLEX if isinstance(value, complex) else REAL
            dtype = "i1" if isinstance(value, bool) else number_type.mlir
        if dtype.startswith("complex<"):
            part = dtype[len("complex<") : -1]
            number = complex(value)
            return cls.of_complex(_round_bits(number.real, part), _round_bits(number.imag, part), part)
        if dtype in FLOAT_TYPES:
            if isinstance(value, complex):
                raise EncodingError(f"expected a real number for type {dtype}, but got {value}")
            return cls.of_bits(_round_bits(float(value), dtype), dtype)
        return cls(_integer_literal(value, dtype), dtype)

    @classmethod
    def of_bits(cls, bits: int, dtype: str) -> TypedValue:
        """Returns the float literal with the given bits.

        >>> print(TypedValue.of_bits(0x7F800000, "f32"))
        0x7F800000 : f32
        """
        if not 0 <= bits < 1 << FLOAT_TYPES[dtype].bits:
            raise EncodingError(f"hexadecimal float constant out of range for type {dtype}: {bits:#x}")
        return cls(_float_literal(bits, dtype), dtype)

    @staticmethod
    def bits_of(value: float, dtype: str) -> int:
        """Returns the bits of the nearest number of a float type, ties to even.

        >>> hex(TypedValue.bits_of(1.0, "bf16"))
        '0x3f80'
        """
        return _round_bits(value, dtype)

    @classmethod
    def of_complex(cls, real_bits: int, imag_bits: int, part: str) -> TypedValue:
        """Returns the complex literal whose parts have the given bits and float type."""
        real, imag = _part_literal(real_bits, part), _part_literal(imag_bits, part)
        return cls(f"#complex.number<:{part} {real}, {imag}>", f"complex<{part}>")

    @property
    def value(self) -> int | float | complex:
        """Returns the number: an int, a float (infinities and NaN included) or a complex."""
        if self.type == "i1":
            return int(self.literal == "true")
        if self.type in FLOAT_TYPES:
            return _float_value(self.literal, self.type)
        if self.type.startswith("complex<"):
            real, imag = self.literal.split(" ", 1)[1].rstrip(">").split(", ")
            return complex(_float_value(real, REAL.mlir), _float_value(imag, REAL.mlir))
        return int(self.literal)

    @property
    def is_integer(self) -> bool:
        """Returns whether the type is an integer type or `index`."""
        return re.fullmatch(_INTEGER, self.type) is not None

    @property
    def is_zero(self) -> bool:
        """Returns whether the number is a zero of either sign."""
        return self.value == 0

    def __str__(self) -> str:
        return self.literal if self.type == "i1" else f"{self.literal} : {self.type}"


def _integer_literal(value: int | float | complex, dtype: str) -> str:
    match = re.fullmatch(_INTEGER, dtype)
    if match is None:
        known = ", ".join(["i1", "i8 to i64", *FLOAT_TYPES, *(dtype.mlir for dtype in DTYPES if dtype.is_complex)])
        raise EncodingError(f"expected a type of {known}, but got {dtype}")
    if not isinstance(value, int):
        raise EncodingError(f"floating point value not valid for specified type: {value} : {dtype}")
    sign, bits = match["sign"] or "", int(match["bits"] or 64)
    if sign == "u" and value < 0:
        raise EncodingError(f"negative integer literal not valid for unsigned integer type: {value} : {dtype}")
    # A signless integer is a bit pattern: MLIR accepts signed and unsigned numbers and prints signed ones.
    low, high = (0 if sign == "u" else -(1 << bits - 1)), (1 << (bits - 1 if sign == "s" else bits))
    if not low <= value < high:
        raise EncodingError(f"integer constant out of range for attribute: {value} : {dtype}")
    if dtype == "i1":
        return "true" if value else "false"
    return str(value - (1 << bits) if sign == "" and value >> (bits - 1) == 1 else value)


def _round_bits(value: float, dtype: str) -> int:
    """Returns the bits of the nearest number of the type, ties to even."""
    if dtype not in FLOAT_TYPES:
        raise EncodingError(f"expected a floating point type of {', '.join(FLOAT_TYPES)}, but got {dtype}")
    form = FLOAT_TYPES[dtype]
    if math.isfinite(value) and value != 0:
        _, exponent = math.frexp(value)
        quantum = max(exponent - form.precision, form.quantum)
        value = math.copysign(_scale(round(math.ldexp(value, -quantum)), quantum), value)
    return _pack(value, dtype)


def _scale(significand: int, exponent: int) -> float:
    try:
        return math.ldexp(significand, exponent)
    except OverflowError:
        return math.copysign(math.inf, significand)


def _pack(value: float, dtype: str) -> int:
    code, unsigned, cut = _packed(dtype)
    try:
        (bits,) = struct.unpack(unsigned, struct.pack(code, value))
    except OverflowError:
        return _pack(math.copysign(math.inf, value), dtype)
    return int(bits) >> cut


def _unpack(bits: int, dtype: str) -> float:
    code, unsigned, cut = _packed(dtype)
    (value,) = struct.unpack(code, struct.pack(unsigned, bits << cut))
    return float(value)


def _packed(dtype: str) -> tuple[str, str, int]:
    """Returns Python's codes of a packed number and of its bits, and how many of these the type does not have."""
    form = FLOAT_TYPES[dtype]
    code, unsigned, bits = _PACKED[form.quantum + form.precision - 1]
    return code, unsigned, bits - form.bits


def _float_value(literal: str, dtype: str) -> float:
    return _unpack(int(literal, 16), dtype) if literal.startswith("0x") else float(literal)


def _float_literal(bits: int, dtype: str) -> str:
    """Prints as MLIR's `printFloatValue`: six digits if they suffice, all digits, or else the bits."""
    value = _unpack(bits, dtype)
    if math.isfinite(value):
        usual = _usual_form(value)
        if _round_bits(float(usual), dtype) == bits:
            return usual
        full = _all_digits(value, 2 + FLOAT_TYPES[dtype].precision * 59 // 196)
        if "." in full:
            return full
    return f"0x{bits:0{FLOAT_TYPES[dtype].bits // 4}X}"


def _part_literal(bits: int, part: str) -> str:
    """Prints a part of a complex number; for parts of any type MLIR reads bits as those of an f64."""
    literal = _float_literal(bits, part)
    if literal.startswith("0x") and part != REAL.mlir:
        return f"0x{_pack(_unpack(bits, part), REAL.mlir):016X}"
    return literal


def _decimal(value: float, precision: int) -> tuple[str, int]:
    """Returns digits and a power of ten, as LLVM's `APFloat::toString` rounds: twice, first down, then half up."""
    if value == 0:
        return "0", 0
    numerator, denominator = abs(value).as_integer_ratio()
    exponent = 1 - denominator.bit_length()
    significand = numerator * 5**-exponent
    excess = significand.bit_length() - (precision * 196 + 58) // 59  # 196/59 is LLVM's log2(10)
    dropped = excess * 59 // 196 if excess > 0 else 0
    digits = str(significand // 10**dropped)
    exponent += dropped + max(0, len(digits) - precision)
    kept = int(digits[:precision]) + (digits[precision : precision + 1] >= "5")
    text = str(kept).rstrip("0")
    return text, exponent + len(str(kept)) - len(text)


def _usual_form(value: float) -> str:
    digits, exponent = _decimal(value, _USUAL_DIGITS)
    sign = "-" if math.copysign(1, value) < 0 else ""
    return f"{sign}{digits[0]}.{digits[1:]:0<{_USUAL_DIGITS}}e{exponent + len(digits) - 1:+03d}"


def _all_digits(value: float, precision: int) -> str:
    """Prints as LLVM's `APFloat::toString` with at most three zeros of padding."""
    digits, exponent = _decimal(value, precision)
    leading = exponent + len(digits) - 1
    padded = exponent > 3 or len(digits) + exponent > precision
    scientific = padded if exponent >= 0 else leading < -3
    if scientific:
        body = f"{digits[0]}.{digits[1:] or '0'}E{leading:+d}"
    elif exponent >= 0:
        body = digits + "0" * exponent
    elif leading >= 0:
        body = f"{digits[: leading + 1]}.{digits[leading + 1 :]}"
    else:
        body = "0." + "0" * (-leading - 1) + digits
    return ("-" if value < 0 else "") + body
