"""Text files read once, in order: a line at a time for the head, block by block for the entries.

At most a block of the text is in memory, however large the file is when decompressed; a line longer than a block is
refused. A newline ends a line; a carriage return before it is a blank.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import FileFormatError
from mlir_sparse.text.shortened import shortened

__all__ = ["TextPlace", "TextStream", "is_compressed", "opened", "shown"]

_GZIP_MAGIC = b"\x1f\x8b"
_BLOCK = 1 << 22
_MOST_INFLATED = 1032  # the greatest expansion of a byte by deflate


def shown(text: bytes | str) -> str:
    """Returns text of a file as messages repeat it: quoted, and truncated if long.

    >>> shown(b"1 2 x"), len(shown("7" * 5000))
    ("'1 2 x'", 303)
    """
    decoded = text.decode("latin-1") if isinstance(text, bytes) else text
    return shortened(repr(decoded[:400].strip()))


class _Readable(Protocol):
    """The interface of files from `open` and gzip."""

    def readinto(self, buffer: memoryview, /) -> int: ...


@dataclass(frozen=True, slots=True)
class TextPlace:
    """The begin of a line.

    Args:
        offset: the bytes before it.
        lines: the lines before it.
    """

    offset: int
    lines: int


class TextStream:
    """A file being read.

    Args:
        name: the user's name of the file.
        file: its decompressed bytes.
        most_bytes: an upper bound on their number, if one is known.
        filled: is called after each block that is read.
    """

    def __init__(
        self, name: str, file: _Readable, most_bytes: int | None, filled: Callable[[], None] = lambda: None
    ) -> None:
        self.name, self.most_bytes = name, most_bytes
        self.lines = 0  # the number of lines read
        self._file, self._filled = file, filled
        self._buffer = bytearray(_BLOCK)
        self._begin = self._end = 0
        self._before = 0  # the bytes before the block
        self._left: int | None = None  # the bytes to read; None for all
        self._ended = False

    def peek(self) -> bytes | None:
        """Returns the next line without its end, and does not take it; None after the last."""
        while (end := self._buffer.find(b"\n", self._begin, self._end)) < 0:
            if self._ended:
                return None
            self._fill()
        return bytes(memoryview(self._buffer)[self._begin : end])

    def line(self) -> bytes | None:
        """Takes the next line, and returns it without its end; None after the last."""
        text = self.peek()
        if text is not None:
            self._begin += len(text) + 1
            self.lines += 1
        return text

    def next_lines(self) -> Iterator[bytes]:
        """Yields the next lines inside the block, and takes none of them."""
        if not self._ended and self._end - self._begin < _BLOCK:
            self._fill()
        begin = self._begin
        while (end := self._buffer.find(b"\n", begin, self._end)) >= 0:
            yield bytes(memoryview(self._buffer)[begin:end])
            begin = end + 1

    @property
    def place(self) -> TextPlace:
        """Returns where the next line begins."""
        return TextPlace(self._before + self._begin, self.lines)

    def go_to(self, place: TextPlace, end: int) -> None:
        """Goes to a line, and ends behind some byte of the file, which is not compressed."""
        assert isinstance(self._file, io.BufferedReader)
        self._file.seek(place.offset)
        self._left = end - place.offset
        self._before, self.lines = place.offset, place.lines
        self._begin = self._end = 0
        self._ended = False

    def blocks(self, feed: Callable[[memoryview], tuple[int, int]]) -> None:
        """Passes the rest of the file to a function, block by block.

        Args:
            feed: the function. It consumes whole lines, and returns their bytes and the number of the file's lines so
                far.
        """
        while True:
            with memoryview(self._buffer) as whole, whole[self._begin : self._end] as block:
                taken, self.lines = feed(block)
            self._begin += taken
            if self._ended:
                return
            self._fill()
            self._filled()

    def error(self, line: int | None, message: str) -> FileFormatError:
        """Returns the error for a mistake on a line; lines count from 1."""
        place = f"{self.name}:{line}" if line is not None else self.name
        return FileFormatError(f"{place}: {message}")

    def _fill(self) -> None:
        """Moves the bytes not taken yet to the front of the block, and reads until it is full or the file ends.

        The end of the file also ends a line.
        """
        left = self._end - self._begin
        self._buffer[:left] = self._buffer[self._begin : self._end]
        self._before += self._begin
        self._begin, self._end = 0, left
        if left >= _BLOCK:
            raise self.error(self.lines + 1, f"expected lines shorter than {_BLOCK} bytes, but got a longer one")
        with memoryview(self._buffer) as whole:
            while self._end < _BLOCK and not self._ended:
                most = _BLOCK if self._left is None else min(_BLOCK, self._end + self._left)
                with whole[self._end : most] as free:
                    count = self._file.readinto(free) if len(free) else 0
                self._end += count
                if self._left is not None:
                    self._left -= count
                self._ended = not count
        if self._ended and self._end and self._buffer[self._end - 1] != ord("\n"):
            self._buffer[self._end : self._end + 1] = b"\n"
            self._end += 1


def is_compressed(name: str) -> bool:
    """Returns whether a text file is compressed, by its contents."""
    with open(name, "rb") as file:
        return file.peek(2)[:2] == _GZIP_MAGIC


@contextmanager
def opened(name: str, done: Callable[[float], None] | None = None) -> Iterator[TextStream]:
    """Opens a text file; gzip is recognised by the contents, not by the name.

    Args:
        name: the file.
        done: takes the fraction of the file's bytes that is read, block by block; of a pipe it hears nothing.

    Raises:
        FileFormatError: for truncated or damaged gzip data.
        OSError: for a file that cannot be read.
    """
    with open(name, "rb") as file:
        about = os.fstat(file.fileno())
        size = about.st_size if stat.S_ISREG(about.st_mode) else None

        def filled() -> None:
            if done is not None and size:
                done(file.tell() / size)

        if file.peek(2)[:2] != _GZIP_MAGIC:
            yield TextStream(name, file, size, filled)
            return
        try:
            with gzip.GzipFile(fileobj=file) as text:
                yield TextStream(name, text, None if size is None else size * _MOST_INFLATED, filled)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FileFormatError(f"{name}: expected a whole gzip file, but got {error}: fetch it again") from error
