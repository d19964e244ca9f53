"""Sources that follow one another along a dimension as one."""

from __future__ import annotations

import copy
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import accumulate, pairwise

import numpy as np

from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import DTypeError, ExtentError, OperandError
from mlir_sparse.tensor.create import tensor
from mlir_sparse.tensor.files.tensor_source import TensorSource, check_places, read_part
from mlir_sparse.tensor.level_ranges import joined_along
from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["parts_of"]


class _Parts(TensorSource):
    """Tensors that follow one another along a dimension."""

    def __init__(self, parts: Sequence[TensorSource]) -> None:
        first = parts[0]
        self._parts, self.axis, self.type, self.unit = list(parts), first.axis, first.type, first.unit
        for number, part in enumerate(parts):
            others = part.shape[: self.axis] + part.shape[self.axis + 1 :]
            if others != first.shape[: self.axis] + first.shape[self.axis + 1 :]:
                raise ExtentError(
                    f"expected parts of shapes like {first.shape}, but got {part.shape} for part {number}, {part!r}"
                )
            if _without_widths(part.type) != _without_widths(first.type) or part.axis != first.axis:
                raise DTypeError(
                    f"expected parts of one type, {first.type}, cut along dimension {first.axis}, but got {part.type} "
                    f"along {part.axis} for part {number}, {part!r}"
                )
        self.type = _widest([part.type for part in parts])
        self.reads_ranges = all(part.reads_ranges for part in parts)
        self._starts = [0, *accumulate(part.shape[self.axis] for part in parts)]
        self.shape = (*first.shape[: self.axis], self._starts[-1], *first.shape[self.axis + 1 :])

    def _pieces(self, low: int, high: int) -> list[tuple[TensorSource, int, int]]:
        at = max(0, bisect_right(self._starts, low) - 1)
        found: list[tuple[TensorSource, int, int]] = []
        for number in range(min(at, len(self._parts) - 1), len(self._parts)):
            start, stop = self._starts[number], self._starts[number + 1]
            if start >= high and found:
                break
            found.append((self._parts[number], max(low, start) - start, min(high, stop) - start))
        return found

    def read(self, low: int, high: int) -> SparseTensor:
        self._check_range(low, high)
        read = [read_part(part, begin, max(begin, end)) for part, begin, end in self._pieces(low, high)]
        joined = joined_along(read, self.axis)
        if joined is None:  # parts that begin inside of blocks
            joined = tensor(np.concatenate(read, self.axis), self.type.encoding)
        wide = self.type.encoding
        return joined if wide is None or joined.encoding == wide else joined.convert(wide)

    @contextmanager
    def one_pass(self) -> Iterator[TensorSource]:
        """Yields what reads the parts in one pass, of each source in one."""
        with ExitStack() as passes:
            found = copy.copy(self)
            found._parts = [passes.enter_context(part.one_pass()) for part in self._parts]
            yield found

    def nbytes_between(self, low: int, high: int) -> int:
        return sum(part.nbytes_between(begin, max(begin, end)) for part, begin, end in self._pieces(low, high))

    def beside(self, nbytes: int) -> int:
        return nbytes + max(part.beside(nbytes) for part in self._parts)  # parts are joined in memory of their own

    def bounds(self, limit: int) -> list[int]:
        ends = [
            [start + end for end in part.bounds(limit)] for start, part in zip(self._starts, self._parts, strict=False)
        ]
        merged = sorted({bound for part in ends for bound in part})
        kept, size = [merged[0]], 0
        for low, high in pairwise(merged):  # small parts are read together
            own = self.nbytes_between(low, high)
            if low != kept[-1] and size + own > limit:
                kept.append(low)
                size = 0
            size += own
        return [*kept, merged[-1]] if len(merged) > 1 else [0, self.shape[self.axis]]

    def __repr__(self) -> str:
        return f"{len(self._parts)} parts from {self._parts[0]!r} on"


def parts_of(parts: Sequence[TensorSource], *, whole: bool = False, of: str = "") -> TensorSource:
    """Returns the source of parts in order.

    Args:
        parts: one part or more.
        whole: whether those that say where they stand must be all parts of the tensor.
        of: what the parts are of, for messages.

    Raises:
        OperandError: without parts.
        ExtentError, DTypeError: for parts that do not fit together.
    """
    if not parts:
        raise OperandError(f"{of}expected one part or more, but got none")
    check_places(parts, whole=whole)
    return parts[0] if len(parts) == 1 else _Parts(parts)


def _without_widths(kind: TensorType) -> TensorType:
    return kind if kind.encoding is None else replace(kind, encoding=kind.encoding.with_widths(0, 0))


def _widest(kinds: Sequence[TensorType]) -> TensorType:
    encodings = [kind.encoding for kind in kinds if kind.encoding is not None]
    widths = (max(one.pos_width for one in encodings), max(one.crd_width for one in encodings))
    return replace(kinds[0], encoding=encodings[0].with_widths(*widths))
