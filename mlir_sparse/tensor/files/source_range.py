"""A part of a source as a source of its own, such as the rows that a statement's range names."""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.tensor.files.tensor_source import TensorSource
from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["range_of"]

Box = Sequence[tuple[int, int] | None]


class _SourceRange(TensorSource):
    """A box of a source, of which no more is read along its axis than the box has.

    Args:
        given: the source.
        low: the first coordinate of its axis.
        high: the coordinate behind the last.
        box: the coordinates of every dimension; None for all of one.
    """

    def __init__(self, given: TensorSource, low: int, high: int, box: Box) -> None:
        self._given, self._low, self._high, self._box = given, low, high, tuple(box)
        self.axis, self.unit, self.reads_ranges = given.axis, given.unit, given.reads_ranges
        self.resident = given.resident
        extents = [end if own is None else own[1] - own[0] for own, end in zip(box, given.shape, strict=True)]
        extents[self.axis] = high - low
        self.shape = tuple(extents)
        self.type = TensorType(given.type.dtype, (None,) * len(extents), given.type.encoding)

    def read(self, low: int, high: int) -> SparseTensor:
        self._check_range(low, high)
        part = self._given.read(low + self._low, high + self._low)
        others = [None if dim == self.axis else own for dim, own in enumerate(self._box)]
        if not any(others):
            return part
        found: SparseTensor = part[tuple(slice(*(own or (None,))) for own in others)]
        return found if found.encoding == part.encoding else found.convert(part.encoding)

    def nbytes_between(self, low: int, high: int) -> int:
        return self._given.nbytes_between(low + self._low, high + self._low)

    def beside(self, nbytes: int) -> int:
        return self._given.beside(nbytes)

    def __repr__(self) -> str:
        return f"{self._given._range(self._low, self._high)} of {self._given!r}"


def range_of(given: TensorSource, box: Box) -> TensorSource:
    """Returns the source of a box of a tensor; parts are read along the same axis.

    Args:
        given: the source of the tensor.
        box: for each dimension the first coordinate, and the one behind the last; None for all of it.

    Raises:
        UnsupportedError: for a box that begins or ends inside of a block.

    >>> from mlir_sparse.tensor import tensor
    >>> from mlir_sparse.tensor.files.open_source import source
    >>> rows = range_of(source(tensor([[1.0, 2.0], [0.0, 3.0], [4.0, 0.0]])), [(1, 3), None])
    >>> rows.shape, rows.read(0, 1).to_numpy().tolist()
    ((2, 2), [[0.0, 3.0]])
    """
    low, high = box[given.axis] or (0, given.shape[given.axis])
    if low % given.unit or (high % given.unit and high != given.shape[given.axis]):
        raise UnsupportedError(
            f"expected a range of whole blocks of {given.unit} along dimension {given.axis} of {given!r}, but got "
            f"{low} to {high}"
        )
    return _SourceRange(given, low, high, box)
