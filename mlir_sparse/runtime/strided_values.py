"""Memrefs with strides, in the types of users' functions: parts of arrays, without a copy."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import DTypeError, ExtentError, OperandError, RankError

__all__ = ["StridedLayout"]

Array = np.ndarray[Any, Any]

_LAYOUT = re.compile(r"strided<\[(?P<strides>[^]]*)\](?:, offset: (?P<offset>\?|\d+))?>")


@dataclass(frozen=True, slots=True)
class StridedLayout:
    """Where the elements of a memref lie.

    Args:
        strides: in elements, for each axis; None for one that each call may choose.
        offset: elements before the first; None likewise.
    """

    strides: tuple[int | None, ...]
    offset: int | None = 0

    @classmethod
    def parse(cls, text: str) -> StridedLayout | None:
        """Returns the layout of MLIR's text; None for a text of another kind.

        >>> StridedLayout.parse("strided<[?, 1], offset: ?>")
        StridedLayout(strides=(None, 1), offset=None)
        """
        found = _LAYOUT.fullmatch(text)
        if found is None:
            return None
        words = [word.strip() for word in found["strides"].split(",") if word.strip()]
        return cls(tuple(_number(word) for word in words), _number(found["offset"] or "0"))

    def check(self, name: str, source: object, kind: TensorType) -> Array:
        """Returns an array, which the function may write to, if its elements lie so.

        Raises:
            OperandError: for no array, one whose bytes are swapped or not aligned, and other strides.
            DTypeError, RankError, ExtentError: for another element type or shape.
        """
        if type(source) is not np.ndarray:
            raise OperandError(f"expected an array of {kind} for {name}, but got {type(source).__name__}")
        if source.ndim != kind.rank:
            raise RankError(f"expected {name} of {kind.rank} dimensions, but got {source.ndim} (shape {source.shape})")
        if source.dtype.newbyteorder("=") != kind.dtype.numpy:
            raise DTypeError(f"expected {kind.dtype} for {name}, but got {source.dtype}")
        for axis, (wanted, got) in enumerate(zip(kind.shape, source.shape, strict=True)):
            if wanted is not None and wanted != got:
                raise ExtentError(f"expected {name} of {wanted} along axis {axis}, but got {got}")
        size = source.itemsize
        if not source.flags.aligned or not source.dtype.isnative or any(step % size for step in source.strides):
            raise OperandError(
                f"expected whole elements of this machine's byte order for {name}, but got strides of {source.strides} "
                f"bytes for {source.dtype}: pass np.ascontiguousarray({name})"
            )
        steps = tuple(step // size for step in source.strides)
        known = zip(self.strides, steps, source.shape, strict=True)
        if any(wanted not in (None, step) and extent > 1 for wanted, step, extent in known):
            raise OperandError(f"expected {name} with strides {self} in elements, but got {steps}")
        return source

    def __str__(self) -> str:
        return f"[{', '.join('?' if one is None else str(one) for one in self.strides)}]"


def _number(word: str) -> int | None:
    return None if word == "?" else int(word)
