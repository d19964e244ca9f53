"""NumPy's interface on sparse tensors.

`operations` has the operators and methods of tensors, `ufunc_protocol` and `function_protocol` answer NumPy,
and `einsum` and other products become kernels (`contraction`).
"""

from mlir_sparse.arrays.einsum import einsum, einsum_path

__all__ = ["einsum", "einsum_path"]
