"""Plans to recipes: the steps of a program as data, which run without a plan and without MLIR."""

from __future__ import annotations

import numpy as np

from mlir_sparse import lower, notation, plan, runtime
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.notation import IndexVar
from mlir_sparse.spec import extreme_or
from mlir_sparse.tensor.pick_elements import Gathered, Place, Sum

__all__ = ["recipe_of"]


def recipe_of(program: plan.Program, densified: bool) -> runtime.Recipe:
    """Returns the steps of a program as data.

    Args:
        program: the program.
        densified: whether it reads dense operands in place of sparse ones.
    """
    functions = iter(lower.functions_of(program))
    steps = tuple(
        _loops(next(functions), program) if isinstance(step, plan.Generic) else _native_step(step, program)
        for step in program.steps
        if not isinstance(step, plan.Located | plan.LocatedRows)
    )
    return runtime.Recipe(steps, program.result, program.type_of(program.result), str(program), densified)


def _native_step(
    step: plan.Conversion | plan.LevelView | plan.FibreView | plan.Rows | plan.Extent | plan.Pick | plan.Position,
    program: plan.Program,
) -> runtime.Step:
    if isinstance(step, plan.Pick):
        encoding = program.type_of(step.result).encoding
        return runtime.Pick(step.result, step.operand, tuple(map(_place, step.access.subscripts)), encoding)
    if isinstance(step, plan.Position):
        return runtime.Position(step.result, step.operand, step.greatest)
    if isinstance(step, plan.Extent):
        return runtime.Extent(step.result, step.variable.name, program.type_of(step.result).dtype)
    if isinstance(step, plan.LevelView):
        return runtime.View(step.result, step.operand)
    if isinstance(step, plan.FibreView):
        return runtime.Fibres(step.result, step.operand, step.depth, _encoding(step.result, program))
    if isinstance(step, plan.Rows):
        variables = tuple(variable.name for variable in step.variables)
        encoding = _encoding(step.result, program)
        return runtime.Rows(step.result, step.operand, step.structure, step.depth, variables, encoding)
    kind = program.type_of(step.result)
    return runtime.Convert(step.result, step.operand, kind, step.drop_zeros, extreme_or(step.missing, kind.dtype))


def _encoding(name: str, program: plan.Program) -> Encoding:
    encoding = program.type_of(name).encoding
    assert encoding is not None
    return encoding


def _place(subscript: notation.Subscript) -> Place:
    match subscript:
        case IndexVar(name):
            return Sum(((1, name),))
        case notation.AffineSubscript(terms, constant):
            return Sum(tuple((coefficient, variable.name) for coefficient, variable in terms), constant)
        case notation.Access(tensor):
            return Gathered(tensor, tuple(variable.name for variable in subscript.indices))


def _loops(function: lower.Function, program: plan.Program) -> runtime.Loops:
    step, output = function.step, program.type_of(function.step.result)
    arguments = [_argument(access, program.type_of(access.tensor), step.loops) for access in function.operands]
    if output.encoding is None:
        loops = step.loops if step.sampled is None else (*step.loops, *step.target.indices)
        arguments.append(_argument(step.target, output, loops))
    return runtime.Loops(
        function=function.name,
        arguments=tuple(arguments),
        depth=len(step.loops) + (step.sampled is not None),
        operands=tuple(access.tensor for access in function.operands),
        axes=tuple(tuple(_axis(s, step) for s in access.subscripts) for access in function.operands),
        frames=tuple((frame.variable.name, frame.operand, frame.dim) for frame in step.frames),
        result=step.result,
        variables=tuple(name for s in step.target.subscripts if (name := _axis(s, step)) is not None),
        dtype=output.dtype,
        encoding=output.encoding,
        continues=step.meeting is plan.Meeting.CONTINUE,
        gathers=step.gathers,
        scatters=plan.scattered(step, dict(program.types)) is not None,
        entries=runtime.Entries(
            plan.entry_tree(step.payload), tuple(index.name for index in step.target.indices), bool(step.reductions)
        ),
        cut=_cut(function, program),
        sampled=None if step.sampled is None else function.operands.index(step.sampled),
    )


def _cut(function: lower.Function, program: plan.Program) -> runtime.Cut | None:
    """Returns how a function is called in pieces; None where it is not."""
    step = function.step
    found = plan.partition(step, dict(program.types))
    if isinstance(found, str):
        return None
    output = program.type_of(step.result)
    arguments = (*function.operands, *((step.target,) if output.encoding is None else ()))
    arrays = [(n, access) for n, access in enumerate(arguments) if program.type_of(access.tensor).encoding is None]
    return runtime.Cut(
        variable=step.loops.index(found.variable),
        unit=found.unit,
        listed=found.listed,
        outcome=found.outcome.value,
        factors=tuple(map(step.loops.index, found.factors)),
        stored=tuple(
            runtime.StoredCut(
                function.operands.index(p.access), p.listed, p.block, p.steps, p.shifts, p.stride, p.sorted, p.level
            )
            for p in found.stored
        ),
        axes=tuple(axis for n, access in arrays for axis in _axes(n, access, found.variable)),
        fills=step.meeting is plan.Meeting.START and step.start is None and step.sampled is None,
        identity=_identity(step, output),
        combine=f"{plan.combining_name(step.combine)} {output.dtype.numpy.name}",
        reached=-1 if found.reached is None else found.reached,
    )


def _axes(number: int, access: notation.Access, variable: IndexVar) -> list[tuple[int, int, int, bool]]:
    """Returns along which of its axes an array is cut."""
    found = []
    for dim, subscript in enumerate(access.subscripts):
        match subscript:
            case IndexVar():
                terms: tuple[tuple[int, IndexVar], ...] = ((1, subscript),)
            case notation.AffineSubscript(terms, _):
                pass
            case _:
                raise AssertionError("gathered elements are picked before the loops")
        found += [(number, dim, factor, subscript == variable) for factor, other in terms if other == variable]
    return found


def _identity(step: plan.Generic, output: TensorType) -> str:
    """Returns the bytes of what an accumulation starts from, as hexadecimal digits."""
    if output.encoding is not None or step.meeting is plan.Meeting.REPLACE:
        return ""
    return np.array(lower.identity_of(step, output.dtype), output.dtype.numpy).tobytes().hex()


def _axis(subscript: notation.Subscript, step: plan.Generic) -> str | None:
    """Returns the index variable that an axis is of, also where a sum of levels stands for it."""
    if isinstance(subscript, IndexVar):
        return subscript.name
    return next((frame.variable.name for frame in step.frames if frame.subscript == subscript), None)


def _argument(access: notation.Access, kind: TensorType, loops: tuple[IndexVar, ...]) -> runtime.Argument:
    return runtime.Argument(kind.dtype, kind.encoding, tuple(_subscript(s, loops) for s in access.subscripts))


def _subscript(subscript: notation.Subscript, loops: tuple[IndexVar, ...]) -> tuple[tuple[tuple[int, int], ...], int]:
    match subscript:
        case IndexVar():
            return ((1, loops.index(subscript)),), 0
        case notation.AffineSubscript(terms, constant):
            return tuple((coefficient, loops.index(variable)) for coefficient, variable in terms), constant
        case _:
            raise AssertionError("gathered elements are picked before the loops")
