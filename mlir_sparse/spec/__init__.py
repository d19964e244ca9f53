"""An assignment joined with the types of its tensors: extents, element types, checks, and what follows from them."""

from mlir_sparse.spec.call_operands import bind, in_order
from mlir_sparse.spec.check_types import check_names, check_spec, how_to_pass, shape_text
from mlir_sparse.spec.computed_type import (
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
from mlir_sparse.spec.extents import infer_extents, subscript_bounds
from mlir_sparse.spec.kernel_spec import KernelSpec
from mlir_sparse.spec.large_dense_results import storage_instead, warn_of_dense
from mlir_sparse.spec.result_storage import infer_output
from mlir_sparse.spec.truth_arithmetic import logic_of
from mlir_sparse.spec.zeros import depends_on, missing, value_at_zero, vanishes

__all__ = [
    "TRUTH",
    "KernelSpec",
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
    "shape_text",
    "starts_anew",
    "storage_instead",
    "subscript_bounds",
    "value_at_zero",
    "vanishes",
    "warn_of_dense",
]
