"""Installs the operators, methods and NumPy protocols of sparse tensors."""

from mlir_sparse.arrays import choice_functions, matrix_products, rearranged_entries, reductions, reshape
from mlir_sparse.arrays.elementwise import elementwise
from mlir_sparse.arrays.function_protocol import apply_function
from mlir_sparse.arrays.indexing import item
from mlir_sparse.arrays.ufunc_protocol import apply_ufunc, written
from mlir_sparse.tensor.python_operators import install

__all__ = ["install_operations"]


def install_operations() -> None:
    """Gives sparse tensors their operators, methods and NumPy protocols."""
    install(
        {
            "clip": choice_functions.clip,
            "copy": rearranged_entries.copied,
            "count_nonzero": reductions.count_nonzero,
            "diagonal": reshape.diagonal,
            "dot": matrix_products.dot,
            "elementwise": elementwise,
            "function": apply_function,
            "imag": choice_functions.imag,
            "item": item,
            "matmul": matrix_products.matmul,
            "mean": reductions.mean,
            "nonzero": choice_functions.nonzero,
            "position": reductions.position,
            "real": choice_functions.real,
            "reduce": reductions.reduced,
            "reshape": reshape.reshaped,
            "round": choice_functions.rounded,
            "squeeze": reshape.squeezed_out,
            "swapaxes": reshape.swapped,
            "transpose": reshape.transposed,
            "ufunc": apply_ufunc,
            "variance": reductions.variance,
            "written": written,
        }
    )
