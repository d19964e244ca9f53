"""What the passes to a GPU must know of the plan, as attributes of the functions."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlir_sparse._mlir import ir, mlir_context, parse_module
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.encoding.buffer_layout import argument_count, buffer_numbers, level_buffers
from mlir_sparse.encoding.levels.level_loops import LevelLoop, LoopKind
from mlir_sparse.lower.generic_module import LoweredProgram
from mlir_sparse.notation import AffineSubscript, IndexVar, Subscript
from mlir_sparse.plan import Case, Frame, Located, LocatedRows, Mapped, NestFunction

__all__ = ["Guard", "guards_of", "with_mappings"]


@dataclass(frozen=True, slots=True)
class Guard:
    """An axis of an array that loops reach beyond the edges of.

    Args:
        argument: the array's number among the arguments of the sparsified function.
        axis: which of its axes.
        frame: where the variable runs that is a sum of levels; None for one that runs to whole blocks.
    """

    argument: int
    axis: int
    frame: Frame | None


def guards_of(function: NestFunction, types: Mapping[str, TensorType]) -> tuple[Guard, ...]:
    """Returns the axes of arrays that the loops of a function reach beyond: those over blocks and over diagonals."""
    blocked: set[Subscript] = set()
    for access in function.operands:
        encoding = types[access.tensor].encoding
        if encoding is not None:
            pairs = enumerate(access.subscripts)
            blocked |= {s for dim, s in pairs if isinstance(s, IndexVar) and encoding.block_of(dim) > 1}
    frames = {frame.subscript: frame for frame in function.step.frames}
    found: list[Guard] = []
    number = 0
    for access in (*function.operands, function.step.target):
        encoding = types[access.tensor].encoding
        if encoding is not None:
            number += argument_count(encoding)
            continue
        for axis, subscript in enumerate(access.subscripts):
            if subscript in blocked:
                found.append(Guard(number, axis, None))
            elif isinstance(subscript, AffineSubscript) and subscript in frames:
                found.append(Guard(number, axis, frames[subscript]))
        number += 1
    return tuple(found)


def with_mappings(
    lowered: LoweredProgram,
    mappings: Sequence[Mapped],
    types: Mapping[str, TensorType],
    located: Sequence[Located | LocatedRows] = (),
) -> LoweredProgram:
    """Returns a lowered program whose functions say how their loops are given to threads.

    Args:
        lowered: the program.
        mappings: one for each of its functions, in order.
        types: the types of all values.
        located: the operands that are looked up.
    """
    with mlir_context():
        module = parse_module(lowered.bytecode)
        functions = [op.operation for op in module.body.operations if op.operation.name == "func.func"]
        for function, known, mapped in zip(functions, lowered.functions, mappings, strict=True):
            guards = [(g.argument, g.axis, g.frame is not None) for g in guards_of(known, types)]
            if guards:
                function.attributes["guards"] = ir.ArrayAttr.get(
                    [ir.DenseI64ArrayAttr.get(list(map(int, guard))) for guard in guards]
                )
            searched = _searched(known, types, [step for step in located if isinstance(step, Located)])
            if searched:
                function.attributes["located"] = ir.ArrayAttr.get(searched)
            rows = _searched_rows(known, types, [step for step in located if isinstance(step, LocatedRows)])
            if rows:
                function.attributes["located_rows"] = ir.ArrayAttr.get(rows)
            cases = [_attribute(case, mapped.combine or "sum") for case in mapped.cases]
            function.attributes["mappings"] = ir.ArrayAttr.get(cases)
            if mapped.own is not None:
                word = ir.IntegerType.get_signless(64)
                function.attributes["own"] = ir.IntegerAttr.get(word, len(mapped.own.owners))
        buffer = io.BytesIO()
        module.operation.write_bytecode(buffer)
        return LoweredProgram(buffer.getvalue(), lowered.functions)


def _attribute(case: Case, combine: str) -> ir.Attribute:
    word = ir.IntegerType.get_signless(64)
    return ir.DictAttr.get(
        {
            "adjacent": ir.IntegerAttr.get(word, case.adjacent),
            "atomic": ir.BoolAttr.get(case.atomic),
            "chunk": ir.IntegerAttr.get(word, case.chunk),
            "combine": ir.StringAttr.get(combine),
            "kernel": ir.StringAttr.get(case.kernel or case.name),
            "lanes": ir.IntegerAttr.get(word, case.lanes),
            "name": ir.StringAttr.get(case.name),
            "roles": ir.ArrayAttr.get([ir.StringAttr.get(role) for role in case.roles]),
            "tile": ir.IntegerAttr.get(word, case.tile),
            "threads": ir.DenseI64ArrayAttr.get(list(case.threads)),
        }
    )


def _searched(
    function: NestFunction, types: Mapping[str, TensorType], located: Sequence[Located]
) -> list[ir.Attribute]:
    """Returns what the pass must know of arguments that are looked up: where, and by which coordinates."""
    word = ir.IntegerType.get_signless(64)
    found: list[ir.Attribute] = []
    number = 0
    steps = {step.result: step for step in located}
    for access in function.operands:
        encoding = types[access.tensor].encoding
        if encoding is not None:
            number += argument_count(encoding)
            continue
        step = steps.get(access.tensor)
        if step is not None:
            stored = types[step.operand].encoding
            assert stored is not None
            levels = [ir.StringAttr.get(text) for text in _levels(stored)]
            fields = {
                "argument": ir.IntegerAttr.get(word, number),
                "coordinates": ir.Attribute.parse(f"affine_map<{step.coordinates}>"),
                "levels": ir.ArrayAttr.get(levels),
                "tensor": ir.StringAttr.get(step.operand),
                "values": ir.IntegerAttr.get(word, len(level_buffers(stored))),
                "whole": ir.BoolAttr.get(step.whole),
                "widths": ir.ArrayAttr.get([_width(stored.pos_width), _width(stored.crd_width)]),
            }
            found.append(ir.DictAttr.get(fields))
        number += 1
    return found


def _searched_rows(
    function: NestFunction, types: Mapping[str, TensorType], located: Sequence[LocatedRows]
) -> list[ir.Attribute]:
    """Returns what the pass must know of arguments whose rows are looked up: the first argument, and where they are."""
    word = ir.IntegerType.get_signless(64)
    found: list[ir.Attribute] = []
    number = 0
    steps = {step.result: step for step in located}
    for access in function.operands:
        encoding, step = types[access.tensor].encoding, steps.get(access.tensor)
        if step is not None:
            stored = types[step.operand].encoding
            assert stored is not None
            fields = {
                "argument": ir.IntegerAttr.get(word, number),
                "level": ir.StringAttr.get(_levels(stored)[0]),
                "stride": ir.DenseI64ArrayAttr.get(list(step.stride)),
                "listed": ir.BoolAttr.get(stored.level_types[1].functions.is_chained),
                "tensor": ir.StringAttr.get(step.operand),
                "widths": ir.ArrayAttr.get([_width(stored.pos_width), _width(stored.crd_width)]),
            }
            found.append(ir.DictAttr.get(fields))
        number += argument_count(encoding)
    return found


def _width(bits: int) -> ir.Attribute:
    return ir.TypeAttr.get(ir.IntegerType.get_signless(bits) if bits else ir.IndexType.get())


def _levels(encoding: Encoding) -> list[str]:
    """Returns how each level is searched: `dense`, or by which buffers, and where in them.

    `segments P W C S O`: positions in buffer P, W of them a parent, coordinates in buffer C, each S-th from O on;
    `chained C S O`: with the level above; `kept C N`: coordinates in buffer C, N of them a parent.
    """
    places = buffer_numbers(encoding)
    together = encoding.aos_levels
    found = []
    for level, kind in enumerate(encoding.level_types):
        assert kind.loop is not None  # what is looked up has levels that loops run over
        stride, offset = (len(together), level - together[0]) if level in together else (1, 0)
        match kind.loop:
            case LevelLoop(LoopKind.FULL):
                found.append("dense")
            case LevelLoop(LoopKind.GROUPS, kept):
                found.append(f"kept {places[level, 'coordinates']} {kept}")
            case LevelLoop(LoopKind.CHAINED):
                found.append(f"chained {places[level, 'coordinates']} {stride} {offset}")
            case LevelLoop(LoopKind.SEGMENTS, width):
                segments = f"{places[level, 'positions']} {width}"
                found.append(f"segments {segments} {places[level, 'coordinates']} {stride} {offset}")
    return found
