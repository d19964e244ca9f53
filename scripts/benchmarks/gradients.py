"""Gradients of a product of a sparse matrix and an array, over the product itself, and over PyTorch's own."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

import mlir_sparse as ms

__all__ = ["gradient_over_forward", "gradient_over_torch"]

_ROWS, _PER_ROW, _COLUMNS = 20_000, 20, 32


def _operands(torch: Any) -> tuple[Any, Any, Any, Any]:
    """Returns a matrix of SciPy's, its values, an array, and a cotangent."""
    rng = np.random.default_rng(0)
    shape = (_ROWS, _ROWS)
    matrix = scipy.sparse.random_array(shape, density=_PER_ROW / _ROWS, rng=rng, format="csr")
    values = torch.tensor(matrix.data, requires_grad=True)
    array = torch.tensor(rng.standard_normal((_ROWS, _COLUMNS)), requires_grad=True)
    return matrix, values, array, torch.tensor(rng.standard_normal((_ROWS, _COLUMNS)))


def _ours(torch: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Returns the product, and the product with its gradients."""
    matrix, values, array, cotangent = _operands(torch)
    spmm = ms.torch.kernel("Y(i,k) = A(i,j) * B(j,k)", A=ms.tensor(matrix))

    def forward() -> Any:
        with torch.no_grad():
            return spmm(values, array)

    def with_gradients() -> Any:
        return torch.autograd.grad(spmm(values, array), (values, array), cotangent)

    return forward, with_gradients


def _theirs(torch: Any, layout: str) -> Callable[[], Any]:
    matrix, _, array, cotangent = _operands(torch)
    indices = torch.tensor(matrix.indptr), torch.tensor(matrix.indices)
    sparse = torch.sparse_csr_tensor(*indices, torch.tensor(matrix.data), matrix.shape)
    sparse = (sparse if layout == "CSR" else sparse.to_sparse_coo().coalesce()).requires_grad_()
    return lambda: torch.autograd.grad(sparse @ array, (sparse, array), cotangent)


def _timed(call: Callable[[], Any], clock: str) -> float:
    timer = time.perf_counter if clock == "wall" else time.process_time
    start = timer()
    call()
    return timer() - start


def gradient_over_forward(clock: str) -> list[float]:
    """Returns times of the gradients by both operands over that of the product."""
    import torch

    forward, with_gradients = _ours(torch)
    for _ in range(2):
        forward(), with_gradients()
    pairs = [(_timed(forward, clock), _timed(with_gradients, clock)) for _ in range(15)]
    return [(both - alone) / alone for alone, both in pairs]


def gradient_over_torch(layout: str, clock: str) -> list[float]:
    """Returns times of product and gradients over those of PyTorch's sparse tensors."""
    import torch

    (_, ours), theirs = _ours(torch), _theirs(torch, layout)
    rows, columns = map(torch.tensor, _operands(torch)[0].nonzero())
    for mine, other in zip(ours(), theirs(), strict=True):
        torch.testing.assert_close(mine, _on_pattern(torch, other, rows, columns) if mine.ndim == 1 else other)
    return [_timed(ours, clock) / _timed(theirs, clock) for _ in range(3)]


def _on_pattern(torch: Any, gradient: Any, rows: Any, columns: Any) -> Any:
    """Returns the entries of a gradient in the matrix' own places: PyTorch may store others, or all."""
    if gradient.layout == torch.strided:
        return gradient[rows, columns]
    matrix = gradient.coalesce() if gradient.layout == torch.sparse_coo else gradient
    return matrix.values()
