"""The index of a file of kernels: the entries that it must have, and a digest that shows any change."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mlir_sparse._native import __version__
from mlir_sparse.errors import FileFormatError
from mlir_sparse.text.shortened import shortened

__all__ = ["FORMAT", "check_digest", "check_index", "digest_of"]

FORMAT = 6
"""The format of the files that are written and read."""

_DIGEST = "digest"


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_place(value: object) -> bool:
    return value is None or (type(value) is int and value >= 0)


def _all(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(map(check, value))


_TEXT = "a text", _is_text
_TEXTS = "a list of texts", _all(_is_text)
_ENTRIES: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "assignment": _TEXT,
    "pickled": _TEXT,
    "rewriting": _TEXT,
    "rewritings": _TEXTS,
    "account": _TEXTS,
    "declared": _TEXTS,
    "builds": ("a list of lists of texts", _all(_all(_is_text))),
    "steps": _TEXTS,
    "computing": ("a list of numbers from 0 on or null", _all(_is_place)),
    "schedule": _TEXT,
    "version": _TEXT,
    "features": _TEXTS,
    "codes": _TEXTS,
    "machine": _TEXT,
    "system": _TEXT,
    _DIGEST: _TEXT,
}
# One entry for each variant of the kernel.
_COLUMNS = ("builds", "rewritings", "steps", "computing")


def check_index(path: str | os.PathLike[str], index: object) -> dict[str, Any]:
    """Returns the index of a file if it has all entries, of the right kinds.

    Raises:
        FileFormatError: for any other, with the entry that was expected.
    """
    if not isinstance(index, dict) or "format" not in index:
        raise _error(path, 'an index with "format"', index)
    if index["format"] != FORMAT or type(index["format"]) is not int:
        raise _error(path, f"format {FORMAT}", index["format"])
    for name, (what, holds) in _ENTRIES.items():
        if name not in index:
            raise FileFormatError(f'expected "{name}" as {what} in {os.fspath(path)}, but got none: save it again')
        if not holds(index[name]):
            raise _error(path, f'"{name}" as {what}', _culprit(index[name], holds))
    if index["version"] != __version__:
        raise FileFormatError(
            f"expected a kernel of version {__version__} in {os.fspath(path)}, "
            f"but got one of version {shortened(index['version'])}: save it again"
        )
    counts = [len(index[name]) for name in _COLUMNS]
    if len({*counts}) > 1:
        names = ", ".join(f'"{name}"' for name in _COLUMNS)
        raise _error(path, f"lists of one length as {names}", counts)
    needed = max([counts[0], *(place + 1 for place in index["computing"] if place is not None)])
    if len(index["codes"]) < needed:
        raise _error(path, f'"codes" as {needed} names of files', index["codes"])
    return index


def _culprit(value: object, holds: Callable[[object], bool]) -> object:
    """Returns the part of a value that is wrong: an item of a list, if the list is right without it."""
    wrong = [item for item in value if not holds([item])] if isinstance(value, list) else []
    return [wrong[0]] if wrong and holds([]) else value


def check_digest(path: str | os.PathLike[str], index: Mapping[str, Any], codes: Iterable[bytes]) -> None:
    """Checks that an index and its code are as they were written.

    Loops read and write memory as the index says, so numbers that were changed would end the process. Who forges a file
    can forge its digest, too, and its machine code: this finds damage and edits, it is no proof of the author.

    Raises:
        FileFormatError: for others.
    """
    digest = digest_of(index, codes)
    if index[_DIGEST] != digest:
        raise _error(path, f"contents with the digest {digest}, as Kernel.save wrote them,", index[_DIGEST])


def digest_of(index: Mapping[str, Any], codes: Iterable[bytes]) -> str:
    """Returns the digest of an index, but for its entry of that, and of all code."""
    others = {name: value for name, value in index.items() if name != _DIGEST}
    digest = hashlib.sha256(json.dumps(others, sort_keys=True).encode())
    for code in codes:
        digest.update(hashlib.sha256(code).digest())
    return digest.hexdigest()


def _error(path: str | os.PathLike[str], expected: str, got: object) -> FileFormatError:
    return FileFormatError(f"expected {expected} in {os.fspath(path)}, but got {shortened(repr(got))}: save it again")
