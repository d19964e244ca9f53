"""A strict reader of text files in plain Python, by the grammar that the documentation gives: the oracle of the native.

It knows nothing of speed: a file is split into lines, a line into words, a word matched as a whole.
"""

from __future__ import annotations

import gzip
import math
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Contents", "Refused", "contents_of"]

Number = float | int | complex

_SIZE = re.compile(rb"[0-9]+")
_INTEGER = re.compile(rb"[+-]?[0-9]+")
_REAL = re.compile(rb"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[ed][+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE)
_BLANKS = re.compile(rb"[ \t\r\f\v]+")
_FIELDS = {"real": "real", "double": "real", "integer": "integer", "unsigned-integer": "unsigned"} | {
    "complex": "complex",
    "pattern": "pattern",
}


class Refused(Exception):  # noqa: N818 - a verdict
    """The file is not what it says."""


@dataclass(frozen=True, slots=True)
class Contents:
    """Entries by coordinates from 0, in the order of the file; arrays have one at each place."""

    shape: tuple[int, ...]
    entries: tuple[tuple[tuple[int, ...], Number], ...]


def contents_of(name: str, data: bytes) -> Contents:
    """Returns what a file holds.

    Args:
        name: its name, which tells .tns files apart.
        data: its bytes.

    Raises:
        Refused: for a file that is not what it says.
    """
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error) as error:
            raise Refused(str(error)) from None
    lines = [[word for word in _BLANKS.split(line) if word] for line in data.split(b"\n")]
    while lines and not lines[0]:
        lines.pop(0)
    _need(bool(lines))
    first = lines[0][0]
    text = data.split(b"\n")
    opening = next(line for line in text if _BLANKS.sub(b"", line))
    if opening.startswith(b"%%MatrixMarket"):
        return _market(text[text.index(opening) :])
    if first == b"sptensor" and not opening.startswith(b"%%"):
        return _sptensor(lines)
    _need(name.lower().removesuffix(".gz").endswith(".tns"))
    return _frostt(text)


def _need(truth: bool) -> None:
    if not truth:
        raise Refused


def _words(line: bytes, comment: bytes) -> list[bytes]:
    return [word for word in _BLANKS.split(line.partition(comment)[0]) if word]


def _whole(word: bytes) -> int:
    digits = word.lstrip(b"+-0")
    _need(len(digits) < 30)
    return int(digits or b"0") * (-1 if word.startswith(b"-") else 1)


def _sizes(words: Sequence[bytes]) -> list[int]:
    _need(all(_SIZE.fullmatch(word) for word in words))
    sizes = [_whole(word) for word in words]
    _need(all(size < 2**63 for size in sizes))
    return sizes


def _coordinate(word: bytes, extent: int, base: int) -> int:
    _need(bool(_INTEGER.fullmatch(word)))
    coordinate = _whole(word) - base
    _need(0 <= coordinate < extent)
    return coordinate


def _real(word: bytes) -> float:
    _need(bool(_REAL.fullmatch(word)))
    text = word.decode().lower()
    return float(text if "n" in text else text.replace("d", "e"))


def _value(words: Sequence[bytes], kind: str) -> Number:
    match kind:
        case "pattern":
            _need(not words)
            return 1.0
        case "integer":
            _need(len(words) == 1 and bool(_INTEGER.fullmatch(words[0])))
            value = _whole(words[0])
            _need(-(2**63) <= value < 2**63)
            return value
        case "unsigned":
            _need(len(words) == 1 and bool(_INTEGER.fullmatch(words[0])))
            value = _whole(words[0])
            _need(0 <= value < 2**64)
            return value
        case "complex":
            _need(len(words) == 2)
            return complex(_real(words[0]), _real(words[1]))
        case _:
            _need(len(words) == 1)
            return _real(words[0])


def _rows(
    lines: Sequence[Sequence[bytes]], extents: Sequence[int], kind: str, base: int
) -> Iterator[tuple[tuple[int, ...], Number]]:
    rank = len(extents)
    for words in lines:
        if words:
            _need(len(words) >= rank)
            coordinates = tuple(_coordinate(word, extent, base) for word, extent in zip(words, extents, strict=False))
            yield coordinates, _value(words[rank:], kind)


def _market(text: Sequence[bytes]) -> Contents:
    words = [word.decode("latin-1").lower() for word in text[0].split()][1:]
    _need(len(words) == 4)
    what, layout, field, symmetry = words
    _need(what in ("matrix", "vector", "tensor") and layout in ("coordinate", "array") and field in _FIELDS)
    _need(symmetry in ("general", "symmetric", "skew-symmetric", "hermitian"))
    _need((layout, field) != ("array", "pattern") and (what == "matrix" or symmetry == "general"))
    start = next((n for n, line in enumerate(text[1:], 1) if _words(line, b"\n") and not _is_comment(line)), None)
    _need(start is not None)
    assert start is not None
    sizes = _sizes(_words(text[start], b"\n"))
    shape = tuple(sizes if layout == "array" else sizes[:-1])
    _need(len(shape) == {"matrix": 2, "vector": 1}.get(what, max(1, len(shape))))
    _need(symmetry == "general" or shape[0] == shape[1])
    lines = [_words(line, b"%") for line in text[start + 1 :]]
    kind = "integer" if _FIELDS[field] == "unsigned" and symmetry == "skew-symmetric" else _FIELDS[field]
    if layout == "array":
        return Contents(shape, tuple(_array(lines, shape, kind, symmetry)))
    entries = list(_rows(lines, shape, kind, 1))
    _need(len(entries) == sizes[-1])
    if symmetry != "general":
        entries += [((j, i), _opposite(value, symmetry)) for (i, j), value in entries if i != j]
    return Contents(shape, tuple(entries))


def _is_comment(line: bytes) -> bool:
    return line.lstrip().startswith(b"%")


def _opposite(value: Number, symmetry: str) -> Number:
    if symmetry == "skew-symmetric":
        return -value
    return value.conjugate() if symmetry == "hermitian" else value


def _array(
    lines: Sequence[Sequence[bytes]], shape: tuple[int, ...], kind: str, symmetry: str
) -> Iterator[tuple[tuple[int, ...], Number]]:
    _need(math.prod(shape) < 10**6)
    values = [value for _, value in _rows(lines, (), kind, 0)]
    if symmetry == "general":
        places = list(_column_major(shape))
    else:
        skipped = int(symmetry == "skew-symmetric")
        places = [(i, j) for j in range(shape[0]) for i in range(j + skipped, shape[0])]
    _need(len(values) == len(places))
    for place, value in zip(places, values, strict=True):
        yield place, value
        if symmetry != "general" and place[0] != place[1]:
            yield (place[1], place[0]), _opposite(value, symmetry)


def _column_major(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not shape:
        yield ()
        return
    for last in range(shape[-1]):
        for rest in _column_major(shape[:-1]):
            yield (*rest, last)


def _sptensor(lines: Sequence[Sequence[bytes]]) -> Contents:
    _need(len(lines) >= 4 and all(lines[1:4]))
    (rank, *_), extents, (count, *_) = (_sizes(words) for words in lines[1:4])
    _need(len(extents) == rank)
    rows = [_words(b" ".join(words), b"#") for words in lines[4:]]
    entries = list(_rows(rows, [extent + 1 for extent in extents], "real", 0))
    _need(len(entries) == count)
    if any(coordinate == extent for found, _ in entries for coordinate, extent in zip(found, extents, strict=True)):
        _need(all(coordinate > 0 for found, _ in entries for coordinate in found))
        entries = [(tuple(coordinate - 1 for coordinate in found), value) for found, value in entries]
    return Contents(tuple(extents), tuple(entries))


def _frostt(text: Sequence[bytes]) -> Contents:
    start = next((n for n, line in enumerate(text) if not line.startswith(b";") and _words(line, b"#")), len(text))
    extents, announced = None, None
    for line in text[:start]:
        if line.startswith(b"# shape:"):
            words = _words(line[8:], b"\n")
            fits = all(_SIZE.fullmatch(w) and len(w.lstrip(b"0")) < 20 and _whole(w) < 2**63 for w in words)
            extents = [_whole(word) for word in words] if words and fits else None
    marked = any(b"extended FROSTT" in line for line in text[:start])
    lines = [(n, words) for n, line in enumerate(text[start:], start) if (words := _head_words(line))]
    if lines and (marked or _is_extended([words for _, words in lines])):
        _need(len(lines) > 1)
        rank, announced = _pair(lines[0][1])
        extents = _sizes(lines[1][1])
        _need(len(extents) == rank)
        start = lines[1][0] + 1
    else:
        rank = len(lines[0][1]) - 1 if lines else len(extents or ())
    _need(rank >= 1 and (extents is None or len(extents) == rank))
    entries = tuple(_rows([_words(line, b"#") for line in text[start:]], extents or [2**63 - 1] * rank, "real", 1))
    _need(announced is None or len(entries) == announced)
    columns = zip(*(coordinates for coordinates, _ in entries), strict=True)
    return Contents(tuple(extents or (max(column) + 1 for column in columns)), entries)


def _head_words(line: bytes) -> list[bytes]:
    return [] if line.startswith(b";") else _words(line, b"#")


def _pair(words: Sequence[bytes]) -> tuple[int, int]:
    sizes = _sizes(words)
    _need(len(sizes) == 2)
    return sizes[0], sizes[1]


def _is_extended(lines: Sequence[Sequence[bytes]]) -> bool:
    try:
        rank, _ = _pair(lines[0])
        if len(_sizes(lines[1])) != rank:
            return False
    except (IndexError, Refused):
        return False
    return len(lines[2]) == rank + 1 if len(lines) > 2 else rank != 2
