"""Kernels as values: an assignment with the types of its tensors, and what follows from the two."""

from mlir_sparse.kernel.algebra import depends_on, value_at_zero, vanishes
from mlir_sparse.kernel.check import check_names, check_spec, shape_text
from mlir_sparse.kernel.extents import infer_extents, subscript_bounds
from mlir_sparse.kernel.infer import infer_output
from mlir_sparse.kernel.spec import KernelSpec
from mlir_sparse.kernel.typing import gives_truth, operand_dtype, promote, result_dtype, starts_anew

__all__ = [
    "KernelSpec",
    "check_names",
    "check_spec",
    "depends_on",
    "gives_truth",
    "infer_extents",
    "infer_output",
    "operand_dtype",
    "promote",
    "result_dtype",
    "shape_text",
    "starts_anew",
    "subscript_bounds",
    "value_at_zero",
    "vanishes",
]
