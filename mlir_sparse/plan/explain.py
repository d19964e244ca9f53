"""Explains a program in words: its steps, loops and storage, with reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Apply, Extreme, Fold, Monoid, ReduceOp, accesses_of, walk
from mlir_sparse.plan.block_steps import blocks_of
from mlir_sparse.plan.choose_cuts import choose_cut
from mlir_sparse.plan.cost import nest_cost
from mlir_sparse.plan.mapping.mapped_nest import MappedNest, explain_mapping
from mlir_sparse.plan.order.co_iteration import how_walked, iteration_graph, lattice, products
from mlir_sparse.plan.order.scattered_masks import scattered
from mlir_sparse.plan.plan_steps import (
    AccumulateMode,
    Generic,
    Located,
    LocatedRows,
    Program,
    Step,
    combining_name,
    values_read,
)
from mlir_sparse.plan.statement_cuts import StatementCut, cuts
from mlir_sparse.plan.work_formula import asymptotic_cost
from mlir_sparse.program import (
    ArrayProduct,
    Conversion,
    ExtentVector,
    FibreView,
    LevelSpaceView,
    Pick,
    Position,
    SharedLevels,
)
from mlir_sparse.text.listed_words import listed

__all__ = ["explain"]

_IDENTITIES = {
    ReduceOp.SUM: "0",
    ReduceOp.PRODUCT: "1",
    ReduceOp.MAX: "the least value",
    ReduceOp.MIN: "the greatest",
    ReduceOp.OR: "0",
    ReduceOp.AND: "1",
}


def explain(program: Program, mapped: Sequence[MappedNest] = (), algebra: Sequence[str] = ()) -> str:
    """Returns the explanation of a program.

    Each loop nest is described in TACO's terms: the iteration graph, with a path of index variables for each operand;
    for each loop its iterator type and the lattice of levels that it runs over, intersected (`&`) at products and
    united (`|`) at sums; and its cost, in which a variable is its extent and `nse(A)` the number of stored entries of
    A. Estimates take 1,000 for an unknown extent and 10 entries a row; comparisons of orders and plans also weigh
    conversions, strides and workspaces. Last come the cuts of the statement, by which streams and task graphs divide
    it.

    Args:
        program: the program.
        mapped: the mapping of loop nests to the threads of a GPU, if there is one.
        algebra: how the statement is rewritten, a line each.
    """
    spec = program.spec
    lines = [f"{spec.explicit}", "", "tensors"]
    lines += [f"  {name}: {_named(kind)}" for name, kind in spec.inputs]
    lines += [f"  {spec.assignment.target.tensor}: {_named(spec.output)} (result)"]
    operators = _operators(program)
    lines += ["", "operators", *operators] if operators else []
    lines += ["", "algebra", *(f"  {text}" for text in algebra)] if algebra else []
    lines += ["", "arithmetic", *(f"  {text}" for text in program.licences)] if program.licences else []
    for number, step in enumerate(program.steps, 1):
        threads = next((one for one in mapped if one.step == step), None)
        lines += ["", *_step(number, step, program, threads)]
    blocks = None if mapped else blocks_of(program)
    if blocks is not None:
        arrays = listed([array.name for array in blocks.arrays])
        steps = f"steps {blocks.first + 1} to {len(program.steps)}"
        lines += ["", f"{steps} run for some rows of {arrays} at a time, where caches would not hold all"]
    lines += [] if mapped else ["", "pieces", *_pieces(program)]
    return "\n".join(lines)


def _pieces(program: Program) -> list[str]:
    """Returns how `stream` and task graphs may cut the statement."""
    found = cuts(program.spec.explicit)
    told = [f"  {cut}" for cut in found.values() if isinstance(cut, StatementCut)]
    told += [f"  not along {variable}: {cut}" for variable, cut in found.items() if isinstance(cut, str)]
    return told or ["  none: there are no loops"]


def _operators(program: Program) -> list[str]:
    """Returns the operators and monoids of the expression, whose regions decide the iteration."""
    nodes = tuple(walk(program.spec.assignment.value))
    applied = [node.operator for node in nodes if isinstance(node, Apply)]
    folded = [node.monoid for node in nodes if isinstance(node, Fold)]
    return [f"  {one}" for one in dict.fromkeys(map(str, (*applied, *folded)))]


def _step(number: int, step: Step, program: Program, mapped: MappedNest | None) -> list[str]:
    match step:
        case LevelSpaceView():
            lines = [f"{step.result} is {step.operand} over its levels"]
        case Located():
            lines = [f"{step.result} is {step.source}, its elements found by their coordinates"]
        case LocatedRows():
            lines = [f"{step.result} is {step.operand}, its rows found by their coordinate"]
        case FibreView():
            lines = [f"{step.result} is {step.operand} as its fibres below {step.depth} levels"]
        case SharedLevels():
            lines = [f"{step.result} has {step.operand} below the first {step.depth} levels of {step.structure}"]
        case ExtentVector():
            lines = [f"{step.result} is as long as {step.variable} runs"]
        case Pick():
            lines = [f"pick {step.access} as {step.result}: {_named(program.type_of(step.result))}"]
        case Position():
            end = "greatest" if step.greatest else "least"
            lines = [f"{step.result} is where along its last axis {step.operand} is {end}"]
        case ArrayProduct():
            kind = _named(program.type_of(step.result))
            lines = [
                f"BLAS: {step.result}({','.join(step.variables)}) = {step.product}",
                f"  into {step.result}: {kind}",
            ]
        case Conversion():
            before, after = _named(program.type_of(step.operand)), _named(program.type_of(step.result))
            lines = [f"convert {step.operand} from {before} to {after} as {step.result}"]
            lines += [f"  otherwise: {step.otherwise}"] if step.otherwise else []
        case Generic():
            lines = ["linalg.generic", *_nest(step, program, mapped)]
        case _:
            assert_never(step)
    return [f"step {number}: {lines[0]}", *lines[1:], *_sharing(step.result, program), f"  because: {step.reason}"]


def _nest(step: Generic, program: Program, mapped: MappedNest | None) -> list[str]:
    types = dict(program.types)
    lines, row = [f"  {_statement(step)}"], scattered(step, types)
    graph = iteration_graph((*accesses_of(step.payload), step.target), types)
    lines += [f"  iteration graph: {graph}"] if graph else []
    lines += [f"  loop order: {', '.join(map(str, step.loops))}; {step.order_reason}"] if step.order_reason else []
    for depth, variable in enumerate(step.loops):
        kind = "reduction" if variable in step.reductions else "parallel"
        space = lattice(step.payload, variable, types) or "its whole extent"
        how = how_walked(step.payload, variable, step.loops, types, row)
        lines.append(f"  {'  ' * depth}for {variable} ({kind}) in {space}{f': {how}' if how else ''}")
    for frame in step.frames:
        lines.append(f"  {frame.subscript} stands for {frame.variable}, counted from the least value it takes")
    if not step.in_order:
        lines.append("  the sparsifier orders the loops of blocked storage itself")
    steps = nest_cost(step.loops, step.payload, types)
    lines.append(f"  cost: {asymptotic_cost(step.loops, step.payload, types, row)}, {steps:,.0f} steps by estimate")
    fused = _fused(step, program)
    lines += [f"  fused: {fused}"] if fused else []
    if row is not None:
        storage = types[row.tensor].encoding
        last = row.subscripts[storage.level_order[-1] if storage else -1]
        lines.append(f"  scattered: the entries of {row} along {last}, once; each of the others looks there")
    if mapped is not None:
        return [*lines, f"  into {step.result}: {_named(program.type_of(step.result))}", *_on_threads(mapped)]
    chunks = choose_cut(step, types)
    lines.append(f"  in one chunk: {chunks}" if isinstance(chunks, str) else f"  in chunks: {chunks}")
    return [*lines, f"  into {step.result}: {_named(program.type_of(step.result))}{_gathered(step, program)}"]


def _on_threads(mapped: MappedNest) -> list[str]:
    """Returns the mapping of loops to the threads of a GPU."""
    first, *rest = explain_mapping(mapped).splitlines()
    return [f"  {first.partition(' ')[2]}", *(f"  {line}" for line in rest)]


def _gathered(step: Generic, program: Program) -> str:
    """Returns how a sparse result is assembled."""
    if step.sampled is not None:
        return f", an element at each entry of {step.sampled}"
    if program.type_of(step.result).encoding is None:
        return ""
    if step.gathers:
        return f", the entries along {step.target.subscripts[-1]} gathered in a workspace"
    return ", entries appended as they come"


def _fused(step: Generic, program: Program) -> str:
    """Returns the products that are never materialised, as they are only summed at another operand's entries."""
    found = products(step.payload, dict(program.types))
    if len(found) != 1 or not step.reductions:
        return ""
    summed = [access for access in found[0] if not set(step.reductions).isdisjoint(access.indices)]
    masks = [
        access
        for access in found[0]
        if access not in summed and access.subscripts and program.type_of(access.tensor).encoding is not None
    ]
    own = [{index for index in access.indices if index not in step.reductions} for access in summed]
    if not masks or len(summed) < 2 or any(not mine for mine in own):
        return ""
    factors = " * ".join(map(str, summed))
    return f"{factors} is summed only where {listed(masks)} has entries, and never formed elsewhere"


def _sharing(name: str, program: Program) -> list[str]:
    """Returns the reason for a temporary, and the number of its reads."""
    note = dict(program.notes).get(name)
    readers = [n for n, step in enumerate(program.steps, 1) if name in values_read(step)]
    lines = [f"  apart: {note}"] if note else []
    times = sum(values_read(program.steps[n - 1]).count(name) for n in readers)
    if times > 1:
        lines.append(f"  shared: made once, read {times} times, by step{'s' * (len(readers) > 1)} {listed(readers)}")
    return lines


def _statement(step: Generic) -> str:
    match step.mode:
        case AccumulateMode.REPLACE:
            return f"{step.target} = {step.payload}"
        case AccumulateMode.START | AccumulateMode.CONTINUE:
            start = (
                "its present value" if step.mode is AccumulateMode.CONTINUE else step.start or _identity(step.combine)
            )
            start = f"{start}, from 0 in rows that leave elements out" if step.zeros else start
            sign = "+" if step.combine is ReduceOp.SUM else combining_name(step.combine)
            return f"{step.target} {sign}= {step.payload}, from {start}"


def _named(kind: TensorType) -> str:
    """Returns a type with the name of its storage, and widths separately."""
    if kind.encoding is None:
        return f"{kind} dense"
    widths = kind.encoding.pos_width, kind.encoding.crd_width
    text = str(replace(kind, encoding=kind.encoding.with_widths(0, 0)))
    return f"{text}, {widths[0]}-bit positions, {widths[1]}-bit coordinates" if any(widths) else text


def _identity(combine: ReduceOp | Monoid) -> str:
    if isinstance(combine, ReduceOp):
        return _IDENTITIES[combine]
    if isinstance(combine.identity, Extreme):
        return f"the {combine.identity.value} value"
    return str(combine.identity)
