"""Text files of entries: opened more than once, read by lines, refused by line number."""

from __future__ import annotations

import gzip
import io
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any, cast

import numpy as np

from mlir_sparse.errors import FileFormatError
from mlir_sparse.tensor.storage import Array

__all__ = ["Entries", "TextFile", "check_coordinates", "check_count", "read_rows", "split_columns", "write_rows"]


@dataclass(frozen=True, slots=True)
class Entries:
    """What a file holds: coordinates from 0 and values, or a dense array."""

    shape: tuple[int, ...]
    dims: tuple[Array, ...]
    values: Array
    dense: Array | None = None


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file that can be opened again, to find the line of a mistake after a fast reader has found that there is one.

    Args:
        name: as the user gave it.
        compressed: whether it is a gzip file.
    """

    name: str
    compressed: bool

    def open(self) -> IO[bytes]:
        """Returns the file from its start, decompressed."""
        if self.compressed:
            return cast(IO[bytes], gzip.open(self.name, "rb"))
        return open(self.name, "rb")

    def first_line(self) -> str:
        """Returns the first line that is not blank.

        Raises:
            FileFormatError: for a file without one.
        """
        with self.text() as lines:
            for line in lines:
                if line.strip():
                    return line
        raise FileFormatError(f"{self.name}: expected a tensor, but got an empty file")

    def text(self) -> io.TextIOWrapper:
        """Returns the file as text; whatever bytes the comments have, reading them never fails."""
        return io.TextIOWrapper(self.open(), encoding="latin-1")

    def error(self, line: int | None, message: str) -> FileFormatError:
        """Returns the error for a mistake on a line, counted from 1."""
        place = f"{self.name}:{line}" if line is not None else self.name
        return FileFormatError(f"{place}: {message}")


def read_rows(
    file: TextFile, start: int, columns: int, dtype: type[Any], parts: int, comments: str
) -> tuple[Array, Array]:
    """Returns the coordinates, of shape (entries, columns), and the values of the lines after `start`.

    Args:
        file: what to read.
        start: the number of lines before the entries.
        columns: the number of coordinates on a line.
        dtype: of the values.
        parts: how many numbers make a value: 0 for patterns, 2 for complex.
        comments: the character that starts a comment.
    """
    fields: list[Any] = [("coordinates", np.int64, (columns,))] if columns else []
    if parts:
        fields.append(("value", dtype, (parts,)))
    with file.text() as lines, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # no entries at all: the caller knows what that means
        try:
            rows = np.loadtxt(islice(lines, start, None), np.dtype(fields), comments=comments, ndmin=1)
        except (ValueError, OverflowError) as error:
            raise _bad_line(file, start, columns, dtype, parts, comments, error) from None
    count = rows.shape[0]
    coordinates = rows["coordinates"] if columns else np.empty((count, 0), np.int64)
    values = rows["value"] if parts else np.ones((count, 1), dtype)
    return coordinates, values


def _data_lines(file: TextFile, start: int, comments: str) -> Iterator[tuple[int, list[str]]]:
    with file.text() as lines:
        for number, line in enumerate(lines, 1):
            words = line.split(comments, 1)[0].split()
            if number > start and words:
                yield number, words


def _bad_line(
    file: TextFile, start: int, columns: int, dtype: type[Any], parts: int, comments: str, error: Exception
) -> FileFormatError:
    """Finds the line that the fast reader stumbled over, and says what is wrong with it."""
    rule = f"{columns} coordinates and {parts or 'no'} value{'' if parts == 1 else 's'}"
    for number, words in _data_lines(file, start, comments):
        if len(words) != columns + parts:
            return file.error(number, f"expected {rule} on each line, but got {len(words)} words")
        for kind, word in zip([np.int64] * columns + [dtype] * parts, words, strict=True):
            try:
                kind(word)
            except (ValueError, OverflowError):
                noun = "an integer" if kind is np.int64 else "a number"
                return file.error(number, f"expected {noun}, but got {word!r}")
    return file.error(None, f"expected {rule} on each line, but got: {error}")


def _line_of_entry(file: TextFile, start: int, comments: str, entry: int) -> int | None:
    """Returns the line of an entry, counted from 0 in the lines after `start` that have words."""
    found = next(islice(_data_lines(file, start, comments), entry, None), None)
    return found[0] if found else None


def split_columns(coordinates: Array) -> tuple[Array, ...]:
    """Returns one contiguous array a dimension."""
    return tuple(np.ascontiguousarray(coordinates[:, dim]) for dim in range(coordinates.shape[1]))


def check_count(file: TextFile, announced: int, got: int) -> None:
    """Raises FileFormatError when a file has not the number of entries it announces."""
    if announced != got:
        state = "truncated" if got < announced else "longer than it says"
        raise file.error(None, f"expected {announced} entries, as its head says, but got {got}: the file is {state}")


def check_coordinates(
    file: TextFile, start: int, comments: str, coordinates: Array, extents: Sequence[int], base: int
) -> None:
    """Raises FileFormatError, with the line, for the first coordinate out of range.

    Args:
        file: where the entries came from.
        start: the number of lines before them.
        comments: the character that starts a comment.
        coordinates: from 0, of shape (entries, rank).
        extents: of the tensor.
        base: what the file counts from, for the message.
    """
    wrong = (coordinates < 0) | (coordinates >= np.array(extents, np.int64))
    if not wrong.any():
        return
    entry = int(np.argmax(wrong.any(axis=1)))
    dim = int(np.argmax(wrong[entry]))
    got = int(coordinates[entry, dim]) + base
    rule = f"a coordinate from {base} to {extents[dim] - 1 + base} in dimension {dim}"
    hint = ": give index_base=0 for a file that counts from 0" if got == 0 and base == 1 else ""
    raise file.error(_line_of_entry(file, start, comments, entry), f"expected {rule}, but got {got}{hint}")


def write_rows(file: IO[bytes], dims: Sequence[Array], values: Array) -> None:
    """Writes lines of coordinates from 1 and values, with the digits that read back to the same number."""
    block = 100_000  # as Python's numbers, all at once would take many times the tensor's memory
    for start in range(0, values.size, block):
        part = values[start : start + block]
        columns: list[Iterable[str]] = [map(str, (dim[start : start + block] + 1).tolist()) for dim in dims]
        if part.dtype.kind == "c":
            columns += [_digits(part.real), _digits(part.imag)]
        else:
            columns.append(_digits(part))
        file.write("".join(" ".join(row) + "\n" for row in zip(*columns, strict=True)).encode())


def _digits(values: Array) -> Iterable[str]:
    if values.dtype == np.float32:  # its own shortest digits, not those of the double next to it
        return (str(value) for value in values)
    return map(repr, values.tolist())
