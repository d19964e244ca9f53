"""Semirings: what `+` and `*` mean (Kepner and Gilbert 2011; the GraphBLAS C API's names).

Under a semiring products are its multiplication and sums its addition, and an entry that is not stored is its
zero, the identity of the addition: it takes no part in sums, and a product with it is missing too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from mlir_sparse.errors import NotationError
from mlir_sparse.notation import Extreme, Monoid, Operator, call, monoid, operator
from mlir_sparse.notation.operator import Number

__all__ = ["MONOIDS", "MULTIPLICATIONS", "Semiring", "semiring"]


@dataclass(frozen=True, slots=True)
class Semiring:
    """An addition and a multiplication.

    Args:
        add: the monoid that sums combine by; its identity is the semiring's zero.
        multiply: the operator that products are.
    """

    add: Monoid
    multiply: Operator

    @property
    def name(self) -> str:
        """Returns both names joined: `min_plus`."""
        return f"{self.add.name}_{self.multiply.name}"

    @property
    def zero(self) -> Number | Extreme:
        """Returns the value that an entry has which is not stored."""
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
    "pair": _binary("pair", lambda a, b: 1, dtype="i64", commutative=True),
    "first": _binary("first", lambda a, b: a, associative=True),
    "second": _binary("second", lambda a, b: b, associative=True),
}
"""The multiplications there are by name; `pair` is 1 wherever both operands have an entry."""


def semiring(add: str | Monoid | Semiring, multiply: str | Operator | Any = None) -> Semiring:
    """Returns a semiring, by name or made of an addition and a multiplication.

    Every `<add>_<multiply>` of the names below exists, among them plus_times, min_plus, max_plus, min_max, max_min,
    max_times, or_and, any_pair, plus_pair, plus_first, plus_second, min_first and min_second.

    Args:
        add: the name of a semiring; or a monoid, by name (plus, times, min, max, or, and, any) or made by `monoid`.
        multiply: an operator, by name (plus, times, min, max, and, or, pair, first, second), made by
            `operator`, or a Python function for it.

    Raises:
        NotationError: for names that do not exist.

    >>> print(semiring("min_plus"))
    min_plus: add min(a, b) = min(a, b), identity greatest; multiply plus(a, b) = a + b
    >>> semiring("min", "plus") == semiring("min_plus")
    True
    """
    if isinstance(add, Semiring) and multiply is None:
        return add
    if isinstance(add, str) and multiply is None:
        return _named(add)
    addition = _addition(add)
    product = _multiplication(multiply)
    if product == _PLUS and isinstance(addition.identity, Extreme):
        # What cannot be reached stays so, also in integers, which have no infinity.
        product = replace(product, annihilator=addition.identity)
    if addition == MONOIDS["any"] and product == MULTIPLICATIONS["pair"]:
        product = replace(product, dtype="i8")
    return Semiring(addition, product)


def _named(name: str) -> Semiring:
    add, _, multiply = name.partition("_")
    if add in MONOIDS and multiply in MULTIPLICATIONS:
        return semiring(add, multiply)
    raise NotationError(
        f"expected a semiring such as min_plus, an addition ({', '.join(MONOIDS)}) and a multiplication "
        f"({', '.join(MULTIPLICATIONS)}) joined by `_`, but got {name!r}; make others by ms.semiring(add, multiply)"
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
        known = MULTIPLICATIONS.get(multiply)
        if known is None:
            raise NotationError(f"expected a multiplication of {', '.join(MULTIPLICATIONS)}, but got {multiply!r}")
        return known
    found = multiply if isinstance(multiply, Operator) else operator(multiply)  # type: ignore[call-overload]
    assert isinstance(found, Operator)
    if found.arity != 2 or not found.intersects:
        raise NotationError(
            f"expected a multiplication of two operands without left= and right=, as a product with what is missing "
            f"is missing, but got {found}"
        )
    return found
