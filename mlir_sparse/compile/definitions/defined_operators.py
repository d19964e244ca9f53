"""Python's operators and NumPy's ufuncs on defined tensors: products are composed, for all else the tensor is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

import numpy as np

from mlir_sparse.errors import ExtentError, OperandError
from mlir_sparse.process.forks import importing
from mlir_sparse.runtime import operand_check
from mlir_sparse.tensor import FilledTensor
from mlir_sparse.tensor.virtual_tensor import VirtualTensor

__all__ = ["DefinedOperators"]


def _methods(ufunc: np.ufunc) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    return (lambda self, other: _applied(ufunc, self, other)), (lambda self, other: _applied(ufunc, other, self))


def _applied(ufunc: np.ufunc, *operands: Any) -> Any:
    return NotImplemented if any(map(_takes_over, operands)) else ufunc(*operands)


def _takes_over(operand: Any) -> bool:
    """Returns whether an operand has operators of its own for defined tensors, as lazy expressions do."""
    if getattr(type(operand), "__array_ufunc__", 0) is None:
        return True
    return float(getattr(operand, "__array_priority__", 0.0)) > DefinedOperators.__array_priority__


def _no_update(self: Any, other: object) -> NoReturn:
    raise OperandError(f"expected a tensor of data to update, but got {self!r}: write `A = A + B`")


class DefinedOperators(VirtualTensor):
    """The operators of defined tensors.

    `==` and hashes are those of objects.
    """

    # Above SparseTensors and SciPy's sparse arrays, which then leave operators to this class.
    __array_priority__: ClassVar[float] = 150.0
    ndim: int
    shape: tuple[int, ...]

    __add__, __radd__ = _methods(np.add)
    __sub__, __rsub__ = _methods(np.subtract)
    __mul__, __rmul__ = _methods(np.multiply)
    __truediv__, __rtruediv__ = _methods(np.true_divide)
    __floordiv__, __rfloordiv__ = _methods(np.floor_divide)
    __mod__, __rmod__ = _methods(np.remainder)
    __pow__, __rpow__ = _methods(np.power)
    __matmul__, __rmatmul__ = _methods(np.matmul)
    __lt__, __gt__ = _methods(np.less)
    __le__, __ge__ = _methods(np.less_equal)
    __iadd__ = __isub__ = __imul__ = __itruediv__ = __imatmul__ = _no_update

    def __neg__(self) -> Any:
        return np.negative(self.made())

    def __pos__(self) -> Any:
        return self.made()

    def __abs__(self) -> Any:
        return np.abs(self.made())

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        outs = options.get("out", ())
        if any(isinstance(out, VirtualTensor) for out in outs):
            raise OperandError(f"expected an array for out, but got {self!r}, which is no data")
        if any(map(_takes_over, inputs)):
            return NotImplemented
        if ufunc is np.matmul and method == "__call__" and not options:
            text = _product(*inputs)
            if text:
                # The functions that run statements stand above this module.
                with importing():
                    from mlir_sparse.compile.entry_points import evaluate

                return evaluate(text, a=_data(inputs[0]), b=_data(inputs[1]))
        made = [one.made() if isinstance(one, VirtualTensor) else one for one in inputs]
        return getattr(ufunc, method)(*made, **options)


def _data(one: Any) -> Any:
    if type(one) is FilledTensor:
        with importing():
            from mlir_sparse.compile.definitions.filled_operands import definition_of  # imports this module's tensors

        return definition_of(one)
    return one if isinstance(one, VirtualTensor) else operand_check.value_of("an operand of @", one)


def _product(left: Any, right: Any) -> str:
    """Returns a product of vectors and matrices in notation; "" for others."""
    shapes = [one.shape if hasattr(one, "shape") else np.shape(one) for one in (left, right)]
    ranks = [len(shape) for shape in shapes]
    if not set(ranks) <= {1, 2}:
        return ""
    if shapes[0][-1] != shapes[1][0]:
        raise ExtentError(f"expected equal inner extents for @, but got {shapes[0][-1]} and {shapes[1][0]}")
    rows, columns = "i" if ranks[0] == 2 else "", "j" if ranks[1] == 2 else ""
    target = f"c({','.join(filter(None, (rows, columns)))})" if rows or columns else "c"
    first, second = ",".join(filter(None, (rows, "k"))), ",".join(filter(None, ("k", columns)))
    return f"{target} = a({first}) * b({second})"
