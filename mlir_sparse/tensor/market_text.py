"""Matrix Market's text: its head, its arrays, and the tensors that TACO writes as `.ttx`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

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

__all__ = ["Head", "read_array", "read_head", "read_tensor", "write_tensor"]

# Field to dtype and numbers a value.
_FIELDS: dict[str, tuple[type[Any], int]] = {
    "real": (np.float64, 1),
    "double": (np.float64, 1),
    "integer": (np.int64, 1),
    "unsigned-integer": (np.int64, 1),
    "complex": (np.float64, 2),
    "pattern": (np.float64, 0),
}
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")
_WORDS = (("matrix", "vector", "tensor"), ("coordinate", "array"), tuple(_FIELDS), _SYMMETRIES)
_RANKS = {"matrix": 2, "vector": 1}


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a Matrix Market file, and the line that has the sizes, counted from 1."""

    object: str
    layout: str
    field: str
    symmetry: str
    line: int
    sizes: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Returns the extents; in coordinate files the number of entries comes after them."""
        return self.sizes if self.layout == "array" else self.sizes[:-1]

    @property
    def entries(self) -> int:
        """Returns the number of entries that a coordinate file announces."""
        return self.sizes[-1]


def read_head(file: TextFile) -> Head:
    """Returns the head of a file, checked.

    Raises:
        FileFormatError: for words that Matrix Market does not have, sizes of the wrong number or
            kind, and symmetries of what is not square.
    """
    with file.text() as lines:
        number, first = next((n, line) for n, line in enumerate(lines, 1) if line.strip())
        words = _check_words(file, number, first)
        for line_number, line in enumerate(lines, number + 1):
            if line.strip() and not line.lstrip().startswith("%"):
                return _with_sizes(file, words, line_number, line)
    raise file.error(number, "expected a line of extents after it, but got the end of the file")


def _check_words(file: TextFile, number: int, line: str) -> tuple[str, str, str, str]:
    words = line.lower().split()[1:]
    for place, known in enumerate(_WORDS):
        got = words[place] if place < len(words) else ""
        if got not in known:
            raise file.error(number, f"expected {' or '.join(known)} in the head, but got {got!r}")
    kind, layout, field, symmetry = words[:4]
    if layout == "array" and field == "pattern":
        raise file.error(number, "expected values in an array, but got the field 'pattern'")
    if kind != "matrix" and symmetry != "general":
        raise file.error(number, f"expected general for a {kind}, but got {symmetry!r}")
    return (kind, layout, field, symmetry)


def _with_sizes(file: TextFile, words: tuple[str, str, str, str], number: int, line: str) -> Head:
    sizes = line.split()
    if not all(size.isdecimal() for size in sizes):
        raise file.error(number, f"expected extents, but got {line.strip()[:40]!r}")
    head = Head(*words, line=number, sizes=tuple(map(int, sizes)))
    rank = _RANKS.get(head.object)
    wanted = f"{rank or 'one or more'} extents" + (" and the number of entries" if head.layout == "coordinate" else "")
    if len(head.shape) < 1 or len(head.shape) != (rank or len(head.shape)):
        raise file.error(number, f"expected {wanted}, but got {line.strip()[:40]!r}")
    if max(head.sizes) >= 2**63:
        raise file.error(number, f"expected extents below 2^63, but got {max(head.sizes)}")
    if head.symmetry != "general" and head.shape[0] != head.shape[1]:
        size = " x ".join(map(str, head.shape))
        raise file.error(number, f"expected a square matrix for {head.symmetry}, but got {size}")
    return head


def read_array(file: TextFile, head: Head) -> Entries:
    """Returns a dense array: one value a line, the first dimension running fastest.

    Of symmetric matrices the file has the lower half, without the diagonal if it is skew.
    """
    dtype, parts = _FIELDS[head.field]
    if head.symmetry == "general":
        count = math.prod(head.shape)
    else:
        count = head.shape[0] * (head.shape[0] + (-1 if head.symmetry == "skew-symmetric" else 1)) // 2
    _, values = read_rows(file, head.line, 0, dtype, parts, "%")
    check_count(file, count, len(values))
    joined = _joined(values, parts)
    if head.symmetry == "general":
        dense = np.ascontiguousarray(joined.reshape(head.shape, order="F"))
    else:
        dense = _mirrored(joined, head.shape[0], head.symmetry)
    return Entries(head.shape, (), np.empty(0), dense=dense)


def _mirrored(values: Array, size: int, symmetry: str) -> Array:
    """Returns the square array of which the values are the lower half, column by column."""
    columns, rows = np.triu_indices(size, 1 if symmetry == "skew-symmetric" else 0)
    dense = np.zeros((size, size), values.dtype)
    other = {"symmetric": values, "skew-symmetric": -values, "hermitian": values.conj()}[symmetry]
    dense[columns, rows] = other
    dense[rows, columns] = values
    return dense


def read_tensor(file: TextFile, head: Head) -> Entries:
    """Returns the entries of a coordinate file, as TACO's `readMTX` takes them for any rank."""
    dtype, parts = _FIELDS[head.field]
    coordinates, values = read_rows(file, head.line, len(head.shape), dtype, parts, "%")
    check_count(file, head.entries, len(values))
    coordinates = coordinates - 1
    check_coordinates(file, head.line, "%", coordinates, head.shape, 1)
    return Entries(head.shape, split_columns(coordinates), _joined(values, parts))


def _joined(values: Array, parts: int) -> Array:
    """Returns one number a value: pairs of parts become complex."""
    return np.ascontiguousarray(values).view(np.complex128)[:, 0] if parts == 2 else values[:, 0]


def write_tensor(file: IO[bytes], entries: Entries, comment: str) -> None:
    """Writes a Matrix Market file of a tensor, as coordinates or, if it is dense, as an array."""
    values = entries.values if entries.dense is None else entries.dense.reshape(-1, order="F")
    field = {"i": "integer", "f": "real", "c": "complex"}[values.dtype.kind]
    layout = "coordinate" if entries.dense is None else "array"
    sizes = entries.shape if entries.dense is not None else (*entries.shape, values.size)
    lines = [f"%%MatrixMarket tensor {layout} {field} general\n", *(f"%{line}\n" for line in comment.splitlines())]
    file.write("".join([*lines, "%\n", f"{' '.join(map(str, sizes))}\n"]).encode())
    write_rows(file, entries.dims, values)
