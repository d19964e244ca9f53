from __future__ import annotations

import math
import pickle

import pytest
from hypothesis import given

from dialect_tests.crossing import examples
from dialect_tests.generated import any_assignments, assignments
from mlir_sparse.errors import NotationError, NotationSyntaxError
from mlir_sparse.notation import (
    Access,
    AffineSubscript,
    Assignment,
    AssignOp,
    Binary,
    BinaryOp,
    Expr,
    IndexVar,
    Literal,
    Negate,
    parse,
    to_text,
    walk,
)
from mlir_sparse.notation.notation_parser import parse_assignment
from mlir_sparse.text.cursor import Cursor
from mlir_sparse.text.source_text import Source


def read(text: str) -> Assignment:
    """Parses without asking for a meaning."""
    cursor = Cursor(Source(text, "notation"), NotationSyntaxError)
    assignment = parse_assignment(cursor)
    cursor.expect_end()
    return assignment


@pytest.mark.parametrize(
    "text",
    [
        "y(i) = A(i,j) * x(j)",
        "y(i) = b(i) - (A(i,j) - c(i)) - d(i)",
        "y(i) = a / (b / c) / d * e",
        "y(i) = (a + b) * (c - d)",
        "y(i) = -x(i) + (-y(i)) - (-2)",
        "y(i) = -(-x(i))",
        "y(i) = -(a * b) * c",
        "y(i) = -(2)",
        "y(i) = x(2*i + k - 1,-i + 3,0)",
        "y(i) max=! sum(j, k : max(A(i,j), x(k)))",
        "a *= complex(1.0, -2.0) * 2.0j + 1e-30 - 3",
        "max[i] = exp[i] + exp(exp[i]) + sum",
    ],
)
def test_no_parenthesis_too_many(text: str) -> None:
    assert str(read(text)) == text


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("y[i]=((A[i,j])*(x[j]))", "y(i) = A(i,j) * x(j)"),
        ("y(i) = (a * b) / c - (d / e)", "y(i) = a * b / c - d / e"),
        ("y() = +x() ** 2", "y = pow(x, 2)"),
        ("y(i) = x(k*2 + i*1 - 0)", "y(i) = x(2*k + i)"),
    ],
)
def test_one_spelling_is_printed(text: str, printed: str) -> None:
    assert str(parse(text)) == printed


@examples(300)
@given(any_assignments())
def test_every_tree_parses_back(assignment: Assignment) -> None:
    again = read(str(assignment))
    assert again == assignment
    assert str(again) == str(assignment)


@given(any_assignments())
def test_integers_stay_integers_and_reals_reals(assignment: Assignment) -> None:
    def types(tree: Assignment) -> list[type]:
        return [type(node.value) for node in walk(tree.value) if isinstance(node, Literal)]

    assert types(read(str(assignment))) == types(assignment)


@given(assignments())
def test_every_assignment_with_a_meaning_parses_back(assignment: Assignment) -> None:
    assert parse(str(assignment)) == assignment


@given(any_assignments())
def test_every_node_prints_as_it_does_in_its_place(assignment: Assignment) -> None:
    for node in walk(assignment.value):
        assert str(node) == to_text(node)
        assert read(f"y = {node}").value == node


def test_subscripts_print_alone() -> None:
    i, k = IndexVar("i"), IndexVar("k")
    assert [str(i), str(AffineSubscript(((-1, i), (2, k)), -3))] == ["i", "-i + 2*k - 3"]


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, complex(1, math.inf)])
def test_numbers_without_a_spelling_are_refused(value: complex) -> None:
    with pytest.raises(NotationError, match=r"expected a finite number, but got .*; pass it as a scalar tensor"):
        str(Literal(value))


def deepest() -> Assignment:
    node: Expr = Access("a")
    for _ in range(50):
        node = Binary(BinaryOp.SUB, Literal(1), Negate(node))
    return Assignment(Access("y"), AssignOp.ASSIGN, node)


def test_the_deepest_tree_prints_compares_and_travels() -> None:
    tree = deepest()
    assert parse(str(tree)) == tree
    assert hash(tree) == hash(deepest())
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert repr(tree).startswith("Assignment(target=Access(tensor='y'")
