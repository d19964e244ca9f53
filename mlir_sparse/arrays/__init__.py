"""NumPy's interface: operators, functions, indexing and einsum on sparse tensors."""

from mlir_sparse.arrays.einsum import einsum, einsum_path
from mlir_sparse.arrays.install_operations import install_operations

__all__ = ["einsum", "einsum_path"]

install_operations()
