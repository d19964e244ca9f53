"""Semirings: meanings of `+` and `*` (Kepner and Gilbert 2011; names from the GraphBLAS C API).

Under a semiring, products are its multiplication and sums are its addition. A missing entry is its zero, the identity
of the addition: sums skip it, and a product with it is missing too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import BYTE, INTEGER
from mlir_sparse.errors import NotationError
from mlir_sparse.notation.formula import call
from mlir_sparse.notation.operator import ARITHMETIC, Distribution, Extreme, Monoid, Number, Operator
from mlir_sparse.notation.positional_products import POSITIONAL
from mlir_sparse.notation.tracing import monoid, operator
from mlir_sparse.text.shown_text import PrintedValue

__all__ = ["MONOIDS", "MULTIPLICATIONS", "Semiring", "semiring"]


_NEITHER = Distribution()


@dataclass(frozen=True, slots=True)
class Semiring(PrintedValue):
    """An addition and a multiplication.

    Args:
        add: the monoid of sums; its identity is the semiring's zero.
        multiply: the operator of products.
        laws: the places that sums may move into; none unless declared: sums then stay around whole products.
    """

    add: Monoid
    multiply: Operator
    laws: Distribution = _NEITHER

    @property
    def name(self) -> str:
        """Returns both names joined: `min_plus`."""
        return f"{self.add.name}_{self.multiply.name}"

    @property
    def zero(self) -> Number | Extreme:
        """Returns the value of a missing entry."""
        return self.add.identity

    def __str__(self) -> str:
        return f"{self.name}: add {self.add}; multiply {self.multiply}"


def _properties(identity: Number | Extreme | None, annihilator: Number | Extreme | None = None) -> dict[str, Any]:
    return {"commutative": True, "associative": True, "identity": identity, "annihilator": annihilator}


def _binary(name: str, function: Callable[..., Any], **properties: Any) -> Operator:
    plain: Operator = operator(function, name=name)
    return replace(plain, **properties)


_TRUTH = operator(lambda a: a != 0, name="truth")

_PLUS = _binary("plus", lambda a, b: a + b, **_properties(0))
_TIMES = _binary("times", lambda a, b: a * b, **_properties(1, 0))
_MIN = _binary("min", lambda a, b: call("min", a, b), **_properties(Extreme.GREATEST, Extreme.LEAST))
_MAX = _binary("max", lambda a, b: call("max", a, b), **_properties(Extreme.LEAST, Extreme.GREATEST))
_OR = operator(lambda a, b: a | b, name="or", left=lambda a: a != 0, right=lambda b: b != 0)
_AND = operator(lambda a, b: a & b, name="and", left=lambda a: a != 0, right=lambda b: b != 0)
_ANY = _binary("any", lambda a, b: b, commutative=True, associative=True)

MONOIDS: dict[str, Monoid] = {
    "plus": monoid(_PLUS, 0),
    "times": monoid(_TIMES, 1),
    "min": monoid(_MIN, float("inf")),
    "max": monoid(_MAX, float("-inf")),
    "or": replace(monoid(_OR, 0), lift=_TRUTH),
    "and": replace(monoid(_AND, 1), lift=_TRUTH),
    "any": monoid(_ANY, 0),
}
"""The additions there are by name; `any` takes whichever entry comes last."""

MULTIPLICATIONS: dict[str, Operator] = {
    "plus": _PLUS,
    "times": _TIMES,
    "min": _MIN,
    "max": _MAX,
    "and": replace(_AND, left=None, right=None, **_properties(1, 0)),
    "or": replace(_OR, left=None, right=None, **_properties(0, 1)),
    "pair": _binary("pair", lambda a, b: 1, dtype=INTEGER.name, commutative=True),
    "first": _binary("first", lambda a, b: a, associative=True),
    "second": _binary("second", lambda a, b: b, associative=True),
}
"""The multiplications there are by name; `pair` is 1 wherever both operands have an entry."""


_LEFT, _RIGHT = Distribution(left=True), Distribution(right=True)
_BOTH = Distribution(left=True, right=True)
# Laws of machine numbers, for sums of any number of terms: of none too, as over an axis of length 0, so that a law of
# `first`, `pair` and other products that the identity of the sum does not annihilate is that of one side, or there is
# none. In floating point x + y is monotone in y. A product x * y may underflow to zero where neither factor is zero.
# Integers count as exact, up to overflow.
_LAWS: dict[tuple[str, str], Distribution] = {
    ("plus", "times"): ARITHMETIC,
    **dict.fromkeys((("min", "plus"), ("max", "plus"), ("min", "max"), ("max", "min")), _BOTH),
    **dict.fromkeys((("or", "and"), ("and", "or"), ("any", "times"), ("any", "and")), _BOTH),
    **{(add, "pair"): _BOTH for add in ("times", "and")},
    **{(add, multiply): laws for add in MONOIDS for multiply, laws in (("first", _LEFT), ("second", _RIGHT))},
}


def _laws(add: Monoid, multiply: Operator) -> Distribution:
    """Returns the laws of a named addition and multiplication; others have none."""
    additions = [name for name, known in MONOIDS.items() if known == add]
    products = [name for name, known in MULTIPLICATIONS.items() if known == multiply]
    return _LAWS.get((additions[0], products[0]), _NEITHER) if additions and products else _NEITHER


def semiring(
    add: str | Monoid | Semiring, multiply: str | Operator | Any = None, *, distributes: str | None = None
) -> Semiring:
    """Returns a semiring, by name or made of an addition and a multiplication.

    Every `<add>_<multiply>` of the names below exists: plus_times, min_plus, max_plus, min_max, max_min, max_times,
    or_and, any_pair, plus_pair, plus_first, plus_second, min_first, min_second and so on. Of the products `firsti`,
    `firstj`, `secondi` and `secondj` the value is a position: the first or the second subscript of the first or the
    second factor (`firsti1` and so on count from 1). So `p(j) = A(i,j) * f(i)` under any_secondi gives parents.

    Args:
        add: the name of a semiring; or a monoid, by name (plus, times, min, max, or, and, any) or from `monoid`.
        multiply: an operator, by name (plus, times, min, max, and, or, pair, first, second), from `operator`, or a
            Python function for it.
        distributes: the sides on which products distribute over sums, if an addition or a multiplication is your own:
            "left" where `a*(b + c)` is `a*b + a*c`, "right" where `(a + b)*c` is `a*c + b*c`, "both" or "neither" (the
            default). Sums move into a factor only on these sides.

    Raises:
        NotationError: for names that do not exist.

    >>> print(semiring("min_plus"))
    min_plus: add min(a, b) = min(a, b), identity greatest; multiply plus(a, b) = a + b
    >>> semiring("min", "plus") == semiring("min_plus")
    True
    """
    if multiply is None and distributes is None:
        if isinstance(add, Semiring):
            return add
        if isinstance(add, str):
            return _named(add)
    addition = _addition(add)
    product = _multiplication(multiply)
    laws = _laws(addition, product) if distributes is None else _declared(distributes)
    if product == _PLUS and isinstance(addition.identity, Extreme):
        # The greatest integer stands for infinity: adding to it leaves it as it is.
        product = replace(product, annihilator=addition.identity)
    if addition == MONOIDS["any"] and product == MULTIPLICATIONS["pair"]:
        product = replace(product, dtype=BYTE.name)
    return Semiring(addition, product, laws)


def _declared(distributes: object) -> Distribution:
    # Left distributivity lets sums move into the right factor.
    known = {"left": _RIGHT, "right": _LEFT, "both": _BOTH, "neither": _NEITHER}
    if not isinstance(distributes, str) or distributes not in known:
        raise NotationError(f"expected one of {', '.join(known)} for distributes=, but got {distributes!r}")
    return known[distributes]


@cache
def _named(name: str) -> Semiring:
    add, _, multiply = name.partition("_")
    if add in MONOIDS and (multiply in MULTIPLICATIONS or multiply in POSITIONAL):
        return semiring(add, multiply)
    raise NotationError(
        f"expected a semiring such as min_plus, an addition ({', '.join(MONOIDS)}) and a multiplication "
        f"({', '.join((*MULTIPLICATIONS, *POSITIONAL))}) joined by `_`, but got {name!r}; "
        "make others by ms.semiring(add, multiply)"
    )


def _addition(add: object) -> Monoid:
    if isinstance(add, Monoid):
        return add
    known = MONOIDS.get(add) if isinstance(add, str) else None
    if known is None:
        raise NotationError(
            f"expected a monoid as the addition, one of {', '.join(MONOIDS)} or made by ms.monoid, but got {add!r}"
        )
    return known


def _multiplication(multiply: object) -> Operator:
    if isinstance(multiply, str):
        known = MULTIPLICATIONS.get(multiply) or POSITIONAL.get(multiply)
        if known is None:
            names = ", ".join((*MULTIPLICATIONS, *POSITIONAL))
            raise NotationError(f"expected a multiplication of {names}, but got {multiply!r}")
        return known
    found = multiply if isinstance(multiply, Operator) else operator(multiply)  # type: ignore[call-overload]
    assert isinstance(found, Operator)
    if found.arity != 2 or not found.intersects:
        raise NotationError(
            f"expected a multiplication of two operands without left= and right=, as a product with what is missing "
            f"is missing, but got {found}"
        )
    return found
