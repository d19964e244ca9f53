"""A linear layer with sparse weights."""

from __future__ import annotations

from functools import cache
from math import sqrt
from typing import Any

from mlir_sparse.errors import OperandError, RankError
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.borders.foreign_arrays import is_torch_sparse
from mlir_sparse.tensor.borders.torch_sparse import coalesced, import_torch, strided_tensor
from mlir_sparse.torch.torch_kernel import TorchKernel, kernel

__all__ = ["sparse_linear_class"]


@cache
def sparse_linear_class() -> Any:
    """Returns the class SparseLinear, a subclass of PyTorch's Module."""
    torch = import_torch()

    class SparseLinear(torch.nn.Module):  # type: ignore[misc, name-defined]
        """A layer `y = x W^T + b` whose weights are the stored entries of a sparse matrix.

        The pattern stays; `weight`, a parameter of the stored values in storage order, is trained. `state_dict` has the
        values and the bias, not the pattern.

        Args:
            pattern: the weights, of shape (outputs, inputs): a SparseTensor, or a sparse tensor of PyTorch.
            bias: whether a bias is added; zeros at first.
            keep_values: whether the weights begin with the pattern's values; otherwise uniform in +-1/sqrt(entries a
                row).
        """

        __module__, __qualname__ = "mlir_sparse.torch", "SparseLinear"  # where pickle and torch.save find it

        def __init__(self, pattern: Any, *, bias: bool = True, keep_values: bool = True) -> None:
            super().__init__()
            if not isinstance(pattern, SparseTensor) and not is_torch_sparse(pattern):
                raise OperandError(
                    f"expected a SparseTensor or a sparse tensor of PyTorch as pattern, but got "
                    f"{type(pattern).__name__}: pass ms.tensor(W)"
                )
            if len(pattern.shape) != 2:
                raise RankError(f"expected weights of two dimensions, but got shape {tuple(pattern.shape)}")
            self.out_features, self.in_features = pattern.shape
            self._pattern = pattern
            self._apply_weights: TorchKernel = kernel("Y(b,o) = X(b,i) * W(o,i)", W=pattern)
            values = self._values(pattern)
            self.weight = torch.nn.Parameter(values)
            self.bias = torch.nn.Parameter(torch.zeros(self.out_features, dtype=values.dtype)) if bias else None
            if not keep_values:
                self.reset_parameters()

        @staticmethod
        def _values(pattern: Any) -> Any:
            if isinstance(pattern, SparseTensor):
                return strided_tensor(torch, pattern.storage.values.copy())
            detached = pattern.detach()
            detached = coalesced(detached) if str(detached.layout) == "torch.sparse_coo" else detached
            return detached.values().reshape(-1).clone()

        def reset_parameters(self) -> None:
            """Draws the weights anew, uniform in +-1/sqrt(entries a row), and sets the bias to zero."""
            bound = sqrt(max(1, self.out_features) / max(1, self.weight.numel()))
            with torch.no_grad():
                inside = self._apply_weights.inside("W")
                self.weight.uniform_(-bound, bound).mul_(inside)
                if self.bias is not None:
                    self.bias.zero_()

        def forward(self, x: Any) -> Any:
            """Returns the outputs, of shape (..., out_features), for inputs of shape (..., in_features)."""
            flat = x.reshape(-1, self.in_features)
            y = self._apply_weights(flat, self.weight).reshape(*x.shape[:-1], self.out_features)
            return y if self.bias is None else y + self.bias

        def extra_repr(self) -> str:
            return (
                f"in_features={self.in_features}, out_features={self.out_features}, "
                f"entries={self.weight.numel()}, bias={self.bias is not None}"
            )

    return SparseLinear
