"""A program in words: what runs, in which loops, over which storage, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from mlir_sparse.encoding import TensorType
from mlir_sparse.kernel import vanishes
from mlir_sparse.notation import (
    Access,
    Apply,
    Binary,
    BinaryOp,
    Call,
    Expr,
    Extreme,
    Fold,
    IndexVar,
    Literal,
    Monoid,
    Negate,
    Reduce,
    ReduceOp,
)
from mlir_sparse.plan.program import (
    Conversion,
    Extent,
    Generic,
    LevelView,
    Meeting,
    Pick,
    Position,
    Program,
    Step,
    combining_name,
)
from mlir_sparse.plan.terms import accesses_of

__all__ = ["explain"]

_IDENTITIES = {
    ReduceOp.SUM: "0",
    ReduceOp.PRODUCT: "1",
    ReduceOp.MAX: "the least value",
    ReduceOp.MIN: "the greatest",
    ReduceOp.OR: "0",
    ReduceOp.AND: "1",
}


def explain(program: Program) -> str:
    """Returns the account of a program that people read.

    Each loop is shown with its iterator type and what it runs over: the levels of the
    operands, intersected (`&`) at products and united (`|`) at sums.
    """
    spec = program.spec
    lines = [f"{spec.explicit}", "", "tensors"]
    lines += [f"  {name}: {_named(kind)}" for name, kind in spec.inputs]
    lines += [f"  {spec.assignment.target.tensor}: {_named(spec.output)} (result)"]
    for number, step in enumerate(program.steps, 1):
        lines += ["", *_step(number, step, program)]
    return "\n".join(lines)


def _step(number: int, step: Step, program: Program) -> list[str]:
    if isinstance(step, LevelView):
        return [f"step {number}: {step.result} is {step.operand} over its levels", f"  because: {step.reason}"]
    if isinstance(step, Extent):
        return [f"step {number}: {step.result} is as long as {step.variable} runs", f"  because: {step.reason}"]
    if isinstance(step, Pick):
        kind = _named(program.type_of(step.result))
        return [f"step {number}: pick {step.access} as {step.result}: {kind}", f"  because: {step.reason}"]
    if isinstance(step, Position):
        end = "greatest" if step.greatest else "least"
        head = f"step {number}: {step.result} is where along its last axis {step.operand} is {end}"
        return [head, f"  because: {step.reason}"]
    if isinstance(step, Conversion):
        before, after = _named(program.type_of(step.operand)), _named(program.type_of(step.result))
        head = f"step {number}: convert {step.operand} from {before} to {after} as {step.result}"
        return [head, f"  because: {step.reason}"]
    lines = [f"step {number}: linalg.generic", f"  {_statement(step)}"]
    for depth, variable in enumerate(step.loops):
        kind = "reduction" if variable in step.reductions else "parallel"
        lines.append(f"  {'  ' * depth}for {variable} ({kind}) in {_space(step.payload, variable, program)}")
    for frame in step.frames:
        lines.append(f"  {frame.subscript} stands for {frame.variable}, counted from the least value it takes")
    if not step.in_order:
        lines.append("  the sparsifier orders the loops of blocked storage itself")
    lines.append(f"  into {step.result}: {_named(program.type_of(step.result))}")
    return [*lines, f"  because: {step.reason}"]


def _statement(step: Generic) -> str:
    match step.meeting:
        case Meeting.REPLACE:
            return f"{step.target} = {step.payload}"
        case Meeting.START | Meeting.CONTINUE:
            start = _identity(step.combine) if step.meeting is Meeting.START else "its present value"
            sign = "+" if step.combine is ReduceOp.SUM else combining_name(step.combine)
            return f"{step.target} {sign}= {step.payload}, from {start}"


def _named(kind: TensorType) -> str:
    """Returns a type by the name of its storage, widths apart from it."""
    if kind.encoding is None:
        return f"{kind} dense"
    widths = kind.encoding.pos_width, kind.encoding.crd_width
    text = str(replace(kind, encoding=kind.encoding.with_widths(0, 0)))
    return f"{text}, {widths[0]}-bit positions, {widths[1]}-bit coordinates" if any(widths) else text


def _space(payload: Expr, variable: IndexVar, program: Program) -> str:
    return _set(payload, variable, program) or "its whole extent"


def _set(node: Expr, variable: IndexVar, program: Program) -> str:
    """Returns the set of coordinates a variable runs over, in terms of the operands' levels; "" for all."""
    match node:
        case Access():
            return _levels(node, variable, program.type_of(node.tensor))
        case Literal():
            return ""
        case Negate(operand):
            return _set(operand, variable, program)
        case Reduce(_, _, body) | Fold(_, _, body):
            return _set(body, variable, program)
        case Apply(operator, arguments):
            sets = [_set(argument, variable, program) for argument in arguments]
            return _joined(_MEETINGS[operator.left is not None, operator.right is not None], sets)
        case Binary(BinaryOp.MUL | BinaryOp.DIV, left, right):
            return _joined(" & ", [_set(left, variable, program), _set(right, variable, program)])
        case Binary(BinaryOp.ADD | BinaryOp.SUB, left, right):
            return _joined(" | ", [_set(left, variable, program), _set(right, variable, program)])
        case Binary() | Call():
            return _chosen(node, variable, program)
        case _:
            assert_never(node)


_MEETINGS = {(False, False): " & ", (True, True): " | ", (True, False): " - ", (False, True): " - "}


def _identity(combine: ReduceOp | Monoid) -> str:
    if isinstance(combine, ReduceOp):
        return _IDENTITIES[combine]
    if isinstance(combine.identity, Extreme):
        return f"the {combine.identity.value} value"
    return str(combine.identity)


def _chosen(node: Expr, variable: IndexVar, program: Program) -> str:
    """Returns where a comparison, a choice or a function is not zero: where what it needs is stored, or else any."""
    stored = [a for a in accesses_of(node) if program.type_of(a.tensor).encoding is not None]
    needed = [access for access in stored if vanishes(node, [access])]
    sets = [_set(access, variable, program) for access in needed or stored]
    return _joined(" & " if needed else " | ", sets)


def _joined(sign: str, sets: list[str]) -> str:
    found = [text for text in dict.fromkeys(sets) if text]
    if len(found) < 2:
        return "".join(found)
    return sign.join(f"({text})" if " " in text and sign.strip() not in text else text for text in found)


def _levels(access: Access, variable: IndexVar, kind: TensorType) -> str:
    if kind.encoding is None or variable not in access.subscripts:
        return ""
    dim = access.subscripts.index(variable)
    found = [
        f"{access.tensor}.{level}[{spec.type}]"
        for level, spec in enumerate(kind.encoding.levels)
        if dim in spec.expr.dims()
    ]
    return "+".join(found)
