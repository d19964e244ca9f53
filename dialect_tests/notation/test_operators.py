"""Operators, monoids, masks and selections as values: what they print, how they parse, what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from mlir_sparse.errors import NotationError, NotationSyntaxError
from mlir_sparse.notation import (
    MASK,
    Apply,
    Extreme,
    Fold,
    Formula,
    Monoid,
    Operator,
    monoid,
    operator,
    parse,
    where,
    with_explicit_sums,
)


@pytest.mark.parametrize(
    "text",
    [
        "C(i,j) = A(i,k) * B(k,j) if M(i,j)",
        "y(i) = A(i,j) * x(j) + z(i) if not m(i)",
        "y(i) += x(i) if m(i)",
        "C(i,j) = select(A(i,j), A(i,j) > 0.5)",
        "y(i) = select(A(i,j), n(i) >= n(j)) * x(j)",
    ],
)
def test_masks_and_selections_print_as_they_parse(text: str) -> None:
    """What prints parses back to an equal value."""
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)


def test_sums_go_inside_masks() -> None:
    """A mask keeps elements of the sum, not terms of it."""
    summed = with_explicit_sums(parse("y(i) = A(i,j) * x(j) if m(i)"))
    assert isinstance(summed.value, Apply)
    assert summed.value.operator == MASK
    assert str(summed) == "y(i) = sum(j : A(i,j) * x(j)) if m(i)"


def test_operators_are_values() -> None:
    """Equal functions give equal operators, that hash and print."""

    def make() -> Operator:
        return operator(lambda a, b: where(a > b, a, np.sqrt(b)), name="f", left="keep", right=0)

    assert make() == make()
    assert hash(make()) == hash(make())
    assert str(make()) == "f(a, b) = where(a > b, a, sqrt(b)); left: a; right: 0"
    assert str(operator(lambda a: a + 1, name="g", absent=1)) == "g(a) = a + 1; absent: 1"
    assert str(operator(np.maximum)) == "maximum(a, b) = max(a, b)"


def test_names_are_those_of_the_text() -> None:
    """An operator is called, and printed, by the keyword that it is passed as; a monoid reduces by the name."""
    assignment = parse("y(i) = f(j : g(A(i,j), x(j)))", {"f": monoid(np.minimum, math.inf), "g": operator(np.add)})
    assert str(assignment) == "y(i) = f(j : g(A(i,j), x(j)))"
    assert isinstance(assignment.value, Fold)
    assert assignment.value.monoid.identity is Extreme.GREATEST
    assert assignment.inputs == ("A", "x")


def test_a_monoid_on_two_operands_passes_one_through() -> None:
    """Called as an operator, a monoid unites."""
    assignment = parse("y(i) = f(a(i), b(i))", {"f": monoid(np.minimum, math.inf)})
    assert isinstance(assignment.value, Apply)
    assert str(assignment.value.operator) == "f(a, b) = min(a, b); left: a; right: b"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: operator(lambda a, b: a if a > b else b), r"choose between values by ms\.where"),
        (lambda: operator(lambda a: math.exp(a)), "must be real number, not Formula; use np.exp"),
        (lambda: operator(lambda a, b, c: a), r"one or two operands, but got one of \(a, b, c\)"),
        (lambda: operator(lambda *a: 1), r"one or two operands, but got one of \(\*a\)"),
        (lambda: operator(lambda a: a, left="keep"), r"but got one of one; use absent="),
        (lambda: operator(lambda a, b: a, absent=1), "but got one of two; use left= and right="),
        (lambda: operator(lambda a, b: a, left="drop"), '"keep", a function, a number or None for left=, but got'),
        (lambda: operator(3), "expected a function to make an operator of, but got int 3"),
        (lambda: monoid(lambda a: a, 0), "expected an operator of two operands to reduce by"),
        (
            lambda: operator(lambda a: None, name="f"),
            "a result of the operator f somewhere, but got None .* by absent=",
        ),
        (lambda: operator(lambda a, b: None), "but got None where there are entries; .* by left= and right="),
        (lambda: operator(lambda a: "text"), "expected an expression or a number, but got str"),
    ],
)
def test_functions_that_are_no_operators(make: object, message: str) -> None:
    """Each mistake says what was expected, and the way out."""
    assert callable(make)
    with pytest.raises(NotationError, match=message):
        make()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y(i) = f(x(i))", "expected 2 operands of f"),
        ("y(i) = x(i) if", "expected a tensor, a number, a function or"),
        ("y(i) = x(i) if not", "expected a tensor, a number, a function or"),
        ("y(i) = select(x(i))", "expected 2 operands of select"),
    ],
)
def test_mistakes_in_texts(text: str, message: str) -> None:
    """Mistakes are shown where they stand."""
    with pytest.raises(NotationSyntaxError, match=message) as raised:
        parse(text, {"f": operator(lambda a, b: a + b)})
    assert "^" in str(raised.value)


def test_a_monoid_needs_a_combination() -> None:
    """An operator without a result where both operands are cannot combine."""
    with pytest.raises(NotationError, match="to reduce by, but got f"):
        Monoid(operator(lambda a, b: None, name="f", left="keep"), 0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: monoid(_plus, "abc"), "a number for identity=, but got str"),  # type: ignore[arg-type]
        (lambda: monoid(_plus, [1]), "a number for identity=, but got list"),  # type: ignore[arg-type]
        (lambda: operator(_plus, annihilator=np.ones(2)), "a number for annihilator=, but got ndarray"),  # type: ignore[call-overload]
        (lambda: operator(_plus, commutative=[]), "True or False for commutative=, but got list"),  # type: ignore[call-overload]
        (lambda: operator(_plus, name=3), "text for name=, but got int"),  # type: ignore[call-overload]
        (lambda: operator(_plus, dtype=3), "an element type such as"),  # type: ignore[call-overload]
        (lambda: operator(lambda a: a.real), "a function of Python's operators"),
        (lambda: operator(lambda a: sum([a] * 2000, a)), "at most 100 operations inside one another"),
    ],
)
def test_arguments_that_make_no_operator(make: Callable[[], object], message: str) -> None:
    with pytest.raises(NotationError, match=message):
        make()


def _plus(a: Formula, b: Formula) -> Formula:
    return a + b
