"""An assignment joined with the types of its tensors.

A `KernelSpec` holds both. `check_types` and `element_type_operations` refuse what does not fit; `computed_type`,
`entry_types`, `extents`, `zeros` and `result_storage` infer element types, extents, the effect of zeros and the
result's storage. For comprehensions, `size_symbols`, `variable_ranges`, `statement_shapes` and `statement_types` do the
same.
"""

from mlir_sparse.spec.alternative import Alternative, Alternatives
from mlir_sparse.spec.call_operands import bind, bind_parameters, in_order
from mlir_sparse.spec.check_types import check_names, check_spec, how_to_pass, shape_text
from mlir_sparse.spec.computed_type import (
    compared_dtypes,
    extreme_or,
    gives_truth,
    inner_dtype,
    inner_dtypes,
    is_tested,
    node_dtype,
    operand_dtype,
    operator_dtype,
    promote,
    result_dtype,
    starts_anew,
)
from mlir_sparse.spec.entry_types import entry_dtype, operand_entry_dtype
from mlir_sparse.spec.extents import infer_extents, subscript_bounds
from mlir_sparse.spec.index_lengths import index_ends, index_lengths
from mlir_sparse.spec.kernel_spec import KernelSpec
from mlir_sparse.spec.large_dense_results import storage_instead, warn_of_dense
from mlir_sparse.spec.result_storage import infer_output
from mlir_sparse.spec.rewriting import Part, PartEstimate, Rewriting
from mlir_sparse.spec.truth_arithmetic import logic_of
from mlir_sparse.spec.zeros import depends_on, missing, value_at_zero, vanishes

__all__ = [
    "Alternative",
    "Alternatives",
    "KernelSpec",
    "Part",
    "PartEstimate",
    "Rewriting",
    "bind",
    "bind_parameters",
    "check_names",
    "check_spec",
    "compared_dtypes",
    "depends_on",
    "entry_dtype",
    "extreme_or",
    "gives_truth",
    "how_to_pass",
    "in_order",
    "index_ends",
    "index_lengths",
    "infer_extents",
    "infer_output",
    "inner_dtype",
    "inner_dtypes",
    "is_tested",
    "logic_of",
    "missing",
    "node_dtype",
    "operand_dtype",
    "operand_entry_dtype",
    "operator_dtype",
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
