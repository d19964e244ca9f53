"""Plans to programs as data: loop nests become calls of functions, which run without the plan and MLIR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Access, Binary, BinaryOp, Expr, IndexVar, Literal, Subscript, children
from mlir_sparse.plan.block_steps import blocks_of
from mlir_sparse.plan.choose_cuts import choose_cut
from mlir_sparse.plan.chunk_results import combining_functions
from mlir_sparse.plan.order.scattered_masks import scattered
from mlir_sparse.plan.plan_steps import (
    AccumulateMode,
    Generic,
    Located,
    LocatedRows,
    NestFunction,
    Program,
    functions_of,
    place_of,
)
from mlir_sparse.program import Argument, Cut, EntryBounds, IndexSum, NestCall, ProgramSteps

__all__ = ["steps_of"]


def steps_of(program: Program, densified: bool) -> ProgramSteps:
    """Returns the steps of a program as data.

    Args:
        program: the program.
        densified: whether it reads sparse operands as dense arrays.
    """
    functions, types, combining = iter(functions_of(program)), dict(program.types), combining_functions(program)
    steps = tuple(
        _call(next(functions), types, combining) if isinstance(step, Generic) else step
        for step in program.steps
        if not isinstance(step, Located | LocatedRows)
    )
    blocks = blocks_of(program) if len(steps) == len(program.steps) else None
    return ProgramSteps(steps, program.result, types[program.result], str(program), densified, blocks)


def _call(
    function: NestFunction, types: dict[str, TensorType], combining: Mapping[str, tuple[NestFunction, Program]]
) -> NestCall:
    step, operands, output = function.step, function.operands, types[function.step.result]
    read = (*operands, step.target) if output.encoding is None else operands
    cut = choose_cut(step, types)
    if isinstance(cut, Cut) and function.name in combining:
        cut = replace(cut, combined_by=combining[function.name][0].name)
    return NestCall(
        function=function.name,
        loops=tuple(v.name for v in (*step.loops, *(step.target.indices if step.sampled is not None else ()))),
        arguments=tuple(_argument(access, types[access.tensor]) for access in read),
        operands=tuple(access.tensor for access in operands),
        axes=tuple(tuple(_axis(s, step) for s in access.subscripts) for access in operands),
        frames=tuple((frame.variable.name, frame.operand, frame.dim) for frame in step.frames),
        result=step.result,
        variables=tuple(name for s in step.target.subscripts if (name := _axis(s, step)) is not None),
        dtype=output.dtype,
        encoding=output.encoding,
        continues=step.mode is AccumulateMode.CONTINUE,
        gathers=step.gathers,
        scatters=scattered(step, types) is not None,
        entries=EntryBounds(
            _entry_tree(step.payload), tuple(index.name for index in step.target.indices), bool(step.reductions)
        ),
        cut=None if isinstance(cut, str) else cut,
        sampled=None if step.sampled is None else operands.index(step.sampled),
    )


def _argument(access: Access, kind: TensorType) -> Argument:
    places = tuple(map(place_of, access.subscripts))
    sums = tuple(place for place in places if isinstance(place, IndexSum))
    assert sums == places, "gathered elements are picked before the loops"
    return Argument(kind.dtype, kind.encoding, sums)


def _axis(subscript: Subscript, step: Generic) -> str | None:
    """Returns the index variable of an axis, also if a sum of levels replaces it."""
    if isinstance(subscript, IndexVar):
        return subscript.name
    return next((frame.variable.name for frame in step.frames if frame.subscript == subscript), None)


def _entry_tree(node: Expr) -> tuple[Any, ...]:
    """Returns a payload as a tree for `EntryBounds`: only products, sums and accesses.

    >>> A, x = Access("A", (IndexVar("i"), IndexVar("j"))), Access("x", (IndexVar("j"),))
    >>> _entry_tree(Binary(BinaryOp.MUL, Literal(2), Binary(BinaryOp.ADD, A, x)))
    ('*', ('1',), ('+', ('of', 'A', 'i', 'j'), ('of', 'x', 'j')))
    """
    match node:
        case Literal():
            return ("1",)
        case Access(tensor):
            return ("of", tensor, *dict.fromkeys(index.name for index in node.indices))
    meets = isinstance(node, Binary) and node.op in (BinaryOp.MUL, BinaryOp.DIV)
    symbol = node.op.value if isinstance(node, Binary) and meets else "+"
    return (symbol, *(_entry_tree(child) for child in children(node)))
