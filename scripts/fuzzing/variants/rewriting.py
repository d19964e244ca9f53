"""The same statement rewritten: any way that estimates rank, which may be one from sketches that lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

import mlir_sparse as ms
from dialect_tests.calls import Call, Results
from dialect_tests.statement_cases import lied
from fuzzing.variants.variant import NotApplicableError, Variant
from mlir_sparse.notation import Assignment
from mlir_sparse.plan.algebra.normal_form import NoNormalFormError
from mlir_sparse.plan.algebra.ruled_statement import keeps_entries, ruled_statement
from mlir_sparse.plan.algebra.statement_ways import StatementWays
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts
from mlir_sparse.runtime import operand_check
from mlir_sparse.spec import KernelSpec, Rewriting
from mlir_sparse.tensor.sketch_of import sketch_of

__all__ = ["VARIANTS"]

# Products of products of such numbers neither overflow nor vanish, in whichever order they are multiplied.
_LEAST, _MOST = 1e-6, 1e6


def _rewritten(call: Call, random: Random) -> Results:
    program = call.program
    if not isinstance(program, Assignment) or program.ranges or program.exists or call.semiring is not None:
        raise NotApplicableError
    out = None if isinstance(call.out, np.ndarray) else call.out
    kernel = ms.compile(program, tensors=call.operands, out=out, optimize="off")
    if set(program.inputs) - set(call.operands):  # vectors of positions, which calls make
        raise NotApplicableError
    values = {name: operand_check.value_of(name, call.operands[name]) for name in program.inputs}
    if not isinstance(kernel, ms.Kernel) or not all(map(_is_moderate, values.values())):
        raise NotApplicableError
    facts = {name: TensorFacts(operand_check.type_of(one), sketch_of(one)) for name, one in values.items()}
    facts = lied(facts, random) if random.random() < 0.5 else facts
    found = _any_way(kernel.spec, facts, random)
    if found is None:
        raise NotApplicableError
    result = ms.Kernel(replace(kernel.spec, rewriting=found))(**values)
    return (result,)


def _any_way(spec: KernelSpec, facts: Mapping[str, TensorFacts], random: Random) -> Rewriting | None:
    """Returns a way to compute a statement, as often the cheapest as one of all others; None where rules know none."""
    ruled = ruled_statement(spec)
    if ruled is None:
        return None
    try:
        into_array = ruled.of_numbers and spec.output.encoding is None
        cancels = ruled.may_cancel(licensed=False)
        made = StatementWays(ruled.assignment, facts, has_blas=ruled.of_numbers, cancels=cancels, into_array=into_array)
        ways = list(made.all())
    except NoNormalFormError:
        return None
    cheapest = min(ways, key=lambda way: way.nanoseconds)
    way = cheapest if random.random() < 0.5 else random.choice(ways)
    found = ruled.restored(way.rewriting)
    return found if keeps_entries(found, spec) else None


def _is_moderate(value: Any) -> bool:
    numbers = np.asarray(value.storage.values if isinstance(value, ms.SparseTensor) else value)
    if numbers.dtype.kind in "iub":
        return True
    if numbers.dtype.itemsize < 4:  # parts in halves are made in f32, and rounded once; products of them are not
        return False
    sizes = np.abs(numbers[numbers != 0])
    return bool(np.isfinite(sizes).all() and (sizes >= _LEAST).all() and (sizes <= _MOST).all())


VARIANTS = (Variant("rewritten by cost", _rewritten, 0.1, compiles=True),)
