"""NumPy's interface: einsum, operators, indexing and NumPy's own functions on sparse tensors."""

from mlir_sparse.operations.einsum import einsum, einsum_path
from mlir_sparse.operations.install import install_operations

__all__ = ["einsum", "einsum_path"]

install_operations()
