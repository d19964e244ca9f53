"""What code of SciPy's asks of a tensor, which it does not know: by which function, and what it is given."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

from mlir_sparse.errors import DenseCopyWarning, OperandError
from mlir_sparse.tensor.level_storage import Array

__all__ = ["WAY_OUT", "beside_scipys_identity", "caller", "is_large_copy", "left_to_the_tensor", "refuse_expm"]

WAY_OUT = "pass A.to_scipy(), which shares its memory, or A.to_numpy() for a dense copy"
# A dense copy of so many times the bytes of the storage is mostly zeros: rarely what was meant.
_LARGE_COPY = 64
_SMALL_COPY = 1 << 20
# SciPy's methods that leave an operator to the other operand where NumPy finds an object, and the operators that call
# them. Called by name, they have nobody to leave it to.
_LEAVING = ("_matmul_dispatch", "_divide", "_comparison", "multiply", "_multiply_2d_with_broadcasting")


def is_large_copy(size: int, stored: int) -> bool:
    """Returns whether a dense array of so many bytes is far larger than the storage, and not small by itself."""
    return size > _LARGE_COPY * max(stored, 1) and size > _SMALL_COPY


def caller() -> str | None:
    """Returns `scipy.sparse` or `sklearn` if its code asks for the dense array; None for any other."""
    name = f"{_module(2)}."
    return next((package for package in ("scipy.sparse", "sklearn") if name.startswith(f"{package}.")), None)


def left_to_the_tensor(tensor: Any) -> Array:
    """Returns the tensor as an object, for which SciPy's operators return NotImplemented: Python then asks the tensor.

    Raises:
        OperandError: where no operator asks, such as in SciPy's functions: they would work on a dense copy.
    """
    frame = sys._getframe(2)
    method = frame.f_code.co_name
    while frame is not None and frame.f_code.co_name in _LEAVING:
        frame = frame.f_back  # type: ignore[assignment]
    operator = frame.f_code.co_name if frame is not None else ""
    if method == "_matmul_dispatch" and operator == "__mul__":
        raise OperandError(
            "expected @ for the product of SciPy's matrix and a tensor, but got *, which multiplies elements of tensors"
        )
    if method in _LEAVING and operator.startswith("__") and operator.endswith("__"):
        found: Array = np.empty((), dtype=object)
        found[()] = tensor
        return found
    way_out = WAY_OUT if hasattr(tensor, "to_scipy") else "SciPy has no fill values, pass A.to_numpy()"
    name = type(tensor).__name__
    raise OperandError(f"expected SciPy's own sparse arrays for scipy.sparse, but got {name}: {way_out}")


def refuse_expm(levels: int) -> None:
    """Raises OperandError where SciPy's `expm`, so many callers up, asks: it would go on with dense matrices."""
    if _module(levels + 1) == "scipy.sparse.linalg._matfuncs":
        raise OperandError(
            "expected SciPy's own sparse arrays for scipy.sparse.linalg.expm, but got SparseTensor: "
            "pass A.to_scipy().tocsc()"
        )


def beside_scipys_identity(tensor: Any, array: Array, levels: int) -> Any:
    """Returns the array; a sparse matrix in place of a multiple of the identity that `expm_multiply` has made.

    Args:
        tensor: the other operand.
        array: a dense matrix.
        levels: how many callers up SciPy's function would be.

    """
    if array.ndim != 2 or array.shape != tensor.shape or _module(levels + 1) != "scipy.sparse.linalg._expm_multiply":
        return array
    if is_large_copy(array.nbytes, tensor.nbytes):
        warnings.warn(
            f"SciPy has made a dense identity of {array.nbytes} bytes beside a sparse tensor of {tensor.nbytes} bytes: "
            "pass scipy.sparse.linalg.aslinearoperator(A) with traceA=A.trace()",
            DenseCopyWarning,
            stacklevel=levels + 4,  # above SciPy's two functions
        )
    from mlir_sparse.tensor.create import tensor as made  # it imports the tensor's class, and so its operators

    places = np.arange(len(array))
    return made(((places, places), array.diagonal()), "CSR", shape=array.shape)


def _module(levels: int) -> str:
    name: str = sys._getframe(levels + 1).f_globals.get("__name__", "")
    return name
