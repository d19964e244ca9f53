"""The statements of a comprehension computed in the cheapest way by estimate on data: inlined, shared, rewritten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Protocol

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.compile_options import CompileOptions
from mlir_sparse.compile.compiled_kernel import StatementKernel
from mlir_sparse.compile.comprehension.comprehension_run import StatementStep
from mlir_sparse.compile.cpu_kernel import Kernel
from mlir_sparse.compile.statement_optimizer import DataSketches, sketches_before_calls
from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Assignment
from mlir_sparse.plan.algebra.inlined_statements import OrderedStatement
from mlir_sparse.plan.algebra.several_statements import PlannedStatement, StatementsPlan, plan_statements
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts
from mlir_sparse.spec import infer_output
from mlir_sparse.spec.range_rewriting import OperandPart
from mlir_sparse.spec.statement_shapes import RangedStatement

__all__ = ["CompileStatement", "PreparedSteps", "optimized"]

_Types = tuple[tuple[str, TensorType], ...]


class CompileStatement(Protocol):
    """Compiles one of the statements; equal ones compile alike, for caches."""

    def __hash__(self) -> int:
        """Returns a number that equal ones have in common."""

    @property
    def cancels(self) -> bool:
        """Returns whether terms of statements may cancel others."""

    @property
    def options(self) -> CompileOptions:
        """Returns the options of `compile`."""

    def __call__(self, assignment: Assignment, types: _Types, output: TensorType, /) -> StatementKernel:
        """Returns the kernel of a statement for types of its operands and its result."""


@dataclass(frozen=True, slots=True)
class PreparedSteps:
    """A comprehension's statements ready to run.

    Args:
        written: the statements as they are written.
        steps: the statements that a call runs.
        account: what `explain()` says of the difference, a line each.
    """

    written: tuple[StatementStep, ...]
    steps: tuple[StatementStep, ...]
    account: tuple[str, ...] = ()


def optimized(
    written: tuple[StatementStep, ...],
    inputs: Mapping[str, TensorType],
    sketches: DataSketches,
    outputs: Sequence[str],
    compile_statement: CompileStatement,
) -> PreparedSteps:
    """Returns statements in the cheapest way by estimate.

    Args:
        written: the statements as they are written.
        inputs: the types of the operands of the comprehension.
        sketches: what is known of these operands.
        outputs: the tensors whose last values are wanted.
        compile_statement: compiles one statement.
    """
    ordered = tuple(map(_ordered, written))
    plan = _plan(ordered, tuple(inputs.items()), sketches, tuple(outputs), cancels=compile_statement.cancels)
    kinds, steps = dict(inputs), list[StatementStep]()
    for planned in plan.statements:
        own = written[planned.origin]
        if planned.assignment == ordered[planned.origin].assignment and planned.rewriting is None:
            step = own
        else:
            step = _step(planned, own, kinds, compile_statement)
        steps.append(step)
        kinds[step.placed.statement.target.tensor] = step.kernel.output
    return PreparedSteps(written, tuple(steps), plan.account)


def _ordered(step: StatementStep) -> OrderedStatement:
    spec = step.kernel.spec
    whole = not step.placed.is_part and all(part.is_whole and part.name == part.tensor for part in step.parts)
    if not whole:  # what it reads counts, not how
        named = {part.tensor: spec.type_of(part.name) for part in step.parts}
        if step.placed.is_part:
            named.setdefault(spec.assignment.target.tensor, spec.output)
        return OrderedStatement(spec.assignment, tuple(named.items()), spec.output, step.placed.shape, False)
    return OrderedStatement(spec.explicit, spec.inputs, spec.output, step.placed.shape, True)


@lru_cache(maxsize=128)
def _plan(
    statements: tuple[OrderedStatement, ...],
    inputs: _Types,
    sketches: DataSketches,
    outputs: tuple[str, ...],
    *,
    cancels: bool,
) -> StatementsPlan:
    pairs = zip(inputs, sketches.sketches, strict=True)
    facts = {name: TensorFacts(kind, sketch) for (name, kind), sketch in pairs}
    return plan_statements(statements, facts, outputs, cancels=cancels)


def _step(
    planned: PlannedStatement,
    own: StatementStep,
    kinds: Mapping[str, TensorType],
    compile_statement: CompileStatement,
) -> StatementStep:
    """Returns a planned statement ready to run; `own` is the statement that it is, or that it is a part of."""
    assignment, output = planned.assignment, own.kernel.spec.output
    types = tuple((name, kinds[name]) for name in assignment.inputs)
    extents = own.extents
    if planned.is_part:
        output = replace(infer_output(assignment, dict(types)), dtype=planned.dtype or output.dtype)
        storage = None if planned.is_array else output.encoding
        output, extents = replace(output, shape=(None,) * output.rank, encoding=storage), {}
    extents = {variable: extents[variable] for variable in assignment.indices if variable in extents}
    kernel = compile_statement(assignment, types, output)
    if planned.rewriting is not None:
        assert isinstance(kernel, Kernel), "a GPU's is as it is written"
        data = sketches_before_calls(kernel.spec, planned.sketches) if planned.sketches else None
        kernel = kernel.rewritten(planned.rewriting, data, "algebra" if compile_statement.cancels else "auto")
    shape = () if planned.is_part else own.placed.shape
    parts = tuple(OperandPart(name, name, (None,) * kind.rank) for name, kind in types)
    return StatementStep(RangedStatement(assignment, {}, shape, False), kernel, parts, extents)
