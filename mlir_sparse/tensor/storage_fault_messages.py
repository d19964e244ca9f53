"""Messages for the faults that native code finds: the rule, the place, and both numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mlir_sparse import _native
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.levels.level_rules import Fault, second_entry_error, storage_error
from mlir_sparse.errors import CoordinatesError, SparseError, StorageError, TooLargeError, WidthError
from mlir_sparse.process.available_memory import in_units
from mlir_sparse.tensor.widths import check_width

__all__ = ["pack_error", "pack_faults", "storage_faults"]


@contextmanager
def pack_faults(encoding: Encoding, shape: Sequence[int], dims: Sequence[int] | None = None) -> Iterator[None]:
    """Raises faults of native packing as errors about the caller's coordinates, of `dims` by level."""
    try:
        yield
    except _native.LevelFault as raised:
        raise pack_error(raised, encoding, shape, dims) from None


@contextmanager
def storage_faults(encoding: Encoding) -> Iterator[None]:
    """Raises faults of native validation as errors about `positions` and `coordinates`."""
    try:
        yield
    except _native.LevelFault as raised:
        raise storage_error(Fault(*raised.args), encoding) from None


def pack_error(
    raised: _native.LevelFault, encoding: Encoding, shape: Sequence[int], dims: Sequence[int] | None
) -> SparseError:
    """Returns the error of a fault of native packing; see `pack_faults`."""
    kind, level, position, expected, got = Fault(*raised.args)
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
            return second_entry_error(encoding, level, position, got)
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
