"""NumPy's interface on sparse tensors.

`install_operations` gives tensors their operators and methods, `ufunc_protocol` and `function_protocol` answer NumPy,
and `einsum` and other products become kernels (`contraction`).
"""

from mlir_sparse.arrays.einsum import einsum, einsum_path
from mlir_sparse.arrays.install_operations import install_operations

__all__ = ["einsum", "einsum_path"]

install_operations()
