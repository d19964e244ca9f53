"""The same call with a vector in other storage, or the tensor beside it in the other order, wherever that is right."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import numpy as np

import mlir_sparse as ms
from dialect_tests.calls import Call, Results
from fuzzing.variants.variant import NotApplicableError, Variant
from mlir_sparse.compile import vector_storage
from mlir_sparse.compile.switching_kernel import switching
from mlir_sparse.notation import Assignment
from mlir_sparse.plan.vector_uses import vector_uses
from mlir_sparse.runtime import operand_check

__all__ = ["VARIANTS"]

# Vectors and tensors of all sizes take other storage, however many elements count.
_ALWAYS = {"_LEAST": 0, "_FEW": 1, "_MET": 0}


def _restored(call: Call, random: Random) -> Results:
    program = call.program
    if not isinstance(program, Assignment) or program.ranges or program.exists:
        raise NotApplicableError
    out = None if isinstance(call.out, np.ndarray) else call.out
    kernel = ms.compile(program, tensors=call.operands, out=out, semiring=call.semiring, optimize="off")
    if not isinstance(kernel, ms.Kernel) or not vector_uses(kernel.spec):
        raise NotApplicableError
    values = {name: operand_check.value_of(name, call.operands[name]) for name in kernel.parameters}
    with patch.multiple(vector_storage, **_ALWAYS, _TURNED=random.choice([0, 1000])):
        if vector_storage.restored(vector_uses(kernel.spec), values) is None:
            raise NotApplicableError
        return (switching(kernel)(**values),)


VARIANTS = (Variant("vectors in other storage", _restored, 0.1, compiles=True),)
