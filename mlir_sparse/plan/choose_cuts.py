"""Which loop nests may run in pieces at the same time, by what they are cut, and why others may not.

A piece computes what the loop nest computes of a part of the operands: of all that have the
outermost index variable, the part along a range of it. Where that variable counts (dense arrays, levels
that are dense) those are slices; where it is listed (compressed levels) the operands' entries with
coordinates in the range, and it must be iterated by lists alone: then no loop goes where a piece has
no entries. What the pieces compute makes up the whole: each has the rows of the result in its range to itself,
or, where the result has no such variable, their results are combined by the operator of the reduction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from mlir_sparse.affine import Constant
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.encoding.levels.level_loops import LevelLoop, LoopKind
from mlir_sparse.notation import Access, AffineSubscript, IndexVar, ReduceOp, Subscript
from mlir_sparse.plan.order.co_iteration import products, walks
from mlir_sparse.plan.order.storage_choice import is_sparse, level_variables
from mlir_sparse.plan.program import Generic, Meeting
from mlir_sparse.plan.rewrite.sum_of_terms import accesses_of
from mlir_sparse.plan.words import listed

__all__ = ["Outcome", "Partition", "StoredPart", "partition"]

Types = Mapping[str, TensorType]

# What results of pieces can be combined by, and the element types; complex numbers have no order.
_COMBINED = (ReduceOp.SUM, ReduceOp.MAX, ReduceOp.MIN)
_ELEMENTS = ("f32", "f64", "i8", "i16", "i32", "i64")
_ONLY_SUMMED = ("c64", "c128")


class Outcome(Enum):
    """What the result of a piece is of the whole."""

    APART = "apart"
    """A part that no other piece writes to."""
    ADDED = "added"
    """As large as the whole; all are combined."""
    JOINED = "joined"
    """Entries that follow those of the piece before."""


@dataclass(frozen=True, slots=True)
class StoredPart:
    """An operand in level storage that is cut at its first level, or at a dense one below.

    Args:
        access: the operand.
        listed: whether that level stores its coordinates.
        block: elements of the variable to a coordinate of the level.
        steps: (kind, number) from the positions of that level to the entries: `level` for the size of a level,
            `times` for a constant, `positions` and `segments` for a buffer of one number or two for each parent.
        shifts: (buffer, steps, factor): by how much buffers begin further on, in positions after so many steps.
        stride: from one stored coordinate of the first level to the next.
        sorted: whether those ascend.
        level: which level is cut. Of one below the first, loops run as far as the result does: its size is also
            what lies between the rows above.
    """

    access: Access
    listed: bool
    block: int
    steps: tuple[tuple[str, int], ...]
    shifts: tuple[tuple[int, int, int], ...]
    stride: int
    sorted: bool
    level: int = 0


@dataclass(frozen=True, slots=True)
class Partition:
    """How a loop nest is cut.

    Args:
        variable: the index variable along which it is.
        listed: whether at coordinates that operands store, rather than at any.
        outcome: what the result of a piece is.
        stored: the operands in level storage that are cut; all arrays are that have the variable.
        factors: the index variables that each entry is met once for.
        reached: the buffer of coordinates, of the only operand that is cut, that are the rows of the result written
            to; None where none says which those are.
    """

    variable: IndexVar
    listed: bool
    outcome: Outcome
    stored: tuple[StoredPart, ...]
    factors: tuple[IndexVar, ...]
    reached: int | None = None

    @property
    def unit(self) -> int:
        """Returns of what the cuts are multiples."""
        return math.lcm(*(part.block for part in self.stored))

    def __str__(self) -> str:
        names = listed(dict.fromkeys(part.access.tensor for part in self.stored)) if self.stored else ""
        by = f"by the {'coordinates' if self.listed else 'rows'} of {names}, " if names else ""
        match self.outcome:
            case Outcome.APART:
                result = "each with a part of the result to itself"
            case Outcome.ADDED:
                result = "each with a result of its own, combined in their order"
            case Outcome.JOINED:
                result = "their entries joined in their order"
        return f"along {self.variable}, {by}{result}"


def partition(step: Generic, types: Types) -> Partition | str:
    """Returns how a loop nest is cut in pieces, or why it is not.

    Args:
        step: the loop nest.
        types: the types of the values.
    """
    if not step.loops:
        return "there are no loops"
    found = _along_first(step, types)
    if isinstance(found, Partition) and found.outcome is not Outcome.ADDED:
        return found
    return _along_rows(step, types) or found


def _along_rows(step: Generic, types: Types) -> Partition | None:
    """Returns how a nest is cut along rows that stand below diagonals, slots and the like; None where it cannot be."""
    stored = [access for access in (*accesses_of(step.payload), *step.extents) if types[access.tensor].encoding]
    if types[step.result].encoding is not None or len(set(stored)) != 1:
        return None
    if step.meeting is Meeting.REPLACE or step.sampled is not None:
        return None
    encoding = _encoding(stored[0], types)
    for level, spec in enumerate(encoding.levels):
        dims = tuple(spec.expr.dims())
        kind = spec.type
        if level == 0 or not kind.functions.is_counted or kind.interval is not None or len(dims) != 1:
            continue
        variable = stored[0].subscripts[dims[0]]
        alone = [other for other in encoding.levels if dims[0] in other.expr.dims()] == [spec]
        if not alone or not isinstance(variable, IndexVar) or variable not in step.target.subscripts:
            continue
        if [_has(subscript, variable) for subscript in stored[0].subscripts].count(True) != 1:
            continue
        part = _walked(stored[0], encoding, 1, False, level)
        if isinstance(part, StoredPart):
            return Partition(variable, False, Outcome.APART, (part,), _factors(step, variable, types))
    return None


def _along_first(step: Generic, types: Types) -> Partition | str:
    variable = step.loops[0]
    stored = _stored(step, variable, types)
    if isinstance(stored, str):
        return stored
    by_lists = any(part.listed for part in stored)
    if by_lists:
        refused = _refused_lists(step, variable, stored, types)
        if refused:
            return refused
        # Entries of operands with rows meet those of a list, or nothing.
        stored = tuple(part for part in stored if part.listed)
    outcome = _outcome(step, variable, by_lists, types)
    if isinstance(outcome, str):
        return outcome
    reached = _reached(step, stored, types) if outcome is Outcome.ADDED else None
    return Partition(variable, by_lists, outcome, stored, _factors(step, variable, types), reached)


def _reached(step: Generic, stored: tuple[StoredPart, ...], types: Types) -> int | None:
    """Returns the buffer of coordinates below rows that are counted, where those are rows of the result."""
    if len(stored) != 1 or stored[0].listed or stored[0].block != 1 or not step.target.subscripts:
        return None
    access, row = stored[0].access, step.target.subscripts[0]
    encoding = _encoding(access, types)
    if not encoding.is_permutation or stored[0].steps[:1] != (("positions", 0),) or not isinstance(row, IndexVar):
        return None
    if level_variables(access, encoding)[1] != row or not encoding.level_types[1].has_coordinates:
        return None
    for product in products(step.payload, types):
        if not any((walk.access, walk.level) == (access, 1) for walk in walks(product, row, step.loops, types)):
            return None
    return 1


def _factors(step: Generic, variable: IndexVar, types: Types) -> tuple[IndexVar, ...]:
    met = {index for a in accesses_of(step.payload) if is_sparse(types[a.tensor]) for index in a.indices}
    return tuple(other for other in step.loops if other != variable and other not in met)


def _stored(step: Generic, variable: IndexVar, types: Types) -> tuple[StoredPart, ...] | str:
    found = []
    for access in dict.fromkeys((*accesses_of(step.payload), *step.extents)):
        encoding = types[access.tensor].encoding
        if encoding is None or variable not in access.indices:
            continue
        part = _part(access, encoding, variable)
        if isinstance(part, str):
            return part
        found.append(part)
    return tuple(found)


def _part(access: Access, encoding: Encoding, variable: IndexVar) -> StoredPart | str:
    """Returns how an operand is cut, or why it cannot be."""
    dims = [dim for dim, subscript in enumerate(access.subscripts) if _has(subscript, variable)]
    levels = encoding.levels
    naming = [level for level, spec in enumerate(levels) if dims[0] in spec.expr.dims()]
    alone = len(dims) == 1 and access.subscripts[dims[0]] == variable
    if not alone or naming[0] != 0 or tuple(levels[0].expr.dims()) != (dims[0],):
        return f"the first level of {access.tensor} is not one of {variable}"
    block = encoding.block_of(dims[0])
    if (len(naming) > 1) != (block > 1):
        return f"{access.tensor} has several levels of {variable}"
    kind = levels[0].type
    by_list = kind.has_positions and kind.has_coordinates
    if by_list and block > 1:
        return f"{access.tensor} lists blocks"
    if not by_list and (not kind.functions.is_counted or kind.interval is not None):
        return f"the first level of {access.tensor} is {kind}"
    return _walked(access, encoding, block, by_list)


def _walked(access: Access, encoding: Encoding, block: int, by_list: bool, first: int = 0) -> StoredPart | str:
    steps: list[tuple[str, int]] = []
    shifts: list[tuple[int, int, int]] = []
    buffer, begins, aos = 0, by_list, encoding.aos_levels
    for level, kind in enumerate(encoding.level_types):
        positions, coordinates = kind.has_positions, kind.has_coordinates and level not in aos[1:]
        if level > first:
            match kind.loop:
                case LevelLoop(LoopKind.SEGMENTS, factor):
                    if not begins:
                        shifts.append((buffer, len(steps), factor))
                    begins = True  # what lies below is found by positions
                    steps.append(("segments" if factor == 2 else "positions", buffer))
                case LevelLoop(LoopKind.COUNTED):
                    steps.append(("level", level))
                case LevelLoop(LoopKind.GROUPS, kept):
                    steps.append(("times", kept))
                    if not begins:
                        shifts.append((buffer, len(steps), 1))
                case LevelLoop(LoopKind.CHAINED) if begins:
                    pass
                case _:
                    return f"a level of {access.tensor} is {kind}"
        buffer += positions + coordinates
    if not begins:
        shifts.append((buffer, len(steps), 1))
    stride = len(aos) if 0 in aos else 1
    ordered = encoding.level_types[first].ordered
    return StoredPart(access, by_list, block, tuple(steps), tuple(shifts), stride, ordered, first)


def _refused_lists(step: Generic, variable: IndexVar, stored: tuple[StoredPart, ...], types: Types) -> str:
    """Returns why loops by lists cannot be cut at stored coordinates; empty where they can."""
    for product in products(step.payload, types):
        if not walks(product, variable, step.loops, types):
            return f"{variable} is counted, with lists alongside"
    lists = [part for part in stored if part.listed]
    for part in lists:
        first = _encoding(part.access, types).level_types[0]
        if not first.ordered and (len(lists) > 1 or not first.unique):
            return f"the coordinates of {part.access.tensor} are in no order"
    return (
        f"what {variable} does not reach is given a value"
        if step.meeting is Meeting.REPLACE and step.sampled is None and _is_dense(step, types)
        else ""
    )


def _outcome(step: Generic, variable: IndexVar, by_lists: bool, types: Types) -> Outcome | str:
    output = types[step.result]
    if output.encoding is not None:
        if level_variables(step.target, output.encoding)[:1] != (variable,):
            return f"the first level of {step.result} is not one of {variable}"
        return Outcome.JOINED
    if step.sampled is not None:
        # A piece has the rows of the operand to itself, and their positions are those in the result.
        first = level_variables(step.sampled, _encoding(step.sampled, types))[:1]
        return Outcome.APART if first == (variable,) else f"the first level of {step.sampled.tensor} is not {variable}"
    sums = [subscript for subscript in step.target.subscripts if _has(subscript, variable)]
    if variable in sums or any(_is_of_blocks(subscript, variable, step, types) for subscript in sums if not by_lists):
        return Outcome.APART
    if step.combine not in _COMBINED or step.meeting is Meeting.REPLACE:
        return f"results of pieces are not combined by {getattr(step.combine, 'name', step.combine)}"
    name = output.dtype.name
    if name not in _ELEMENTS and not (name in _ONLY_SUMMED and step.combine is ReduceOp.SUM):
        return f"results of pieces in {name} are not combined"
    return Outcome.ADDED


def _is_of_blocks(subscript: Subscript, variable: IndexVar, step: Generic, types: Types) -> bool:
    """Returns whether a sum of levels takes other values for each value of one: that of blocks, the rest within one."""
    frame = next((frame for frame in step.frames if frame.subscript == subscript), None)
    encoding = None if frame is None else types[frame.operand].encoding
    if frame is None or encoding is None:
        return False
    views = encoding.level_space().views  # the outermost loops run over them, in their order
    sizes = {loop: view.size for loop, view in zip(step.loops, views, strict=False)}
    factors = {other: factor for factor, other in frame.subscript.terms}
    block, reach = factors.pop(variable), 0
    for other, factor in factors.items():
        size = sizes.get(other)
        if not isinstance(size, Constant):
            return False
        reach += abs(factor) * (size.value - 1)
    return reach < abs(block)


def _is_dense(step: Generic, types: Types) -> bool:
    return types[step.result].encoding is None


def _encoding(access: Access, types: Types) -> Encoding:
    encoding = types[access.tensor].encoding
    assert encoding is not None
    return encoding


def _has(subscript: object, variable: IndexVar) -> bool:
    match subscript:
        case IndexVar():
            return subscript == variable
        case AffineSubscript(terms):
            return any(other == variable for _, other in terms)
        case _:
            return False
