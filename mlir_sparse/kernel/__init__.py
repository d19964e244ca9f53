"""Kernels as values: an assignment with the types of its tensors, and what follows from the two."""

from mlir_sparse.kernel.algebra import depends_on, vanishes
from mlir_sparse.kernel.check import check_names, check_spec, shape_text
from mlir_sparse.kernel.extents import infer_extents, subscript_bounds
from mlir_sparse.kernel.infer import infer_output
from mlir_sparse.kernel.spec import KernelSpec
from mlir_sparse.kernel.typing import promote, result_dtype

__all__ = [
    "KernelSpec",
    "check_names",
    "check_spec",
    "depends_on",
    "infer_extents",
    "infer_output",
    "promote",
    "result_dtype",
    "shape_text",
    "subscript_bounds",
    "vanishes",
]
