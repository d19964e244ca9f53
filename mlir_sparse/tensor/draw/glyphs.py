"""Characters as dots, for pictures that are made without a library of fonts."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mlir_sparse.tensor.level_storage import Array

__all__ = ["glyph"]

# From the space to the tilde: five columns of eight dots each, the lowest bit at the top.
_COLUMNS = bytes.fromhex(
    """
    0000000000 00005F0000 0007000700 147F147F14 242A7F2A12 2313086462 3649562050 0008070300
    001C224100 0041221C00 2A1C7F1C2A 08083E0808 0080703000 0808080808 0000606000 2010080402
    3E5149453E 00427F4000 7249494946 2141494D33 1814127F10 2745454539 3C4A494931 4121110907
    3649494936 464949291E 0000140000 0040340000 0008142241 1414141414 0041221408 0201590906
    3E415D594E 7C1211127C 7F49494936 3E41414122 7F4141413E 7F49494941 7F09090901 3E41415173
    7F0808087F 00417F4100 2040413F01 7F08142241 7F40404040 7F021C027F 7F0408107F 3E4141413E
    7F09090906 3E4151215E 7F09192946 2649494932 03017F0103 3F4040403F 1F2040201F 3F4038403F
    6314081463 0304780403 6159494D43 007F414141 0204081020 004141417F 0402010204 4040404040
    0003070800 2054547840 7F28444438 3844444428 384444287F 3854545418 00087E0902 18A4A49C78
    7F08040478 00447D4000 2040403D00 7F10284400 00417F4000 7C04780478 7C08040478 3844444438
    FC18242418 18242418FC 7C08040408 4854545424 04043F4424 3C4040207C 1C2040201C 3C4030403C
    4428102844 4C9090907C 4464544C44 0008364100 0000770000 0041360800 0201020402
    """
)
_FIRST, _WIDTH = 32, 5
_UNKNOWN = bytes([0x7F, 0x41, 0x41, 0x41, 0x7F])


@lru_cache(maxsize=256)
def glyph(character: str) -> Array:
    r"""Returns the dots of a character, of shape (8, 5); an empty box for one that is not ASCII.

    >>> print("\n".join("".join(" #"[dot] for dot in row).rstrip() for row in glyph("L").tolist()[:7]))
    #
    #
    #
    #
    #
    #
    #####
    """
    at = (ord(character) - _FIRST) * _WIDTH
    columns = _COLUMNS[at : at + _WIDTH] if 0 <= at < len(_COLUMNS) else _UNKNOWN
    bits = np.unpackbits(np.frombuffer(columns, np.uint8)[np.newaxis], axis=0, bitorder="little")
    return bits.astype(bool)
