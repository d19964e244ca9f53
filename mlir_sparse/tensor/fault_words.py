"""Words for the faults that native code finds: which rule, where, and both numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from mlir_sparse import _native
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.errors import CoordinatesError, PositionsError, SparseError, StorageError, TooLargeError, WidthError
from mlir_sparse.tensor.allocation import in_units
from mlir_sparse.tensor.widths import check_width

__all__ = ["Fault", "pack_faults", "storage_error", "storage_faults"]


class Fault(NamedTuple):
    """A broken rule as native code reports it."""

    kind: str
    level: int
    position: int
    expected: int
    got: int


@contextmanager
def pack_faults(encoding: Encoding, shape: Sequence[int], dims: Sequence[int] | None = None) -> Iterator[None]:
    """Raises what native packing finds wrong as errors about the caller's coordinates.

    Args:
        encoding: of the tensor being packed.
        shape: its extents.
        dims: the dimension each level stores, when native code was given levels.
    """
    try:
        yield
    except _native.LevelFault as raised:
        raise _pack_error(Fault(*raised.args), encoding, shape, dims) from None


@contextmanager
def storage_faults(encoding: Encoding) -> Iterator[None]:
    """Raises what native validation finds wrong as errors about `positions` and `coordinates`."""
    try:
        yield
    except _native.LevelFault as raised:
        raise storage_error(Fault(*raised.args), encoding) from None


def _pack_error(fault: Fault, encoding: Encoding, shape: Sequence[int], dims: Sequence[int] | None) -> SparseError:
    kind, level, position, expected, got = fault
    match kind:
        case "range":
            dim = dims[level] if dims is not None else level
            return CoordinatesError(
                f"expected coordinates of dimension {dim} from 0 to {expected - 1}, below its extent in shape "
                f"{tuple(shape)}, but got {got} at entry {position}"
            )
        case "posWidth":
            return _width_error(position, got)
        case "memory":
            return TooLargeError(
                f"expected a tensor that fits in the {in_units(expected)} of memory available, but got {in_units(got)} "
                f"for {_part(encoding, level)} of shape {tuple(shape)}: choose compressed levels, or fewer blocks"
            )
        case "singleton":
            return StorageError(
                f"expected one entry below each coordinate of the unique level {level} in {encoding.map_text()}, but "
                f"got a second below coordinate {got} (entry {position}): declare level {level} nonunique"
            )
        case _:
            structured = encoding.level_types[level]
            return StorageError(
                f"expected at most {expected} entries in each block of {structured.m} for {structured} at level "
                f"{level}, but got {got} in the block of entry {position}: drop all but {expected} first, as "
                "prune=True does"
            )


def _width_error(width: int, largest: int) -> SparseError:
    try:
        check_width("posWidth", width, largest)
    except WidthError as error:
        return error
    raise AssertionError("native code and Python disagree on the limits of widths")


def _part(encoding: Encoding, level: int) -> str:
    return "the values" if level == encoding.lvl_rank else f"level {level} ({encoding.level_types[level]})"


def storage_error(fault: Fault, encoding: Encoding) -> StorageError:
    """Returns the error for buffers that break their encoding.

    Args:
        fault: what native validation found.
        encoding: of the buffers.
    """
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
            loose = encoding.level_types[level].functions.has_room
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
