"""Expressions as Python objects: arithmetic, functions and reductions that build nodes."""

from __future__ import annotations

import cmath
import numbers
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, NoReturn

from mlir_sparse.errors import NotationError
from mlir_sparse.notation.ast import AssignOp, Binary, BinaryOp, Expr, IndexVar, Literal, Negate, Reduce, ReduceOp
from mlir_sparse.notation.index import Index
from mlir_sparse.notation.scalar_functions import FUNCTIONS, call_of, mistake_in_call

__all__ = ["Formula", "call", "described", "node_of", "reduce", "where"]

# The functions by NumPy's old and new names.
_NUMPY_NAMES = {function.numpy_name: name for name, function in FUNCTIONS.items()} | {
    "float_power": "pow",
    "bitwise_not": "invert",
    "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "mod": "remainder",
    "radians": "deg2rad",
    "degrees": "rad2deg",
}


def call(function: str, *arguments: object) -> Formula:
    """Returns a function of expressions or numbers; `FUNCTIONS` lists them.

    >>> from mlir_sparse.notation import indices, tensors
    >>> (i,), (x,) = indices("i"), tensors("x")
    >>> call("max", x[i], 0)
    Formula('max(x(i), 0)')
    >>> call("max", x[i], 0, 2)
    Formula('max(max(x(i), 0), 2)')
    """
    made = call_of(function, tuple(node_of(argument) for argument in arguments))
    mistake = mistake_in_call(function, len(made.arguments))
    if mistake is not None:
        raise NotationError(mistake)
    return Formula(made)


def _binary(op: BinaryOp, left: object, right: object) -> Formula:
    return Formula(Binary(op, node_of(left), node_of(right)))


_Method = Callable[["Formula", object], "Formula"]


def _methods(op: BinaryOp | str) -> tuple[_Method, _Method]:
    """Returns the methods of an operator or a function for a formula on its left, and on its right."""
    apply = partial(_binary, op) if isinstance(op, BinaryOp) else partial(call, op)
    return (lambda self, other: apply(self, other)), (lambda self, other: apply(other, self))


class Formula:
    """An expression under construction; operators, `abs` and NumPy's functions build larger ones.

    The operators are `+ - * / // % ** << >>`, comparisons `< <= > >= == !=` and, on truth values, `& | ^ ~`. Python's
    precedence holds: `(a < b) & (b < c)`. As `==` builds an expression, compare the `node` of two formulas instead.

    >>> from mlir_sparse.notation import indices, tensors
    >>> (i, j), (A, x) = indices("i j"), tensors("A x")
    >>> A[i, j] * x[j] + 1
    Formula('A(i,j) * x(j) + 1')
    """

    __slots__ = ("node", "update")
    # An expression is no sequence: `iter` and `in` fail.
    __iter__: ClassVar[None] = None
    __contains__: ClassVar[None] = None

    def __init__(self, node: Expr, update: AssignOp | None = None) -> None:
        self.node = node
        self.update = update

    __add__, __radd__ = _methods(BinaryOp.ADD)
    __sub__, __rsub__ = _methods(BinaryOp.SUB)
    __mul__, __rmul__ = _methods(BinaryOp.MUL)
    __truediv__, __rtruediv__ = _methods(BinaryOp.DIV)
    __floordiv__, __rfloordiv__ = _methods("floor_divide")
    __mod__, __rmod__ = _methods("remainder")
    __pow__, __rpow__ = _methods("pow")
    __and__, __rand__ = _methods(BinaryOp.AND)
    __or__, __ror__ = _methods(BinaryOp.OR)
    __xor__ = _methods("logical_xor")[0]
    __lshift__ = _methods("left_shift")[0]
    __rshift__ = _methods("right_shift")[0]
    __lt__ = _methods(BinaryOp.LT)[0]
    __le__ = _methods(BinaryOp.LE)[0]
    __gt__ = _methods(BinaryOp.GT)[0]
    __ge__ = _methods(BinaryOp.GE)[0]
    __eq__ = _methods(BinaryOp.EQ)[0]  # type: ignore[assignment]
    __ne__ = _methods(BinaryOp.NE)[0]  # type: ignore[assignment]
    __hash__ = object.__hash__

    def __invert__(self) -> Formula:
        return call("logical_not", self)

    def __iadd__(self, other: object) -> Formula:
        return self._updated(AssignOp.ADD, other)

    def __imul__(self, other: object) -> Formula:
        return self._updated(AssignOp.MUL, other)

    def __neg__(self) -> Formula:
        return Formula(Negate(node_of(self)))

    def __pos__(self) -> Formula:
        return self

    def __abs__(self) -> Formula:
        return call("abs", self)

    def __bool__(self) -> NoReturn:
        raise NotationError(
            f"expected a formula to be evaluated first, but got the truth of `{self.node}` asked for; join truth "
            "values by & and |, negate them by ~, and write `(a < b) & (b < c)` for a chain"
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: object, **keywords: object) -> Formula:
        # NumPy calls this for `np.float64(2) * A[i]` and `np.exp(A[i])`.
        name = str(ufunc.__name__)
        if method != "__call__" or keywords:
            raise NotationError(f"expected a plain call of {name} on expressions, but got {method} or keywords")
        # In comparisons NumPy passes a scalar as an array.
        plain = [_scalar(value) for value in inputs]
        if name in _NUMPY_OPERATORS:
            return _NUMPY_OPERATORS[name](*plain)
        return call(_NUMPY_NAMES.get(name, name), *plain)

    def __repr__(self) -> str:
        return f"Formula({str(self.node)!r})"

    def _updated(self, op: AssignOp, other: object) -> Formula:
        # `y[i] += e` is y.__setitem__(i, y[i].__iadd__(e)): the value has to carry the operator.
        sum_or_product = BinaryOp.ADD if op is AssignOp.ADD else BinaryOp.MUL
        return Formula(Binary(sum_or_product, self.node, node_of(other)), op)


def _scalar(value: Any) -> object:
    return value.item() if getattr(value, "shape", None) == () and not isinstance(value, Formula) else value


def where(condition: object, then: object, otherwise: object) -> Formula:
    """Returns a choice: `then` where the condition is nonzero, else `otherwise` (`numpy.where`).

    >>> from mlir_sparse.notation import indices, tensors
    >>> (i,), (x,) = indices("i"), tensors("x")
    >>> where(x[i] > 0, x[i], 0)
    Formula('where(x(i) > 0, x(i), 0)')
    """
    return call("where", condition, then, otherwise)


def reduce(op: str | ReduceOp, over: Index | Sequence[Index], body: object) -> Formula:
    """Returns an explicit reduction of an expression over index variables.

    Args:
        op: `sum`, `prod`, `max`, `min`, `or` (`any`), `and` (`all`), `count`, `argmax` or `argmin`.
        over: the variables that it binds.
        body: what to reduce.

    >>> from mlir_sparse.notation import indices, tensors
    >>> (i, j), (A,) = indices("i j"), tensors("A")
    >>> reduce("max", j, A[i, j])
    Formula('max(j : A(i,j))')
    """
    known = {known.value: known for known in ReduceOp} | {"any": ReduceOp.OR, "all": ReduceOp.AND}
    chosen = op if isinstance(op, ReduceOp) else known.get(op)
    if chosen is None:
        raise NotationError(f"expected one of the reductions {', '.join(known)}, but got {op!r}")
    bound = [index.subscript for index in ((over,) if isinstance(over, Index) else over)]
    variables = tuple(variable for variable in bound if isinstance(variable, IndexVar))
    if not bound or len(variables) != len(bound):
        raise NotationError(f"expected index variables to reduce over, but got {over!r}")
    return Formula(Reduce(chosen, variables, node_of(body)))


_NUMPY_OPERATORS: dict[str, Callable[..., Formula]] = {
    "add": partial(_binary, BinaryOp.ADD),
    "subtract": partial(_binary, BinaryOp.SUB),
    "multiply": partial(_binary, BinaryOp.MUL),
    "divide": partial(_binary, BinaryOp.DIV),
    "true_divide": partial(_binary, BinaryOp.DIV),
    "negative": Formula.__neg__,
    "positive": Formula.__pos__,
    "less": partial(_binary, BinaryOp.LT),
    "less_equal": partial(_binary, BinaryOp.LE),
    "greater": partial(_binary, BinaryOp.GT),
    "greater_equal": partial(_binary, BinaryOp.GE),
    "equal": partial(_binary, BinaryOp.EQ),
    "not_equal": partial(_binary, BinaryOp.NE),
    "logical_and": partial(_binary, BinaryOp.AND),
    "logical_or": partial(_binary, BinaryOp.OR),
}


def node_of(value: object) -> Expr:
    """Returns the node of a Python value in an expression."""
    match value:
        case Formula():
            return value.node
        case numbers.Integral():
            return Literal(int(value))
        case numbers.Real():
            return _finite(float(value))
        case numbers.Complex():
            return _finite(complex(value))
        case Index():
            raise NotationError(
                f"expected a tensor or a number, but got the index variable `{value.subscript}` as a value; "
                f"pass a vector of its values, as in `n[{value.subscript}]`"
            )
        case _:
            raise NotationError(
                f"expected an expression or a number, but got {described(value)}; "
                "name data by a TensorVar and pass it when evaluating"
            )


def _finite(value: float | complex) -> Literal:
    if not cmath.isfinite(value):
        raise NotationError(f"expected a finite number, but got {value!r}; pass it as a scalar tensor")
    return Literal(value)


def described(value: object) -> str:
    """Returns a value as errors show it."""
    return f"{type(value).__name__} {' '.join(repr(value).split()):.60}"
