"""Data of other libraries as arrays in host memory, shared where possible.

No library is imported here: a caller who passes its objects has imported it.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.dtypes import DTYPES, DType
from mlir_sparse.errors import OperandError
from mlir_sparse.tensor.borders.neighbours import neighbour_of

if TYPE_CHECKING:
    from mlir_sparse.tensor.level_storage import Array

__all__ = ["as_host", "is_scipy", "is_semi_structured", "is_sparse_source", "is_torch", "is_torch_sparse"]

# `DLDeviceType`: memory of the CPU, and memory of a GPU's driver that the CPU can read.
_HOST_DEVICES = (1, 3, 11, 13)


def as_host(source: object) -> object:
    """Returns dense arrays as NumPy's and CuPy's sparse arrays as SciPy's; any other object unchanged.

    Memory is shared through PyTorch's own views and DLPack. Sparse matrices of
    CuPy and semi-structured tensors of PyTorch, which live on a GPU, are copied.

    Raises:
        OperandError: for dense data on a device, and for tensors that record gradients.
    """
    if isinstance(source, np.ndarray | np.generic):
        return source
    if is_torch(source):
        return source if is_torch_sparse(source) else _dense_torch(source)
    if _is_cupy_sparse(source):
        return source.get()  # type: ignore[attr-defined]  # its way to SciPy
    if hasattr(type(source), "with_fill"):  # a tensor, which gives its memory away but for dense levels
        return source
    # Ask the type: an object, such as one with a unit, may answer for any name with its bare numbers.
    if hasattr(type(source), "__dlpack__") and hasattr(type(source), "__dlpack_device__"):
        return _from_dlpack(source)
    return source


def is_scipy(source: object) -> bool:
    """Returns whether an object is a SciPy sparse array or matrix, without importing SciPy."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(source))


def is_torch(source: object) -> bool:
    """Returns whether an object is a tensor of PyTorch, without importing it."""
    module = sys.modules.get("torch")
    return module is not None and isinstance(source, module.Tensor)


def is_torch_sparse(source: object) -> bool:
    """Returns whether an object is a tensor of one of PyTorch's sparse layouts."""
    return is_torch(source) and str(source.layout) != "torch.strided"  # type: ignore[attr-defined]


def is_sparse_source(source: object) -> bool:
    """Returns whether an object is a sparse array of a library that `tensor` supports."""
    if is_scipy(source) or is_torch_sparse(source) or is_semi_structured(source) or _is_cupy_sparse(source):
        return True
    found = neighbour_of(source)
    return found is not None and found.computes


def is_semi_structured(source: object) -> bool:
    """Returns whether an object is PyTorch's semi-structured tensor, whose `layout` claims to be strided."""
    if not is_torch(source):
        return False
    packed = getattr(sys.modules["torch"].sparse, "SparseSemiStructuredTensor", None)
    return packed is not None and isinstance(source, packed)


def _is_cupy_sparse(source: object) -> bool:
    return type(source).__module__.startswith("cupyx.scipy.sparse") and hasattr(source, "get")


def _dense_torch(source: Any) -> Array:
    if is_semi_structured(source):
        # The packing of its metadata depends on the kernel library, and is not documented.
        source = source.to_dense().cpu()
    if source.requires_grad:
        raise OperandError("expected a tensor without gradients, but got one that requires grad: pass x.detach()")
    if source.device.type != "cpu":
        raise OperandError(f"expected a tensor in host memory, but got one on {source.device}: pass x.cpu()")
    return torch_array(source)


def torch_array(source: Any) -> Array:
    """Returns a strided tensor in host memory as an array that shares it.

    Raises:
        OperandError: for an element type that NumPy lacks.
    """
    try:
        shared: Array = source.numpy()
        return shared
    except (RuntimeError, TypeError):
        pass  # conjugated or negated when it is read, or of a type that NumPy lacks
    import torch

    plain = source.resolve_conj().resolve_neg()
    foreign = _without_numpy()
    if plain.dtype in foreign:  # handed over as integers
        dtype = foreign[plain.dtype]
        bits: Array = plain.view(getattr(torch, f"int{dtype.bits}")).numpy()
        return bits.view(dtype.numpy)
    try:
        array: Array = plain.numpy()
    except TypeError as error:
        raise OperandError(f"expected an element type that NumPy has, but got {source.dtype}: {error}") from None
    except RuntimeError as error:
        kind = "nested tensor" if source.is_nested else type(source).__name__
        way_out = "x.to_padded_tensor(0.0)" if source.is_nested else "x.to_tensor(0.0)"
        raise OperandError(
            f"expected a tensor that NumPy can read, but got a {kind}, {error}: pass {way_out}"
        ) from None
    return array


@lru_cache(maxsize=1)
def _without_numpy() -> dict[Any, DType]:
    """Returns the element types of PyTorch's that NumPy itself does not have."""
    import torch

    return {getattr(torch, dtype.numpy_name): dtype for dtype in DTYPES if dtype.package != "numpy"}


def _from_dlpack(source: Any) -> object:
    device, number = source.__dlpack_device__()
    if int(device) not in _HOST_DEVICES:
        raise OperandError(
            f"expected an array in host memory, but got {type(source).__name__} on DLPack device "
            f"({int(device)}, {number}): copy it to the host first"
        )
    try:
        return np.from_dlpack(source)
    except (BufferError, RuntimeError, TypeError):
        return source  # DLPack or NumPy may lack the element type; the array protocol may have it
