"""Requests for what loops will read later: how far ahead each kind of it is asked for, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import MemoryAccess
from mlir_sparse.loops.model_accesses import coordinate_load

__all__ = [
    "PrefetchDistances",
    "is_larger",
    "later_coordinate",
    "prefetch",
    "prefetch_elements",
    "prefetch_row",
]

_LINE = 64  # bytes that caches hold together


@dataclass(frozen=True, slots=True)
class PrefetchDistances:
    """How many iterations of a loop later what it asks for is read. What a machine's are, its profile decides.

    Args:
        far: of entries of storage that caches do not hold.
        near: of those that outer caches hold.
        rows: of entries whose coordinates name rows; 0 where these come no sooner.
        held: up to how many entries of storage are near.
        gathers: of entries whose coordinates name elements of arrays; 0 where these come no sooner.
        local: up to how many bytes of an array its elements are near.
        alone: 0 where a loop through one buffer from end to end reads it as fast without asking; else 1.
    """

    far: int = 768
    near: int = 256
    rows: int = 8
    held: int = 1 << 21
    gathers: int = 32
    local: int = 1 << 20
    alone: int = 1

    @classmethod
    def of(cls, options: Mapping[str, str]) -> PrefetchDistances:
        """Returns the distances that options of a pass name; of others, those that suit most machines."""
        return cls(*(int(options.get(name, getattr(_DISTANCES, name))) for name in cls.__slots__))

    @property
    def summed_rows(self) -> int:
        """Returns the distance of rows that are summed up: a loop is done with each in half the time.

        Over rows of 64 elements, of 8, 12 and 16 entries 16 was best on all matrices, where 8 was for rows.
        """
        return 2 * self.rows

    @property
    def results(self) -> int:
        """Returns the distance of rows of a dense result, each of which takes several entries.

        Measured on f64 with AVX-512, k = 64, in ms: a circuit took 18.5 entry by entry, 14.9 by four, 11.9 with this
        and rows of Y asked for 16 entries ahead; finite elements 27.5, 18.8 and 19.4.
        """
        return -(-self.rows // 4)


_DISTANCES = PrefetchDistances()


def is_larger(buffer: ir.Value, local: int) -> ir.Value:
    """Writes whether an array has more bytes than a cache that its elements are near in.

    Args:
        buffer: a memref.
        local: how many bytes that has.
    """
    kind = ir.MemRefType(buffer.type)
    elements = build.constant(1)
    for dim in range(kind.rank):
        extent = build.operation("memref.dim", build.index_type(), buffer, build.constant(dim))
        elements = build.multiply(elements, extent)
    element = build.element_of(buffer)
    size = 8 if isinstance(element, ir.IndexType) else max(1, build.bytes_of(element))
    return build.compare("ugt", elements, build.constant(local // size))


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
