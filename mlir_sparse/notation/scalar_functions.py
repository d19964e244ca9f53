"""The scalar functions of index notation: one table, by name.

Names and meaning are NumPy's where NumPy has the function (`np.exp`, `np.asin`, ...): also for NaN, negative zeros and
integers divided by zero.
"""

from __future__ import annotations

from typing import Any

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DTYPES, TRUTH, DType
from mlir_sparse.notation.ast import Call, Expr
from mlir_sparse.process.forks import importing
from mlir_sparse.text.source_text import Span

__all__ = ["FUNCTIONS", "SPELLINGS", "STORED", "Function", "call_of", "function_hint", "is_misspelt", "mistake_in_call"]


@dataclass(frozen=True, slots=True)
class Function:
    """A scalar function.

    Args:
        name: its name in notation.
        arity: the number of its arguments.
        doc: its result in a few words.
        zero_preserving: whether it is zero where all arguments are, so that loops over stored entries suffice; None
            where an argument decides (`pow(0, y)` is zero only for positive y).
        keeps_integers: whether integers give integers; other functions compute integers in f64.
        kinds: the numbers that it is defined for: integers (i), real numbers (f), complex ones (c).
        result: its type: that of the expression around it (`context`); the common type of its arguments (`own`); the
            type of their real parts (`real`); a truth value (`truth`); the type that names the function (`cast`).
        zero_at: the arguments of which each makes the result zero when it is zero.
        numpy: NumPy's name, where it differs.
        folds: whether more arguments are taken two at a time, from the left, as in `max(a, b, c)`.
    """

    name: str
    arity: int
    doc: str
    zero_preserving: bool | None
    keeps_integers: bool = False
    kinds: str = "ifc"
    result: str = "context"
    zero_at: tuple[int, ...] = ()
    numpy: str = ""
    folds: bool = False

    @property
    def gives_truth(self) -> bool:
        """Returns whether the result is 0 or 1 for all arguments."""
        return self.result == "truth"

    @property
    def numpy_name(self) -> str:
        """Returns NumPy's name of the function."""
        return self.numpy or self.name


def _keeping(name: str, arity: int, doc: str, zero: bool | None = True, **more: Any) -> Function:
    """Returns a function that gives integers for integers and real numbers for real numbers."""
    return Function(name, arity, doc, zero, keeps_integers=True, **more)


def _of_reals(name: str, arity: int, doc: str, zero: bool | None = True, **more: Any) -> Function:
    return Function(name, arity, doc, zero, kinds="if", **more)


def _of_bits(name: str, arity: int, doc: str, zero: bool | None = True, **more: Any) -> Function:
    return Function(name, arity, doc, zero, keeps_integers=True, kinds="i", result="own", **more)


def _cast(dtype: DType) -> Function:
    doc = f"the argument in the element type {dtype}" + (", rounded towards zero" if dtype.is_integer else "")
    kinds = "ifc" if dtype.is_complex else "if"
    return Function(dtype.name, 1, doc, True, True, kinds, "cast", numpy=dtype.numpy_name)


STORED = "stored"
"""The function that is evaluated at stored entries only."""

_TABLE = (
    _keeping("abs", 1, "absolute value; of a complex number the modulus", result="real", numpy="absolute"),
    _keeping("sign", 1, "-1, 0 or 1 as the argument is negative, zero or positive; of a complex number z/|z|"),
    _keeping("conj", 1, "complex conjugate; real numbers stay what they are", numpy="conjugate"),
    _keeping("real", 1, "real part", result="real"),
    _keeping("imag", 1, "imaginary part; of a real number zero", result="real"),
    Function("angle", 1, "the angle of a complex number, in radians; pi for a negative one", True, result="real"),
    _keeping("relu", 1, "the argument where it is positive, else zero", kinds="if"),
    _keeping("square", 1, "the argument times itself"),
    _keeping("reciprocal", 1, "1/x; of integers rounded towards zero, of 0 then 0", False, result="own"),
    _keeping("floor", 1, "largest integer not above the argument", kinds="if"),
    _keeping("ceil", 1, "smallest integer not below the argument", kinds="if"),
    _keeping("round", 1, "nearest integer, halves to even", numpy="rint"),
    _keeping("trunc", 1, "nearest integer towards zero", kinds="if"),
    Function("sqrt", 1, "square root", True),
    Function("rsqrt", 1, "1/sqrt(x)", False),
    _of_reals("cbrt", 1, "cube root"),
    Function("exp", 1, "e to the power of the argument", False),
    Function("exp2", 1, "2 to the power of the argument", False),
    Function("expm1", 1, "exp(x) - 1, accurate near zero", True),
    Function("log", 1, "natural logarithm", False),
    Function("log2", 1, "logarithm to base 2", False),
    Function("log10", 1, "logarithm to base 10", False),
    Function("log1p", 1, "log(1 + x), accurate near zero", True),
    Function("sin", 1, "sine, in radians", True),
    Function("cos", 1, "cosine, in radians", False),
    Function("tan", 1, "tangent, in radians", True),
    Function("asin", 1, "inverse sine", True, numpy="arcsin"),
    Function("acos", 1, "inverse cosine", False, numpy="arccos"),
    Function("atan", 1, "inverse tangent", True, numpy="arctan"),
    Function("sinh", 1, "hyperbolic sine", True),
    Function("cosh", 1, "hyperbolic cosine", False),
    Function("tanh", 1, "hyperbolic tangent", True),
    Function("asinh", 1, "inverse hyperbolic sine", True, numpy="arcsinh"),
    Function("acosh", 1, "inverse hyperbolic cosine", False, numpy="arccosh"),
    Function("atanh", 1, "inverse hyperbolic tangent", True, numpy="arctanh"),
    _of_reals("erf", 1, "error function"),
    _of_reals("sinc", 1, "sin(pi x)/(pi x), 1 at zero", False),
    _of_reals("deg2rad", 1, "radians of degrees"),
    _of_reals("rad2deg", 1, "degrees of radians"),
    _keeping("max", 2, "the larger of two; NaN if either is", kinds="if", numpy="maximum", folds=True),
    _keeping("min", 2, "the smaller of two; NaN if either is", kinds="if", numpy="minimum", folds=True),
    _keeping("fmax", 2, "the larger of two; NaN if both are", kinds="if"),
    _keeping("fmin", 2, "the smaller of two; NaN if both are", kinds="if"),
    _keeping("pow", 2, "the first to the power of the second; also `x ** y`", None, numpy="power"),
    _of_reals("atan2", 2, "the angle of the point (second, first)", numpy="arctan2"),
    _of_reals("hypot", 2, "the length of the vector (first, second)"),
    _of_reals("copysign", 2, "the first with the sign of the second", zero_at=(0,)),
    _of_reals("heaviside", 2, "0 below zero, 1 above it, the second at zero"),
    _of_reals("logaddexp", 2, "log(exp(first) + exp(second))", False),
    _of_reals("logaddexp2", 2, "log2(2 ** first + 2 ** second)", False),
    _keeping("floor_divide", 2, "the quotient rounded down; of integers by 0 it is 0", None, kinds="if", result="own"),
    _keeping("remainder", 2, "what floor_divide leaves, signed as the divisor", None, kinds="if", result="own"),
    _keeping("fmod", 2, "what a division towards zero leaves, signed as the first", None, kinds="if", result="own"),
    _of_bits("bitwise_and", 2, "the bits that both integers have", zero_at=(0, 1)),
    _of_bits("bitwise_or", 2, "the bits that either integer has"),
    _of_bits("bitwise_xor", 2, "the bits that one integer has and the other has not"),
    _of_bits("invert", 1, "the bits that an integer has not", False),
    _of_bits("left_shift", 2, "the bits of the first moved up by the second", zero_at=(0,)),
    _of_bits("right_shift", 2, "the bits of the first moved down by the second", zero_at=(0,)),
    _keeping("where", 3, "the second where the first is not zero, else the third"),
    _keeping(STORED, 1, "the argument where all its sparse tensors store an entry, no entry elsewhere"),
    Function("logical_not", 1, "1 where the argument is zero, else 0; also `!x`", False, result="truth"),
    Function("logical_xor", 2, "1 where one argument is zero and the other is not", True, result="truth"),
    Function("isnan", 1, "1 where the argument is NaN", True, result="truth"),
    Function("isinf", 1, "1 where the argument is infinite", True, result="truth"),
    Function("isfinite", 1, "1 where the argument is neither infinite nor NaN", False, result="truth"),
    _of_reals("signbit", 1, "1 where the argument's sign is minus, that of -0.0 too", result="truth"),
    Function(TRUTH.name, 1, "1 where the argument is not zero, NaN included, else 0", True, result="truth"),
    *(_cast(dtype) for dtype in DTYPES if dtype != TRUTH and not dtype.is_storage),
)
_STORED = {dtype.name: dtype for dtype in DTYPES if dtype.is_storage}

FUNCTIONS: dict[str, Function] = {function.name: function for function in _TABLE}

SPELLINGS = {function.numpy: function.name for function in _TABLE if function.numpy}
SPELLINGS |= {"fabs": "abs", "mod": "remainder"}
SPELLINGS = {name: known for name, known in SPELLINGS.items() if name not in FUNCTIONS}
"""NumPy's and C's names of functions that have another one here; a tensor may have such a name too."""


def function_hint(name: str) -> str:
    """Returns a hint for a function that does not exist.

    >>> function_hint("sine")
    'did you mean `sin`?'
    """
    if name in _STORED:
        return f"{name} is stored alone: cast to {_STORED[name].accumulated_in}, and convert the result"
    near = _near(name.lower(), 0.6)
    return f"did you mean `{near[0]}`?" if near else f"the functions are {', '.join(FUNCTIONS)}"


def is_misspelt(name: str) -> bool:
    """Returns whether a name is most likely a misspelt function.

    >>> is_misspelt("sine"), is_misspelt("arcsin"), is_misspelt("L2"), is_misspelt("table")
    (True, True, False, False)
    """
    return name in _STORED or (name.isalpha() and bool(_near(name, 0.8)))


def _near(name: str, likeness: float) -> list[str]:
    # NumPy's older names, such as `arcsin`, are too far from the newer ones to be found by likeness.
    newer = name.replace("arc", "a")
    if newer in FUNCTIONS:
        return [newer]
    with importing():
        from difflib import get_close_matches  # for names that are misspelt

    return get_close_matches(name, FUNCTIONS, n=1, cutoff=likeness)


def call_of(name: str, arguments: tuple[Expr, ...], span: Span | None = None) -> Call:
    """Returns a call of a function, or of several where it is one of two arguments that `folds` more.

    >>> from mlir_sparse.notation.ast import Access
    >>> print(call_of("max", (Access("a"), Access("b"), Access("c"))))
    max(max(a, b), c)
    """
    function = FUNCTIONS.get(name)
    if function is not None and function.folds and len(arguments) > function.arity:
        return call_of(name, (Call(name, arguments[:2], span), *arguments[2:]), span)
    return Call(name, arguments, span)


def mistake_in_call(name: str, arguments: int) -> str | None:
    """Returns the fault of a call with this number of arguments, or None.

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
