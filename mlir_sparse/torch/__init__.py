"""Index notation as differentiable functions of PyTorch's tensors, with double backward and under `torch.compile`.

`kernel` makes a function of a statement, `SparseLinear` is a layer with sparse weights. PyTorch is imported at the
first use of either; `import mlir_sparse` does not.
"""

from typing import TYPE_CHECKING, Any

from mlir_sparse.process.forks import importing
from mlir_sparse.torch.torch_kernel import TorchKernel, kernel

if TYPE_CHECKING:
    SparseLinear: Any

__all__ = ["SparseLinear", "TorchKernel", "kernel"]


def __getattr__(name: str) -> Any:
    if name != "SparseLinear":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with importing():
        from mlir_sparse.torch.sparse_linear import sparse_linear_class  # a subclass of PyTorch's

    return sparse_linear_class()
