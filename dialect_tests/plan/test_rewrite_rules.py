"""Rules on expressions: each has its laws and its licence, is applied, does something, and changes no more than it may.

Both sides of each rewriting are evaluated by the reference, which knows no rules.
"""

from __future__ import annotations

import importlib
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse import plan as planning
from mlir_sparse.notation import (
    Access,
    Assignment,
    AssignOp,
    Expr,
    Literal,
    free_indices,
    parse,
    walk,
    with_explicit_sums,
)
from mlir_sparse.notation.laws import Law, holds
from mlir_sparse.notation.semiring import semiring
from mlir_sparse.plan.rewrite import rewrite_rules
from mlir_sparse.plan.rewrite.rewrite_rule import Context, Licence, Rule, WhyNot
from mlir_sparse.plan.rewrite.rewrite_rules import RULES
from mlir_sparse.program import Conversion
from mlir_sparse.testing import Block, Operand, evaluate
from mlir_sparse.testing.reference.evaluator import on_columns, value_of
from mlir_sparse.testing.reference.named_arrays import densify
from mlir_sparse.testing.reference.reference_entries import evaluate_entries, is_about_entries, missing_of

Array = np.ndarray[Any, Any]
BY_NAME = {rule.name: rule for rule in RULES}
NAMES = tuple(BY_NAME)

ONLY_IN_B = ms.operator(lambda a, b: None, name="only", right=lambda b: b + 1)
ABSENT = ms.operator(lambda a: None, name="absent", absent=5)
PLUS = ms.monoid(ms.operator(lambda a, b: a + b, name="total"), 0)
OPERATORS: dict[str, Any] = {"only": ONLY_IN_B, "absent": ABSENT, "total": PLUS}


# -- the list ---------------------------------------------------------------------------------------------------------


def test_each_rule_says_what_it_needs_and_what_it_may_change() -> None:
    assert len(BY_NAME) == len(RULES)
    for rule in RULES:
        assert rule.laws, rule.name
        assert all(law.value in str(rule) for law in rule.laws)
        assert rule.licence.value in str(rule)


def test_each_file_has_one_rule() -> None:
    protocol = {"__init__", "rewrite_rule", "rewrite_rules", "sum_of_terms"}
    folder = Path(rewrite_rules.__file__).parent
    files = {path.stem for path in folder.glob("*.py")} - protocol
    assert files == {name.replace("-", "_") for name in NAMES}
    for name in files:
        module = importlib.import_module(f"mlir_sparse.plan.rewrite.{name}")
        rules = [value for value in vars(module).values() if isinstance(value, Rule)]
        assert rules == [BY_NAME[name.replace("_", "-")]]


# -- laws -------------------------------------------------------------------------------------------------------------

RINGS = ("plus_times", "min_plus", "plus_pair", "plus_first", "plus_second", "or_and", "times_plus")


@pytest.mark.parametrize("name", RINGS)
def test_no_rule_is_applied_without_its_laws(name: str) -> None:
    ring = semiring(name)
    for rule in RULES:
        held = all(holds(law, ring) for law in rule.laws)
        found = [rule.apply(node, replace(context, ring=ring)) for node, context in samples(rule, rounds=False)]
        assert all(isinstance(one, WhyNot) for one in found) != held, rule.name


def test_laws_are_those_that_semirings_declare() -> None:
    for name in RINGS:
        ring = semiring(name)
        declared = (ring.laws.minus, ring.laws.left, ring.laws.right)
        assert tuple(holds(law, ring) for law in (Law.MINUS, Law.LEFT, Law.RIGHT)) == declared
    assert not holds(Law.ZERO, semiring("min_plus"))


def test_laws_are_asked_in_one_place() -> None:
    asks = re.compile(r"\blaws\.(left|right|minus)|\.annihilator (==|!=)|\.(commutative|associative)\b")
    package = Path(ms.__file__).parent
    found = {str(path.relative_to(package)) for path in package.rglob("*.py") if asks.search(path.read_text())}
    assert found == {"notation/laws.py"}


# -- values -----------------------------------------------------------------------------------------------------------

# Expressions that a rule rewrites; upper-case names are sparse.
TEXTS: dict[str, tuple[str, ...]] = {
    "sums-as-folds": ("sum(j : stored(A(i,j) + 1))", "sum(j : total(k : stored(T(i,j,k) - 2)))"),
    "flatten-sums": ("z(i) - (b(i) - sum(j : A(i,j)))", "z(i) + (sum(j : A(i,j)) - b(i))"),
    "distribute": (
        "(A(i,j) + b(i)) * B(i,j)",
        "(x(j) - A(i,j)) * (b(i) - B(i,j) - 1)",
        "(sum(k : T(i,j,k)) - A(i,j)) / 4",
        "(1 - A(i,j)) * x(j)",
    ),
    "factors-into-sums": ("sum(j : A(i,j)) * b(i)", "w(k) * sum(j : A(i,j) * x(j))"),
    "truth-in-counts": ("count(j : A(i,j))", "or(j : A(i,j) - 1)", "and(j : B(i,j))", "count(j : A(i,j) > x(j))"),
    "split-sums": ("sum(j : A(i,j) - x(j))", "sum(j : A(i,j) * x(j) + B(i,j) - 2 * x(j))"),
    "merge-sums": ("sum(j : sum(k : T(i,j,k)))", "total(j : total(k : stored(T(i,j,k))))"),
    "split-choices": ("where(A(i,j) > 0, B(i,j), x(j))", "where(A(i,j) == B(i,j), A(i,j), -x(j))"),
    "negate-factors": ("-(A(i,j) * exp(x(j)))", "-(abs(x(j)) * A(i,j) / 2)"),
    "missing-as-masks": ("only(A(i,j), C(i,j))", "absent(A(i,j))"),
    "masks-into-folds": ("total(k : stored(T(i,j,k))) if A(i,j)",),
}
SHAPES = {"A": (4, 3), "B": (4, 3), "C": (4, 3), "T": (4, 3, 5), "x": (3,), "b": (4,), "z": (4,), "w": (5,)}
SPARSE = frozenset("ABT")
EXTENTS = {"i": 4, "j": 3, "k": 5}
INTEGERS = np.array([-3, -1, 0, 1, 2, 7])
FLOATS = np.array([-1.5, -1 / 3, 0.1, 0.7, 3.0])
SPECIAL = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -2.0])


def expression(text: str) -> Expr:
    value = parse(f"Y = {text}", OPERATORS).value
    shown = ",".join(index.name for index in free_indices(value))
    return with_explicit_sums(parse(f"Y({shown}) = {text}", OPERATORS)).value


def samples(rule: Rule, *, rounds: bool) -> Iterator[tuple[Expr, Context]]:
    """Yields what a rule rewrites, with what it knows: in numbers that round, what stands in one more sum."""
    for text in TEXTS[rule.name]:
        yield expression(text), Context(SPARSE, rounds=rounds, summed=rounds)


def operands(numbers: Array, seed: int) -> dict[str, Operand]:
    """Draws tensors; of special numbers all is stored, since no storage keeps the sign of a zero that it leaves out."""
    random = np.random.default_rng(seed)
    density = 1.0 if numbers is SPECIAL else 0.5
    found = {}
    for name, shape in SHAPES.items():
        values = random.choice(numbers, shape)
        if name in SPARSE:
            places = np.nonzero(random.random(shape) < density)
            found[name] = Operand(values[places], shape, tuple(place.astype(np.int64) for place in places))
        else:
            found[name] = Operand(values, shape)
    return found


def value(node: Expr, variables: tuple[ms.IndexVar, ...], given: dict[str, Operand]) -> Array:
    """Returns what an expression is, by the reference."""
    statement, block = Assignment(Access("Y", variables), AssignOp.ASSIGN, node), Block(given, EXTENTS)
    dtype = given["x"].values.dtype
    with np.errstate(all="ignore"):
        if is_about_entries(statement):
            found = evaluate_entries(statement, block, on_columns, value_of, dtype)
            assert missing_of(statement, dtype) == 0
            return found
        return densify(evaluate(statement, block), tuple(index.name for index in variables), block.within)


def assert_licensed(licence: Licence, found: Array, wanted: Array, numbers: Array) -> None:
    """Raises AssertionError where a rewriting changed more than its licence says."""
    if numbers is INTEGERS or licence in (Licence.EXACT, Licence.SIGN_OF_ZERO):
        np.testing.assert_array_equal(found, wanted)
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    if numbers is SPECIAL and licence is Licence.EXACT:
        known = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(wanted)[known])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", NAMES)
def test_rewritten_expressions_have_the_same_values(name: str, seed: int) -> None:
    """Integers to the bit, and numbers that round as far as the licence says: infinities where it is exact, too."""
    rule = BY_NAME[name]
    exact = rule.licence in (Licence.EXACT, Licence.SIGN_OF_ZERO)
    for numbers in (INTEGERS, FLOATS, SPECIAL) if exact else (INTEGERS, FLOATS):
        rounds = numbers.dtype.kind == "f"
        for node, context in samples(rule, rounds=rounds):
            found = rule.apply(node, context)
            assert not isinstance(found, WhyNot), f"{node}: {found}"
            assert found != node
            given, variables = operands(numbers, seed), free_indices(node)
            wanted = value(node, variables, given)
            assert_licensed(rule.licence, value(found, variables, given), wanted, numbers)


def test_rules_keep_the_values_of_whatever_they_rewrite() -> None:
    """Each rule on each part of each expression, in whatever place, in integers."""
    given, count = operands(INTEGERS, 9), 0
    for text, rule in itertools.product(itertools.chain(*TEXTS.values()), RULES):
        for node in walk(expression(text)):
            found = rule.apply(node, Context(SPARSE, rounds=False))
            if isinstance(found, WhyNot) or isinstance(node, Literal):
                continue
            count += 1
            variables = free_indices(node)
            wanted = value(node, variables, given)
            np.testing.assert_array_equal(value(found, variables, given), wanted, f"{rule} {node}")
    assert count > 30


def test_numbers_that_round_are_added_and_multiplied_as_written() -> None:
    """Where the text says what is made first, and no entries are left out for it, rules of sums refuse."""
    rounding = Context(SPARSE)
    for text, rule in (
        ("z(i) - (b(i) - z(i))", "flatten-sums"),
        ("(A(i,j) + b(i)) * x(j)", "distribute"),
        ("(sum(k : T(i,j,k)) - A(i,j)) / 4", "distribute"),
    ):
        assert isinstance(BY_NAME[rule].apply(expression(text), rounding), WhyNot)
        assert not isinstance(BY_NAME[rule].apply(expression(text), replace(rounding, rounds=False)), WhyNot)


# -- plans ------------------------------------------------------------------------------------------------------------

TYPES = {
    **dict.fromkeys("ABDM", "f64[?,?] CSR"),
    **dict.fromkeys("CU", "f64[?,?]"),
    "T": "f64[?,?,?] CSF",
    **dict.fromkeys("bx", "f64[?]"),
}


def planned(text: str) -> planning.Program:
    named = {name: one for name, one in OPERATORS.items() if f"{name}(" in text}
    types = {name: kind for name, kind in TYPES.items() if f"{name}(" in text.partition("=")[2]}
    return planning.plan(ms.compile(ms.parse(text, **named), tensors=types, optimize="off").spec)


def nests(text: str) -> list[planning.Generic]:
    return [step for step in planned(text).steps if isinstance(step, planning.Generic)]


def ranks(text: str) -> list[int]:
    """Returns the ranks of the temporaries of a plan."""
    return [kind.rank for name, kind in planned(text).types if name.startswith("t.")]


def conversions(text: str) -> list[Conversion]:
    return [step for step in planned(text).steps if isinstance(step, Conversion)]


# What a plan is only by the rule.
PLANS: dict[str, Callable[[], bool]] = {
    "sums-as-folds": lambda: nests("y(i) = sum(j : stored(A(i,j) + 1))")[0].combine == semiring("plus_times").add,
    "flatten-sums": lambda: ranks("y(i) = b(i) - (x(i) - sum(j : A(i,j)))") == [],
    "distribute": lambda: ranks("y(i) = (A(i,j) + b(i)) * x(j)") == [],
    "factors-into-sums": lambda: ranks("C(i,j) = T(i,k,l) * U(k,j) * D(l,j)") == [],
    "truth-in-counts": lambda: str(nests("y(i) = count(j : A(i,j) + B(i,j))")[-1].payload).endswith("!= 0"),
    "split-sums": lambda: len(nests("y(i) = sum(j : A(i,j) - x(j))")) == 2,
    "merge-sums": lambda: len(nests("s = sum(i : sum(j : A(i,j)))")) == 1,
    "split-choices": lambda: conversions("C(i,j) = where(A(i,j) > 1, B(i,j), D(i,j))") == [],
    "negate-factors": lambda: str(nests("y(i) = b(i) - A(i,j) * exp(x(j))")[-1].payload).startswith("-A(i,j) *"),
    "missing-as-masks": lambda: len(nests("C(i,j) = only(A(i,j), U(i,j))")) == 2,
    "masks-into-folds": lambda: len(nests("C(i,j) = A(i,k) * B(k,j) if M(i,j)")) == 1,
}


@pytest.fixture
def applied(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Counts how often each rule was applied."""
    found = dict.fromkeys(NAMES, 0)

    def apply(rule: Rule, node: Expr, context: Context) -> Expr | WhyNot:
        rewritten = kept(rule, node, context)
        found[rule.name] += not isinstance(rewritten, WhyNot)
        return rewritten

    kept = Rule.apply
    monkeypatch.setattr(Rule, "apply", apply)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_plans_are_made_by_the_rule(name: str, applied: dict[str, int]) -> None:
    assert PLANS[name]()
    assert applied[name] > 0


@pytest.mark.parametrize("name", NAMES)
def test_the_test_of_a_rule_fails_without_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that is switched off is missed: by the plan, or because there is none."""
    kept = Rule.apply

    def apply(rule: Rule, node: Expr, context: Context) -> Expr | WhyNot:
        return WhyNot("it is switched off") if rule.name == name else kept(rule, node, context)

    monkeypatch.setattr(Rule, "apply", apply)
    assert _is_missed(name)


def _is_missed(name: str) -> bool:
    try:
        return not PLANS[name]()
    except (AssertionError, ms.SparseError):
        return True
