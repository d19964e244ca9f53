"""Comprehensions and their operands, to kernels and results."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.compile.compiled_kernel import Result
from mlir_sparse.compile.statement_optimizer import DataSketches, sketches_of_values
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.errors import OperandError
from mlir_sparse.notation import Assignment, Call, Comprehension, Parameter, has_affine_target, reads, walk
from mlir_sparse.process.forks import importing
from mlir_sparse.runtime import operand_check

if TYPE_CHECKING:
    from mlir_sparse.compile.comprehension.comprehension_kernel import ComprehensionKernel
    from mlir_sparse.compile.comprehension.comprehension_optimizer import CompileStatement
    from mlir_sparse.compile.comprehension.comprehension_outputs import Storage

__all__ = ["as_comprehension", "compile_comprehension", "evaluate_comprehension", "may_gain", "operand_sketches"]


def as_comprehension(assignment: Assignment | Comprehension) -> Comprehension | None:
    """Returns a statement with ranges or an affine target as a comprehension without a name; None for others."""
    if isinstance(assignment, Comprehension):
        return assignment
    if not assignment.ranges and not assignment.exists and not has_affine_target(assignment):
        return None
    parameters = tuple(map(Parameter, assignment.inputs))
    return Comprehension("", parameters, (Parameter(assignment.target.tensor),), (assignment,), assignment.source)


def compile_comprehension(
    comprehension: Comprehension,
    given: Mapping[str, Any],
    out: Any,
    target: str,
    compile_statement: CompileStatement,
    sketches: DataSketches | None = None,
) -> ComprehensionKernel:
    """Compiles a comprehension for operands of given types.

    Args:
        comprehension: the statements.
        given: data or types by name; a tensor with a declared type may be absent, and is then dense.
        out: the storage of the output; a mapping by name for several.
        target: the machine to run on.
        compile_statement: compiles one statement.
        sketches: what is known of the operands, if statements are to be computed in the cheapest way.

    Raises:
        SparseError: one of its kinds, for every mistake in types or data.
    """
    with importing():
        from mlir_sparse.compile.comprehension.comprehension_operands import (  # for comprehensions only
            check_given,
            declared_type,
            type_of_operand,
        )

    storage = _storage(comprehension, out)
    operands = dict(given)
    for name in comprehension.results:
        if name in operands and name not in comprehension.inputs:
            storage[name] = type_of_operand(comprehension, name, operands.pop(name))
    check_given(comprehension, operands, optional=True)
    types = []
    for name in comprehension.inputs:
        kind = declared_type(comprehension, name)
        if name in operands or kind is None:
            kind = type_of_operand(comprehension, name, operands[name])
        types.append((name, kind))
    return _kernel(comprehension, tuple(types), tuple(storage.items()), target, compile_statement, sketches)


def evaluate_comprehension(
    comprehension: Comprehension,
    given: Mapping[str, Any],
    out: Any,
    target: str,
    compile_statement: CompileStatement,
    *,
    optimizes: bool,
) -> tuple[Result, ComprehensionKernel]:
    """Computes a comprehension on data, and returns its kernel too; see `compile_comprehension`."""
    with importing():
        from mlir_sparse.compile.comprehension.comprehension_operands import check_given, type_of_operand  # likewise

    check_given(comprehension, given)
    outputs = out if isinstance(out, Mapping) else {comprehension.results[0]: out}
    if len(comprehension.results) > 1 and not isinstance(out, Mapping | None):
        raise OperandError(
            f"expected out= as a mapping of the outputs {', '.join(comprehension.results)}, but got {out!r:.60}"
        )
    arrays = {name: one for name, one in outputs.items() if isinstance(one, np.ndarray)}
    storage = {name: "dense" if name in arrays else one for name, one in outputs.items() if one is not None}
    types = {name: type_of_operand(comprehension, name, value) for name, value in given.items()}
    sketches = operand_sketches(comprehension, given) if optimizes else None
    kernel = compile_comprehension(comprehension, types, storage, target, compile_statement, sketches)
    return kernel._call(given, arrays or None), kernel


def operand_sketches(comprehension: Comprehension, given: Mapping[str, Any]) -> DataSketches | None:
    """Returns what is known of the operands of a comprehension; None where not all are data, or nothing is to gain."""
    names = comprehension.inputs
    if not may_gain(comprehension) or any(isinstance(given.get(name), TensorType | str | None) for name in names):
        return None
    return sketches_of_values(operand_check.value_of(name, given[name]) for name in names)


@lru_cache(maxsize=256)
def may_gain(comprehension: Comprehension) -> bool:
    """Returns whether statements could be computed otherwise: some have parts, or values that others read or none."""
    statements = comprehension.statements
    read = {name for one in statements for name in one.inputs}
    between = any(one.target.tensor in read or one.target.tensor not in comprehension.results for one in statements)
    return bool(comprehension.name) and (between or any(map(_has_parts, statements)))


def _has_parts(statement: Assignment) -> bool:
    """Returns whether a statement has three factors, or two of which one is a function or is summed by itself."""
    accesses = [access for access in reads(statement.value) if access.subscripts]
    calls = any(isinstance(node, Call) for node in walk(statement.value))
    once = [index for access in accesses for index in access.indices if index not in statement.target.indices]
    alone = any(once.count(index) == 1 for index in once)
    return len(accesses) > 2 or (len(accesses) > 1 and (calls or alone))


@lru_cache(maxsize=128)
def _kernel(
    comprehension: Comprehension,
    types: tuple[tuple[str, TensorType], ...],
    storage: tuple[tuple[str, Storage], ...],
    target: str,
    compile_statement: CompileStatement,
    sketches: DataSketches | None,
) -> ComprehensionKernel:
    with importing():
        from mlir_sparse.compile.comprehension.comprehension_kernel import (
            ComprehensionKernel,  # loads the search of plans
        )

    kind = ComprehensionKernel
    if target != "cpu":
        with importing():
            from mlir_sparse.compile.comprehension.comprehension_on_device import (
                DeviceComprehensionKernel,  # imported for devices only
            )

        kind = DeviceComprehensionKernel
    return kind(comprehension, dict(types), dict(storage), compile_statement, sketches)


def _storage(comprehension: Comprehension, out: Any) -> dict[str, Storage]:
    names = comprehension.results
    if out is None:
        return {}
    if not isinstance(out, Mapping):
        if len(names) > 1:
            raise OperandError(f"expected out= as a mapping of the outputs {', '.join(names)}, but got {out!r:.60}")
        out = {names[0]: out}
    for name, one in out.items():
        if name not in names:
            raise OperandError(f"expected out= for the outputs {', '.join(names)}, but got {name}")
        if not isinstance(one, str | Encoding | TensorType):
            raise OperandError(f"expected storage for {name} in out=, but got {type(one).__name__}")
    return dict(out)
