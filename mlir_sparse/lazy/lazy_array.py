"""Lazy expressions: what NumPy's operators, ufuncs and functions record instead of computing it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import prod
from typing import Any, NoReturn

import numpy as np

from mlir_sparse.compile.definitions.defined_tensor import DefinedTensor
from mlir_sparse.dtypes import numpy_dtype
from mlir_sparse.errors import NotRecordedError, OperandError, RankError, UnsupportedError
from mlir_sparse.lazy import numpy_steps
from mlir_sparse.lazy.elementwise_steps import cast_view, elementwise_step
from mlir_sparse.lazy.known_recordings import (
    Operands,
    RecordedForm,
    keep_form,
    known_form,
    merged_operands,
    operand_key,
)
from mlir_sparse.lazy.recorded_values import ArrayView, operand_view, steps_of
from mlir_sparse.lazy.sum_steps import mean_step, sum_step
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.text.shown_text import PrintedValue, ShownText

__all__ = ["LazyArray", "install_computing"]

_computing: dict[str, Callable[..., Any]] = {}
_HELD = (np.ndarray, SparseTensor)


def install_computing(compute_one: Callable[..., Any], kernel_of: Callable[..., Any]) -> None:
    """Installs what computes expressions, which stands above them."""
    _computing.update(compute_one=compute_one, kernel_of=kernel_of)


def _recorded(ufunc: np.ufunc, left: Any, right: Any) -> Any:
    if type(left) is type(right) is LazyArray:
        return LazyArray._of_two(ufunc, left, right)
    operands = left, right
    if any(one is None or isinstance(one, str | bytes) for one in operands):
        return NotImplemented
    if any(map(_opts_out, operands)):
        return NotImplemented
    pair = [LazyArray._of_operand(one) if type(one) in _HELD else one for one in operands]
    if type(pair[0]) is type(pair[1]) is LazyArray:
        return LazyArray._of_two(ufunc, *pair)
    return LazyArray(numpy_steps.called_step(ufunc, tuple(map(_bare, operands))))


def _called(ufunc: np.ufunc, left: LazyArray, right: LazyArray) -> ArrayView:
    return numpy_steps.called_step(ufunc, (left._view, right._view))


def _read(source: LazyArray, step: Callable[..., ArrayView], arguments: tuple[Any, ...]) -> ArrayView:
    return step(source._view, *arguments)


def _summed(view: ArrayView, axis: int | None, keepdims: bool) -> ArrayView:
    return sum_step(view, axis, keepdims=keepdims)


def _operators(ufunc: np.ufunc) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    return lambda self, other: _recorded(ufunc, self, other), lambda self, other: _recorded(ufunc, other, self)


class LazyArray(PrintedValue):
    """An expression with NumPy's interface, of which nothing is computed until it is asked for.

    `compute()`, `np.asarray`, `float` and `bool` compute it, and `ms.compute` computes several together; everything
    else records. Its shape and element type are those that NumPy would give. What cannot be recorded is refused.
    """

    __slots__ = ("_form", "_made", "_operands", "_ready", "_step")

    # A function and its arguments, which give the recorded value where none was made yet.
    _step: tuple[Any, ...]

    # Above SparseTensors and SciPy's sparse arrays, which then leave operators to this class.
    __array_priority__ = 200.0
    # Like NumPy's arrays, objects that compare element by element are no keys.
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, view: ArrayView) -> None:
        """Takes a recorded value; use `lazy`."""
        self._made: ArrayView | None = view
        # By the options of a computation what computes it; data of one structure is planned once.
        self._ready: dict[Any, Any] | None = None
        # What is known of expressions like this one, and the operands, each once; None where nothing is kept.
        self._form: RecordedForm | None = None
        self._operands: Operands = ()

    # -- recording what was recorded before ---------------------------------------------------------------------

    @classmethod
    def _later(cls, form: RecordedForm, operands: Operands, *step: Any) -> LazyArray:
        """Returns an expression of a known form, whose step is taken when somebody asks for what it gives.

        Args:
            form: the form.
            operands: the operands, each once.
            step: a function and its arguments.
        """
        self = object.__new__(cls)
        self._form, self._operands, self._step, self._made, self._ready = form, operands, step, None, None
        return self

    @classmethod
    def _of_operand(cls, source: Any) -> LazyArray:
        """Returns an operand as an expression."""
        key = operand_key(source)
        if key is None:
            return cls(operand_view(source))
        form = known_form(key)
        if form is not None:
            return cls._later(form, (source,), operand_view, source)
        self = cls(operand_view(source))
        self._form, self._operands = keep_form(key), (source,)
        return self

    @classmethod
    def _of_two(cls, ufunc: np.ufunc, left: LazyArray, right: LazyArray) -> LazyArray:
        """Returns a ufunc of two expressions."""
        first, second = left._form, right._form
        if first is None or second is None or (merged := merged_operands(left._operands, right._operands)) is None:
            return cls(_called(ufunc, left, right))
        operands, places = merged
        key = ufunc, first, second, places
        form = known_form(key)
        if form is not None:
            return cls._later(form, operands, _called, ufunc, left, right)
        self = cls(_called(ufunc, left, right))
        self._form, self._operands = keep_form(key, first, second), operands
        return self

    def _of_one(self, step: Callable[..., ArrayView], *arguments: Hashable) -> LazyArray:
        """Returns what a step gives for this expression and arguments, which are equal only where it gives the same."""
        form = self._form
        if form is None:
            return LazyArray(step(self._view, *arguments))
        key = step, form, arguments
        known = known_form(key)
        if known is not None:
            return LazyArray._later(known, self._operands, _read, self, step, arguments)
        found = LazyArray(step(self._view, *arguments))
        found._form, found._operands = keep_form(key, form), self._operands
        return found

    @property
    def _view(self) -> ArrayView:
        """Returns the recorded value."""
        made = self._made
        if made is None:
            step, *arguments = self._step
            made = self._made = step(*arguments)
        return made

    # -- what is known ------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Returns the extent of each dimension."""
        return self._view.shape

    @property
    def ndim(self) -> int:
        """Returns the number of dimensions."""
        return self._view.ndim

    @property
    def size(self) -> int:
        """Returns the number of elements."""
        return prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Returns the element type."""
        return self._view.dtype

    def __len__(self) -> int:
        if not self.shape:
            raise RankError("expected an expression of one dimension or more for len(), but got a number")
        return self.shape[0]

    def __repr__(self) -> str:
        kind = f"{self._view.value.kind.dtype}[{','.join(map(str, self.shape))}]"
        steps = steps_of(self._view)
        if not steps:
            return f"<LazyArray {kind}, an operand: call .compute()>"
        return f"<LazyArray {kind}, {steps} step{'s' if steps > 1 else ''}: call .compute()>"

    # -- computing ----------------------------------------------------------------------------------------------

    def compute(self, *, optimize: str | None = None, threads: int | None = None, deterministic: bool = False) -> Any:
        """Computes the expression; see `ms.compute` for several at once.

        Args:
            optimize: how statements are optimized, as for `compile`.
            threads: the greatest number of threads, as for `compile`.
            deterministic: whether the result must be the same, bit for bit, for any number of threads.

        Returns:
            an array, a SparseTensor, or a scalar of NumPy's without dimensions; an operand as it is.
        """
        return _computing["compute_one"](self, optimize, threads, deterministic)

    def explain(self, *, optimize: str | None = None) -> str:
        """Returns how the expression would be computed: which steps are computed where they are read, and why.

        Args:
            optimize: how statements are optimized, as for `compile`.
        """
        kernel = _computing["kernel_of"]([self], optimize)
        return ShownText(f"{self!r} is computed already") if kernel is None else kernel.explain()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        found = self.compute()
        array = found.to_numpy() if isinstance(found, SparseTensor) else np.asarray(found)
        if copy is False and (isinstance(found, SparseTensor) or dtype not in (None, array.dtype)):
            raise ValueError("expected a copy to be allowed, but got copy=False: the elements are in no array yet")
        return np.array(array, dtype=dtype, copy=True if copy else None)

    def item(self, *places: Any) -> Any:
        """Computes the only element, or the one at places as `SparseTensor.item` takes them, as a number of Python's.

        Raises:
            RankError: without places for another number of elements than one.
        """
        if self.size != 1 and not places:
            raise RankError(f"expected an expression of one element, but got shape {self.shape}")
        return self.compute().item(*places) if places else np.asarray(self).item()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self.ndim:
            raise TypeError(f"expected an integer without dimensions as an index, but got {self!r}")
        return int(self.item())

    def __bool__(self) -> bool:
        if self.size != 1:
            raise OperandError(
                f"expected one element to be true or false, but got shape {self.shape}: call .compute() first, and "
                ".any() or .all() on that"
            )
        return bool(self.item())

    # -- recording ----------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if any(map(_opts_out, inputs)):
            return NotImplemented
        return LazyArray(numpy_steps.ufunc_step(ufunc, method, tuple(map(_bare, inputs)), options))

    def __array_function__(
        self, function: Callable[..., Any], types: Any, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        return LazyArray(numpy_steps.function_step(function, _bare(arguments), _bare(options)))

    @property
    def T(self) -> LazyArray:  # noqa: N802 - NumPy's name
        """Returns the expression with its axes reversed."""
        return self._of_one(numpy_steps.transposed)

    @property
    def mT(self) -> LazyArray:  # noqa: N802 - NumPy's name
        """Returns the expression with its last two axes exchanged."""
        return self.swapaxes(-1, -2)

    @property
    def real(self) -> LazyArray:
        """Returns the real parts."""
        return LazyArray(numpy_steps.part_step("real", self._view))

    @property
    def imag(self) -> LazyArray:
        """Returns the imaginary parts."""
        return LazyArray(numpy_steps.part_step("imag", self._view))

    def conj(self) -> LazyArray:
        """Returns the complex conjugates."""
        return LazyArray(elementwise_step(np.conjugate, [self._view]))

    conjugate = conj

    def transpose(self, *axes: Any) -> LazyArray:
        """Returns the expression with its axes permuted; reversed when absent."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
        return LazyArray(numpy_steps.transposed(self._view, order))

    def swapaxes(self, axis1: int, axis2: int) -> LazyArray:
        """Returns the expression with two axes exchanged."""
        return LazyArray(numpy_steps.swapped(self._view, axis1, axis2))

    def sum(self, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False) -> LazyArray:
        """Returns the sum over axes, in 64 bits for integers."""
        _refuse_out(out)
        if dtype is None and type(keepdims) is bool and (axis is None or type(axis) is int):
            return self._of_one(_summed, axis, keepdims)
        return LazyArray(sum_step(self._view, axis, dtype, keepdims=keepdims))

    def mean(self, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False) -> LazyArray:
        """Returns the average over axes, in f64 for integers."""
        _refuse_out(out)
        view = self._view if dtype is None else cast_view(self._view, numpy_dtype(dtype))
        return LazyArray(mean_step(view, axis, keepdims=keepdims))

    def dot(self, other: Any) -> LazyArray:
        """Returns NumPy's `dot`: `@` of vectors and matrices, `*` with numbers."""
        return LazyArray(numpy_steps.dot_step(self._view, _bare(other)))

    def astype(self, dtype: Any) -> LazyArray:
        """Returns the expression in an element type that holds all of its numbers."""
        return LazyArray(cast_view(self._view, numpy_dtype(dtype)))

    def __getitem__(self, key: Any) -> LazyArray:
        return LazyArray(numpy_steps.indexed(self._view, key))

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise UnsupportedError(
            "expected an expression to be read, but got an assignment to its elements: use np.where(mask, value, x), "
            "or call .compute() first"
        )

    def __iter__(self) -> NoReturn:
        raise UnsupportedError(f"expected no loop over {self!r}, whose parts are not recorded: call .compute() first")

    def __contains__(self, value: Any) -> NoReturn:
        raise UnsupportedError(f"expected no `in` with {self!r}: call .compute() first")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'LazyArray' object has no attribute {name!r}")
        raise NotRecordedError(f"expected what lazy expressions record, but got .{name}: call .compute() first")

    __add__, __radd__ = _operators(np.add)
    __sub__, __rsub__ = _operators(np.subtract)
    __mul__, __rmul__ = _operators(np.multiply)
    __truediv__, __rtruediv__ = _operators(np.true_divide)
    __floordiv__, __rfloordiv__ = _operators(np.floor_divide)
    __mod__, __rmod__ = _operators(np.remainder)
    __pow__, __rpow__ = _operators(np.power)
    __matmul__, __rmatmul__ = _operators(np.matmul)
    __and__, __rand__ = _operators(np.bitwise_and)
    __or__, __ror__ = _operators(np.bitwise_or)
    __xor__, __rxor__ = _operators(np.bitwise_xor)
    __lt__ = _operators(np.less)[0]
    __le__ = _operators(np.less_equal)[0]
    __gt__ = _operators(np.greater)[0]
    __ge__ = _operators(np.greater_equal)[0]

    def __neg__(self) -> LazyArray:
        return LazyArray(elementwise_step(np.negative, [self._view]))

    def __pos__(self) -> LazyArray:
        return LazyArray(elementwise_step(np.positive, [self._view]))

    def __abs__(self) -> LazyArray:
        return LazyArray(elementwise_step(np.absolute, [self._view]))

    def __invert__(self) -> LazyArray:
        return LazyArray(elementwise_step(np.invert, [self._view]))

    def __eq__(self, other: object) -> Any:
        return _recorded(np.equal, self, other)

    def __ne__(self, other: object) -> Any:
        return _recorded(np.not_equal, self, other)


def _opts_out(operand: Any) -> bool:
    """Returns whether an operand computes all of its operators itself (NEP 13); defined tensors have none."""
    return getattr(type(operand), "__array_ufunc__", 0) is None and not isinstance(operand, DefinedTensor)


def _bare(given: Any) -> Any:
    """Returns arguments with views in place of lazy expressions."""
    if isinstance(given, LazyArray):
        return given._view
    if isinstance(given, dict):
        return {name: _bare(one) for name, one in given.items()}
    return type(given)(map(_bare, given)) if type(given) in (list, tuple) else given


def _refuse_out(out: Any) -> None:
    if out is not None:
        raise UnsupportedError("expected no out= for a lazy expression, but got one: call .compute() first")
