"""FROSTT's `.tns` files, and the Tensor Toolbox's `sptensor` text: one entry a line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import IO

import numpy as np

from mlir_sparse.errors import RankError
from mlir_sparse.tensor.storage import Array
from mlir_sparse.tensor.text_lines import (
    Entries,
    TextFile,
    check_coordinates,
    check_count,
    read_rows,
    split_columns,
    write_rows,
)

__all__ = ["read_frostt", "read_sptensor", "write_frostt"]

_SHAPE_COMMENT = "# shape:"


def read_frostt(file: TextFile, shape: Sequence[int] | None, base: int) -> Entries:
    """Returns the entries of a FROSTT file: coordinates and a value a line, `#` for comments.

    The format says no extents; a comment `# shape: 3 4 5`, as `write_frostt` leaves, is taken for them.
    """
    said, columns = _peek_frostt(file)
    extents = tuple(shape) if shape is not None else said
    rank = columns if columns is not None else len(extents or ())
    if rank < 1:
        raise file.error(None, "expected entries or shape=..., but got a file without either")
    if extents is not None and len(extents) != rank:
        raise RankError(f"{file.name}: expected a shape of rank {rank}, as its lines have, but got {extents}")
    coordinates, values = read_rows(file, 0, rank, np.float64, 1, "#")
    coordinates = coordinates - base
    if extents is None:
        extents = tuple(int(c) + 1 for c in coordinates.max(axis=0))
    check_coordinates(file, 0, "#", coordinates, extents, base)
    return Entries(extents, split_columns(coordinates), values[:, 0])


def _peek_frostt(file: TextFile) -> tuple[tuple[int, ...] | None, int | None]:
    """Returns the extents that a comment says, and the number of coordinates on the first line with any."""
    said = None
    with file.text() as lines:
        for line in lines:
            if line.startswith(_SHAPE_COMMENT) and all(w.isdecimal() for w in line[len(_SHAPE_COMMENT) :].split()):
                said = tuple(map(int, line[len(_SHAPE_COMMENT) :].split()))
            words = line.split("#", 1)[0].split()
            if words:
                return said, len(words) - 1
    return said, None


def read_sptensor(file: TextFile, base: int | None) -> Entries:
    """Returns the entries of `sptensor` text: that word, the rank, the extents, the number of entries, the entries."""
    head = _numbers_of_head(file)
    rank, extents, count = head[0][0], head[1], head[2][0]
    if len(extents) != rank:
        raise file.error(3, f"expected {rank} extents, but got {len(extents)}")
    coordinates, values = read_rows(file, 4, rank, np.float64, 1, "#")
    check_count(file, count, len(values))
    if base is None:
        base = int(bool((coordinates == np.array(extents)).any()))
    coordinates = coordinates - base
    check_coordinates(file, 4, "#", coordinates, extents, base)
    return Entries(extents, split_columns(coordinates), values[:, 0])


def _numbers_of_head(file: TextFile) -> list[tuple[int, ...]]:
    with file.text() as lines:
        head = list(islice(lines, 4))
    numbers = []
    for number, line in enumerate(head[1:], 2):
        words = line.split()
        if not words or not all(word.isdecimal() for word in words):
            raise file.error(number, f"expected numbers of the head of an sptensor, but got {line.strip()[:40]!r}")
        numbers.append(tuple(map(int, words)))
    if len(numbers) < 3:
        raise file.error(len(head), "expected rank, extents and number of entries, but got the end of the file")
    return numbers


def write_frostt(file: IO[bytes], entries: Entries, comment: str) -> None:
    """Writes a FROSTT file, with the shape in a comment."""
    dims, values = _sparse(entries)
    lines = [f"# {line}\n" for line in comment.splitlines()]
    file.write("".join([*lines, f"{_SHAPE_COMMENT} {' '.join(map(str, entries.shape))}\n"]).encode())
    write_rows(file, dims, values)


def _sparse(entries: Entries) -> tuple[Sequence[Array], Array]:
    if entries.dense is None:
        return entries.dims, entries.values
    dims = np.nonzero(entries.dense)
    return dims, entries.dense[dims]
