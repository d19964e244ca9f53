"""What planning looks at: each form of a statement once, each product once, and nothing that another process knows."""

from __future__ import annotations

import itertools
import os
import pickle
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

import mlir_sparse as ms
from dialect_tests.statement_cases import matrix, vector
from mlir_sparse._search import product_key
from mlir_sparse.encoding import PatternSketch
from mlir_sparse.notation import Access, AffineSubscript, Call, IndexVar, parse, with_explicit_sums
from mlir_sparse.plan.algebra import statement_parts
from mlir_sparse.plan.algebra.choose_rewriting import choose_rewriting
from mlir_sparse.plan.algebra.equal_parts import PartKey, key_of
from mlir_sparse.plan.algebra.estimates import Estimates
from mlir_sparse.plan.algebra.normal_form import NormalForm, Opaque
from mlir_sparse.plan.algebra.statement_forms import kept_form, new_sums, opened_form
from mlir_sparse.plan.algebra.statement_ways import StatementWays
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts

SQUARE, VECTOR = matrix(20_000, 20_000, 20), vector(20_000)
ROW, COL, DEEP = map(IndexVar, "ijk")


def ways_of(text: str, facts: Mapping[str, TensorFacts]) -> StatementWays:
    return StatementWays(with_explicit_sums(parse(text)), facts)


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


@pytest.mark.parametrize(("terms", "forms"), [(2, 2), (4, 4), (5, 5), (6, 6), (20, 8), (40, 9)])
def test_of_many_terms_with_a_common_factor_some_forms_are_planned(terms: int, forms: int) -> None:
    """Each is planned as a whole: all forms of twenty terms took 0.6 s."""
    text = "y(i) = " + " + ".join(f"A{number}(i,j) * B(j,k) * x(k)" for number in range(terms))
    facts = {f"A{number}": SQUARE for number in range(terms)} | {"B": SQUARE, "x": VECTOR}
    assert len(list(ways_of(text, facts).cheapest())) == forms


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("y(i) = A(i,j) * B(j,k) * x(k)", 6),
        ("s = A(i,j) * A(j,k) * A(k,i)", 10),
        ("s = A(i,j) * A(i,k) * A(i,l)", 14),
        ("s = A(i,j) * A(j,k) * A(k,l)", 16),
        ("s = x(i) * A(i,j) * y(j)", 8),
    ],
)
def test_few_loop_nests_of_three_factors_are_priced(text: str, most: int) -> None:
    facts = {"A": SQUARE, "B": SQUARE, "x": VECTOR, "y": VECTOR}
    (found,) = ways_of(text, {name: facts[name] for name in ms.parse(text).inputs}).cheapest()
    assert 0 < found.parts.nests.nests_made <= most


@pytest.mark.parametrize(
    ("text", "nests", "ways"),
    [
        ("s = A(i,j) * A(j,k) * A(k,i)", 8, 13),
        ("s = A(i,j) * A(j,k) * A(k,l) * A(l,i)", 54, 28),
        ("s = A(i,j) * A(j,k) * A(k,i) * A(i,l)", 39, 60),
    ],
)
def test_sums_are_looked_at_later_where_they_may_take_so_much_less(text: str, nests: int, ways: int) -> None:
    """Loops that sum a number at once come to the same places: no plan with a later sum takes half the time."""
    (found,) = ways_of(text, {"A": matrix(200_000, 200_000, 3)}).cheapest()
    assert found.parts.nests.nests_made <= nests
    assert found.parts.nests.work <= ways


def test_sets_without_a_later_sum_keep_their_ways() -> None:
    (way,) = ways_of("s = A(i,j) * A(j,k) * A(k,i) * A(i,l)", {"A": SQUARE}).cheapest()
    (search,) = way.parts.searches
    found = search.searched_sets
    assert 0 < len(found) == len(set(found))


def recorded(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> list[tuple[Any, ...]]:
    """Returns a list to which each call of a function, or of a method, adds its arguments."""
    calls, function = list[tuple[Any, ...]](), getattr(owner, name)

    def record(*arguments: object, **named: object) -> object:
        calls.append((*arguments, *named.values()))
        return function(*arguments, **named)

    monkeypatch.setattr(owner, name, record)
    return calls


def test_no_loop_nest_is_made_twice() -> None:
    """Not for more time than before, either, nor for a mask that several nests have."""
    (found,) = ways_of("s = A(i,j) * A(j,k) * A(k,i) * A(i,l)", {"A": SQUARE}).cheapest()
    assert 0 < found.parts.nests.nests_made == found.parts.nests.nests_known


def test_a_mask_is_priced_once() -> None:
    (found,) = ways_of("s = A(i,j) * A(j,k) * A(k,i)", {"A": SQUARE}).cheapest()
    assert 0 < found.parts.nests.masks_priced <= 4


def test_keys_are_found_for_parts_that_may_be_equal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of one factor is equal to none of two, nor to one of another tensor."""
    asked = recorded(monkeypatch, statement_parts, "key_of")
    list(ways_of("s = A(i,j) * A(j,k) * A(k,l)", {"A": SQUARE}).cheapest())
    assert asked
    assert all(len(factors) == 1 for factors, *_ in asked)
    asked.clear()
    list(ways_of("s = A(i,j) * B(j,k) * A(k,l) * x(j)", {"A": SQUARE, "B": SQUARE, "x": VECTOR}).cheapest())
    assert all([access.tensor for access in factors] in (["A"], ["A", "B"]) for factors, *_ in asked)


def test_symmetric_matrices_take_no_statement_to_be_looked_at_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    symmetric = replace(SQUARE, symmetric=True)
    statement = with_explicit_sums(parse("s = A(i,j) * A(j,k) * A(k,l)"))
    made, forms = recorded(monkeypatch, StatementWays, "__init__"), recorded(monkeypatch, StatementWays, "_form")
    assert choose_rewriting(statement, {"A": symmetric}) is not None
    assert len(made) == len(forms) == 1


def test_ways_with_symmetric_matrices_are_those_of_a_statement_looked_at_anew() -> None:
    symmetric = {"A": replace(SQUARE, symmetric=True)}
    for text in ("s = A(i,j) * A(j,k) * A(k,i)", "s = sum(i : sqrt(sum(j, k : A(i,j) * A(j,k))))"):
        again, anew = ways_of(text, {"A": SQUARE}).knowing(symmetric), ways_of(text, symmetric)
        ways = zip(again.cheapest(), anew.cheapest(), strict=True)
        assert all((a.rewriting, a.nanoseconds, a.rules) == (b.rewriting, b.nanoseconds, b.rules) for a, b in ways)


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


@pytest.mark.parametrize("symmetric", [(), ("A",)])
def test_keys_of_one_factor_are_those_of_products(symmetric: tuple[str, ...]) -> None:
    for own in itertools.permutations((ROW, COL)):
        for kept in ((), (ROW,), (COL,), (ROW, COL)):
            names = [variable.name for variable in own]
            is_kept = [variable in kept for variable in own]
            factors, numbers, places = product_key(["A"], [[0, 1]], names, is_kept, [bool(symmetric)], None)
            key, variables = key_of([Access("A", own)], frozenset(kept), symmetric)
            assert (key.factors, key.kept, variables) == (factors, numbers, tuple(own[place] for place in places))


def test_keys_of_functions_number_their_variables() -> None:
    one, other = (Opaque(Call("exp", (Access("x", (variable,)),))) for variable in (ROW, DEEP))
    assert key_of([Access("A", (ROW, COL)), one], frozenset({COL})) == (
        PartKey((("exp(x(0))", 0), ("A", 0, 1)), (1,)),
        (COL,),
    )
    assert (
        key_of([other, Access("A", (DEEP, COL))], frozenset({COL}))[0]
        == key_of([Access("A", (ROW, COL)), one], frozenset({COL}))[0]
    )


def test_places_of_no_variable_have_no_key() -> None:
    with pytest.raises(ValueError, match="expected places of variables"):
        product_key(["A"], [[1]], ["i"], [True], [False], None)
    with pytest.raises(ValueError, match="expected as many values as factors and variables"):
        product_key(["A"], [[0]], ["i"], [], [False], None)


def test_prices_are_those_of_ways_but_for_a_few_per_cent() -> None:
    facts = {"A": SQUARE, "B": SQUARE, "x": VECTOR, "y": VECTOR}
    for text in ("y(i) = A(i,j) * B(j,k) * x(k)", "s = A(i,j) * A(j,k) * A(k,i)", "s = A(i,j) * A(i,k) * A(i,l)"):
        ways = ways_of(text, {name: facts[name] for name in ms.parse(text).inputs})
        (way,) = ways.cheapest()
        assert ways.has_price
        assert ways.price == pytest.approx(way.nanoseconds, rel=0.05)
    assert ways_of("y(i) = (A(i,j) + B(i,j)) * x(j)", {name: facts[name] for name in "ABx"}).has_price is False


@pytest.mark.parametrize("largest", [0, 2000])
@pytest.mark.parametrize(
    "text", ["s = A(i,j) * A(j,k) * A(k,i)", "s = A(i,j) * A(j,k) * A(k,l)", "s = A(i,j) * A(i,k) * A(i,l)"]
)
def test_symmetric_ways_are_chosen_as_if_others_were_written(
    text: str, largest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = {"A": replace(matrix(20_000, 20_000, 20, largest=largest), symmetric=True)}
    statement = with_explicit_sums(parse(text))
    chosen = choose_rewriting(statement, facts)
    monkeypatch.setattr(StatementWays, "has_price", False)
    assert choose_rewriting(statement, facts) == chosen


@pytest.mark.parametrize(
    ("text", "searches"),
    [
        ("s = A(i,j) * A(i,k) * A(i,l)", 1),  # the same for any matrix
        ("s = A(i,j) * A(j,k) * A(k,i)", 2),  # and that of other ways, for their price alone
    ],
)
def test_graphs_are_searched_for_a_price_where_it_decides(
    text: str, searches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To see that a graph is its own transpose takes nothing that loops do not."""
    facts = matrix(20_000, 20_000, 3)
    graph = replace(facts.sketch, pattern=PatternSketch(1.0, {3: 1.0}, of_one_value=True))
    searched = recorded(monkeypatch, statement_parts.Statement, "search")
    choose_rewriting(with_explicit_sums(parse(text)), {"A": replace(facts, sketch=graph, symmetric=True)})
    assert len(searched) == searches


def test_no_part_is_written_of_ways_that_take_longer_by_a_search_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    statement = with_explicit_sums(parse("s = A(i,j) * A(j,k) * A(k,i)"))
    written = recorded(monkeypatch, StatementWays, "_planned")
    found = choose_rewriting(statement, {"A": replace(matrix(20_000, 20_000, 3), symmetric=True)})
    assert found is not None
    assert found.symmetric == ("A",)
    assert len(written) == 1


def test_forms_are_found_once_for_a_statement() -> None:
    assignment = with_explicit_sums(parse("y(i) = A(i,j) * x(j)"))
    assert kept_form(assignment, cancels=False) is kept_form(assignment, cancels=False)
    assert with_explicit_sums(parse("y(i) = A(i,j) * x(j)")) == assignment


@pytest.mark.parametrize(
    ("text", "few", "forms"),
    [
        ("y(i) = (A(i,j) + B(i,j)) * x(j)", "", 1),  # the sum of the matrices alone takes longer than both products
        ("y(i) = (A(i,j) + B(i,j)) * C(j,k) * x(k)", "AB", 3),  # not that in which the sum's product with C is a part
        ("y(i) = A(i,j) * x(j) + B(i,j) * x(j)", "", 1),
        ("y(i) = A(i,j) * x(j)", "", 1),
    ],
)
def test_the_way_that_takes_least_is_found_without_those_that_take_longer(text: str, few: str, forms: int) -> None:
    facts = {name: matrix(20_000, 20_000, 0.01) if name in few else SQUARE for name in "ABC"}
    facts = {name: {**facts, "x": VECTOR}[name] for name in ms.parse(text).inputs}
    shortest = ways_of(text, facts).shortest()
    every = sorted(ways_of(text, facts).cheapest(), key=lambda way: way.nanoseconds)
    assert len(shortest) == forms
    found, known = ([(one.rewriting, one.nanoseconds, one.nbytes) for one in ways] for ways in (shortest, every))
    assert found[0] == known[0]
    assert all(one in known for one in found)


@pytest.mark.parametrize(("terms", "most"), [(6, 6), (20, 8)])
def test_sums_with_parts_that_do_not_fit_are_planned_again_where_they_may_take_less_alone(
    terms: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each form of twenty matrices summed first took four plans, with ever less memory for a part: 0.14 s."""
    text = "y(i) = " + " + ".join(f"A{number}(i,j) * B(j,k) * x(k)" for number in range(terms))
    facts = {f"A{number}": SQUARE for number in range(terms)} | {"B": SQUARE, "x": VECTOR}
    cheapest = min(ways_of(text, facts).cheapest(), key=lambda way: way.nanoseconds)
    planned = recorded(monkeypatch, StatementWays, "_planned")
    (found,) = ways_of(text, facts).shortest()
    assert found.rewriting == cheapest.rewriting
    assert len(planned) <= most


def test_sums_of_a_form_are_those_that_no_form_before_has() -> None:
    statement = with_explicit_sums(parse("y(i) = (A(i,j) + B(i,j)) * x(j)"))
    kept, opened = (new_sums(statement, number, cancels=False) for number in range(2))
    # Factored again, the second form is the first.
    assert [(is_factored, len(terms)) for is_factored, terms in (*kept, *opened)] == [(False, 1), (False, 2)]
    written = with_explicit_sums(parse("y(i) = A(i,j) * x(j) + B(i,j) * x(j)"))
    assert [is_factored for is_factored, _ in new_sums(written, 0, cancels=False)] == [False, True]
    assert opened_form(with_explicit_sums(parse("y(i) = A(2*i,j) * x(j)")), 0, cancels=False) is None
    assert new_sums(with_explicit_sums(parse("y(i) = A(2*i,j) * x(j)")), 0, cancels=False) == ()


@pytest.mark.parametrize("text", ["D(i,l) = A(i,j) * B(j,k) * C(k,l)", "y(i) = (A(i,j) + B(i,j)) * C(j,k) * x(k)"])
def test_plans_for_other_data_begin_with_the_same_forms(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    statement, few = with_explicit_sums(parse(text)), matrix(20_000, 20_000, 0.01)
    first, other = (
        {name: one for name, one in {**facts, "x": VECTOR}.items() if name in statement.inputs}
        for facts in ({"A": SQUARE, "B": SQUARE, "C": few}, {"A": few, "B": SQUARE, "C": SQUARE})
    )
    before = choose_rewriting(statement, first)
    looked_at = recorded(monkeypatch, NormalForm, "of")
    after = choose_rewriting(statement, other)
    assert looked_at == []
    assert before is not None
    assert after is not None
    assert after != before
    opened_form.cache_clear()
    new_sums.cache_clear()
    assert choose_rewriting(statement, other) == after
    assert looked_at != []


def test_sums_inside_of_functions_are_parts_of_a_form_that_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    statement = with_explicit_sums(parse("y(i) = A(i,j) * exp(sum(k : B(j,k) * tanh(sum(l : C(k,l) * x(l)))))"))
    facts = {**dict.fromkeys("ABC", SQUARE), "x": VECTOR}
    assert kept_form(statement, cancels=False) is not None
    looked_at = recorded(monkeypatch, NormalForm, "of")
    found = choose_rewriting(statement, facts, always=True)
    assert looked_at == []
    assert found is not None
    assert [str(part.value) for part in found.parts] == [
        "sum(l : C(k,l) * x(l))",
        "tanh(y.part(k))",
        "sum(k : B(j,k) * y.part.2(k))",
        "exp(y.part.3(j))",
    ]


def test_accesses_know_their_variables() -> None:
    gathered = Access("A", (Access("P", (ROW,)), COL, COL, AffineSubscript(((2, DEEP), (1, ROW)), 1)))
    assert gathered.indices == (ROW, COL, DEEP)
    assert pickle.loads(pickle.dumps(gathered)).indices == (ROW, COL, DEEP)
    assert Access("A", (ROW, ROW)).indices == (ROW,)


def test_statements_know_what_they_read_and_are_sent_to_other_processes_without_a_hash() -> None:
    statement = parse("y(i) += A(P(i), j) * A(k,j) * B(k)")
    assert [access.tensor for access in statement.reads] == ["A", "P", "A", "B"]
    assert statement.inputs == ("y", "A", "P", "B")
    assert statement.reads is statement.reads
    hash(statement)
    again = pickle.loads(pickle.dumps(statement))
    assert not hasattr(again, "_hash")
    assert again == statement
    assert hash(again) == hash(statement)
    assert again.inputs == statement.inputs
    assert replace(statement, value=Access("C", (ROW,))).inputs == ("y", "C")


def test_kernels_that_are_sent_to_other_processes_have_no_hash() -> None:
    spec = ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]").spec
    hash(spec)
    again = pickle.loads(pickle.dumps(spec))
    assert "_hash" not in again.__dict__
    assert again == spec
    assert hash(again) == hash(spec)


def test_variables_get_their_bits_in_an_order_that_no_hash_decides() -> None:
    """Sets of names have another order in each process, and bits decide between plans that take nearly as long."""
    found = set[tuple[int, ...]]()
    for order in itertools.permutations((ROW, COL, DEEP)):
        estimates = Estimates(dict.fromkeys(order, 5.0))
        estimates.bits(order)
        found.add(tuple(map(estimates.bit, (ROW, COL, DEEP))))
    assert found == {(1, 2, 4)}


def test_a_plan_is_the_same_in_processes_with_other_hashes() -> None:
    """Summed over m or over l first, the part takes as long, but for a thousandth."""
    program = """
from dialect_tests.statement_cases import matrix, vector
from mlir_sparse.notation import parse, with_explicit_sums
from mlir_sparse.plan.algebra.choose_rewriting import choose_rewriting
statement = with_explicit_sums(parse("s = abs(A(m,l)) * B(k,l) * C(k,j)"))
A, B = matrix(100_000, 100_000, 0.01, "CSC"), matrix(20_000, 100_000, 1)
print(choose_rewriting(statement, {"A": A, "B": B, "C": vector(20_000, 5000)}))
"""
    path = os.pathsep.join(["scripts", *filter(None, [os.environ.get("PYTHONPATH")])])
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            check=True,
        ).stdout
        for seed in "12345"
    }
    assert len(found) == 1
