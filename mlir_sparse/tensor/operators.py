"""Python's operators and NumPy's protocols on sparse tensors.

What they do is computed by kernels, which are made of this package's data and not
below it: `mlir_sparse.operations` installs it when the package is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from mlir_sparse.errors import OperandError, RankError, UnsupportedError

if TYPE_CHECKING:
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["Operators", "install", "perform"]

_installed: dict[str, Callable[..., Any]] = {}


def install(operations: Mapping[str, Callable[..., Any]]) -> None:
    """Takes the functions that operators and methods are, by name."""
    _installed.update(operations)


def perform(name: str, *arguments: Any, **options: Any) -> Any:
    """Returns what an installed function returns."""
    return _installed[name](*arguments, **options)


def _elementwise(ufunc: np.ufunc, *operands: Any) -> Any:
    if any(getattr(operand, "__array_ufunc__", operand) is None for operand in operands):
        return NotImplemented  # the other operand computes this itself
    return perform("elementwise", ufunc, operands)


class Operators:
    """The operators of arrays, with NumPy's meaning; results are new.

    `+ - * / // % **`, `@`, comparisons, `& | ^ ~`, `abs` and indexing take tensors,
    arrays, other libraries' sparse arrays and numbers. The README has a table of which
    results are sparse. Comparisons give truth values as i8, or a dense array of bool.

    >>> from mlir_sparse.tensor import tensor
    >>> A = tensor([[0.0, 2.0], [3.0, 0.0]])
    >>> (A * 2 - A.T).to_numpy().tolist()
    [[0.0, 1.0], [4.0, 0.0]]
    >>> A @ np.array([1.0, 10.0]), A[1, 0], (A > 2).to_coo()[0].tolist()
    (array([20.,  3.]), np.float64(3.0), [[1], [0]])
    """

    __slots__ = ()

    # Above SciPy's sparse arrays, so that theirs leave operators to these.
    __array_priority__ = 100.0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return perform("ufunc", ufunc, method, *inputs, **options)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        return perform("function", function, arguments, options)

    def __add__(self, other: Any) -> Any:
        return _elementwise(np.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return _elementwise(np.add, other, self)

    def __sub__(self, other: Any) -> Any:
        return _elementwise(np.subtract, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _elementwise(np.subtract, other, self)

    def __mul__(self, other: Any) -> Any:
        return _elementwise(np.multiply, self, other)

    def __rmul__(self, other: Any) -> Any:
        return _elementwise(np.multiply, other, self)

    def __truediv__(self, other: Any) -> Any:
        return _elementwise(np.true_divide, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _elementwise(np.true_divide, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _elementwise(np.floor_divide, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _elementwise(np.floor_divide, other, self)

    def __mod__(self, other: Any) -> Any:
        return _elementwise(np.remainder, self, other)

    def __rmod__(self, other: Any) -> Any:
        return _elementwise(np.remainder, other, self)

    def __divmod__(self, other: Any) -> Any:
        return _elementwise(np.divmod, self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return _elementwise(np.divmod, other, self)

    def __pow__(self, other: Any) -> Any:
        return _elementwise(np.power, self, other)

    def __rpow__(self, other: Any) -> Any:
        return _elementwise(np.power, other, self)

    def __matmul__(self, other: Any) -> Any:
        return perform("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return perform("matmul", other, self)

    def __and__(self, other: Any) -> Any:
        return _elementwise(np.bitwise_and, self, other)

    def __rand__(self, other: Any) -> Any:
        return _elementwise(np.bitwise_and, other, self)

    def __or__(self, other: Any) -> Any:
        return _elementwise(np.bitwise_or, self, other)

    def __ror__(self, other: Any) -> Any:
        return _elementwise(np.bitwise_or, other, self)

    def __xor__(self, other: Any) -> Any:
        return _elementwise(np.bitwise_xor, self, other)

    def __rxor__(self, other: Any) -> Any:
        return _elementwise(np.bitwise_xor, other, self)

    def __lt__(self, other: Any) -> Any:
        return _elementwise(np.less, self, other)

    def __le__(self, other: Any) -> Any:
        return _elementwise(np.less_equal, self, other)

    def __gt__(self, other: Any) -> Any:
        return _elementwise(np.greater, self, other)

    def __ge__(self, other: Any) -> Any:
        return _elementwise(np.greater_equal, self, other)

    def __eq__(self, other: object) -> Any:
        return NotImplemented if _is_no_array(other) else _elementwise(np.equal, self, other)

    def __ne__(self, other: object) -> Any:
        return NotImplemented if _is_no_array(other) else _elementwise(np.not_equal, self, other)

    # As NumPy's arrays: what compares element by element is no key.
    __hash__ = None  # type: ignore[assignment]

    def __neg__(self) -> SparseTensor:
        return _elementwise(np.negative, self)  # type: ignore[no-any-return]

    def __pos__(self) -> SparseTensor:
        return _elementwise(np.positive, self)  # type: ignore[no-any-return]

    def __abs__(self) -> SparseTensor:
        return _elementwise(np.absolute, self)  # type: ignore[no-any-return]

    def __invert__(self) -> Any:
        return _elementwise(np.invert, self)

    def __getitem__(self, key: Any) -> Any:
        return perform("item", self, key)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise UnsupportedError(
            "expected a tensor to be read, but got an assignment to its elements: its structure never changes. "
            "write A.storage.values[...] for new values of stored entries, or use np.where(mask, value, A)"
        )

    def __len__(self) -> int:
        return _shape(self)[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(self == value))

    def __bool__(self) -> bool:
        if np.prod(_shape(self)) != 1:
            raise OperandError(
                f"expected one element to be true or false, but got shape {_shape(self)}: use A.any() or A.all()"
            )
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def item(self) -> Any:
        """Returns the only element as a number of Python's.

        Raises:
            RankError: for another number of elements than one.
        """
        if np.prod(_shape(self)) != 1:
            raise RankError(f"expected a tensor of one element, but got shape {_shape(self)}")
        return perform("reduce", np.add, self).item()


def _shape(tensor: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = tensor.shape
    return shape


def _is_no_array(value: object) -> bool:
    return value is None or value is NotImplemented or isinstance(value, str | bytes | type)
