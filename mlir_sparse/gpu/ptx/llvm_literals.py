"""Numbers in LLVM IR as every version of LLVM reads them: the bindings' LLVM writes some as only newer ones do.

Older versions take no decimal that is not exact (`float 1.000000e-01`), and no `+inf`, `-inf` and `+qnan`. Bits in
hexadecimal are read by all.
"""

from __future__ import annotations

import re

import numpy as np

__all__ = ["with_bits"]

_NUMBER = re.compile(
    r"(?<![\w.%@$\"-])[+-]?(?:\d+\.\d+(?:e[+-]\d+)?|inf|q?nan(?:\(0x[0-9A-Fa-f]+\))?|snan\(0x[0-9A-Fa-f]+\))(?![\w.(])"
)
_KIND = re.compile(r"\b(double|float|half|bfloat)\b")


def with_bits(text: str) -> str:
    """Returns LLVM IR with floating-point numbers by their bits.

    >>> with_bits("store float 1.000000e-01, ptr %0")
    'store float 0x3FB99999A0000000, ptr %0'
    >>> with_bits("%3 = fmul half %2, -inf")
    '%3 = fmul half %2, 0xHFC00'
    """
    return "\n".join(map(_line, text.split("\n")))


def _line(line: str) -> str:
    if "!" in line[:1] or not _KIND.search(line):
        return line
    kinds = [(found.start(), found[1]) for found in _KIND.finditer(line)]

    def bits(number: re.Match[str]) -> str:
        kind = next((name for start, name in reversed(kinds) if start < number.start()), None)
        return number[0] if kind is None else _bits(number[0], kind)

    return _NUMBER.sub(bits, line)


def _bits(number: str, kind: str) -> str:
    sign, plain = number[0] == "-", number.lstrip("+-")
    value = np.float64("nan") if "nan" in plain else np.float64(plain)
    value = np.copysign(value, -1.0 if sign else 1.0)
    match kind:
        case "half":
            return f"0xH{int(np.float16(value).view(np.uint16)):04X}"
        case "bfloat":
            bits = int(np.float32(value).view(np.uint32))
            half = 0 if np.isnan(value) else 0x7FFF + (bits >> 16 & 1)  # to the nearest, and to even
            return f"0xR{bits + half >> 16:04X}"
        case "float":
            value = np.float64(np.float32(value))
    return f"0x{int(value.view(np.uint64)):016X}"
