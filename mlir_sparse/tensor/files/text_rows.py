"""Reads and writes rows of text, strictly: coordinates and a value a line.

| word | is |
|---|---|
| coordinate | digits, with a sign or without, that are in range |
| integer | digits, with a sign or without, from -2^63 to 2^63 - 1; unsigned ones, from 0 to 2^64 - 1 |
| number | decimal digits with at most one point and one exponent, which `e` or Fortran's `d` begins; or `inf`, `infinity`, `nan`; any case, with a sign or without |

A number is rounded once to the nearest double; out of range it becomes infinite or 0, as in Python.
A line may also have blanks (carriage returns and form feeds count as such) and a comment at its end.
"""  # noqa: E501 - a table

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import IO

import numpy as np

from mlir_sparse import _native
from mlir_sparse.classes import dataclass
from mlir_sparse.errors import FileFormatError, SparseError, TooLargeError
from mlir_sparse.process.available_memory import available_bytes, in_units
from mlir_sparse.tensor.files.text_stream import TextPlace, TextStream, shown
from mlir_sparse.tensor.level_storage import Array

__all__ = ["MOST", "TextEntries", "TextRows", "as_sizes", "read_row_blocks", "read_rows", "write_rows"]

MOST = 2**63 - 1
"""The largest extent, and the largest number of entries."""
_WRITTEN = 1 << 17  # rows formatted at once
_VALUE_BYTES = {"pattern": 0, "integer": 8, "unsigned": 8, "real": 8, "complex": 16}
_VALUE_WORDS = {"pattern": 0, "integer": 1, "unsigned": 1, "real": 1, "complex": 2}


@dataclass(frozen=True, slots=True)
class TextEntries:
    """The contents of a file: coordinates from 0 and values, or a dense array."""

    shape: tuple[int, ...]
    dims: tuple[Array, ...]
    values: Array
    dense: Array | None = None


@dataclass(frozen=True, slots=True)
class TextRows:
    """The form of each of the next lines.

    Args:
        extents: the extent of each coordinate; `MOST` if the file has none.
        value: `real`, `integer`, `unsigned`, `complex` (two numbers) or `pattern` (none: ones are returned).
        comment: the character that starts a comment, which ends with its line.
        base: the least coordinate, 0 or 1.
        announced: the number of lines, if the head states it.
        narrow: whether coordinates are returned in 32 bits if extents allow.
    """

    extents: tuple[int, ...]
    value: str
    comment: str
    base: int = 1
    announced: int | None = None
    narrow: bool = False

    @property
    def is_narrow(self) -> bool:
        """Returns whether coordinates take 32 bits."""
        return self.narrow and max(self.extents, default=0) < 2**31

    @property
    def nbytes(self) -> int:
        """Returns the bytes of a row in memory."""
        return len(self.extents) * (4 if self.is_narrow else 8) + _VALUE_BYTES[self.value]

    @property
    def words(self) -> int:
        """Returns the number of words on a line."""
        return len(self.extents) + _VALUE_WORDS[self.value]


def as_sizes(words: Sequence[bytes]) -> tuple[int, ...] | None:
    """Returns words as numbers from 0 to 2^63 - 1; None if one is no such number.

    >>> as_sizes([b"3", b"17"]), as_sizes([b"-1"]), as_sizes([b"9" * 5000])
    ((3, 17), None, None)
    """
    if not all(word.isdigit() and len(word.lstrip(b"0")) < 20 for word in words):
        return None
    sizes = tuple(int(word.lstrip(b"0") or b"0") for word in words)
    return sizes if max(sizes, default=0) <= MOST else None


def read_rows(stream: TextStream, rows: TextRows) -> tuple[tuple[Array, ...], Array]:
    """Reads the rest of the lines: returns coordinates from 0, one array a dimension, and values.

    Uses at most half of the memory available, as a tensor is built from the result.

    Raises:
        FileFormatError: for a line of another form, and for a number of lines other than announced.
        TooLargeError: for more lines than fit in memory; if their number is announced, before they are read.
    """
    limit = available_bytes() // 2
    _check_announced(stream, rows, limit)
    with _faults(stream, rows, limit):
        most = MOST if rows.announced is None else rows.announced
        reader = _reader(stream, rows, _expected(stream, rows), most, limit)
        stream.blocks(reader.feed)
    if rows.announced is not None and reader.rows < rows.announced:
        raise _wrong_count(stream, rows.announced, str(reader.rows), "truncated")
    coordinates, values = reader.take()
    if rows.value == "pattern":
        values = np.ones(reader.rows)
    return tuple(coordinates), values


def read_row_blocks(
    stream: TextStream,
    rows: TextRows,
    use: Callable[[tuple[Array, ...], Array, TextPlace], None],
    within: tuple[TextPlace, int] | None = None,
) -> None:
    """Reads the rest of the lines a block at a time: passes coordinates from 0, one array a dimension, and values.

    Args:
        stream: the file, behind its head.
        rows: the form of its lines.
        use: takes the coordinates and values of a block, and where it begins.
        within: where the first line to read begins, and the byte behind the last; all lines by default.

    Raises:
        FileFormatError: as `read_rows`.
    """
    limit, count = available_bytes() // 2, 0
    if within is None:
        _check_bytes(stream, rows)
    else:
        rows = replace(rows, announced=None)
        stream.go_to(*within)

    def feed(block: memoryview) -> tuple[int, int]:
        nonlocal count
        most = MOST if rows.announced is None else rows.announced - count
        reader = _reader(stream, rows, 1, most, limit)
        taken: tuple[int, int] = reader.feed(block)
        count += reader.rows
        coordinates, values = reader.take()
        if reader.rows:
            use(tuple(coordinates), np.ones(reader.rows) if rows.value == "pattern" else values, stream.place)
        return taken

    with _faults(stream, rows, limit):
        stream.blocks(feed)
    if rows.announced is not None and count < rows.announced:
        raise _wrong_count(stream, rows.announced, str(count), "truncated")


def _reader(stream: TextStream, rows: TextRows, expected: int, most: int, limit: int) -> _native.TextRows:
    return _native.TextRows(
        extents=rows.extents,
        value=rows.value,
        comment=rows.comment,
        base=rows.base,
        narrow=rows.is_narrow,
        lines=stream.lines,
        expected=expected,
        most=most,
        memory_limit=limit,
    )


def _expected(stream: TextStream, rows: TextRows) -> int:
    """Returns the number of rows to reserve addresses for, with a margin: empty lines take a row for a while.

    Only rows that are read use memory.
    """
    if rows.announced is not None:
        return rows.announced + rows.announced // 16 + 64
    return (stream.most_bytes or 0) // (8 * rows.words) + 64


def _check_announced(stream: TextStream, rows: TextRows, limit: int) -> None:
    _check_bytes(stream, rows)
    if rows.announced is not None and rows.announced * rows.nbytes > limit:
        raise _too_large(stream, rows.announced * rows.nbytes, limit, f"{rows.announced} entries")


def _check_bytes(stream: TextStream, rows: TextRows) -> None:
    # A word needs a character and a blank or the end of its line, which the last line may lack.
    if (
        rows.announced is not None
        and stream.most_bytes is not None
        and rows.announced * 2 * rows.words > stream.most_bytes + 1
    ):
        raise _wrong_count(stream, rows.announced, "too few bytes for them", "truncated")


def _wrong_count(stream: TextStream, announced: int, got: str, state: str) -> FileFormatError:
    return stream.error(None, f"expected {announced} entries, as its head says, but got {got}: the file is {state}")


def _too_large(stream: TextStream, nbytes: int, limit: int, what: str) -> TooLargeError:
    return TooLargeError(
        f"{stream.name}: expected entries that fit in {in_units(limit)}, half of the memory available, but got {what}, "
        f"{in_units(nbytes)}: read it where there is more, or in parts"
    )


@contextmanager
def _faults(stream: TextStream, rows: TextRows, limit: int) -> Iterator[None]:
    try:
        yield
    except _native.RowFault as raised:
        kind, line, place, word, text = raised.args
        raise _row_error(stream, rows, limit, kind, line, place, word, text) from None


def _row_error(
    stream: TextStream, rows: TextRows, limit: int, kind: str, line: int, place: int, word: bytes, text: bytes
) -> SparseError:
    """Returns the error for a fault that native code found."""
    where = "" if word.strip() == text.strip() else f" in {shown(text)}"
    match kind:
        case "memory":
            return _too_large(stream, place * rows.nbytes, limit, f"{place} entries and more")
        case "count":
            announced = rows.announced
            rule = f"expected {announced} entries, as its head says, but got another"
            return stream.error(line, f"{rule}: {shown(text)}: the file is longer than it says")
        case "words":
            count = len(text.decode("latin-1").partition(rows.comment)[0].split())
            noun = "word" if count == 1 else "words"
            return stream.error(
                line, f"expected {_line_rule(rows)} on each line, but got {count} {noun}: {shown(text)}"
            )
        case "range":
            extent = rows.extents[place]
            upper = "" if extent == MOST else f" to {extent - 1 + rows.base}"
            rule = f"a coordinate from {rows.base}{upper} in dimension {place}"
            from_zero = word in (b"0", b"+0", b"-0") and rows.base == 1
            hint = ": give index_base=0 for a file that counts from 0" if from_zero and rows.comment == "#" else ""
            return stream.error(line, f"expected {rule}, but got {shown(word)[1:-1]}{where}{hint}")
        case "large":
            range_ = "0 to 2^64 - 1" if rows.value == "unsigned" else "-2^63 to 2^63 - 1"
            return stream.error(line, f"expected an integer from {range_}, but got {shown(word)}{where}")
        case _:
            noun = "an integer" if kind == "integer" else "a number"
            is_frostt = rows.comment == "#" and word[-1:] in b"ij"
            hint = ": .tns files have real values; complex ones stand in .ttx and .mtx files" if is_frostt else ""
            return stream.error(line, f"expected {noun}, but got {shown(word)}{where}{hint}")


def _line_rule(rows: TextRows) -> str:
    count, values = len(rows.extents), _VALUE_WORDS[rows.value]
    told = f"{values or 'no'} value{'' if values == 1 else 's'}"
    if rows.value == "complex":
        told = "2 numbers, which make a value"
    return f"{count} coordinate{'' if count == 1 else 's'} and {told}" if count else told


def write_rows(file: IO[bytes], dims: Sequence[Array], values: Array) -> None:
    """Writes lines of coordinates from 1 and values, with the fewest digits that identify a number."""
    columns = [values.real, values.imag] if values.dtype.kind == "c" else [values]
    for start in range(0, values.size, _WRITTEN):
        file.write(_native.text_of_rows(dims, columns, start, min(values.size, start + _WRITTEN)))
