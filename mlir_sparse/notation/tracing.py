"""Python functions as operators: a function is called once, on symbols that record the operations."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable
from dataclasses import replace
from typing import Any, overload

from mlir_sparse.errors import NotationError
from mlir_sparse.notation.ast import Access, Assignment, AssignOp, Expr, walk
from mlir_sparse.notation.check_assignment import check_height
from mlir_sparse.notation.formula import Formula, described, node_of
from mlir_sparse.notation.operator import Extreme, Monoid, Number, Operator
from mlir_sparse.text.lexer import is_name

__all__ = ["monoid", "operator"]

Function = Callable[..., Any]
# A region as an argument: a function, a number, "keep" for the operand itself, or None for no entry.
Region = Function | Number | str | None


@overload
def operator(
    function: Function,
    *,
    name: str | None = None,
    left: Region = None,
    right: Region = None,
    absent: Region = None,
    dtype: str | None = None,
    commutative: bool = False,
    associative: bool = False,
    identity: Number | None = None,
    annihilator: Number | None = None,
) -> Operator: ...


@overload
def operator(
    function: None = None,
    *,
    name: str | None = None,
    left: Region = None,
    right: Region = None,
    absent: Region = None,
    dtype: str | None = None,
    commutative: bool = False,
    associative: bool = False,
    identity: Number | None = None,
    annihilator: Number | None = None,
) -> Callable[[Function], Operator]: ...


def operator(
    function: Function | None = None,
    *,
    name: str | None = None,
    left: Region = None,
    right: Region = None,
    absent: Region = None,
    dtype: str | None = None,
    commutative: bool = False,
    associative: bool = False,
    identity: Number | None = None,
    annihilator: Number | None = None,
) -> Operator | Callable[[Function], Operator]:
    """Makes an operator on entries of a Python function of one or two numbers; also a decorator.

    The function is called once, on symbols: it may use Python's operators, comparisons, `where`, NumPy's functions and
    those of the notation, but no `if` on a symbol. It returns the result where every operand has an entry, or None for
    no entry there.

    Args:
        function: the function; the names of its parameters are the operator's.
        name: its name in notation; by default the function's, or that of the keyword that passes it.
        left: the result where only the first operand has an entry: a function of it, a number, "keep", or None for no
            entry.
        right: likewise where only the second has one.
        absent: with one operand, the number where it has no entry, or None for no entry.
        dtype: the element type of results, if it is not the type that the function computes in.
        commutative: whether operands may be swapped.
        associative: whether operands may be grouped at will.
        identity: the value that leaves every other unchanged; `math.inf` stands for the greatest value of any type.
        annihilator: the value that makes every result itself; as an extreme it also stays as it is in integers.

    Raises:
        NotationError: for a function that cannot be traced, and for regions of another number of operands.

    >>> from mlir_sparse.notation import where
    >>> @operator(left="keep", right=lambda b: -b)
    ... def further(a, b):
    ...     return where(abs(a) > abs(b), a, b)
    >>> print(further)
    further(a, b) = where(abs(a) > abs(b), a, b); left: a; right: -b
    """
    if function is None:
        return lambda given: operator(
            given,
            name=name,
            left=left,
            right=right,
            absent=absent,
            dtype=dtype,
            commutative=commutative,
            associative=associative,
            identity=identity,
            annihilator=annihilator,
        )
    parameters = _parameters(function)
    if len(parameters) == 1 and not (left is None and right is None):
        raise NotationError("expected left= and right= for a function of two operands, but got one of one; use absent=")
    if len(parameters) == 2 and absent is not None:
        raise NotationError("expected absent= for a function of one operand, but got one of two; use left= and right=")
    for law, given in (("commutative", commutative), ("associative", associative)):
        if not isinstance(given, bool):
            raise NotationError(f"expected True or False for {law}=, but got {described(given)}")
    first, last = parameters[0], parameters[-1]
    return Operator(
        _checked_name(name or getattr(function, "__name__", "") or "operator"),
        parameters,
        _traced(function, parameters),
        _region(left, (first,), "left"),
        _region(right, (last,), "right"),
        _region(absent, (), "absent"),
        _dtype_name(dtype),
        commutative,
        associative,
        _number(identity, "identity"),
        _number(annihilator, "annihilator"),
    )


def monoid(function: Operator | Function, identity: Number, *, name: str | None = None) -> Monoid:
    """Makes a monoid for reductions: an associative and commutative operator with its identity.

    Args:
        function: an operator, or a Python function as in `operator`. It must be associative and commutative, which is
            not checked: entries are combined in any order.
        identity: the value of a reduction over no entries; `math.inf` stands for the greatest value of any type.
        name: its name in notation; by default the operator's, or that of the keyword that passes it.

    >>> print(monoid(lambda a, b: a + b - a * b, 0.0, name="either"))
    either(a, b) = a + b - a * b, identity 0.0
    """
    known = function if isinstance(function, Operator) else operator(function, name=name)
    known = replace(known, name=_checked_name(name or known.name), commutative=True, associative=True)
    number = _number(identity, "identity")
    if number is None:
        raise NotationError(f"expected a number as the identity of {known.name}, but got None")
    return Monoid(replace(known, identity=number), number)


def _parameters(function: Function) -> tuple[str, ...]:
    if not callable(function):
        raise NotationError(f"expected a function to make an operator of, but got {described(function)}")
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        # NumPy's functions have no signature, but know their number of operands.
        found, count = [], getattr(function, "nin", 0)
        return ("a", "b")[:count] if count in (1, 2) else _refuse_parameters(str(function))
    plain = all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty for p in found)
    if not plain or len(found) not in (1, 2):
        count = getattr(function, "nin", 0)
        if count in (1, 2):
            return ("a", "b")[:count]
        return _refuse_parameters(", ".join(map(str, found)))
    return tuple(parameter.name for parameter in found)


def _refuse_parameters(got: str) -> tuple[str, ...]:
    raise NotationError(f"expected a function of one or two operands, but got one of ({got}); nest operators for more")


def _traced(function: Function, parameters: tuple[str, ...]) -> Expr | None:
    """Returns the expression that a function computes, over scalars named like its parameters."""
    try:
        result = function(*(Formula(Access(name)) for name in parameters))
    except NotationError as error:
        raise NotationError(f"{error.message} (in an operator; choose between values by ms.where)") from error
    except (TypeError, AttributeError) as error:
        raise NotationError(
            f"expected a function of Python's operators, ms.where and NumPy's functions, but got: {error}; "
            "use np.exp and its like in place of math.exp"
        ) from error
    if result is None:
        return None
    if isinstance(result, bool):
        result = int(result)
    node = node_of(result)
    check_height(Assignment(Access("operator"), AssignOp.ASSIGN, node))
    for below in walk(node):
        if isinstance(below, Access) and (below.subscripts or below.tensor not in parameters):
            raise NotationError(
                f"expected an operator of its own parameters ({', '.join(parameters)}), but got `{below}` in `{node}`; "
                "pass tensors as operands"
            )
    return node


def _region(region: object, parameters: tuple[str, ...], keyword: str) -> Expr | None:
    if region is None:
        return None
    if isinstance(region, str) and region == "keep" and parameters:
        return Access(parameters[0])
    if isinstance(region, numbers.Number):
        return node_of(region)
    if callable(region):
        return _traced(region, parameters)
    keep = '"keep", ' if parameters else ""
    raise NotationError(f"expected {keep}a function, a number or None for {keyword}=, but got {region!r}")


def _number(given: Any, what: str) -> Number | Extreme | None:
    """Returns a number as Python's, and an infinity as an Extreme."""
    if isinstance(given, Extreme):
        return given
    match given.item() if getattr(given, "shape", None) == () else given:  # after `item`, NumPy's truth values are bool
        case None:
            return None
        case numbers.Integral() as whole:
            return int(whole)
        case numbers.Real() as real:
            value = float(real)
            return value if abs(value) != float("inf") else Extreme.GREATEST if value > 0 else Extreme.LEAST
        case numbers.Complex() as number:
            return complex(number)
        case _:
            raise NotationError(f"expected a number for {what}=, but got {described(given)}")


def _dtype_name(given: Any) -> str | None:
    """Returns the name of an element type, given by name or as a type of NumPy's or Python's."""
    if given is None or isinstance(given, str):
        return given
    name = getattr(given, "name", getattr(given, "__name__", None))
    if not isinstance(name, str):
        raise NotationError(f'expected an element type such as "f32" for dtype=, but got {described(given)}')
    return name


def _checked_name(name: object) -> str:
    if not isinstance(name, str):
        raise NotationError(f"expected text for name=, but got {described(name)}")
    return name if is_name(name) else "operator"
