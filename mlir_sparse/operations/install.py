"""What sparse tensors do as arrays: every method and protocol of theirs that this package computes."""

from mlir_sparse.operations import arrange, elements, matmul, reduce, shape
from mlir_sparse.operations.elementwise import elementwise
from mlir_sparse.operations.functions import apply_function
from mlir_sparse.operations.index import item
from mlir_sparse.operations.ufuncs import apply_ufunc, written
from mlir_sparse.tensor.operators import install

__all__ = ["install_operations"]


def install_operations() -> None:
    """Gives sparse tensors their operators, methods and NumPy protocols."""
    install(
        {
            "clip": elements.clip,
            "copy": arrange.copied,
            "count_nonzero": reduce.count_nonzero,
            "diagonal": shape.diagonal,
            "dot": matmul.dot,
            "elementwise": elementwise,
            "function": apply_function,
            "imag": elements.imag,
            "item": item,
            "matmul": matmul.matmul,
            "mean": reduce.mean,
            "nonzero": elements.nonzero,
            "position": reduce.position,
            "real": elements.real,
            "reduce": reduce.reduced,
            "reshape": shape.reshaped,
            "round": elements.rounded,
            "squeeze": shape.squeezed_out,
            "swapaxes": shape.swapped,
            "transpose": shape.transposed,
            "ufunc": apply_ufunc,
            "variance": reduce.variance,
            "written": written,
        }
    )
