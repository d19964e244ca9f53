"""Requests for what loops will read later: how far ahead each kind of it is asked for, and how."""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import MemoryAccess
from mlir_sparse.loops.model_accesses import coordinate_load

__all__ = [
    "FAR",
    "NEAR",
    "NEXT_RESULTS",
    "NEXT_ROWS",
    "NEXT_SUMMED_ROWS",
    "later_coordinate",
    "prefetch",
    "prefetch_elements",
    "prefetch_row",
]

_LINE = 64  # bytes that caches hold together

# Distances: how many iterations of a loop later what it asks for is read.
#
# Entries of storage that caches do not hold: at a nanosecond or less for each, a few accesses of memory. Of those that
# outer caches hold, fewer are on the way at a time.
FAR, NEAR = 768, 256
# Rows that stored coordinates name. Tiles, on uniform columns in ms: 4 entries ahead took 75, 8 took 67. Products of
# sparse matrices with rows of 1 to 8 entries, with none, 4, 8 and 16 entries: 75, 58, 60, 60 (uniform columns, 6.4 M
# products), and 352, 212, 208, 209 (power law, 9.6 M products).
NEXT_ROWS = 8
# Sums over rows of 64 elements are done with an entry sooner: of 8, 12 and 16 entries 16 was best on all matrices.
NEXT_SUMMED_ROWS = 16
# Rows of a dense result. Measured on f64 with AVX-512, k = 64, in ms: a circuit took 18.5 entry by entry, 14.9 by four,
# 11.9 with this and rows of Y asked for 16 entries ahead; finite elements 27.5, 18.8 and 19.4.
NEXT_RESULTS = 2


def prefetch_row(buffer: ir.Value, at: Sequence[ir.Value], size: int, distance: int) -> None:
    """Asks for the elements that a load will read some entries later, where stored coordinates tell which.

    Args:
        buffer: what is loaded from.
        at: where: a row, and the first of consecutive elements.
        size: how many elements.
        distance: how many entries later.
    """
    rows = [(place, load) for place, value in enumerate(at[:-1]) if (load := coordinate_load(value)) is not None]
    if len(rows) != 1:
        return
    place, load = rows[0]
    later = list(at)
    later[place] = later_coordinate(load, distance)
    prefetch_elements(buffer, later, size)


def prefetch_elements(buffer: ir.Value, at: Sequence[ir.Value], size: int) -> None:
    """Asks for consecutive elements: for each line of the caches that they lie in."""
    *row, first = at
    for element in range(0, size, _LINE // build.bytes_of(build.element_of(buffer))):
        prefetch(buffer, [*row, build.add(first, build.constant(element)) if element else first])


def prefetch(buffer: ir.Value, at: list[ir.Value], *, written: bool = False) -> None:
    """Asks for an element to be read, or written, soon; where there is none, for nothing.

    Args:
        buffer: a memref.
        at: the subscripts.
        written: whether it will be.
    """
    ir.Operation.create(
        "memref.prefetch",
        operands=[buffer, *at],
        attributes={
            "isWrite": ir.BoolAttr.get(written),
            "localityHint": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 3),
            "isDataCache": ir.BoolAttr.get(True),
        },
    )


def later_coordinate(load: MemoryAccess, distance: int) -> ir.Value:
    """Returns the coordinate some entries later than a load reads, that of the last one where there are fewer."""
    (at,) = load.at
    last = build.subtract(build.size_of(load.buffer), build.constant(1))
    place = build.minimum(build.add(at, build.constant(distance)), last)
    return build.widened(build.load(load.buffer, place))
