"""Rules for the arrays of a level, and messages for broken ones: the rule, the place, and both numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mlir_sparse.encoding.levels.level_positions import Array
from mlir_sparse.errors import CoordinatesError, PositionsError, StorageError

if TYPE_CHECKING:  # encodings import the level formats, which import this module
    from mlir_sparse.encoding.encoding_value import Encoding
    from mlir_sparse.encoding.levels.sized_level import SizedLevel

__all__ = ["Fault", "check_never_falls", "check_range", "check_segments", "second_entry_error", "storage_error"]


class Fault(NamedTuple):
    """A broken rule as native code reports it."""

    kind: str
    level: int
    position: int
    expected: int
    got: int


def check_segments(level: SizedLevel, pos: Array, parents: int, stored: int | None = None) -> None:
    """Raises PositionsError unless positions bound adjacent segments, up to `stored` where that is known."""
    if pos.size != parents + 1:
        raise storage_error(Fault("positions length", level.number, 0, parents + 1, pos.size), level.encoding)
    if pos[0] != 0:
        raise storage_error(Fault("positions start", level.number, 0, 0, int(pos[0])), level.encoding)
    check_never_falls(level, pos)
    if stored is not None and pos[-1] != stored:
        raise storage_error(Fault("positions end", level.number, parents, stored, int(pos[-1])), level.encoding)


def check_never_falls(level: SizedLevel, pos: Array) -> None:
    """Raises PositionsError for positions that decrease."""
    falls = np.flatnonzero(pos[1:] < pos[:-1])
    if falls.size:
        at = int(falls[0]) + 1
        raise storage_error(Fault("positions step", level.number, at, int(pos[at - 1]), int(pos[at])), level.encoding)


def check_range(level: SizedLevel, crd: Array) -> None:
    """Raises CoordinatesError for coordinates out of the level's range."""
    low, high, empty = level.low, level.high, level.marks_empty
    least = -1 if empty else low
    outside = np.flatnonzero((crd < least) | (crd >= max(least, high)) & (crd != -1 if least < low else True))
    if outside.size:
        at, name = int(outside[0]), f"coordinates[{level.number}]"
        raise CoordinatesError(
            f"expected {name} from {low} to {high - 1}{', or -1 for none' if empty else ''}, the coordinates of level "
            f"{level.number} ({level.encoding.levels[level.number]}) in shape {level.shape}, but got {crd[at]} at "
            f"{name}[{at}]"
        )


def second_entry_error(encoding: Encoding, level: int, entry: int, coordinate: int) -> StorageError:
    """Returns the error for entries of equal coordinates in a unique level, above singleton levels."""
    return StorageError(
        f"expected one entry below each coordinate of the unique level {level} in {encoding.map_text()}, but "
        f"got a second below coordinate {coordinate} (entry {entry}): declare level {level} nonunique"
    )


def storage_error(fault: Fault, encoding: Encoding) -> StorageError:
    """Returns the error for buffers that break their encoding."""
    kind = fault.kind
    if kind.startswith("positions"):
        return PositionsError(_positions_text(fault, encoding))
    if kind == "values length":
        return StorageError(
            f"expected {fault.expected} values, one for each place of the innermost level of {encoding.map_text()}, "
            f"but got {fault.got}"
        )
    return CoordinatesError(_coordinates_text(fault, encoding))


def _positions_text(fault: Fault, encoding: Encoding) -> str:
    kind, level, position, expected, got = fault
    name = f"positions[{level}]"
    match kind:
        case "positions length":
            loose = encoding.level_types[level].functions.has_gaps
            rule = "two for each place" if loose else "one more than the places"
            return f"expected {name} to have length {expected}, {rule} of the level above, but got {got}"
        case "positions start":
            return f"expected {name} to start at 0, but got {got} at {name}[0]"
        case "positions step":
            return f"expected {name} to never decrease, but got {got} after {expected} at {name}[{position}]"
        case "positions end":
            rule = f"to end at {expected}, the length of coordinates[{level}]"
            return f"expected {name} {rule}, but got {got} at {name}[{position}]"
        case _:
            rule = f"to stay within {expected}, the length of coordinates[{level}]"
            return f"expected {name} {rule}, but got {got} at {name}[{position}]"


def _coordinates_text(fault: Fault, encoding: Encoding) -> str:
    kind, level, position, expected, got = fault
    name = f"coordinates[{level}]"
    match kind:
        case "range":
            rule = f"from 0 to {expected - 1}, below the size {expected} of level {level}"
            return f"expected {name} {rule}, but got {got} at {name}[{position}]"
        case "order":
            return (
                f"expected {name} to ascend below each parent, but got {got} after {expected} at {name}[{position}]: "
                f"sort them, or declare level {level} nonordered"
            )
        case "duplicate":
            return (
                f"expected {name} to differ below one parent, but got {got} again at {name}[{position}], as at "
                f"{name}[{expected}]: sum duplicates with tensor((coordinates, values)), or declare level {level} "
                "nonunique"
            )
        case "singleton length":
            rule = "the length of the coordinates of the level above"
            return f"expected {name} to have length {expected}, {rule}, but got {got}"
        case _:
            kind_text = encoding.level_types[level]
            return f"expected {name} to have length {expected}, n for each block of {kind_text}, but got {got}"
