"""PyTorch's tensors as values and structure, and results on a structure as PyTorch's sparse tensors."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from mlir_sparse.errors import DeviceError, OperandError
from mlir_sparse.gradients import ValueStructure
from mlir_sparse.process.forks import Lock
from mlir_sparse.tensor import SparseTensor, tensor
from mlir_sparse.tensor.borders.torch_sparse import import_torch, strided_tensor
from mlir_sparse.tensor.other_values import value_places

__all__ = ["StructuresOfTorch", "as_torch_sparse", "check_place", "values_of_torch"]

_KEPT = 16


def check_place(name: str, operand: Any) -> None:
    """Raises DeviceError for a tensor that is not in host memory."""
    if operand.device.type not in ("cpu", "meta"):
        raise DeviceError(
            f"expected {name} in host memory, but got a tensor on {operand.device}: gradients are computed on the "
            f"processor; pass {name}.cpu(), or compute without gradients by ms.compile(..., target='cuda')"
        )


def values_of_torch(operand: Any) -> Any:
    """Returns the stored values of a sparse tensor as one strided tensor, through which gradients flow."""
    if str(operand.layout) == "torch.sparse_coo":
        return operand.coalesce().values().reshape(-1)
    return operand.values().reshape(-1)


class StructuresOfTorch:
    """The structures of PyTorch's sparse tensors that were passed last: each is validated once.

    An entry holds the index tensors that it was made from, so that no other tensor has their address.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[Any, ...], tuple[ValueStructure, tuple[Any, ...]]] = OrderedDict()
        self._lock = Lock()

    def of(self, operand: Any) -> ValueStructure:
        """Returns the structure of a sparse tensor.

        Raises:
            StorageError: for one that breaks its layout's rules, such as columns out of order.
        """
        plain = operand.detach()
        if str(plain.layout) == "torch.sparse_coo":
            plain = plain.coalesce()
        parts = _index_tensors(plain)
        key = (
            str(plain.layout), tuple(plain.shape), tuple(plain.values().shape),
            *((part.data_ptr(), part.numel(), part.dtype, part._version) for part in parts),
        )  # fmt: skip
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known[0]
        made = ValueStructure(tensor(plain))
        with self._lock:
            self._known[key] = (made, parts)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return made


def _index_tensors(plain: Any) -> tuple[Any, ...]:
    layout = str(plain.layout)
    if layout == "torch.sparse_coo":
        return (plain.indices(),)
    if layout in ("torch.sparse_csr", "torch.sparse_bsr"):
        return plain.crow_indices(), plain.col_indices()
    if layout in ("torch.sparse_csc", "torch.sparse_bsc"):
        return plain.ccol_indices(), plain.row_indices()
    raise OperandError(f"expected a tensor with a sparse layout of PyTorch, but got {layout}: pass x.to_sparse_csr()")


def as_torch_sparse(structure: ValueStructure, values: Any) -> Any:
    """Returns a sparse tensor of PyTorch with these values, through which gradients flow: csr, csc, bsr, bsc or coo."""
    torch = import_torch()
    pattern = structure.filled(structure.inside().astype(np.float64))
    like = pattern.to_torch()
    layout = str(like.layout).removeprefix("torch.sparse_")
    if layout in ("csr", "csc", "bsr", "bsc"):
        indices = _index_tensors(like)
        make = getattr(torch, f"sparse_{layout}_tensor")
        return make(*indices, values.reshape(like.values().shape), structure.shape, check_invariants=False)
    dims, places = value_places(pattern)
    indices = torch.stack([strided_tensor(torch, np.asarray(dim, np.int64)) for dim in dims])
    return torch.sparse_coo_tensor(indices, values[strided_tensor(torch, places)], structure.shape)


def as_values(value: SparseTensor) -> Any:
    """Returns the stored values of a tensor of this package, as a constant."""
    return strided_tensor(import_torch(), value.storage.values)
