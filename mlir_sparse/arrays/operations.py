"""The operators, methods and NumPy protocols of sparse tensors, by name."""

from collections.abc import Callable, Mapping
from typing import Any

from mlir_sparse.arrays import (
    array_namespace,
    choice_functions,
    matrix_products,
    rearranged_entries,
    reductions,
    reshape,
)
from mlir_sparse.arrays.elementwise import elementwise
from mlir_sparse.arrays.filled import filled_protocol, moved_entries
from mlir_sparse.arrays.function_protocol import apply_function
from mlir_sparse.arrays.indexing import item
from mlir_sparse.arrays.reduction_table import root
from mlir_sparse.arrays.ufunc_protocol import apply_ufunc, written

__all__ = ["OPERATIONS", "xp"]

xp = array_namespace

OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "clip": choice_functions.clip,
    "copy": rearranged_entries.copied,
    "copied_as_asked": reshape.copied_as_asked,
    "count_nonzero": reductions.count_nonzero,
    "deviation": root(reductions.variance),
    "diagonal": reshape.diagonal,
    "dot": matrix_products.dot,
    "elementwise": elementwise,
    "filled_function": filled_protocol.filled_function,
    "filled_item": moved_entries.filled_item,
    "filled_ufunc": filled_protocol.filled_ufunc,
    "function": apply_function,
    "imag": choice_functions.imag,
    "item": item,
    "matmul": matrix_products.matmul,
    "mean": reductions.mean,
    "namespace": lambda: array_namespace,
    "nonzero": choice_functions.nonzero,
    "position": reductions.position,
    "real": choice_functions.real,
    "reduce": reductions.reduced,
    "reshape": reshape.reshaped,
    "round": choice_functions.rounded,
    "squeeze": reshape.squeezed_out,
    "swapaxes": reshape.swapped,
    "trace": reshape.trace,
    "transpose": reshape.transposed,
    "ufunc": apply_ufunc,
    "variance": reductions.variance,
    "written": written,
}
