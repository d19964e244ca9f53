"""Which plan is chosen for statements as users write them: on the plan, with sketches in place of data."""

from __future__ import annotations

import pytest

from dialect_tests.statement_cases import matrix, rewritten, vector
from mlir_sparse.encoding import TensorType
from mlir_sparse.plan.algebra.part_store import TensorFacts

N = 50_000
A, B, SMALL, TINY = matrix(N, N, 40), matrix(N, N, 40), matrix(20_000, 20_000, 20), matrix(20_000, 20_000, 0.001)
x = vector(N)
PLANS = {
    "A B x": (
        "y(i) = A(i,j) * B(j,k) * x(k)",
        {"A": A, "B": B, "x": x},
        ["y.part(j) = sum(k : B(j,k) * x(k))"],
        "sum(j : A(i,j) * y.part(j))",
    ),
    "SUMMM": (
        "s = sum(i, j, k : A(i,j) * B(j,k))",
        {"A": A, "B": B},
        ["s.part(j) = sum(i : A(i,j))", "s.part.2(j) = sum(k : B(j,k))"],
        "sum(j : s.part(j) * s.part.2(j))",
    ),
    "BATAX": (
        "y(j) = beta * A(i,j) * A(i,k) * x(k)",
        {"beta": vector(), "A": A, "x": x},
        ["y.part(i) = sum(k : A(i,k) * x(k))"],
        "sum(i : beta * A(i,j) * y.part(i))",
    ),
    "quadratic form: one part, read twice": (
        "s = x(i) * A(j,i) * A(j,k) * x(k)",
        {"x": x, "A": A},
        ["s.part(j) = sum(i : x(i) * A(j,i))"],
        "sum(j : s.part(j) * s.part(j))",
    ),
    "a common factor": (
        "y(i) = A(i,j) * x(j) + A(i,j) * z(j)",
        {"A": A, "x": x, "z": x},
        ["y.part(j) = x(j) + z(j)"],
        "sum(j : A(i,j) * y.part(j))",
    ),
    "a sum multiplied out": (
        "y(i) = (A(i,j) + B(i,j)) * x(j)",
        {"A": A, "B": B, "x": x},
        [],
        "sum(j : A(i,j) * x(j)) + sum(j : B(i,j) * x(j))",
    ),
    "a function, made once for each element": (
        "y(i) = A(i,j) * exp(x(j))",
        {"A": A, "x": x},
        ["y.part(j) = exp(x(j))"],
        "sum(j : A(i,j) * y.part(j))",
    ),
    "a sum below a root, read by its quotient": (
        "y(i) = sum(j : A(i,j) * x(j)) / sqrt(sum(k, l, m : A(k,l) * x(l) * A(k,m) * x(m)))",
        {"A": A, "x": x},
        ["y.part(i) = sum(j : A(i,j) * x(j))", "y.part.2 = sum(k : y.part(k) * y.part(k))"],
        "y.part(i) / sqrt(y.part.2)",
    ),
    "4-cycles: one product, read transposed": (
        "s = A(i,j) * A(j,k) * A(k,l) * A(l,i)",
        {"A": matrix(3000, 3000, 15)},
        ["s.part(i,k) = sum(j : A(i,j) * A(j,k))"],
        "sum(i, k : s.part(i,k) * s.part(k,i))",
    ),
    "3-stars": (
        "s = A(i,j) * A(i,k) * A(i,l)",
        {"A": A},
        ["s.part(i) = sum(j : A(i,j))"],
        "sum(i : s.part(i) * s.part(i) * s.part(i))",
    ),
    "a chain whose last matrix is nearly empty": (
        "D(i,l) = A(i,j) * B(j,k) * C(k,l)",
        {"A": SMALL, "B": SMALL, "C": TINY},
        ["D.part(j,l) = sum(k : B(j,k) * C(k,l))"],
        "sum(j : A(i,j) * D.part(j,l))",
    ),
    "a chain of four": (
        "E(i,m) = A(i,j) * B(j,k) * C(k,l) * D(l,m)",
        {"A": SMALL, "B": SMALL, "C": SMALL, "D": TINY},
        ["E.part(k,m) = sum(l : C(k,l) * D(l,m))", "E.part.2(j,m) = sum(k : B(j,k) * E.part(k,m))"],
        "sum(j : A(i,j) * E.part.2(j,m))",
    ),
    "a layer of a graph network": (
        "H(i,h) = A(i,j) * X(j,f) * W(f,h)",
        {"A": SMALL, "X": vector(20_000, 128), "W": vector(128, 16)},
        ["H.part(j,h) = sum(f : X(j,f) * W(f,h))"],
        "sum(j : A(i,j) * H.part(j,h))",
    ),
    "triangles: a mask looked up, not met": (
        "s = A(i,j) * A(j,k) * A(k,i)",
        {"A": matrix(20_000, 20_000, 20, largest=2000)},
        ["s.part(i,j) = sum(k : A(i,j) * A(j,k) * A(k,i))"],
        "sum(i, j : s.part(i,j))",
    ),
    "a gradient": (
        "g(j) = X(i,j) * (1 / (1 + exp(-sum(k : X(i,k) * w(k)))) - y(i))",
        {"X": A, "w": x, "y": x},
        ["g.part(i) = sum(k : X(i,k) * w(k))", "g.part.2(i) = 1 / (1 + exp(-g.part(i))) - y(i)"],
        "sum(i : X(i,j) * g.part.2(i))",
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_the_plan_is_the_best_by_hand(name: str) -> None:
    text, facts, parts, value = PLANS[name]
    found = rewritten(text, facts)
    assert found is not None
    assert ([str(part) for part in found.parts], str(found.value)) == (parts, value)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("y(i) = A(i,j) * x(j)", {"A": A, "x": x}),
        ("y(i) = b(i) - A(i,j) * x(j)", {"A": A, "x": x, "b": x}),
        ("y(i) = alpha * A(i,j) * x(j) + beta * b(i)", {"alpha": vector(), "beta": vector(), "A": A, "x": x, "b": x}),
        ("C(i,j) = S(i,j) * U(i,k) * V(j,k)", {"S": SMALL, "U": vector(20_000, 16), "V": vector(20_000, 16)}),
        ("C(i,k) = A(i,j) * B(j,k)", {"A": SMALL, "B": SMALL}),
        ("C(i,j) = A(i,j) * B(i,j) * D(i,j)", {"A": SMALL, "B": SMALL, "D": SMALL}),
        ("y(i) = exp(x(i)) * A(i,j) * z(j)", {"A": A, "x": x, "z": x}),
        ("y(i) = A(i,j) * B(j,k) * x(k)", {"A": matrix(50, 50, 4), "B": matrix(50, 50, 4), "x": vector(50)}),
    ],
)
def test_what_gains_nothing_stays_as_it_is_written(text: str, facts: dict[str, TensorFacts]) -> None:
    assert rewritten(text, facts) is None


def test_hubs_decide_which_product_is_made_first() -> None:
    """Of three matrices with as many entries, the two whose hubs do not meet; even spreads would be a tie."""
    even, hubs = matrix(20_000, 20_000, 10), matrix(20_000, 20_000, 10, largest=5000)
    text = "D(i,l) = A(i,j) * B(j,k) * C(k,l)"
    for names, first in ((("A", "B"), "C(k,l)"), (("B", "C"), "A(i,j)")):
        found = rewritten(text, {n: hubs if n in names else even for n in "ABC"})
        assert found is None or first in str(found.parts[0])


@pytest.mark.parametrize(
    "text",
    [
        "y(i) = A(i,j) * B(j,k) * x(k + 1)",
        "y(i) = A(i,j) * B(j,k) * x(I(k))",
        "y(i) = A(i,j) * B(j,k) * A(j,j)",
        "y(i) = max(j, k : A(i,j) * B(j,k) * x(k))",
    ],
)
def test_what_rules_do_not_know_stays_as_it_is_written(text: str) -> None:
    places = TensorFacts(TensorType.parse("i64[?]"), vector(N).sketch)
    facts = {"A": A, "B": B, "x": x, "I": places}
    kinds = {name: one for name, one in facts.items() if f"{name}(" in text}
    assert rewritten(text, kinds) is None or "max" in text


def test_parts_take_no_more_memory_than_operands() -> None:
    """`X(j,f) * W(f,h)` made first would take 1.6 GB, and `A(i,j) * X(j,f)` 13 MB."""
    facts = {"A": matrix(200_000, 200_000, 4), "X": vector(200_000, 8), "W": vector(8, 1000)}
    found = rewritten("H(i,h) = A(i,j) * X(j,f) * W(f,h)", facts)
    assert found is not None
    assert [str(part.target) for part in found.parts] == ["H.part(i,f)"]
    huge = {"A": matrix(200_000, 200_000, 4), "X": vector(200_000, 800), "W": vector(800, 1000)}
    everything = rewritten("H(i,h) = A(i,j) * X(j,f) * W(f,h)", huge)
    assert everything is None or all(str(part.target) == "H.part(i,f)" for part in everything.parts)


@pytest.mark.parametrize(
    "text",
    [
        "y(i) = (A(i,j) - B(i,j)) * x(j)",
        "s = sum(i, j : (A(i,j) - u(i) * v(j)) * (A(i,j) - u(i) * v(j)))",
        "s = sum(i, j : (A(i,j) + u(i) * v(j)) * (A(i,j) + u(i) * v(j)))",
    ],
)
def test_differences_and_squares_are_not_multiplied_out(text: str) -> None:
    """What cancels in them would be left with few right digits."""
    facts = {"A": A, "B": B, "x": x, "u": x, "v": x}
    found = rewritten(text, {name: one for name, one in facts.items() if f"{name}(" in text}, always=True)
    assert found is None or "B(i,j) * x(j)" not in str(found.value)
    assert found is None or "A(i,j) * A(i,j)" not in str(found.value)
