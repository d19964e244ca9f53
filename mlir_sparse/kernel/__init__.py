"""Kernels as values: an assignment with the types of its tensors, and what follows from the two."""

from mlir_sparse.kernel.algebra import depends_on, missing, value_at_zero, vanishes
from mlir_sparse.kernel.check import check_names, check_spec, how_to_pass, shape_text
from mlir_sparse.kernel.dense_results import storage_instead, warn_of_dense
from mlir_sparse.kernel.entries import under
from mlir_sparse.kernel.extents import infer_extents, subscript_bounds
from mlir_sparse.kernel.infer import infer_output
from mlir_sparse.kernel.logic import logic_of
from mlir_sparse.kernel.operands import bind, in_order
from mlir_sparse.kernel.semiring import Semiring, semiring
from mlir_sparse.kernel.spec import KernelSpec
from mlir_sparse.kernel.typing import (
    TRUTH,
    extreme_or,
    gives_truth,
    inner_dtype,
    operand_dtype,
    operator_dtype,
    own_dtype,
    promote,
    result_dtype,
    starts_anew,
)

__all__ = [
    "TRUTH",
    "KernelSpec",
    "Semiring",
    "bind",
    "check_names",
    "check_spec",
    "depends_on",
    "extreme_or",
    "gives_truth",
    "how_to_pass",
    "in_order",
    "infer_extents",
    "infer_output",
    "inner_dtype",
    "logic_of",
    "missing",
    "operand_dtype",
    "operator_dtype",
    "own_dtype",
    "promote",
    "result_dtype",
    "semiring",
    "shape_text",
    "starts_anew",
    "storage_instead",
    "subscript_bounds",
    "under",
    "value_at_zero",
    "vanishes",
    "warn_of_dense",
]
