"""The buffers of a sparse result as arguments of the function that fills them.

They follow the operands, in the order of the calling convention: for each level a
memref of positions and one of coordinates where it has them, one for all levels of
an array of structures; then a memref of values. A workspace for rows follows where
the loops need one: values, and three memrefs of bits; and one of places, where a row of
an operand is scattered. The last argument is the
control: for each level the capacity of its buffers, its size, and how many
entries it has, before the call and after; then a number that is not 0 once the loops
left a structure that was given; then how many entries are of use at most; then how many
rows there are before the first that the loops come to, whose position is the first of all.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse._mlir import bindings, ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build

__all__ = ["Result", "ResultLevels", "append_arguments", "result_levels"]


@dataclass(frozen=True, slots=True)
class Result:
    """A sparse result in memory.

    Args:
        depth: how many dense levels lead.
        rank: the number of levels.
        positions: the memref of positions of each level, None where it has none.
        coordinates: that of coordinates; for an array of structures the same at all levels.
        interleaved: whether coordinates are an array of structures.
        values: the memref of values.
        workspace: values of a row, then a bit for each, for each word of bits, and for each word of those; or empty.
        places: where a scattered row has its entries; None where none is.
        control: the last argument.
        capacity: how many entries the buffers of each level take.
        sizes: the size of each level.
        limit: with more entries than that the loops stop.
        first: the number of rows before those that are laid out.
        unordered: whether the coordinates of the last level may be in any order.
    """

    depth: int
    rank: int
    positions: Mapping[int, ir.Value]
    coordinates: Mapping[int, ir.Value]
    interleaved: bool
    values: ir.Value
    workspace: tuple[ir.Value, ...]
    places: ir.Value | None
    control: ir.Value
    capacity: tuple[ir.Value, ...]
    sizes: tuple[ir.Value, ...]
    limit: ir.Value
    first: ir.Value
    unordered: bool

    @property
    def appends_all(self) -> bool:
        """Returns whether each entry is stored with all its coordinates."""
        return self.positions.keys() <= {0} and self.depth == 0

    def count_slot(self, level: int) -> ir.Value:
        """Returns where the control holds the number of entries of a level."""
        return build.constant(2 * self.rank + level)

    @property
    def flag_slot(self) -> ir.Value:
        """Returns where the control says that a given structure did not fit."""
        return build.constant(3 * self.rank)


def append_arguments(block: ir.Block, kind: ir.RankedTensorType, *, gathers: bool, scatters: bool) -> Result:
    """Adds the arguments of a sparse result to a function.

    Args:
        block: the body, at whose start the insertion point is.
        kind: the result as the loops insert into it: a tensor type whose dimensions are its levels.
        gathers: whether rows are gathered in a workspace.
        scatters: whether a row of an operand is scattered.

    Raises:
        ValueError: for levels that nothing can be appended to.
    """
    levels = result_levels(kind)
    formats = levels.formats
    depth = next((level for level, name in enumerate(formats) if name != "dense"), len(formats))
    trailing = formats[depth:]
    listed = depth == 0 and trailing[1:] == ["singleton"] * (len(trailing) - 1)
    if not trailing or trailing[0] != "compressed" or not (listed or set(trailing) == {"compressed"}):
        raise ValueError(f"expected dense levels, then compressed ones, or singletons, but got {kind}")
    apart = not listed or len(formats) == 1 or levels.apart

    def argument(element: ir.Type) -> ir.Value:
        memref = ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], element)
        return block.add_argument(memref, ir.Location.unknown())

    positions: dict[int, ir.Value] = {}
    coordinates: dict[int, ir.Value] = {}
    for level, name in enumerate(formats):
        if name == "compressed":
            positions[level] = argument(levels.position)
        if name != "dense":
            coordinates[level] = argument(levels.coordinate) if apart or level == 0 else coordinates[0]
    values = argument(kind.element_type)
    words = [build.word_type()] * 3
    workspace = tuple(argument(element) for element in ([kind.element_type, *words] if gathers else []))
    places = argument(build.index_type()) if scatters else None
    control = argument(build.index_type())
    rank = len(formats)
    capacity, sizes = (
        tuple(build.load(control, build.constant(first + level)) for level in range(rank)) for first in (0, rank)
    )
    limit, first_row = (build.load(control, build.constant(3 * rank + after)) for after in (1, 2))
    return Result(
        depth,
        rank,
        positions,
        coordinates,
        not apart,
        values,
        workspace,
        places,
        control,
        capacity,
        sizes,
        limit,
        first_row,
        levels.unordered,
    )


@dataclass(frozen=True, slots=True)
class ResultLevels:
    """What the encoding of a sparse result says of its levels.

    Args:
        formats: "dense", "compressed", "singleton" or "other", by level.
        position: the element type of positions.
        coordinate: that of coordinates.
        apart: whether singleton levels keep a buffer each.
        unordered: whether the coordinates of some level may be in any order.
    """

    formats: list[str]
    position: ir.Type
    coordinate: ir.Type
    apart: bool
    unordered: bool


def result_levels(kind: ir.RankedTensorType) -> ResultLevels:
    """Reads the encoding of a sparse tensor type."""
    dialect = bindings().module("dialects.sparse_tensor")
    encoding, formats = dialect.EncodingAttr(kind.encoding), dialect.LevelFormat
    names = {formats.dense: "dense", formats.compressed: "compressed", formats.singleton: "singleton"}
    levels = [names.get(found, "other") for found in encoding.lvl_formats_enum]
    # The bindings tell by text alone whether levels are apart, and whether in order.
    text = str(encoding)
    widths = _index_of(encoding.pos_width), _index_of(encoding.crd_width)
    return ResultLevels(levels, *widths, "soa" in text, "nonordered" in text)


def _index_of(width: int) -> ir.Type:
    return ir.IntegerType.get_signless(width) if width else build.index_type()
