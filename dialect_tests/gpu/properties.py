"""Any kernel on any storage for a GPU: right in every way that a call may choose, or an error with a name."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

import mlir_sparse as ms
from dialect_tests import oracle
from dialect_tests.entries_oracle import entries_of
from dialect_tests.gpu.host import run_cases
from dialect_tests.kernel_cases import check_storage
from dialect_tests.test_kernel_properties import STRATEGIES as ALL
from dialect_tests.test_kernel_properties import StoredCase
from mlir_sparse.compile.gpu_build import GpuBuild
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.notation import Assignment, index_vectors
from mlir_sparse.runtime import operand_check

__all__ = ["STRATEGIES", "run"]

# Those of statements by themselves; several are no kernel of a GPU.
STRATEGIES: dict[str, Callable[[], st.SearchStrategy[Any]]] = {
    name: ALL[name] for name in ("kernels", "foreign storage", "expressions")
}


@lru_cache(maxsize=8)
def _built(assignment: Assignment, types: tuple[tuple[str, TensorType], ...], out: Encoding | str | None) -> GpuBuild:
    kernel = ms.compile(assignment, tensors=dict(types), out=out)
    return GpuBuild(kernel.spec.with_open_blocks().with_output_widths(), "sm_90")


def run(case: StoredCase) -> None:
    """Runs a case in every way that a call could choose, by the emulator, and compares each with the oracle.

    Raises:
        SparseError: for a case that is refused by name; never from within the compiler.
    """
    kernel = case.kernel
    tensors: dict[str, Any] = dict(kernel.tensors)
    for name, encoding in case.storage.items():
        tensors[name] = ms.tensor(tensors[name], encoding)
    types = tuple((name, operand_check.type_of(value)) for name, value in tensors.items())
    build = _built(kernel.assignment, types, case.out)
    stored = {name: entries_of(tensors[name]).present for name, kept in case.storage.items() if not kept.is_dense}
    expected = oracle.evaluate(kernel.assignment, kernel.tensors, stored=stored)
    places = {name: np.arange(kernel.extents[one.name]) for name, one in index_vectors(kernel.assignment).items()}
    given = {name: (tensors | places)[name] for name in kernel.assignment.inputs}
    values = {name: one if isinstance(one, ms.SparseTensor) else np.asarray(one) for name, one in given.items()}
    for number, result in run_cases(build, values).items():
        found = result
        if isinstance(result, ms.SparseTensor):
            check_storage(result)
            found = result.to_numpy()
        try:
            oracle.assert_close(found, expected, terms=kernel.terms)
        except AssertionError as error:
            raise AssertionError(f"way {number}: {error}") from error
