"""Affine expressions and maps, with MLIR's own `affine_map` as the oracle of text."""

from __future__ import annotations

import itertools
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialect_tests.crossing import examples
from mlir_sparse._mlir import bindings
from mlir_sparse.affine import (
    AffineBinary,
    AffineExpr,
    AffineMap,
    AffineOp,
    Constant,
    Dim,
    Symbol,
    add,
    ceildiv,
    floordiv,
    mod,
    mul,
    negate,
    parse_affine_map,
    print_map,
    subtract,
)
from mlir_sparse.affine.form_bounds import bounds_of
from mlir_sparse.affine.integer_form import form_of
from mlir_sparse.errors import EncodingSyntaxError

_CONTEXT = bindings().ir.Context()


def _reprint(text: str) -> str:
    with _CONTEXT:
        return str(bindings().ir.Attribute.parse(f"affine_map<{text}>"))[len("affine_map<") : -1]


def _texts() -> st.SearchStrategy[str]:
    """Affine expression text over d0, d1, s0, with all the operators MLIR has."""
    leaves = st.sampled_from(["d0", "d1", "s0", "0", "1", "2", "4", "8"])

    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        sums = st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-"]), inner)
        scaled = st.builds("{} * {}".format, inner.map("({})".format), st.sampled_from(["2", "3", "-1", "s0"]))
        divisors = st.sampled_from(["1", "2", "4", "s0", "-2", "(s0 * 2)"])
        divided = st.builds("({}) {} {}".format, inner, st.sampled_from(["floordiv", "ceildiv", "mod"]), divisors)
        return sums | scaled | divided | inner.map("-({})".format)

    return st.recursive(leaves, extend, max_leaves=8)


@given(_texts())
@examples(400)
def test_prints_what_mlir_prints_of_it(text: str) -> None:
    whole = f"(d0, d1)[s0] -> ({text})"
    canonical = str(parse_affine_map(whole))
    assert parse_affine_map(canonical) == parse_affine_map(whole)
    assert _reprint(canonical) == canonical


@given(_texts(), st.tuples(*[st.integers(-20, 20)] * 2), st.integers(1, 5))
@examples(200)
def test_means_what_mlir_means(text: str, dims: tuple[int, int], symbol: int) -> None:
    whole = f"(d0, d1)[s0] -> ({text})"
    ours = parse_affine_map(whole).evaluate(dims, [symbol])
    assert ours == parse_affine_map(_reprint(whole)).evaluate(dims, [symbol])


@given(_texts(), st.integers(-20, 20), st.integers(-20, 20), st.integers(1, 5))
@examples(200)
def test_folding_keeps_the_value(text: str, d0: int, d1: int, s0: int) -> None:
    # Python's // rounds as floordiv does; ceildiv has no operator of its own.
    python = text.replace("floordiv", "//").replace("mod", "%")
    if "ceildiv" in python:
        return
    expected = eval(python, {}, {"d0": d0, "d1": d1, "s0": s0})  # text of our own making
    assert parse_affine_map(f"(d0, d1)[s0] -> ({text})").evaluate([d0, d1], [s0]) == (expected,)


@given(st.permutations(range(4)))
def test_a_permutation_and_its_inverse(order: list[int]) -> None:
    there = AffineMap.permutation(order)
    back = there.inverse()
    assert there.is_permutation
    assert back is not None
    assert back.compose(there).is_identity
    assert there.compose(back).is_identity
    assert there.evaluate([10, 11, 12, 13]) == tuple(10 + d for d in order)


@pytest.mark.parametrize(
    ("text", "inverse"),
    [
        ("(i) -> (i floordiv 4, i mod 4)", "(d0, d1) -> (d0 * 4 + d1)"),
        ("(i, j) -> (i floordiv 2, j, i mod 2)", "(d0, d1, d2) -> (d0 * 2 + d2, d1)"),
        (
            "(i, j) -> (j floordiv 3, i floordiv 2, i mod 2, j mod 3)",
            "(d0, d1, d2, d3) -> (d1 * 2 + d2, d0 * 3 + d3)",
        ),
    ],
)
def test_blocked_maps_invert(text: str, inverse: str) -> None:
    there = parse_affine_map(text)
    back = there.inverse()
    assert str(back) == inverse
    assert back is not None
    for point in itertools.product(range(7), repeat=there.num_dims):
        assert back.evaluate(there.evaluate(point)) == point


@pytest.mark.parametrize(
    "text",
    [
        "(i, j) -> (i + j, i - j)",
        "(i) -> (i floordiv 2)",
        "(i) -> (2 * i)",
        "(i, j) -> (i - j, j - i)",
        "(i) -> (i floordiv 6, (i mod 6) floordiv 4, i mod 4)",
        "(i) -> (i floordiv 6, i mod 4)",
        "(i) -> (i ceildiv 2, i mod 2)",
        "(i) -> (i floordiv 2, i mod 3)",
        "(i) -> (i floordiv 2, i mod 2, i mod 2)",
        "(i) -> (i, i)",
        "(i, j) -> (i)",
        "(i)[s] -> (i)",
        "(i) -> (i floordiv -2, i mod 2)",
    ],
)
def test_maps_without_a_known_inverse(text: str) -> None:
    assert parse_affine_map(text).inverse() is None


@pytest.mark.parametrize(
    ("text", "inverse"),
    [
        ("(i, j) -> (j - i, i)", "(d0, d1) -> (d1, d0 + d1)"),
        ("(i, j) -> (i, j + 1)", "(d0, d1) -> (d0, d1 - 1)"),
        ("(i) -> (-i + 3)", "(d0) -> (-d0 + 3)"),
        ("(i) -> (i mod 2, i floordiv 2)", "(d0, d1) -> (d0 + d1 * 2)"),
        ("(i, j, k) -> (i + j + k, j - 2*k, k)", "(d0, d1, d2) -> (d0 - d1 - d2 * 3, d1 + d2 * 2, d2)"),
        (
            "(i, j) -> (i floordiv 8, j, (i mod 8) floordiv 2, i mod 2)",
            "(d0, d1, d2, d3) -> (d0 * 8 + d2 * 2 + d3, d1)",
        ),
        ("(i) -> (i floordiv 8, (i floordiv 2) mod 4, i mod 2)", "(d0, d1, d2) -> (d0 * 8 + d1 * 2 + d2)"),
        ("(i) -> ((i + 3) floordiv 4, (i + 3) mod 4)", "(d0, d1) -> (d0 * 4 + d1 - 3)"),
        ("(i, j) -> ((j - i) floordiv 4, i, (j - i) mod 4)", "(d0, d1, d2) -> (d1, d0 * 4 + d1 + d2)"),
        ("(i, j) -> (j - i, i floordiv 4, i mod 4)", "(d0, d1, d2) -> (d1 * 4 + d2, d0 + d1 * 4 + d2)"),
        (
            "(i, j) -> (i floordiv 4 - j floordiv 4, j floordiv 4, i mod 4, j mod 4)",
            "(d0, d1, d2, d3) -> (d0 * 4 + d1 * 4 + d2, d1 * 4 + d3)",
        ),
    ],
)
def test_unimodular_maps_and_nested_blocks_invert(text: str, inverse: str) -> None:
    there = parse_affine_map(text)
    back = there.inverse()
    assert str(back) == inverse
    assert back is not None
    assert back.is_inverse_of(there)
    for point in itertools.product(range(-6, 7), repeat=there.num_dims):
        assert back.evaluate(there.evaluate(point)) == point


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(-3, 3)), max_size=6), st.permutations(range(3))
)
def test_every_unimodular_map_inverts(steps: list[tuple[int, int, int]], order: list[int]) -> None:
    # Adding multiples of rows to others reaches every matrix of determinant 1; the order gives -1.
    rows = [add(Dim(d), Constant(d - 1)) for d in order]
    for target, source, factor in steps:
        if target != source:
            rows[target] = add(rows[target], mul(rows[source], Constant(factor)))
    there = AffineMap(3, 0, tuple(rows))
    back = there.inverse()
    assert back is not None
    assert back.is_inverse_of(there)
    assert back.evaluate(there.evaluate([5, -7, 11])) == (5, -7, 11)


@given(st.lists(st.integers(2, 4), min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_every_mixed_radix_inverts_in_any_order(radices: list[int], random: Random) -> None:
    exprs, size = [], 1
    for radix in radices:
        exprs.append(mod(floordiv(Dim(0), Constant(size)), Constant(radix)))
        size *= radix
    exprs.append(floordiv(Dim(0), Constant(size)))
    random.shuffle(exprs)
    there = AffineMap(1, 0, tuple(exprs))
    back = there.inverse()
    assert back is not None
    assert back.is_inverse_of(there)
    assert all(back.evaluate(there.evaluate([i])) == (i,) for i in range(-size, 2 * size))


@pytest.mark.parametrize(
    ("there", "back", "is_right"),
    [
        ("(i, j) -> (i + j, i - j)", "(a, b) -> ((a + b) floordiv 2, (a - b) floordiv 2)", True),
        ("(i, j) -> (i + j, i - j)", "(a, b) -> ((a + b) floordiv 2, (a + b) floordiv 2)", False),
        ("(i, j) -> (j - i, i, j)", "(a, b, c) -> (b, c)", True),
        ("(i, j) -> (j - i, i, j)", "(a, b, c) -> (c - a, a + b)", True),
        ("(i) -> (i floordiv 4, i mod 4)", "(a, b) -> (a * 4 + b mod 4)", True),
        ("(i) -> (i floordiv 4, i mod 4)", "(a, b) -> (a * 4 + b mod 2)", False),
        ("(i) -> (i, i floordiv 4)", "(a, b) -> (b * 4 + a mod 4)", True),
        ("(i) -> (i)", "(a, b) -> (a)", False),
        ("(i) -> (i)", "(a)[s] -> (a + s)", False),
    ],
)
def test_an_inverse_is_shown_right_or_not(there: str, back: str, is_right: bool) -> None:
    assert parse_affine_map(back).is_inverse_of(parse_affine_map(there)) is is_right


@given(
    st.lists(st.integers(-3, 3), min_size=2, max_size=2),
    st.integers(-5, 5),
    st.sampled_from(["", "floordiv 3", "mod 3"]),
    st.integers(1, 6),
    st.integers(1, 6),
)
def test_bounds_hold_every_value_and_are_met(factors: list[int], constant: int, last: str, m: int, n: int) -> None:
    expr = parse_affine_map(f"(i, j) -> (({factors[0]} * i + {factors[1]} * j + {constant}) {last})").results[0]
    form = form_of(expr)
    assert form is not None
    low, high = (b.evaluate((), (m, n)) for b in bounds_of(form, [(Constant(0), Symbol(0)), (Constant(0), Symbol(1))]))
    values = [expr.evaluate(point) for point in itertools.product(range(m), range(n))]
    assert low <= min(values)
    assert max(values) < high
    if "mod" not in last:
        assert (low, high) == (min(values), max(values) + 1)


def test_evaluates_on_arrays() -> None:
    points = np.arange(12)
    lower, upper = parse_affine_map("(i) -> (i floordiv 4, i ceildiv 4)").evaluate([points])
    np.testing.assert_array_equal(lower, np.floor(points / 4))
    np.testing.assert_array_equal(upper, np.ceil(points / 4))


def test_maps_compose_in_the_order_of_functions() -> None:
    outer = parse_affine_map("(a, b) -> (a + b, a mod 2)")
    inner = parse_affine_map("(i) -> (i * 2, i)")
    assert str(outer.compose(inner)) == "(d0) -> (d0 * 3, 0)"
    with pytest.raises(ValueError, match="expected a map to 2 results, but got one to 1"):
        outer.compose(AffineMap.identity(1))


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (add(Constant(1), Dim(0)), "d0 + 1"),
        (subtract(Dim(0), Dim(0)), "0"),
        (negate(add(Dim(0), Dim(1))), "-(d0 + d1)"),
        (mul(Symbol(0), Dim(0)), "d0 * s0"),
        (floordiv(Constant(-7), Constant(2)), "-4"),
        (ceildiv(Constant(-7), Constant(2)), "-3"),
        (mod(Constant(-7), Constant(2)), "1"),
        (floordiv(Dim(0), Constant(0)), "d0 floordiv 0"),
        (subtract(Dim(0), mul(floordiv(Dim(0), Constant(4)), Constant(4))), "d0 mod 4"),
    ],
)
def test_constructors_fold(expr: AffineExpr, text: str) -> None:
    assert str(expr) == text


def test_expressions_know_what_they_use() -> None:
    expr = add(mul(Dim(2), Symbol(1)), Dim(0))
    assert (expr.dims(), expr.symbols(), expr.is_symbolic) == ((0, 2), (1,), False)
    assert hash(expr) == hash(AffineBinary(AffineOp.ADD, mul(Dim(2), Symbol(1)), Dim(0)))
    assert print_map(3, 2, [expr], dim_names="ijk", symbol_names=("n", "m")) == "(i, j, k)[n, m] -> (k * m + i)"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("(i) -> (j)", (1, 9), "use of undeclared identifier 'j', expected one of: i"),
        ("(i, i) -> (i)", (1, 5), "redefinition of identifier 'i'"),
        ("(i)[i] -> (i)", (1, 5), "redefinition of identifier 'i'"),
        ("(i) -> (i +)", (1, 12), "missing right operand of binary operator +, but got `)`"),
        ("(i) -> (+)", (1, 9), "expected affine expression, but got `+`"),
        ("(i)\n-> (i * i)", (2, 7), "non-affine expression: at least one of the multiply operands"),
        ("(i) -> (2 mod i)", (1, 11), "non-affine expression: right operand of mod"),
        ("(i) -> (i) x", (1, 12), "expected the end of the text, but got `x`"),
        ("(i) -> (99999999999999999999)", (1, 9), "constant too large for index"),
        (f"(i) -> ({'9' * 5000})", (1, 9), "constant too large for index"),
        (f"(i) -> ({'-' * 200}i)", (1, 109), "expected at most 100 operators and parentheses"),
        (f"(i) -> ({'i + ' * 200}i)", (1, 411), "expected at most 100 operators and parentheses"),
        (f"(i) -> ({'(' * 200}i", (1, 109), "expected at most 100 operators and parentheses"),
        ("(i) -> (9223372036854775807 * 2 + i)", (1, 9), "constant too large for index"),
    ],
)
def test_errors_have_a_place(text: str, place: tuple[int, int], message: str) -> None:
    with pytest.raises(EncodingSyntaxError) as caught:
        parse_affine_map(text)
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == place


_FRAGMENTS = ["(i)", "->", "(", ")", "+", "*", "-", "mod", "4", "floordiv", ",", "[", "s", "]", "i"]


@given(st.text() | st.lists(st.sampled_from(_FRAGMENTS), max_size=30).map(" ".join))
def test_no_text_crashes_the_parser(text: str) -> None:
    try:
        parsed = parse_affine_map(text)
    except EncodingSyntaxError:
        return
    assert parse_affine_map(str(parsed)) == parsed
