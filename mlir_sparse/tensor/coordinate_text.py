"""One entry a line: FROSTT's `.tns`, TACO's `.ttx`, and the Tensor Toolbox's `sptensor` text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import IO, Any

import numpy as np

from mlir_sparse.errors import RankError
from mlir_sparse.tensor.storage import Array
from mlir_sparse.tensor.text_lines import Entries, TextFile, line_of_entry, read_rows

__all__ = ["read_frostt", "read_sptensor", "read_ttx", "write_frostt", "write_ttx"]

# Field of a Matrix Market head to dtype and numbers a value.
_FIELDS: dict[str, tuple[type[Any], int]] = {
    "real": (np.float64, 1),
    "double": (np.float64, 1),
    "integer": (np.int64, 1),
    "complex": (np.float64, 2),
    "pattern": (np.float64, 0),
}
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
    _check_coordinates(file, 0, "#", coordinates, extents, base)
    return Entries(extents, _columns(coordinates), values[:, 0])


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
    _check_count(file, count, len(values))
    if base is None:
        base = int(bool((coordinates == np.array(extents)).any()))
    coordinates = coordinates - base
    _check_coordinates(file, 4, "#", coordinates, extents, base)
    return Entries(extents, _columns(coordinates), values[:, 0])


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


def read_ttx(file: TextFile) -> Entries:
    """Returns the entries of a Matrix Market file of a tensor, coordinate or array, as TACO's `readMTX` takes them.

    After the head and comments one line has the extents, and the number of entries
    where the format is coordinate. Arrays have the first dimension running fastest.
    """
    layout, field, size_line, sizes = _ttx_head(file)
    dtype, parts = _FIELDS[field]
    if layout == "array":
        _, values = read_rows(file, size_line, 0, dtype, parts, "%")
        _check_count(file, math.prod(sizes), len(values))
        dense = _joined(values, parts).reshape(sizes, order="F")
        return Entries(sizes, (), np.empty(0), dense=np.ascontiguousarray(dense))
    *extents, count = sizes
    coordinates, values = read_rows(file, size_line, len(extents), dtype, parts, "%")
    _check_count(file, count, len(values))
    coordinates = coordinates - 1
    _check_coordinates(file, size_line, "%", coordinates, tuple(extents), 1)
    return Entries(tuple(extents), _columns(coordinates), _joined(values, parts))


def _ttx_head(file: TextFile) -> tuple[str, str, int, tuple[int, ...]]:
    """Returns format, field, the line with the sizes and the sizes."""
    with file.text() as lines:
        words = next(lines).lower().split()
        for number, line in enumerate(lines, 2):
            if not line.strip() or line.lstrip().startswith("%"):
                continue
            sizes = line.split()
            if not all(size.isdecimal() for size in sizes):
                raise file.error(number, f"expected extents, but got {line.strip()[:40]!r}")
            _check_ttx_words(file, words)
            if words[2] == "coordinate" and len(sizes) < 2:
                raise file.error(number, "expected extents and number of entries, but got one number")
            return words[2], words[3], number, tuple(map(int, sizes))
    raise file.error(None, "expected a line of extents, but got the end of the file")


def _check_ttx_words(file: TextFile, words: list[str]) -> None:
    layout, field, symmetry = (*words[2:5], "", "", "")[:3]
    for got, known in ((layout, ("coordinate", "array")), (field, tuple(_FIELDS)), (symmetry, ("general",))):
        if got not in known:
            raise file.error(1, f"expected {' or '.join(known)} in the head of a tensor, but got {got!r}")
    if layout == "array" and field == "pattern":
        raise file.error(1, "expected values in an array, but got the field 'pattern'")


def _joined(values: Array, parts: int) -> Array:
    """Returns one number a value: pairs of parts become complex."""
    return np.ascontiguousarray(values).view(np.complex128)[:, 0] if parts == 2 else values[:, 0]


def _columns(coordinates: Array) -> tuple[Array, ...]:
    return tuple(np.ascontiguousarray(coordinates[:, dim]) for dim in range(coordinates.shape[1]))


def _check_count(file: TextFile, announced: int, got: int) -> None:
    if announced != got:
        state = "truncated" if got < announced else "longer than it says"
        raise file.error(None, f"expected {announced} entries, as its head says, but got {got}: the file is {state}")


def _check_coordinates(
    file: TextFile, start: int, comments: str, coordinates: Array, extents: Sequence[int], base: int
) -> None:
    wrong = (coordinates < 0) | (coordinates >= np.array(extents, np.int64))
    if not wrong.any():
        return
    entry = int(np.argmax(wrong.any(axis=1)))
    dim = int(np.argmax(wrong[entry]))
    got = int(coordinates[entry, dim]) + base
    rule = f"a coordinate from {base} to {extents[dim] - 1 + base} in dimension {dim}"
    hint = ": give index_base=0 for a file that counts from 0" if got == 0 and base == 1 else ""
    raise file.error(line_of_entry(file, start, comments, entry), f"expected {rule}, but got {got}{hint}")


def write_frostt(file: IO[bytes], entries: Entries, comment: str) -> None:
    """Writes a FROSTT file, with the shape in a comment."""
    dims, values = _sparse(entries)
    lines = [f"# {line}\n" for line in comment.splitlines()]
    file.write("".join([*lines, f"{_SHAPE_COMMENT} {' '.join(map(str, entries.shape))}\n"]).encode())
    _write_rows(file, dims, values)


def _sparse(entries: Entries) -> tuple[Sequence[Array], Array]:
    if entries.dense is None:
        return entries.dims, entries.values
    dims = np.nonzero(entries.dense)
    return dims, entries.dense[dims]


def write_ttx(file: IO[bytes], entries: Entries, comment: str) -> None:
    """Writes a Matrix Market file of a tensor, as coordinates or, if it is dense, as an array."""
    values = entries.values if entries.dense is None else entries.dense.reshape(-1, order="F")
    field = {"i": "integer", "f": "real", "c": "complex"}[values.dtype.kind]
    layout = "coordinate" if entries.dense is None else "array"
    sizes = entries.shape if entries.dense is not None else (*entries.shape, values.size)
    lines = [f"%%MatrixMarket tensor {layout} {field} general\n", *(f"%{line}\n" for line in comment.splitlines())]
    file.write("".join([*lines, "%\n", f"{' '.join(map(str, sizes))}\n"]).encode())
    _write_rows(file, entries.dims, values)


def _write_rows(file: IO[bytes], dims: Sequence[Array], values: Array) -> None:
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
