"""FROSTT's `.tns` files, MLIR's extension of them, and the Tensor Toolbox's `sptensor` text: one entry a line.

A plain file has only entries and comments, which begin with `#`. MLIR's files (`sparse_tensor.new`,
`sparse_tensor.out`)
have two more lines before the entries: `rank nse`, and the extents. A file is MLIR's if a comment before its first line
says `extended FROSTT`, or if the first line has two whole numbers r and n, the second line r words, and the third line
r + 1 words (it may be missing unless r is 2). No plain file looks so: all of its lines have the same number of words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import IO

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import RankError
from mlir_sparse.tensor.files.text_rows import (
    MOST,
    TextEntries,
    TextRows,
    as_sizes,
    read_row_blocks,
    read_rows,
    write_rows,
)
from mlir_sparse.tensor.files.text_stream import TextPlace, TextStream, shown
from mlir_sparse.tensor.level_storage import Array

__all__ = ["read_frostt", "read_frostt_blocks", "read_sptensor", "write_frostt"]

_SHAPE_COMMENT = b"# shape:"
_EXTENDED_COMMENT = b"extended FROSTT"


@dataclass(frozen=True, slots=True)
class _Head:
    """The head of a `.tns` file; rank is None if there is neither a head nor an entry."""

    rank: int | None
    extents: tuple[int, ...] | None = None
    announced: int | None = None


def read_frostt(stream: TextStream, shape: Sequence[int] | None, base: int) -> TextEntries:
    """Returns the entries of a FROSTT file: coordinates and a value a line, `#` for comments.

    Args:
        stream: the file from its start.
        shape: the extents, which a plain file lacks. By default they come from a comment `# shape: 3 4 5`, which
            `write_frostt` writes, or from MLIR's extension.
        base: the least coordinate, 0 or 1.
    """
    rows, extents = _form(stream, shape, base)
    dims, values = read_rows(stream, rows)
    return TextEntries(extents or tuple(int(dim.max()) + 1 for dim in dims), dims, values)


def read_frostt_blocks(
    stream: TextStream,
    shape: Sequence[int] | None,
    base: int,
    use: Callable[[TextEntries, TextPlace], None],
    within: tuple[TextPlace, int] | None = None,
) -> tuple[int, ...] | None:
    """Passes the entries of a FROSTT file a block at a time, and returns the extents.

    Where the file lacks extents, those of each block are passed, and None is returned.
    """
    rows, extents = _form(stream, shape, base)

    def pass_on(dims: tuple[Array, ...], values: Array, place: TextPlace) -> None:
        use(TextEntries(extents or tuple(int(dim.max()) + 1 for dim in dims), dims, values), place)

    read_row_blocks(stream, rows, pass_on, within)
    return extents


def _form(stream: TextStream, shape: Sequence[int] | None, base: int) -> tuple[TextRows, tuple[int, ...] | None]:
    """Reads the head; returns the form of lines, and the extents if they are known."""
    head = _read_head(stream)
    extents = head.extents if shape is None else tuple(shape)
    rank = len(extents or ()) if head.rank is None else head.rank
    if rank < 1:
        raise stream.error(None, "expected entries or shape=..., but got a file without either")
    if extents is not None and len(extents) != rank:
        raise RankError(f"{stream.name}: expected a shape of rank {rank}, as its lines have, but got {extents}")
    return TextRows(extents or (MOST,) * rank, "real", "#", base, head.announced), extents


def _read_head(stream: TextStream) -> _Head:
    """Reads up to the entries."""
    said, extended = None, False
    while (line := stream.peek()) is not None and not _words(line):
        if line.startswith(_SHAPE_COMMENT):
            said = as_sizes(line[len(_SHAPE_COMMENT) :].split()) or None
        extended = extended or _EXTENDED_COMMENT in line
        stream.line()
    if line is None:
        return _Head(None, said)
    first = list(islice(filter(None, map(_words, stream.next_lines())), 3))
    return _read_extension(stream) if extended or _is_extended(first) else _Head(len(first[0]) - 1, said)


def _words(line: bytes) -> list[bytes]:
    """Returns the words of a line without its comment; comments of LLVM 16's files begin with a semicolon."""
    return [] if line.startswith(b";") else line.partition(b"#")[0].split()


def _is_extended(lines: Sequence[Sequence[bytes]]) -> bool:
    """Returns whether three lines, the first with words, begin a file of MLIR's."""
    if len(lines) < 2 or len(lines[0]) != 2:
        return False
    sizes, extents = as_sizes(lines[0]), as_sizes(lines[1])
    if sizes is None or extents is None or len(extents) != sizes[0]:
        return False
    return len(lines[2]) == sizes[0] + 1 if len(lines) > 2 else sizes[0] != 2


def _read_extension(stream: TextStream) -> _Head:
    rank, announced = _sizes_on_line(stream, "two whole numbers, the rank and the number of entries", 2)
    extents = _sizes_on_line(stream, f"{rank} extents", rank)
    return _Head(rank, extents, announced)


def _sizes_on_line(stream: TextStream, rule: str, count: int) -> tuple[int, ...]:
    """Returns the numbers on the next line with words."""
    while (line := stream.line()) is not None:
        words = _words(line)
        if not words:
            continue
        sizes = as_sizes(words)
        if sizes is None or len(sizes) != count:
            raise stream.error(stream.lines, f"expected {rule}, each below 2^63, but got {shown(line)}")
        return sizes
    raise stream.error(stream.lines, f"expected {rule} after it, but got the end of the file")


def read_sptensor(stream: TextStream, base: int | None) -> TextEntries:
    """Returns the entries of a text: the word `sptensor`, the rank, the extents, the number of entries, the entries."""
    extents, count = _head_of_sptensor(stream)
    # Accept coordinates from 0 and from 1 until the base is known.
    wide = extents if base is not None else tuple(min(extent + 1, MOST) for extent in extents)
    dims, values = read_rows(stream, TextRows(wide, "real", "#", base or 0, count))
    if base is None and any((dim == extent).any() for dim, extent in zip(dims, extents, strict=True)):
        _check_from_one(stream, dims)
        dims = tuple(dim - 1 for dim in dims)
    return TextEntries(extents, dims, values)


def _check_from_one(stream: TextStream, dims: Sequence[Array]) -> None:
    for number, dim in enumerate(dims):
        zeros = np.flatnonzero(dim == 0)
        if zeros.size:
            got = f"0 (entry {zeros[0] + 1}): give index_base=0 or 1"
            rule = f"coordinates from 1 in dimension {number}, as an extent occurs as a coordinate"
            raise stream.error(None, f"expected {rule}, but got {got}")


def _head_of_sptensor(stream: TextStream) -> tuple[tuple[int, ...], int]:
    stream.line()
    numbers: list[tuple[int, ...]] = []
    while len(numbers) < 3:
        line = stream.line()
        if line is None:
            rule = "rank, extents and number of entries"
            raise stream.error(stream.lines, f"expected {rule}, but got the end of the file")
        sizes = as_sizes(line.split())
        if not sizes:
            raise stream.error(stream.lines, f"expected numbers of the head of an sptensor, but got {shown(line)}")
        numbers.append(sizes)
    (rank, *_), extents, (count, *_) = numbers
    if len(extents) != rank:
        raise stream.error(stream.lines - 1, f"expected {rank} extents, but got {len(extents)}")
    return extents, count


def write_frostt(file: IO[bytes], entries: TextEntries, comment: str) -> None:
    """Writes a FROSTT file, with the shape in a comment."""
    dims, values = _sparse(entries)
    lines = [f"# {line}\n" for line in comment.splitlines()]
    file.write("".join([*lines, f"{_SHAPE_COMMENT.decode()} {' '.join(map(str, entries.shape))}\n"]).encode())
    write_rows(file, dims, values)


def _sparse(entries: TextEntries) -> tuple[Sequence[Array], Array]:
    if entries.dense is None:
        return entries.dims, entries.values
    dims = np.nonzero(entries.dense)
    return dims, entries.dense[dims]
