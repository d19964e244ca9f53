"""The buffers of a sparse result as arguments of the function that fills them.

They follow the operands, in the order of the calling convention: for each level a
memref of positions and one of coordinates where it has them, one for all levels of
an array of structures; then a memref of values. A workspace for rows follows where
the loops need one: values, and three memrefs of bits; and one of places, where a row of
an operand is scattered. The last argument is the
control: for each level what its buffers have room for, its size, and how many
entries it has, before the call and after; then a number that is not 0 once the loops
left a structure that was given; then how many entries are of use at most; then how many
rows there are before the first that the loops come to, whose position is the first of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlir_sparse._mlir import bindings
from mlir_sparse.loops import ir_words

__all__ = ["Result", "append_arguments"]


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
        room: what the buffers of each level have room for.
        sizes: the size of each level.
        limit: with more entries than that the loops stop.
        first: the number of rows before those that are laid out.
    """

    depth: int
    rank: int
    positions: tuple[Any | None, ...]
    coordinates: tuple[Any | None, ...]
    interleaved: bool
    values: Any
    workspace: tuple[Any, ...]
    places: Any | None
    control: Any
    room: tuple[Any, ...]
    sizes: tuple[Any, ...]
    limit: Any
    first: Any

    @property
    def appends_all(self) -> bool:
        """Returns whether each entry is stored with all its coordinates."""
        return all(positions is None for positions in self.positions[1:]) and self.depth == 0

    def count_slot(self, level: int) -> Any:
        """Returns where the control holds the number of entries of a level."""
        return ir_words.constant(2 * self.rank + level)

    @property
    def flag_slot(self) -> Any:
        """Returns where the control says that a given structure did not fit."""
        return ir_words.constant(3 * self.rank)


def append_arguments(block: Any, kind: Any, *, gathers: bool, scatters: bool) -> Result:
    """Adds the arguments of a sparse result to a function.

    Args:
        block: the body, at whose start the insertion point is.
        kind: the result as the loops insert into it: a tensor type whose dimensions are its levels.
        gathers: whether rows are gathered in a workspace.
        scatters: whether a row of an operand is scattered.

    Raises:
        ValueError: for levels that nothing can be appended to.
    """
    ir = bindings().ir
    encoding = bindings().module("dialects.sparse_tensor").EncodingAttr(kind.encoding)
    formats = _formats(encoding)
    depth = next((level for level, name in enumerate(formats) if name != "dense"), len(formats))
    trailing = formats[depth:]
    listed = depth == 0 and trailing[1:] == ["singleton"] * (len(trailing) - 1)
    if not trailing or trailing[0] != "compressed" or not (listed or set(trailing) == {"compressed"}):
        raise ValueError(f"expected dense levels, then compressed ones, or singletons, but got {kind}")
    apart = not listed or len(formats) == 1 or _is_apart(encoding)

    def argument(element: Any) -> Any:
        memref = ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], element)
        return block.add_argument(memref, ir.Location.unknown())

    positions: list[Any | None] = []
    coordinates: list[Any | None] = []
    for level, name in enumerate(formats):
        positions.append(argument(_index_of(encoding.pos_width)) if name == "compressed" else None)
        if name == "dense":
            coordinates.append(None)
        else:
            coordinates.append(argument(_index_of(encoding.crd_width)) if apart or level == 0 else coordinates[0])
    values = argument(kind.element_type)
    words = [ir_words.word_type()] * 3
    workspace = tuple(argument(element) for element in ([kind.element_type, *words] if gathers else []))
    places = argument(ir_words.index_type()) if scatters else None
    control = argument(ir_words.index_type())
    rank = len(formats)
    room, sizes = (
        tuple(ir_words.load(control, ir_words.constant(first + level)) for level in range(rank)) for first in (0, rank)
    )
    limit, first_row = (ir_words.load(control, ir_words.constant(3 * rank + after)) for after in (1, 2))
    tables = (tuple(positions), tuple(coordinates))
    return Result(depth, rank, *tables, not apart, values, workspace, places, control, room, sizes, limit, first_row)


def _formats(encoding: Any) -> list[str]:
    formats = bindings().module("dialects.sparse_tensor").LevelFormat
    names = {formats.dense: "dense", formats.compressed: "compressed", formats.singleton: "singleton"}
    return [names.get(found, "other") for found in encoding.lvl_formats_enum]


def _is_apart(encoding: Any) -> bool:
    """Returns whether singleton levels keep a buffer each; the bindings tell it by text alone."""
    return "soa" in str(encoding)


def _index_of(width: int) -> Any:
    return bindings().ir.IntegerType.get_signless(width) if width else ir_words.index_type()
