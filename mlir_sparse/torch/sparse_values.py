"""The values of PyTorch's sparse tensors and sparse tensors of values, each the derivative of the other.

PyTorch's own constructors and `values()` of compressed layouts have first derivatives alone: what is differentiated
twice through them gets none, or zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from mlir_sparse.errors import OperandError
from mlir_sparse.gradients import ValueStructure
from mlir_sparse.tensor import tensor
from mlir_sparse.tensor.borders.torch_sparse import coalesced, import_torch, strided_tensor

__all__ = ["as_torch_sparse", "index_tensors", "values_of_torch"]

_COMPRESSED = ("csr", "csc", "bsr", "bsc")


def values_of_torch(operand: Any, structure: ValueStructure) -> Any:
    """Returns the stored values of a sparse tensor as one strided tensor, through which gradients flow."""
    if not operand.requires_grad:
        return _stored_values(operand)
    if _layout(operand) == "coo":
        operand = coalesced(operand)
    return _functions()[0].apply(operand, _Pattern(structure, _maker(operand.detach())))


def as_torch_sparse(structure: ValueStructure, values: Any) -> Any:
    """Returns a sparse tensor of PyTorch with these values, through which gradients flow: csr, csc, bsr, bsc or coo."""
    torch = import_torch()
    elements = structure.filled(structure.inside().astype(np.float64))
    like = elements.to_torch()
    if _layout(like) in _COMPRESSED:
        make = _maker(like)
    else:
        dims, places = structure.coordinates()
        indices = torch.stack([strided_tensor(torch, np.asarray(dim, np.int64)) for dim in dims])
        taken = strided_tensor(torch, places)
        make = partial(_coo, torch, indices, taken, structure.shape)
    return _functions()[1].apply(values, _Pattern(structure, make))


def index_tensors(plain: Any) -> tuple[Any, ...]:
    """Returns what the structure of a sparse tensor is made of.

    Raises:
        OperandError: for another layout.
    """
    layout = _layout(plain)
    if layout == "coo":
        return (plain.indices(),)
    if layout in ("csr", "bsr"):
        return plain.crow_indices(), plain.col_indices()
    if layout in ("csc", "bsc"):
        return plain.ccol_indices(), plain.row_indices()
    raise OperandError(
        f"expected a tensor with a sparse layout of PyTorch, but got {plain.layout}: pass x.to_sparse_csr()"
    )


def _layout(plain: Any) -> str:
    return str(plain.layout).removeprefix("torch.sparse_")


def _stored_values(operand: Any) -> Any:
    if _layout(operand) == "coo":
        operand = coalesced(operand)
    return operand.values().reshape(-1)


def _coo(torch: Any, indices: Any, taken: Any, shape: tuple[int, ...], flat: Any) -> Any:
    return torch.sparse_coo_tensor(indices, flat[taken], shape, check_invariants=False)


def _maker(like: Any) -> Callable[[Any], Any]:
    """Returns the function that makes a sparse tensor with the structure of one."""
    torch, layout, indices = import_torch(), _layout(like), index_tensors(like)
    shape, parts = tuple(like.shape), tuple(like.values().shape)
    options = {"is_coalesced": True} if layout == "coo" else {}
    make = getattr(torch, f"sparse_{layout}_tensor")
    return lambda flat: make(*indices, flat.reshape(parts), shape, check_invariants=False, **options)


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A structure, and what makes a sparse tensor of PyTorch of its values."""

    structure: ValueStructure
    make: Callable[[Any], Any]

    def values_at(self, given: Any) -> Any:
        """Returns the elements of a tensor that the structure has, of any layout, differentiably."""
        torch = import_torch()
        structure = self.structure
        if given.layout == torch.strided:
            dims, places = structure.coordinates()
            found = given[tuple(strided_tensor(torch, np.asarray(dim, np.int64)) for dim in dims)]
            return found.new_zeros(structure.size).index_put((strided_tensor(torch, places),), found)
        plain = given.detach()
        other = ValueStructure(tensor(coalesced(plain) if _layout(plain) == "coo" else plain))
        taken = structure.places_in(other)
        values = values_of_torch(given, other)
        if not values.numel():
            return values.new_zeros(structure.size)
        there = strided_tensor(torch, taken >= 0)
        return torch.where(there, values[strided_tensor(torch, np.maximum(taken, 0))], values.new_zeros(()))


@cache
def _functions() -> tuple[Any, Any]:
    """Returns the two functions of autograd: values of a sparse tensor, and a sparse tensor of values."""
    torch = import_torch()

    class OfPattern(torch.autograd.Function):  # type: ignore[misc, name-defined]
        """What both keep for derivatives: the pattern, their second argument."""

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.pattern = inputs[1]
            ctx.set_materialize_grads(False)

    class StoredValues(OfPattern):
        """The stored values of a sparse tensor with a pattern."""

        @staticmethod
        def forward(operand: Any, pattern: _Pattern) -> Any:
            return _stored_values(operand.detach())

        @staticmethod
        def backward(ctx: Any, grad: Any) -> tuple[Any, None]:
            return None if grad is None else SparseOfValues.apply(grad, ctx.pattern), None

        @staticmethod
        def jvp(ctx: Any, tangent: Any, _: Any) -> Any:
            return None if tangent is None else ctx.pattern.values_at(tangent)

    class SparseOfValues(OfPattern):
        """The sparse tensor with a pattern that has some values."""

        @staticmethod
        def forward(values: Any, pattern: _Pattern) -> Any:
            return pattern.make(values.detach())

        @staticmethod
        def backward(ctx: Any, grad: Any) -> tuple[Any, None]:
            return None if grad is None else ctx.pattern.values_at(grad), None

        @staticmethod
        def jvp(ctx: Any, tangent: Any, _: Any) -> Any:
            return None if tangent is None else SparseOfValues.apply(tangent, ctx.pattern)

    return StoredValues, SparseOfValues
