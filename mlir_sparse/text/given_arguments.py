"""Arguments from Python, checked and converted to the type that a function expects."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable
from functools import wraps
from itertools import islice
from typing import Any, ParamSpec, TypeVar

from mlir_sparse.errors import OperandError, SparseError, TooLargeError

__all__ = [
    *("INVALID", "integer_of", "integers_of", "path_of", "refused_arguments", "refuses_by_name"),
    *("seconds_of", "several_of", "shown", "text_of"),
]

# What Python and NumPy raise for arguments that they do not take.
INVALID = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)
P = ParamSpec("P")
R = TypeVar("R")

# A bound on the length of any list of arguments: axes, extents, names.
_MOST = 10_000
# What needs no conversion.
_INTEGERS = {int}


def text_of(given: object, what: str) -> str:
    """Returns an argument that must be text.

    Args:
        given: what a user gave.
        what: the rule that messages state.

    Raises:
        OperandError: for anything else.

    >>> text_of(3, "a name")
    Traceback (most recent call last):
    mlir_sparse.errors.OperandError: expected a name as text, but got 3
    """
    if not isinstance(given, str):
        raise OperandError(f"expected {what} as text, but got {shown(given)}")
    return given


def integer_of(given: Any, what: str) -> int:
    """Returns an argument that must be an integer, Python's or NumPy's; see `text_of`."""
    try:
        return operator.index(given)
    except Exception:  # a type that has none, or an object of the user's that raises
        raise OperandError(f"expected {what} as an integer, but got {shown(given)}") from None


def integers_of(given: object, what: str) -> tuple[int, ...]:
    """Returns an argument that must be a sequence of integers; see `text_of`.

    >>> integers_of([2, 3], "a shape")
    (2, 3)
    """
    if type(given) is tuple and len(given) <= _MOST and set(map(type, given)) <= _INTEGERS:
        return given
    return tuple(
        integer_of(one, f"each of {what}") for one in several_of(given, f"{what} as several integers, such as (2, 3)")
    )


def seconds_of(given: Any, what: str) -> float:
    """Returns an argument that must be a number of seconds above 0; see `text_of`.

    >>> seconds_of(3, "a timeout")
    3.0
    """
    try:
        seconds = float("nan") if isinstance(given, str | bytes) else float(given)
    except (TypeError, ValueError):
        seconds = float("nan")
    if not seconds > 0:
        raise OperandError(f"expected {what} as a number of seconds above 0, but got {shown(given)}")
    return seconds


def several_of(given: object, what: str) -> tuple[Any, ...]:
    """Returns the items of a list, a tuple, an array of one axis or another collection; see `text_of`."""
    if not isinstance(given, Iterable) or isinstance(given, str | bytes | dict) or getattr(given, "ndim", 1) != 1:
        raise OperandError(f"expected {what}, but got {shown(given)}")
    try:
        found = tuple(islice(given, _MOST + 1))
    except Exception as error:  # of an object of the user's
        raise OperandError(f"expected {what}, but got {shown(given)}: {shown(error)}") from None
    if len(found) > _MOST:  # what is iterable may have no end
        raise OperandError(f"expected {what}, but got more than {_MOST} from {shown(given)}")
    return found


def path_of(given: Any, what: str = "a file") -> str:
    """Returns an argument that must be a path which the file system can have; see `text_of`."""
    try:
        name = os.fsdecode(given)
        usable = b"\0" not in os.fsencode(name)
    except (TypeError, UnicodeError):
        usable = False
    if not usable:
        raise OperandError(f"expected the path of {what}, but got {shown(given)}")
    return name


def shown(given: object) -> str:
    """Returns an argument in a few characters, for messages: its type where printing it fails."""
    try:
        text = repr(given)
    except Exception:
        return type(given).__name__
    return text if len(text) <= 60 and text.isprintable() else f"{type(given).__name__} {ascii(text)[1:50]}..."


def refused_arguments(what: str, error: Exception) -> SparseError:
    """Returns the error of this package for an exception that invalid arguments caused in a function.

    Args:
        what: the function, as users write it.
        error: one of `INVALID`.

    >>> print(refused_arguments("ms.eye", TypeError("bad operand")))
    expected arguments that ms.eye takes, but got others: bad operand
    """
    text = " ".join(str(error).split())[:300]
    if isinstance(error, MemoryError):
        return TooLargeError(f"expected arguments of {what} whose result fits in memory, but got others: {text}")
    return OperandError(f"expected arguments that {what} takes, but got others: {text}")


def refuses_by_name(what: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Returns what makes a function refuse invalid arguments by an error of this package, whatever they cause in it.

    Args:
        what: the function, as users write it.
    """

    def made(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def refused(*arguments: P.args, **options: P.kwargs) -> R:
            try:
                return function(*arguments, **options)
            except SparseError:
                raise
            except INVALID as error:
                raise refused_arguments(what, error) from error

        return refused

    return made
