"""The laws of semirings and operators: those declared hold, and no kernel uses one that is not there.

Laws are looked for here by brute force, on NumPy's functions and samples of numbers; kernels are compared with loops
over all entries, which make the whole product of each and then the sum.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.crossing import crossed
from dialect_tests.entries_cases import compare, semiring_case
from mlir_sparse.notation import Distribution, Extreme
from mlir_sparse.notation.laws import Law, holds
from mlir_sparse.notation.semiring import MONOIDS, MULTIPLICATIONS

Array = np.ndarray[Any, Any]
Function = Callable[[float, float], float]


def _and(a: float, b: float) -> float:
    return float(a != 0 and b != 0)


def _or(a: float, b: float) -> float:
    return float(a != 0 or b != 0)


ADD: dict[str, Function] = {
    "plus": lambda a, b: a + b,
    "times": lambda a, b: a * b,
    "min": min,
    "max": max,
    "or": _or,
    "and": _and,
    "any": lambda a, b: b,
}
MULTIPLY: dict[str, Function] = {
    **{name: ADD[name] for name in ("plus", "times", "min", "max", "and", "or")},
    "pair": lambda a, b: 1.0,
    "first": lambda a, b: a,
    "second": lambda a, b: b,
}
ZERO = {"plus": 0.0, "times": 1.0, "min": np.inf, "max": -np.inf, "or": 0.0, "and": 1.0, "any": 0.0}
TRUTHS = ("or", "and")
# Exact in sums and products of three, and numbers whose products are too large or too small for a float.
SMALL = (-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 5.0)
WIDE = (*SMALL, 1e-200, -1e-200, 1e200)
NAMES = [f"{add}_{multiply}" for add in ADD for multiply in MULTIPLY]


def _same(left: float, right: float) -> bool:
    return left == right or (left != left and right != right)


def _lifted(add: str, value: float) -> float:
    return float(value != 0) if add in TRUTHS else value


def _laws(name: str) -> Distribution:
    """Returns on which sides products distribute over sums, of no terms too; of plus_times as of exact numbers."""
    add, multiply = name.split("_")
    plus, times = ADD[add], MULTIPLY[multiply]
    samples = list(itertools.product(SMALL if name == "plus_times" else WIDE, repeat=3))

    def total(*terms: float) -> float:
        a, b = (_lifted(add, term) for term in terms)
        return plus(a, b)

    def holds(whole: Callable[..., float], terms: Callable[..., tuple[float, float]]) -> bool:
        return all(_same(_lifted(add, whole(*abc)), total(*terms(*abc))) for abc in samples)

    def of_none(product: Callable[[float], float]) -> bool:
        return all(_same(_lifted(add, product(c)), ZERO[add]) for c in WIDE)

    left = holds(lambda a, b, c: times(total(a, b), c), lambda a, b, c: (times(a, c), times(b, c)))
    right = holds(lambda a, b, c: times(a, total(b, c)), lambda a, b, c: (times(a, b), times(a, c)))
    return Distribution(
        left=left and of_none(lambda c: times(ZERO[add], c)),
        right=right and of_none(lambda c: times(c, ZERO[add])),
        minus=name == "plus_times",
    )


@pytest.mark.parametrize("name", NAMES)
def test_products_distribute_where_it_is_declared(name: str) -> None:
    """Both ways: what is not declared fails for some numbers."""
    assert ms.semiring(name).laws == _laws(name)


@pytest.mark.parametrize("name", MULTIPLY)
def test_products_are_grouped_and_swapped_where_it_is_declared(name: str) -> None:
    times, ring = MULTIPLY[name], ms.semiring("min", name)
    pairs, triples = (list(itertools.product(SMALL, repeat=count)) for count in (2, 3))
    # Of numbers as they are: truth values alone are what `and` and `or` give.
    assert holds(Law.SWAPS, ring) == all(_same(times(a, b), times(b, a)) for a, b in pairs)
    if name != "pair":  # it is, but an entry is no number that it combines
        assert holds(Law.GROUPS, ring) == all(
            _same(times(times(a, b), c), times(a, times(b, c))) for a, b, c in triples
        )


@pytest.mark.parametrize("name", NAMES)
def test_a_sum_over_an_axis_of_length_zero_is_the_zero(name: str) -> None:
    """Also where a product does not depend on the factor that has the axis."""
    A, D, d = ms.tensor(np.arange(1.0, 7.0).reshape(2, 3), "CSR"), np.ones((0, 3)), np.ones(0)
    for value, tensors in (
        ("A(i,j) * D(k,j)", {"D": D}),
        ("D(k,j) * A(i,j)", {"D": D}),
        ("A(i,j) * D(k)", {"D": d}),
        ("D(k) * A(i,j)", {"D": d}),
        ("A(i,j) * D(k,j)", {"D": ms.tensor(D, "CSR")}),
    ):
        found = ms.evaluate(f"y(i) = {value}", semiring=name, tensors={"A": A, **tensors})
        np.testing.assert_array_equal(found, np.full(2, _zero(name, found.dtype)))


def _zero(name: str, dtype: np.dtype[Any]) -> float:
    found = ZERO[name.split("_")[0]]
    if np.isfinite(found) or dtype.kind == "f":
        return found
    ends = (False, True) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return ends[found > 0]


def test_exact_semirings_keep_every_bit() -> None:
    """Those of which whole products are rewritten: any order of any numbers that are not NaN."""
    for add, multiply in (("or", "and"), ("and", "or"), ("min", "max"), ("max", "min")):
        plus, times = ADD[add], MULTIPLY[multiply]
        for a, b, c in itertools.product((*WIDE, np.inf, -np.inf), repeat=3):
            assert times(times(a, b), c) == times(a, times(b, c))
            assert _lifted(add, times(a, plus(b, c))) == plus(times(a, b), times(a, c))
            assert plus(plus(a, b), c) == plus(a, plus(b, c))
            assert _lifted(add, times(a, ZERO[add])) == ZERO[add]


def test_semirings_that_do_not_distribute() -> None:
    """The laws that kernels went wrong by."""
    for name in [
        "plus_pair",
        "plus_min",
        "plus_max",
        "plus_plus",
        "plus_and",
        "plus_or",
        "times_plus",
        "times_times",
        "or_plus",
        "and_plus",
    ]:
        assert ms.semiring(name).laws == Distribution()
    for name in ("min_times", "max_times"):  # of numbers that may be negative
        assert ms.semiring(name).laws == Distribution()
    assert ms.semiring("plus_first").laws == Distribution(left=True)
    assert ms.semiring("plus_second").laws == Distribution(right=True)


@pytest.mark.parametrize("name", [*ADD, *MULTIPLY])
def test_operators_have_the_laws_they_declare(name: str) -> None:
    for declared in (MONOIDS.get(name) and MONOIDS[name].operator, MULTIPLICATIONS.get(name)):
        if declared is None or name == "any":
            continue  # which of unlike values `any` takes is not said
        function = MULTIPLY[name]
        # Logic computes with truth values.
        numbers = (0.0, 1.0) if name in TRUTHS else SMALL
        if declared.commutative:
            assert all(function(a, b) == function(b, a) for a in numbers for b in numbers)
        if declared.associative:
            triples = itertools.product(numbers, repeat=3)
            assert all(function(function(a, b), c) == function(a, function(b, c)) for a, b, c in triples)
        extremes = {Extreme.LEAST: -np.inf, Extreme.GREATEST: np.inf}
        if declared.identity is not None:
            unit = extremes.get(declared.identity, declared.identity)  # type: ignore[arg-type]
            assert all(function(unit, a) == a == function(a, unit) for a in numbers)
        if declared.annihilator is not None:
            zero = extremes.get(declared.annihilator, declared.annihilator)  # type: ignore[arg-type]
            assert all(function(zero, a) == zero == function(a, zero) for a in numbers)


@pytest.mark.parametrize("name", ADD)
def test_identities_of_monoids_change_nothing(name: str) -> None:
    numbers = (0.0, 1.0) if name in TRUTHS else SMALL
    assert all(ADD[name](ZERO[name], a) == a for a in numbers)
    identity = MONOIDS[name].identity
    assert {Extreme.LEAST: -np.inf, Extreme.GREATEST: np.inf}.get(identity, identity) == ZERO[name]  # type: ignore[call-overload]


# -- kernels ----------------------------------------------------------------------------------------------------------

_RANDOM = np.random.default_rng(5)
LOWER = np.tril((_RANDOM.random((7, 7)) < 0.6) * _RANDOM.choice([-2.0, -1.0, 0.5, 1.0, 3.0], (7, 7)), -1)
WIDTH = np.array([2.0, -1.0, 0.5])
HEIGHT = (_RANDOM.random((3, 4)) < 0.7) * _RANDOM.choice([-2.0, 0.5, 1.0, 3.0], (3, 4))


def _total(name: str, terms: list[float], add: str) -> float:
    total: float | None = None
    for term in terms:
        total = _lifted(add, term) if total is None else ADD[add](total, _lifted(add, term))
    return ZERO[add] if total is None else total


def _triangles(name: str) -> float:
    add, multiply = name.split("_")
    times, there = MULTIPLY[multiply], LOWER != 0
    terms = [
        times(times(LOWER[i, k], LOWER[k, j]), LOWER[i, j])
        for i, k, j in itertools.product(range(7), repeat=3)
        if there[i, k] and there[k, j] and there[i, j]
    ]
    return _total(name, terms, add)


# Which of several entries `any` takes is not said.
SAID = [name for name in NAMES if not name.startswith("any") or name == "any_pair"]


@pytest.mark.parametrize("name", SAID)
def test_a_sum_stays_around_products_that_do_not_distribute(name: str) -> None:
    """Triangles: the sum over k alone goes into the first product, or stays around all three."""
    found = ms.evaluate("t = L(i,k) * L(k,j) * L(i,j)", L=ms.tensor(LOWER, "CSR"), semiring=name)
    assert float(found) == pytest.approx(_triangles(name), rel=1e-12)


LACKING = [
    name for name in SAID if ms.semiring(name).laws not in (Distribution(True, True), ms.semiring("plus_times").laws)
]


@crossed(name=LACKING, side=["left", "right"], storage=["CSR", "CSC"])
def test_a_factor_without_the_variable_is_in_each_product(name: str, side: str, storage: str) -> None:
    """A vector beside a matrix: as often in the sum as the row has entries, unless the law is there."""
    add, multiply = name.split("_")
    times = MULTIPLY[multiply]
    rows = [[(WIDTH[i], a) if side == "left" else (a, WIDTH[i]) for a in row if a] for i, row in enumerate(HEIGHT)]
    wanted = [_total(name, [times(*pair) for pair in row], add) for row in rows]
    text = "y(i) = w(i) * A(i,j)" if side == "left" else "y(i) = A(i,j) * w(i)"
    found = ms.evaluate(text, A=ms.tensor(HEIGHT, storage), w=WIDTH, semiring=name)
    np.testing.assert_allclose(np.asarray(found, float), wanted, rtol=1e-12)


@pytest.mark.parametrize("add", ["plus", "min", "max", "or"])
def test_a_minus_distributes_over_sums_of_numbers_alone(add: str) -> None:
    """The least of what is negated is not the negative of the least."""
    rows = [[-a for a in row if a] for row in HEIGHT]
    found = ms.evaluate("y(i) = -A(i,j)", A=ms.tensor(HEIGHT, "CSR"), semiring=f"{add}_times")
    np.testing.assert_allclose(np.asarray(found, float), [_total(add, row, add) for row in rows])


def test_no_law_is_known_of_operators_of_the_users_own() -> None:
    """Until it is declared: what distributes is the user's to say."""
    weighted = ms.operator(lambda a, b: a * b + 1)
    A, w = ms.tensor(HEIGHT, "CSR"), WIDTH
    there = HEIGHT != 0
    ring = ms.semiring("plus", weighted)
    assert ring.laws == Distribution()
    found = ms.evaluate("y(i) = w(i) * A(i,j)", A=A, w=w, semiring=ring)
    np.testing.assert_allclose(found, ((w[:, None] * HEIGHT + 1) * there).sum(axis=1))
    scaled = ms.operator(lambda a, b: 2 * a * b)
    for distributes in (None, "left", "right", "both", "neither"):
        ring = ms.semiring("plus", scaled, distributes=distributes)
        found = ms.evaluate("y(i) = w(i) * A(i,j)", A=A, w=w, semiring=ring)
        np.testing.assert_allclose(found, 2 * w * HEIGHT.sum(axis=1))
    with pytest.raises(ms.NotationError, match="expected one of left, right, both, neither for distributes="):
        ms.semiring("plus", scaled, distributes="yes")


@pytest.mark.parametrize("seed", range(6))
def test_products_of_three_under_random_semirings(seed: int) -> None:
    """Against the entries' oracle, whose laws are those found here, from any storage into any."""
    rng = random.Random(seed)
    names = ["plus_pair", "plus_plus", "plus_max", "plus_min", "plus_first", "plus_second", "min_plus", "max_times"]
    ran = [compare(semiring_case(rng, THREE, rng.choice(names))) for _ in range(4)]
    assert any(ran)


THREE = (
    "y(i) = x(i) * A(i,j)",
    "y(i) = A(i,j) * x(i)",
    "y(j) = A(i,j) * x(j) * w(i)",
    "a = A(i,k) * B(k,j) * D(i,j)",
    "C(i,j) = A(i,k) * B(k,j) * x(i)",
    "C(i,j) = x(j) * (A(i,k) * B(k,j))",
    "y(i) = A(i,j) * B(j,k) * x(k)",
    "y(i) = A(i,j) * (B(j,k) * x(k))",
    "y(i) = (A(i,j) + B(i,j)) * x(i) + w(i)",
)
