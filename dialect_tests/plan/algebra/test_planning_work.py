"""What planning looks at: each form of a statement once, each product once, and nothing that another process knows."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Mapping

import pytest

import mlir_sparse as ms
from dialect_tests.statement_cases import matrix, vector
from mlir_sparse.notation import Access, AffineSubscript, IndexVar, parse, with_explicit_sums
from mlir_sparse.plan.algebra.equal_parts import key_of
from mlir_sparse.plan.algebra.kept_form import kept_form
from mlir_sparse.plan.algebra.statement_ways import StatementWays
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts

SQUARE, VECTOR = matrix(20_000, 20_000, 20), vector(20_000)
ROW, COL, DEEP = map(IndexVar, "ijk")


def ways_of(text: str, facts: Mapping[str, TensorFacts]) -> StatementWays:
    spec = ms.compile(text, tensors={name: one.kind for name, one in facts.items()}).spec
    return StatementWays(spec.explicit, facts)


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("y(i) = (A(i,j) + B(i,j)) * x(j)", 2),  # kept and multiplied out; factored again it is the first
        ("y(i) = x(j) * (B(i,j) + A(i,j))", 2),
        ("y(i) = A(i,j) * x(j) + B(i,j) * x(j)", 2),
        ("y(i) = A(i,j) * x(j)", 1),
    ],
)
def test_forms_in_another_order_are_one(text: str, forms: int) -> None:
    facts = {"A": SQUARE, "B": SQUARE, "x": VECTOR}
    names = ms.parse(text).inputs
    assert len(list(ways_of(text, {name: facts[name] for name in names}).cheapest())) == forms


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("y(i) = A(i,j) * B(j,k) * x(k)", 12),
        ("s = A(i,j) * A(j,k) * A(k,i)", 30),
        ("s = A(i,j) * A(i,k) * A(i,l)", 60),
        ("s = x(i) * A(i,j) * y(j)", 12),
    ],
)
def test_few_loop_nests_of_three_factors_are_priced(text: str, most: int) -> None:
    facts = {"A": SQUARE, "B": SQUARE, "x": VECTOR, "y": VECTOR}
    ways = ways_of(text, {name: facts[name] for name in ms.parse(text).inputs})
    (found,) = ways.cheapest()
    assert len(found.parts.nests._loops) <= most


def test_products_are_equal_in_all_orders_of_many_equal_factors() -> None:
    """Beyond four factors, too: orders in which names do not stay sorted are not looked at."""
    factors = [
        Access("A", (ROW, COL)),
        Access("A", (COL, DEEP)),
        Access("B", (DEEP,)),
        Access("C", (ROW,)),
        Access("D", (COL,)),
    ]
    keys = {key_of(order, frozenset({DEEP}))[0] for order in itertools.permutations(factors)}
    assert len(keys) == 1


def test_forms_are_found_once_for_a_statement() -> None:
    assignment = with_explicit_sums(parse("y(i) = A(i,j) * x(j)"))
    assert kept_form(assignment, cancels=False) is kept_form(assignment, cancels=False)
    assert with_explicit_sums(parse("y(i) = A(i,j) * x(j)")) == assignment


def test_accesses_know_their_variables() -> None:
    gathered = Access("A", (Access("P", (ROW,)), COL, COL, AffineSubscript(((2, DEEP), (1, ROW)), 1)))
    assert gathered.indices == (ROW, COL, DEEP)
    assert pickle.loads(pickle.dumps(gathered)).indices == (ROW, COL, DEEP)
    assert Access("A", (ROW, ROW)).indices == (ROW,)


def test_kernels_that_are_sent_to_other_processes_have_no_hash() -> None:
    spec = ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]").spec
    hash(spec)
    again = pickle.loads(pickle.dumps(spec))
    assert "_hash" not in again.__dict__
    assert again == spec
    assert hash(again) == hash(spec)
