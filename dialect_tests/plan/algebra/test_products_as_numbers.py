"""Products under semirings, reductions of arrays and counted truth values, computed in other ways: the same bits."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.crossing import crossed, seeds
from dialect_tests.statement_cases import lied
from mlir_sparse.notation.semiring import MONOIDS, MULTIPLICATIONS
from mlir_sparse.plan.algebra.products_as_numbers import CountedTruth, ReducedValues, SemiringProducts
from mlir_sparse.plan.algebra.ruled_statement import RuledStatement, keeps_entries, ruled_statement
from mlir_sparse.plan.algebra.statement_ways import StatementWays
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts
from mlir_sparse.tensor.sketch_of import sketch_of

TEXTS = [
    ("y(i) = A(i,j) * B(j,k) * x(k)", {"A": "CSR", "B": "CSR", "x": "dense"}),
    ("y(i) = A(i,j) * B(j,k) * x(k)", {"A": "DCSR", "B": "CSC", "x": "SparseVector"}),
    ("y(i,l) = A(i,j) * B(j,k) * C(k,l)", {"A": "CSR", "B": "COO", "C": "CSR"}),
    ("y(i,l) = A(i,j) * B(j,k) * C(k,l)", {"A": "CSR", "B": "CSR", "C": "dense"}),
    ("y = A(i,j) * A(j,k) * A(k,l) * A(l,i)", {"A": "CSR"}),
    ("y = A(i,j) * A(j,k) * A(k,i)", {"A": "CSR"}),
    ("y(i,k) = A(i,j) * B(l,m) * C(j,k)", {"A": "CSR", "B": "CSR", "C": "CSC"}),
    ("y(i,r) = T(i,j,k) * B(j,r) * C(k,r)", {"T": "CSF", "B": "dense", "C": "CSR"}),
]
RINGS = [
    *((ring, "f64") for ring in ("or_and", "and_or", "min_max", "max_min")),
    *((ring, dtype) for ring in ("min_max", "max_min") for dtype in ("i64", "i8")),
    *((ring, dtype) for ring in ("min_plus", "max_plus") for dtype in ("f64", "f32", "f16")),
    ("or_and", "bool"),
]


def operands(storage: dict[str, str], dtype: str, extent: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    ranks = {"x": 1, "T": 3}
    found = {}
    for name, how in storage.items():
        shape = (extent,) * ranks.get(name, 2)
        values = (rng.integers(-3, 4, shape) * (rng.random(shape) < 0.4)).astype(ms.DType(dtype).numpy)
        found[name] = values if how == "dense" else ms.tensor(values, how)
    return found


@crossed({"ring": lambda ring: ring[1], "case": lambda case: case % 2}, ring=RINGS, case=range(len(TEXTS)))
def test_all_bits_are_those_of_the_statement_as_written(ring: tuple[str, str], case: int) -> None:
    """Sums of these numbers are not rounded, in whichever order they are made."""
    text, storage = TEXTS[case]
    extent = (5, 7, 1, 0)[(case + RINGS.index(ring)) % 4]
    given = operands(storage, ring[1], extent, case)
    kernel = ms.compile(text, tensors=given, semiring=ring[0], optimize="off")
    found = every_way(kernel, given, case)
    assert isinstance(found.kind, SemiringProducts)
    assert found.kind.ring.name == ring[0]


def every_way(kernel: Any, given: dict[str, Any], seed: int) -> RuledStatement:
    """Compares some ways to compute a statement with the way that it is written; returns it as rules take it."""
    spec, lies = kernel.spec, random.Random(seed)
    found = ruled_statement(spec)
    assert found is not None
    facts = {name: TensorFacts(spec.type_of(name), sketch_of(given[name])) for name, _ in spec.inputs}
    expected = kernel(**given)
    for turn in range(2):
        known = lied(facts, lies) if turn else facts
        ways = list(StatementWays(found.assignment, known, has_blas=found.of_numbers).all())
        way = lies.choice(ways) if turn else min(ways, key=lambda one: one.nanoseconds)
        rewriting = found.restored(way.rewriting)
        if keeps_entries(rewriting, spec):
            same(expected, ms.Kernel(replace(spec, rewriting=rewriting))(**given))
    return found


REDUCED = [
    ("y(i) min=! P(i,j) + Q(j,k) + x(k)", "dense", "f8"),
    ("y(i) max= P(i,j) + Q(j,k) + x(k)", "dense", "f4"),
    ("y(i,l) = max(j, k : min(min(P(i,j), Q(j,k)), R(k,l)))", "dense", "f8"),
    ("y(i) min= max(max(P(i,j), x(k)), Q(j,k))", "dense", "i1"),
    ("y(k) = max(i, j : x(i) + P(i,j) + z(j) + Q(j,k)) + z(k)", "dense", "f8"),
    ("y = min(i, j, k : P(i,j) + Q(j,k) + P(i,k))", "dense", "f2"),
    ("y(i) or= P(i,j) & Q(j,k) & x(k)", "CSR", "f8"),
    ("y(i) or=! P(i,j) * Q(j,k) * P(k,l)", "COO", "?"),
    ("y(i) and=! P(i,j) | Q(j,k) | x(k)", "dense", "?"),
    ("y(i) or= P(i,j) & P(j,k) & P(k,i)", "CSR", "i4"),
]


@pytest.mark.parametrize("case", range(len(REDUCED)))
@pytest.mark.parametrize("extent", [6, 1, 0])
def test_reductions_have_the_bits_of_the_statement_as_written(case: int, extent: int) -> None:
    text, how, dtype = REDUCED[case]
    rng = np.random.default_rng(case)
    assignment = ms.parse(text)
    given: dict[str, Any] = {}
    for name in assignment.inputs:
        shape = (extent,) * (1 if name in "xyz" else 2)
        values = (rng.integers(-3, 4, shape) * (rng.random(shape) < 0.4)).astype(dtype)
        given[name] = ms.tensor(values, how) if how != "dense" and name not in "xyz" else values
    found = every_way(ms.compile(text, tensors=given, optimize="off"), given, case)
    assert isinstance(found.kind, ReducedValues)
    taken = ms.evaluate(text, tensors={name: one.copy() for name, one in given.items()})
    same(ms.evaluate(text, tensors=given, optimize="off"), taken)


COUNTED = [
    "y = A(i,j) * A(j,k) * A(k,i)",
    "y(i) = A(i,j) * B(j,k) * x(k)",
    "y(i) = sum(j, k, l : A(i,j) & B(j,k) & A(k,l))",
    "y(i) = w(i) * A(i,j) * B(j,k) * v(k)",
    "y(i,l) = A(i,j) * B(j,k) * A(k,l)",
    "y(i) = sum(j, k : (W(i,j) > 0) * B(j,k) * x(k)) - sum(j : A(i,j) * x(j))",
    "y(i) = sum(j, k : (A(i,j) | B(i,j)) & B(j,k) & x(k))",
    "y(i) += sum(j : A(i,j) & B(i,j)) * sum(j, k : A(j,k) & x(j))",
    "y(i) = A(i,j) * where(B(j,k), v(k), w(k)) * x(k)",
    # A common factor leaves sums of truth values, which are no logic.
    "y(i) = sum(j : x(j) & A(i,j)) + sum(j : x(j) & B(i,j))",
    "y(i) = sum(j : x(j) & A(i,j)) - sum(j : x(j) & B(i,j)) + sum(j, k : x(j) & A(j,k))",
    "y(i) = sum(j : A(i,j) & (W(j,i) > 0)) + sum(j : A(i,j) & x(j) & (W(i,j) != 1))",
]


@pytest.mark.parametrize("text", COUNTED)
@pytest.mark.parametrize("extent", [6, 1, 0])
def test_truth_values_are_counted_as_in_the_statement_as_written(text: str, extent: int) -> None:
    rng = np.random.default_rng(extent)
    given: dict[str, Any] = {name: ms.tensor(rng.random((extent, extent)) < 0.4, "CSR") for name in "AB"}
    given["W"] = ms.tensor(rng.integers(-2, 3, (extent, extent)), "CSR")
    given |= {"x": rng.random(extent) < 0.5, "v": rng.integers(-3, 4, extent), "w": rng.integers(-3.0, 4, extent)}
    given["y"] = rng.integers(-3, 4, extent)
    given = {name: given[name] for name in ms.parse(text).inputs}
    found = every_way(ms.compile(text, tensors=given, optimize="off"), given, extent)
    assert isinstance(found.kind, CountedTruth)


@pytest.mark.parametrize("seed", seeds(8))
def test_random_truth_values_with_a_common_factor(seed: int) -> None:
    rng, draw = np.random.default_rng(seed), random.Random(seed)
    shared = draw.choice(["x(j)", "A(i,j)"])
    factors = ["B(i,j)", "A(j,i)", "x(i)", "(W(i,j) > 0)", "(W(j,i) != x(i))", "B(j,i)"]
    products = [" & ".join([shared, *draw.sample(factors, draw.randint(1, 2))]) for _ in range(draw.choice([2, 2, 3]))]
    text = f"y(i) = {draw.choice([' + ', ' - ']).join(f'sum(j : {one})' for one in products)}"
    given: dict[str, Any] = {name: ms.tensor(rng.random((5, 5)) < 0.6, "CSR") for name in "AB"}
    given |= {"W": ms.tensor(rng.integers(-2, 3, (5, 5)), "CSR"), "x": rng.random(5) < 0.7}
    given = {name: given[name] for name in ms.parse(text).inputs}
    kernel = ms.compile(text, tensors=given, optimize="off")
    assert isinstance(kernel, ms.Kernel)
    found = ruled_statement(kernel.spec)
    assert found is not None
    facts = {name: TensorFacts(kernel.spec.type_of(name), sketch_of(given[name])) for name in given}
    ways = [way for way in StatementWays(found.assignment, facts, has_blas=True).all() if "common factors" in way.rules]
    assert ways
    for way in ways[:2]:
        taken = ms.Kernel(replace(kernel.spec, rewriting=found.restored(way.rewriting)))
        same(kernel(**given), taken(**given))


def test_products_of_truth_values_are_planned_like_those_of_numbers() -> None:
    rng = np.random.default_rng(1)
    A = ms.tensor(rng.random((400, 400)) < 0.05, "CSR")
    for text in ("y(i) = A(i,j) * A(j,k) * A(k,l)", "y(i) or=! A(i,j) & A(j,k) & A(k,l)"):
        parts = ms.compile(text, A=A).spec.rewriting.parts
        assert [len(part.target.indices) for part in parts] == [1, 1], text


def test_distances_and_bottlenecks_are_planned_as_by_hand() -> None:
    rng = np.random.default_rng(2)
    P, Q, x = rng.random((150, 140)), rng.random((140, 130)), rng.random(130)
    for text, ring in (
        ("y(i) = P(i,j) * Q(j,k) * x(k)", "min_plus"),
        ("y(i) += P(i,j) * Q(j,k) * x(k)", "max_plus"),
        ("y(i) min=! P(i,j) + Q(j,k) + x(k)", None),
        ("y(i) max= min(P(i,j), min(Q(j,k), x(k)))", None),
    ):
        given = {"P": P, "Q": Q, "x": x} | ({"y": rng.random(150)} if " += " in text or "max= " in text else {})
        kernel = ms.compile(text, tensors=given, semiring=ring)
        assert [str(part.target) for part in kernel.spec.rewriting.parts] == ["y.part(j)"], text
        expected = ms.evaluate(text, tensors=given, semiring=ring, optimize="off")
        np.testing.assert_allclose(kernel(**given), expected, rtol=4 * 3 * 2.0**-52)


@pytest.mark.parametrize("ring", ["min_plus", "max_plus"])
def test_infinities_and_nan_are_found_where_they_are_as_written(ring: str) -> None:
    """All infinities are of one sign here: none beside the other sign, which gives NaN where loops walk both."""
    far = math.inf if ring == "min_plus" else -math.inf
    rng = np.random.default_rng(3)
    for special in (far, math.nan):
        given: dict[str, Any] = {}
        for name, shape in (("P", (40, 50)), ("Q", (50, 60)), ("x", (60,))):
            values = np.where(rng.random(shape) < 0.05, special, rng.integers(-9, 9, shape).astype(float))
            given[name] = values if name == "x" else ms.tensor(values, "CSR")
        text = "y(i) = P(i,j) * Q(j,k) * x(k)"
        kernel = ms.compile(text, tensors=given, semiring=ring, optimize="off")
        every_way(kernel, given, 0)


def same(expected: Any, found: Any) -> None:
    if isinstance(expected, ms.SparseTensor):
        assert (found.encoding, found.dtype, found.nse) == (expected.encoding, expected.dtype, expected.nse)
        for ours, theirs in zip(found.storage.coordinates, expected.storage.coordinates, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        found, expected = found.storage.values, expected.storage.values
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def has_rules(text: str, ring: Any, dtype: str) -> bool:
    types = {name: f"{dtype}[?,?] CSR" if name in "AB" else f"{dtype}[?]" for name in ms.parse(text).inputs}
    spec = ms.compile(text, semiring=ring, tensors=types).spec
    found = ruled_statement(spec)
    return found is not None and found.kind is not None


def test_only_products_are_rewritten() -> None:
    for text in ("y(i) = A(i,j) * x(j) + x(i)", "y(i) = A(i,j) * x(j) * 2"):
        assert not has_rules(text, "max_min", "f64")
    assert has_rules("y(i) += A(i,j) * x(j)", "max_min", "f64")


def test_only_semirings_with_all_laws_whose_sums_do_not_wrap() -> None:
    """Least sums wrap: in i8 `100 + min(100, -100)` is 0, and the least of `100 + 100` and `100 - 100` is -56."""
    names = [f"{add}_{multiply}" for add in MONOIDS for multiply in MULTIPLICATIONS]
    exact = {"or_and", "and_or", "min_max", "max_min"}
    for dtype, expected in (("i8", exact), ("f64", exact | {"min_plus", "max_plus"})):
        found = {name for name in names if name != "plus_times" and has_rules(TEXTS[0][0], name, dtype)}
        assert found == expected


def test_users_operators_are_rewritten_by_no_rule() -> None:
    least = ms.monoid(lambda a, b: np.minimum(a, b), identity=math.inf)
    sharp = ms.operator(lambda a, b: a * b + 1, name="sharp", commutative=True, associative=True)
    for ring in (ms.semiring(least, "max"), ms.semiring("min", sharp, distributes="both")):
        assert not has_rules(TEXTS[0][0], ring, "f64")


def test_reductions_of_sparse_numbers_count_zeros_and_are_as_they_are_written() -> None:
    for text in ("y(i) min=! A(i,j) + B(j,k) + x(k)", "y(i) max=! min(A(i,j), min(B(j,k), x(k)))"):
        assert not has_rules(text, None, "f64")
    for text in ("y(i) min=! P(i,j) + Q(j,k) + x(k)", "y(i) min=! P(i,j) * Q(j,k) * x(k)"):
        types = {"P": "i32[?,?]", "Q": "i32[?,?]", "x": "i32[?]"}
        found = ruled_statement(ms.compile(text, tensors=types).spec)
        assert found is not None
        assert found.kind is None
