"""The scalar functions of index notation: one table, by name.

Names are NumPy's where NumPy has the function (`np.exp`, `np.asin`, ...).
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

__all__ = ["FUNCTIONS", "Function", "function_hint", "mistake_in_call"]


@dataclass(frozen=True, slots=True)
class Function:
    """A scalar function.

    Args:
        name: how notation calls it.
        arity: how many arguments it takes.
        doc: what it gives, in a few words.
        zero_preserving: whether zeros for all arguments give zero, so that only stored entries need a look;
            None where an argument decides (`pow(0, y)` is zero for positive y alone).
        keeps_integers: whether integers give integers; the others compute integers in f64.
        gives_truth: whether the result is 0 or 1, whatever the arguments are.
        kinds: the kinds of numbers that it takes: integers (i), real numbers (f), complex ones (c).
    """

    name: str
    arity: int
    doc: str
    zero_preserving: bool | None
    keeps_integers: bool = False
    gives_truth: bool = False
    kinds: str = "ifc"


_TABLE = (
    Function("abs", 1, "absolute value; of a complex number the modulus", True, keeps_integers=True),
    Function(
        "sign", 1, "-1, 0 or 1 as the argument is negative, zero or positive", True, keeps_integers=True, kinds="if"
    ),
    Function("conj", 1, "complex conjugate; real numbers stay what they are", True, keeps_integers=True),
    Function("relu", 1, "the argument where it is positive, else zero", True, keeps_integers=True, kinds="if"),
    Function("floor", 1, "largest integer not above the argument", True, keeps_integers=True, kinds="if"),
    Function("ceil", 1, "smallest integer not below the argument", True, keeps_integers=True, kinds="if"),
    Function("round", 1, "nearest integer, halves to even", True, keeps_integers=True, kinds="if"),
    Function("trunc", 1, "nearest integer towards zero", True, keeps_integers=True, kinds="if"),
    Function("sqrt", 1, "square root", True),
    Function("cbrt", 1, "cube root", True, kinds="if"),
    Function("exp", 1, "e to the power of the argument", False),
    Function("exp2", 1, "2 to the power of the argument", False, kinds="if"),
    Function("expm1", 1, "exp(x) - 1, accurate near zero", True),
    Function("log", 1, "natural logarithm", False),
    Function("log2", 1, "logarithm to base 2", False, kinds="if"),
    Function("log10", 1, "logarithm to base 10", False, kinds="if"),
    Function("log1p", 1, "log(1 + x), accurate near zero", True),
    Function("sin", 1, "sine, in radians", True),
    Function("cos", 1, "cosine, in radians", False),
    Function("tan", 1, "tangent, in radians", True),
    Function("asin", 1, "inverse sine", True, kinds="if"),
    Function("acos", 1, "inverse cosine", False, kinds="if"),
    Function("atan", 1, "inverse tangent", True, kinds="if"),
    Function("sinh", 1, "hyperbolic sine", True, kinds="if"),
    Function("cosh", 1, "hyperbolic cosine", False, kinds="if"),
    Function("tanh", 1, "hyperbolic tangent", True),
    Function("asinh", 1, "inverse hyperbolic sine", True, kinds="if"),
    Function("acosh", 1, "inverse hyperbolic cosine", False, kinds="if"),
    Function("atanh", 1, "inverse hyperbolic tangent", True, kinds="if"),
    Function("erf", 1, "error function", True, kinds="if"),
    Function("max", 2, "the larger of two; NaN if either is", True, keeps_integers=True, kinds="if"),
    Function("min", 2, "the smaller of two; NaN if either is", True, keeps_integers=True, kinds="if"),
    Function("pow", 2, "the first to the power of the second; also `x ** y`", None, keeps_integers=True),
    Function("atan2", 2, "the angle of the point (second, first)", True, kinds="if"),
    Function("where", 3, "the second where the first is not zero, else the third", True, keeps_integers=True),
    Function("logical_not", 1, "1 where the argument is zero, else 0; also `!x`", False, gives_truth=True),
)

FUNCTIONS: dict[str, Function] = {function.name: function for function in _TABLE}


def function_hint(name: str) -> str:
    """Returns the way out for a function that does not exist.

    >>> function_hint("sine")
    'did you mean `sin`?'
    """
    near = get_close_matches(name.lower(), FUNCTIONS, n=1)
    # `arcsin` and the like are NumPy's older names, too far from the newer ones to be found as near.
    near = near or [new for new in (name.lower().replace("arc", "a"),) if new in FUNCTIONS]
    return f"did you mean `{near[0]}`?" if near else f"the functions are {', '.join(FUNCTIONS)}"


def mistake_in_call(name: str, arguments: int) -> str | None:
    """Returns what is wrong with a call of a function with so many arguments, or None.

    >>> mistake_in_call("max", 1)
    'expected 2 arguments to max (the larger of two; NaN if either is), but got 1'
    """
    function = FUNCTIONS.get(name)
    if function is None:
        return f"expected a known function, but got `{name}`; {function_hint(name)}"
    if arguments != function.arity:
        plural = "" if function.arity == 1 else "s"
        return f"expected {function.arity} argument{plural} to {name} ({function.doc}), but got {arguments}"
    return None
