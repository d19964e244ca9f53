"""Python's operators and NumPy's protocols on sparse tensors.

Kernels compute the results. This room is below the kernels, so the package, when it is imported, installs here where
`mlir_sparse.arrays` has the functions; the first use of any loads them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from mlir_sparse.errors import OperandError, SparseError, UnsupportedError
from mlir_sparse.process.first_use import in_hints
from mlir_sparse.tensor.as_sequences import is_no_array
from mlir_sparse.tensor.borders.dask_arrays import applied_by_dask, has_chunks, register_chunks
from mlir_sparse.tensor.borders.dense_arrays import is_array_source
from mlir_sparse.tensor.borders.foreign_arrays import is_sparse_source
from mlir_sparse.tensor.borders.scipy_callers import beside_scipys_identity, refuse_expm
from mlir_sparse.tensor.named_methods import NamedMethods
from mlir_sparse.text.given_arguments import INVALID, refused_arguments

if TYPE_CHECKING:
    from mlir_sparse.tensor.sparse_tensor import SparseTensor
else:
    SparseTensor = in_hints("mlir_sparse.tensor.sparse_tensor", "SparseTensor")

__all__ = ["Operators", "array_namespace", "given_once", "install", "perform"]

_installed: dict[str, Callable[..., Any]] = {}
_found_by: list[Callable[[], Mapping[str, Callable[..., Any]]]] = []


def install(operations: Callable[[], Mapping[str, Callable[..., Any]]]) -> None:
    """Installs what returns the functions behind operators and methods, by name, at their first use."""
    _found_by[:] = [operations]


def _operation(name: str) -> Callable[..., Any]:
    if name not in _installed:
        _installed.update(_found_by[0]())
    return _installed[name]


def perform(name: str, *arguments: Any, **options: Any) -> Any:
    """Calls an installed function.

    Raises:
        OperandError: for invalid arguments, with the message of the exception that they caused.
        TooLargeError: where memory ended.
    """
    try:
        return (_installed.get(name) or _operation(name))(*arguments, **options)
    except SparseError:
        raise
    except INVALID as error:
        what = f"np.{arguments[0].__name__}" if hasattr(arguments[0], "__name__") else name
        raise refused_arguments(what, error) from error


# The reflected method of each operator.
_REFLECTED = {
    np.add: "__radd__",
    np.subtract: "__rsub__",
    np.multiply: "__rmul__",
    np.true_divide: "__rtruediv__",
    np.floor_divide: "__rfloordiv__",
    np.remainder: "__rmod__",
    np.divmod: "__rdivmod__",
    np.power: "__rpow__",
    np.matmul: "__rmatmul__",
    np.bitwise_and: "__rand__",
    np.bitwise_or: "__ror__",
    np.bitwise_xor: "__rxor__",
    np.left_shift: "__rlshift__",
    np.right_shift: "__rrshift__",
    np.less: "__gt__",
    np.less_equal: "__ge__",
    np.greater: "__lt__",
    np.greater_equal: "__le__",
    np.equal: "__eq__",
    np.not_equal: "__ne__",
}


_NUMBERS = frozenset((bool, int, float, complex))


def _elementwise(ufunc: np.ufunc, *operands: Any) -> Any:
    if len(operands) == 2 and (type(operands[0]) is type(operands[1]) or any(type(o) in _NUMBERS for o in operands)):
        return perform("elementwise", ufunc, operands)  # no other class has a say
    if any(_refuses(operand) for operand in operands):
        return NotImplemented
    if has_chunks(operands):
        return applied_by_dask(ufunc, "__call__", operands, {})
    if len(operands) == 2 and isinstance(operands[0], Operators):
        left, right = operands
        if type(right) is np.ndarray:
            return perform("elementwise", ufunc, (left, beside_scipys_identity(left, right, 2)))
        found = _by_the_other(ufunc, left, right)
        if found is not NotImplemented:
            return found
    return perform("elementwise", ufunc, operands)


def _product(left: Any, right: Any) -> Any:
    if _refuses(left) or _refuses(right):
        return NotImplemented
    if has_chunks((left, right)):
        return applied_by_dask(np.matmul, "__call__", (left, right), {})
    if isinstance(left, Operators) and (_outranks(type(right)) or not is_array_source(right)):
        found = _by_the_other(np.matmul, left, right)
        if found is not NotImplemented:
            return found
    return perform("matmul", left, right)


def _outranks(kind: type) -> bool:
    """Returns whether a class takes precedence over tensors in operators and functions, as lazy expressions do."""
    priority = getattr(kind, "__array_priority__", 0.0)
    return isinstance(priority, int | float) and priority > Operators.__array_priority__


def _refuses(operand: Any) -> bool:
    """Returns whether an operand opts out of NumPy's functions: it computes all of its operators itself (NEP 13)."""
    return getattr(type(operand), "__array_ufunc__", _refuses) is None


def _by_the_other(ufunc: np.ufunc, tensor: Operators, other: Any) -> Any:
    """Returns the result of the right operand's own method; NotImplemented if this package computes the operation.

    The right operand decides if it is no array for this package, or an array that overrides NumPy's functions, as
    arrays with names or units do.
    """
    kind = type(other)
    if kind is np.ndarray or isinstance(other, Operators | float | int | complex) or kind.__module__ == "builtins":
        return NotImplemented
    if is_sparse_source(other) or (is_array_source(other) and not _has_own_functions(other)):
        return NotImplemented
    name = _REFLECTED[ufunc]
    method = getattr(kind, name, None)
    return NotImplemented if method in (None, getattr(object, name, None)) else method(other, tensor)


def _has_own_functions(operand: Any) -> bool:
    """Returns whether an operand overrides NumPy's functions in a way that can include a tensor.

    pandas' tables do not count: they align by labels, which a tensor lacks, so their elements are used by position.
    """
    kind = type(operand)
    method = getattr(kind, "__array_ufunc__", np.ndarray.__array_ufunc__)
    known = method is np.ndarray.__array_ufunc__ or method is Operators.__array_ufunc__
    return not known and kind.__module__.partition(".")[0] != "pandas"


def _ufunc(ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    if has_chunks(inputs):
        return applied_by_dask(ufunc, method, inputs, options)
    for operand in inputs:
        if type(operand) is not np.ndarray and not isinstance(operand, Operators) and _has_own_functions(operand):
            found = operand.__array_ufunc__(ufunc, method, *inputs, **options)
            if found is not NotImplemented:
                return found
    return perform("ufunc", ufunc, method, *inputs, **options)


_Method = Callable[[Any, Any], Any]


def _methods(ufunc: np.ufunc) -> tuple[_Method, _Method]:
    """Returns the methods of an operator for a tensor on its left, and on its right."""
    return (
        lambda self, other: _elementwise(ufunc, self, other),
        lambda self, other: _elementwise(ufunc, other, self),
    )


def array_namespace(api_version: str | None) -> Any:
    """Returns the array API's namespace on tensors, `ms.xp`.

    Raises:
        UnsupportedError: for a version that it does not know.
    """
    found = perform("namespace")
    if api_version is not None and not "2021.12" <= api_version <= found.__array_api_version__:
        raise UnsupportedError(
            f"expected a version of the array API up to {found.__array_api_version__}, but got {api_version!r}"
        )
    return found


def given_once(name: str, several: tuple[Any, ...], one: Any) -> Any:
    """Returns a tuple that methods of arrays take as it is, as several numbers, or by name; None where none is given.

    >>> given_once("axes", (1, 0), None), given_once("axes", ((1, 0),), None), given_once("axes", (), None)
    ((1, 0), (1, 0), None)
    """
    if several and one is not None:
        raise OperandError(f"expected {name} once, but got {several} and {name}={one!r}")
    found = several if several else one
    return found[0] if several and len(several) == 1 else found


class Operators(NamedMethods):
    """The operators of arrays, with NumPy's meaning; results are new.

    `+ - * / // % **`, `@`, comparisons, `& | ^ ~ << >>`, `abs` and indexing take tensors,
    arrays, other libraries' sparse arrays and numbers. The README has a table of which
    results are sparse. Comparisons give tensors of bool, or a dense array of it.

    >>> from mlir_sparse.tensor import tensor
    >>> A = tensor([[0.0, 2.0], [3.0, 0.0]])
    >>> (A * 2 - A.T).to_numpy().tolist()
    [[0.0, 1.0], [4.0, 0.0]]
    >>> A @ np.array([1.0, 10.0]), A[1, 0], (A > 2).to_coo()[0].tolist()
    (array([20.,  3.]), np.float64(3.0), [[1], [0]])
    """

    __slots__ = ()

    # Higher than SciPy's sparse arrays', which then leave operators to this class.
    __array_priority__ = 100.0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return _ufunc(ufunc, method, *inputs, **options)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        if len(types) > 1:  # not of this class alone
            if any(map(_outranks, types)):
                return NotImplemented  # NumPy asks the others
            if any(hasattr(kind, "__dask_graph__") for kind in types):
                register_chunks(*(kind for kind in types if issubclass(kind, Operators)))
                return NotImplemented  # Dask computes functions of NumPy on tensors beside its arrays
        if function is np.tril:
            refuse_expm(1)  # the first that it asks of a matrix
        return perform("function", function, arguments, options)

    __add__, __radd__ = _methods(np.add)
    __sub__, __rsub__ = _methods(np.subtract)
    __mul__, __rmul__ = _methods(np.multiply)
    __truediv__, __rtruediv__ = _methods(np.true_divide)
    __floordiv__, __rfloordiv__ = _methods(np.floor_divide)
    __mod__, __rmod__ = _methods(np.remainder)
    __divmod__, __rdivmod__ = _methods(np.divmod)
    __and__, __rand__ = _methods(np.bitwise_and)
    __or__, __ror__ = _methods(np.bitwise_or)
    __xor__, __rxor__ = _methods(np.bitwise_xor)
    __lshift__, __rlshift__ = _methods(np.left_shift)
    __rshift__, __rrshift__ = _methods(np.right_shift)
    __lt__ = _methods(np.less)[0]
    __le__ = _methods(np.less_equal)[0]
    __gt__ = _methods(np.greater)[0]
    __ge__ = _methods(np.greater_equal)[0]
    __rpow__ = _methods(np.power)[1]

    def __pow__(self, other: Any) -> Any:
        # As in NumPy, the square of truth values is i8, and other powers are i64.
        squares = type(other) is int and other == 2
        return _elementwise(np.square, self) if squares else _elementwise(np.power, self, other)

    def __matmul__(self, other: Any) -> Any:
        if type(other) is np.ndarray:  # the most frequent, which no other class has a say in
            return perform("matmul", self, other)
        return _product(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _product(other, self)

    def __eq__(self, other: object) -> Any:
        return NotImplemented if is_no_array(other) else _elementwise(np.equal, self, other)

    def __ne__(self, other: object) -> Any:
        return NotImplemented if is_no_array(other) else _elementwise(np.not_equal, self, other)

    # Like NumPy's arrays, objects that compare element by element are no keys.
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
