"""PyTorch's tensors as operands: their places, and their structures."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from mlir_sparse.errors import DeviceError
from mlir_sparse.gradients import ValueStructure
from mlir_sparse.process.forks import Lock
from mlir_sparse.tensor import SparseTensor, tensor
from mlir_sparse.tensor.borders.torch_sparse import coalesced, import_torch, strided_tensor
from mlir_sparse.torch.sparse_values import index_tensors

__all__ = ["StructuresOfTorch", "as_values", "check_place"]

_KEPT = 16


def check_place(name: str, operand: Any) -> None:
    """Raises DeviceError for a tensor that is not in host memory."""
    if operand.device.type not in ("cpu", "meta"):
        raise DeviceError(
            f"expected {name} in host memory, but got a tensor on {operand.device}: gradients are computed on the "
            f"processor; pass {name}.cpu(), or compute without gradients by ms.compile(..., target='cuda')"
        )


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
            plain = coalesced(plain)
        parts = index_tensors(plain)
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


def as_values(value: SparseTensor) -> Any:
    """Returns the stored values of a tensor of this package, as a constant."""
    return strided_tensor(import_torch(), value.storage.values)
