"""Tensors that are read in parts along one dimension: the interface, and reading with a second try."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import ExtentError, OperandError, SourceError, SparseError, TooLargeError
from mlir_sparse.process.forks import importing
from mlir_sparse.tensor.sparse_tensor import SparseTensor
from mlir_sparse.text.listed_words import listed

__all__ = ["TensorSource", "check_places", "read_part"]

_ATTEMPTS = 3
_PAUSE = 0.1
"""Seconds before the second attempt; each further one waits twice as long."""


class TensorSource(ABC):
    """A tensor that is read in parts.

    Attributes:
        shape: its extents.
        type: its type: element type and encoding.
        axis: the dimension along which parts are read.
        unit: what bounds of parts are multiples of, save the last: a block size.
        reads_ranges: whether a small part is read in little time, and without calling what a user wrote.
        place: where it stands in a tensor that it is a part of, along the axis: its first coordinate, the one behind
            its last, and the extent; None for what does not say so.
        resident: the tensor whose memory parts share; None where each is read into memory of its own.
    """

    shape: tuple[int, ...]
    type: TensorType
    axis: int = 0
    unit: int = 1
    reads_ranges: bool = False
    place: tuple[int, int, int] | None = None
    resident: SparseTensor | None = None

    def _repr_html_(self) -> str:
        """Returns where the tensor is and its type, for notebooks; nothing of it is read."""
        with importing():
            from mlir_sparse.text.html_table import html_rows  # for notebooks only

        shape = " x ".join(f"{extent:,}" for extent in self.shape)
        parts = f"along dimension {self.axis}" + (f", by {self.unit}" if self.unit > 1 else "")
        rows = [("in", repr(self)), ("shape", shape), ("type", str(self.type)), ("read", parts)]
        return html_rows("TensorSource", rows)

    @abstractmethod
    def read(self, low: int, high: int) -> SparseTensor:
        """Returns the part between two coordinates of the axis.

        Raises:
            FileFormatError: for a file that does not hold it, with its name.
        """

    @abstractmethod
    def nbytes_between(self, low: int, high: int) -> int:
        """Returns the bytes of the part between two coordinates, without reading it."""

    def beside(self, nbytes: int) -> int:
        """Returns about how many bytes are held beside a part of so many while it is read, such as chunks of a file."""
        return 0

    @contextmanager
    def one_pass(self) -> Iterator[TensorSource]:
        """Yields what reads the parts in one pass, one behind the other.

        Parts may be checked in the end only: nothing that was made of them is to be used before.

        Raises:
            FileFormatError: at the end, for bytes that are not those that were written.
        """
        yield self

    def bounds(self, limit: int) -> list[int]:
        """Returns where parts of at most so many bytes begin, and the extent.

        Raises:
            TooLargeError: where the part of one unit is larger.
        """
        extent = self.shape[self.axis]
        count = max(1, -(-self.nbytes_between(0, extent) // max(1, limit)))
        step = max(self.unit, -(-extent // count) // self.unit * self.unit)
        found = [0]
        for low in range(0, extent, step):
            self._split(low, min(extent, low + step), limit, found)
        return found if len(found) > 1 else [0, extent]

    def balanced(self, pieces: int) -> list[int]:
        """Returns where so many parts of about as many bytes begin, and the extent; fewer where units are fewer."""
        extent = self.shape[self.axis]
        total, bounds = self.nbytes_between(0, extent), [0]
        for piece in range(1, pieces):
            low, high, wanted = bounds[-1], extent, total * piece / pieces
            if self.nbytes_between(0, low) >= wanted:
                continue  # one unit had more than its share
            while high - low > self.unit:  # the first multiple of the unit with at least so many bytes before it
                middle = low + (high - low) // 2 // self.unit * self.unit
                if middle == low:
                    middle = low + self.unit
                if self.nbytes_between(0, middle) < wanted:
                    low = middle
                elif high == middle:
                    break
                else:
                    high = middle
            bound = min(extent, -(-high // self.unit) * self.unit)
            if bound > bounds[-1]:
                bounds.append(bound)
        return bounds if bounds[-1] == extent and extent else [*bounds, extent]

    def _split(self, low: int, high: int, limit: int, found: list[int]) -> None:
        """Appends the ends of parts between two bounds, halved until each is small enough."""
        nbytes = self.nbytes_between(low, high)
        if nbytes <= limit:
            found.append(high)
            return
        middle = low + (high - low) // 2 // self.unit * self.unit
        if middle == low:
            raise TooLargeError(
                f"expected parts of at most {limit:,} bytes, but got {nbytes:,} at coordinate {low} of dimension "
                f"{self.axis} alone: give more memory"
            )
        self._split(low, middle, limit, found)
        self._split(middle, high, limit, found)

    def _check_range(self, low: int, high: int) -> None:
        if not 0 <= low <= high <= self.shape[self.axis]:
            raise OperandError(f"expected a range inside 0..{self.shape[self.axis]}, but got {low}..{high}")

    def _range(self, low: int, high: int) -> str:
        """Returns a part's place as messages name it."""
        return f"{'rows' if self.axis == 0 else f'dimension {self.axis},'} {low} to {high}"


def check_places(parts: Sequence[TensorSource], *, whole: bool) -> None:
    """Refuses parts of a tensor that was cut, where they do not follow one another.

    Args:
        parts: the parts in order; those that do not say where they stand follow others.
        whole: whether they must be all parts of the tensor.

    Raises:
        ExtentError: with the coordinates that are missing, or that come twice.
    """
    placed = [(part, part.place) for part in parts if part.place is not None]
    if not placed:
        return
    extents = dict.fromkeys(extent for _, (_, _, extent) in placed)
    if len(extents) > 1:
        raise ExtentError(f"expected parts of one tensor, but got parts of extents {listed([*map(str, extents)])}")
    strange = next((part for part in parts if part.place is None), None)
    if whole and strange is not None:
        raise ExtentError(
            f"expected parts of one tensor, but {strange!r} does not say where it stands, as {placed[0][0]!r} does: "
            "take it out of the folder"
        )
    end, before = (0 if whole else placed[0][1][0]), "the beginning"
    for part, (low, high, extent) in placed:
        if low != end:
            wrong = part._range(end, low) + " are missing" if low > end else part._range(low, end) + " come twice"
            raise ExtentError(
                f"expected parts that follow one another, but {wrong} between {before} and {part!r}, which is "
                f"{part._range(low, high)} of {extent}: bring the files together, or cut the tensor anew"
            )
        end, before = high, repr(part)
    extent = next(iter(extents))
    if whole and end != extent:
        raise ExtentError(
            f"expected all parts, but {parts[-1]._range(end, extent)} are missing behind {before}: "
            "bring the files together, or cut the tensor anew"
        )


def read_part(given: TensorSource, low: int, high: int) -> SparseTensor:
    """Returns the part of a source between two coordinates; what fails for reasons outside is tried again.

    Errors of the operating system (`OSError`) and of libraries are tried three times: networks and file servers have
    moments. Mistakes in a file or a function (`SparseError` and other errors of Python) are not.

    Raises:
        SourceError: for a part that could not be read, with its range.
    """
    attempt = 1
    while True:
        try:
            return given.read(low, high)
        except StopIteration as error:  # would end the loop over pieces
            raise SourceError(f"expected {given._range(low, high)} of {given!r}, but got StopIteration") from error
        except Exception as error:
            if isinstance(error, SparseError) or (
                not isinstance(error, OSError) and type(error).__module__ == "builtins"
            ):
                error.add_note(f"while {given._range(low, high)} of {given!r} were read")
                raise
            if attempt == _ATTEMPTS:
                raise SourceError(
                    f"expected {given._range(low, high)} of {given!r}, but got {type(error).__name__} in each of "
                    f"{_ATTEMPTS} attempts: {error}"
                ) from error
        time.sleep(_PAUSE * 2 ** (attempt - 1))
        attempt += 1
