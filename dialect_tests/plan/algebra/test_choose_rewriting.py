"""Which plan is chosen for statements as users write them: on the plan, with sketches in place of data."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import pytest

import mlir_sparse as ms
from dialect_tests.statement_cases import matrix, rewritten, vector
from mlir_sparse.encoding import TensorType
from mlir_sparse.machine import machine_profile
from mlir_sparse.plan.algebra import part_store
from mlir_sparse.plan.algebra.choose_rewriting import choose_rewriting
from mlir_sparse.plan.algebra.statement_ways import StatementWays
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts

MACHINE = machine_profile().times

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
        ["s.part(j) = sum(k : B(j,k))"],  # loops read from it, and add to no column sum of A
        "sum(i, j : A(i,j) * s.part(j))",
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
    "a function of rows, in vectors after their sums": (
        "y(i) = exp(x(i)) * A(i,j) * z(j)",
        {"A": matrix(N, N, 5), "x": x, "z": x},
        ["y.part(i) = sum(j : A(i,j) * z(j))"],
        "exp(x(i)) * y.part(i)",
    ),
    "a sum below a root, read by its quotient": (
        "y(i) = sum(j : A(i,j) * x(j)) / sqrt(sum(k, l, m : A(k,l) * x(l) * A(k,m) * x(m)))",
        {"A": A, "x": x},
        ["y.part(i) = sum(j : A(i,j) * x(j))", "y.part.2 = sum(k : y.part(k) * y.part(k))"],
        "y.part(i) / sqrt(y.part.2)",
    ),
    "4-cycles: one product, the mask of another": (
        "s = A(i,j) * A(j,k) * A(k,l) * A(l,i)",
        {"A": matrix(3000, 3000, 15)},
        ["s.part(k,i) = sum(l : A(k,l) * A(l,i))", "s.part.2(k,i) = sum(j : s.part(k,i) * A(j,k) * A(i,j))"],
        "sum(k, i : s.part.2(k,i))",
    ),
    "3-paths": (
        "s = A(i,j) * A(j,k) * A(k,l)",
        {"A": A},
        ["s.part(k) = sum(l : A(k,l))", "s.part.2(j) = sum(k : A(j,k) * s.part(k))"],
        "sum(i, j : A(i,j) * s.part.2(j))",
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
        ["H.part(j,h) = sum(f : X(j,f) * W(f,h)) by BLAS"],
        "sum(j : A(i,j) * H.part(j,h))",
    ),
    "triangles: a mask looked up, not met": (
        "s = A(i,j) * A(j,k) * A(k,i)",
        {"A": matrix(20_000, 20_000, 20, largest=2000)},
        ["s.part(k,i) = sum(j : A(k,i) * A(i,j) * A(j,k))"],
        "sum(k, i : s.part(k,i))",
    ),
    "triangles at each vertex": (
        "t(i) = A(i,j) * A(j,k) * A(k,i)",
        {"A": matrix(20_000, 20_000, 20, largest=2000)},
        ["t.part(k,i) = sum(j : A(k,i) * A(i,j) * A(j,k))"],
        "sum(k : t.part(k,i))",
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


BY_BLAS = " by BLAS"
STEPS = [field.name for field in fields(MACHINE)]
# Whether loops read from a vector or add to one is decided by these two times, and by nothing else.
DECIDED_BY = dict.fromkeys(("SUMMM", "3-paths"), ("look_up", "scatter"))


@pytest.mark.parametrize("step", STEPS)
def test_plans_are_the_same_on_machines_that_are_a_little_different(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step may take half as long, or twice: times of steps are measured no better."""
    for factor in (0.5, 2.0):
        time = getattr(MACHINE, step)
        changed = tuple(factor * each for each in time) if isinstance(time, tuple) else factor * time
        profile = replace(machine_profile(), times=replace(MACHINE, **{step: changed}))
        monkeypatch.setattr(part_store, "machine_profile", lambda profile=profile: profile)
        for name, (text, facts, parts, value) in PLANS.items():
            found = rewritten(text, facts)
            assert found is not None
            if step in DECIDED_BY.get(name, ()):
                continue
            # Whether BLAS or loops make a part may differ: both do it in nearly the same time.
            assert [str(part).removesuffix(BY_BLAS) for part in found.parts] == [p.removesuffix(BY_BLAS) for p in parts]
            assert str(found.value) == value


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("y(i) = A(i,j) * x(j)", {"A": A, "x": x}),
        ("y(i) = b(i) - A(i,j) * x(j)", {"A": A, "x": x, "b": x}),
        ("y(i) = alpha * A(i,j) * x(j) + beta * b(i)", {"alpha": vector(), "beta": vector(), "A": A, "x": x, "b": x}),
        ("C(i,j) = S(i,j) * U(i,k) * V(j,k)", {"S": SMALL, "U": vector(20_000, 16), "V": vector(20_000, 16)}),
        ("C(i,k) = A(i,j) * B(j,k)", {"A": SMALL, "B": SMALL}),
        ("C(i,j) = A(i,j) * B(i,j) * D(i,j)", {"A": SMALL, "B": SMALL, "D": SMALL}),
        ("y(i) = abs(x(i)) * A(i,j) * z(j)", {"A": A, "x": x, "z": x}),
        ("y(i) = A(i,j) * B(j,k) * x(k)", {"A": matrix(50, 50, 4), "B": matrix(50, 50, 4), "x": vector(50)}),
    ],
)
def test_what_gains_nothing_stays_as_it_is_written(text: str, facts: dict[str, TensorFacts]) -> None:
    assert rewritten(text, facts) is None


def test_loops_of_a_masked_product_walk_rows_that_are_stored() -> None:
    """Of the three, the mask alone is converted, whichever of them is the smallest."""
    text, big = "s = A(i,j) * B(j,k) * C(k,i)", matrix(20_000, 20_000, 20, largest=2000)
    for storage, order in (("CSR", ("i", "j", "k")), ("CSC", ("k", "j", "i"))):
        facts = dict.fromkeys("ABC", matrix(20_000, 20_000, 20, storage, largest=2000))
        found = rewritten(text, facts)
        assert found is not None
        assert str(found.parts[0].value).startswith("sum(j : C(k,i) * ")
        assert found.parts[0].order is not None
        assert tuple(map(str, found.parts[0].order)) == order
    aligned = rewritten("s = A(i,j) * B(j,k) * C(i,k)", {"A": big, "B": big, "C": big})
    assert aligned is not None
    assert [str(v) for v in aligned.parts[0].order or ()] == ["i", "j", "k"]


def test_parts_of_tailed_triangles_are_masked_too() -> None:
    found = rewritten("s = A(i,j) * A(j,k) * A(k,i) * A(i,l)", {"A": matrix(20_000, 20_000, 20, largest=2000)})
    assert found is not None
    assert [part.order is None for part in found.parts].count(False) == 1
    assert "s.part(i) = sum(l : A(i,l))" in map(str, found.parts)


def test_memory_for_one_part_is_not_refused_as_there_is_none_for_another() -> None:
    """Of 4-cycles the product fits, but not with its mask: rows meet then. Positions and coordinates have 32 bits."""
    found = rewritten(CYCLES, {"A": matrix(3000, 3000, 30, NARROW, largest=50)})
    assert found is not None
    assert [str(part) for part in found.parts] == ["s.part(i,k) = sum(j : A(i,j) * A(j,k))"]
    assert str(found.value) == "sum(i, k : s.part(i,k) * s.part(k,i))"


NARROW = "#sparse_tensor.encoding<{map = (i, j) -> (i : dense, j : compressed), posWidth = 32, crdWidth = 32}>"
CYCLES = "s = A(i,j) * A(j,k) * A(k,l) * A(l,i)"


@pytest.mark.parametrize(
    ("text", "facts", "arrays"),
    [
        (CYCLES, {"A": matrix(600, 600, 20)}, ["s.part(i,k)"]),
        (CYCLES, {"A": matrix(600, 600, 20, "DCSR")}, ["s.part(i,k)"]),
        (CYCLES, {"A": matrix(6000, 6000, 5)}, []),  # of a thousand elements four are there
        (CYCLES, {"A": matrix(3000, 3000, 30, NARROW, largest=31)}, []),  # an array would take 72 MB
        ("D(i,l) = A(i,j) * A(j,k) * A(k,l)", {"A": matrix(600, 600, 20)}, []),  # as the result has entries
        ("D(i) = A(i,j) * A(j,k) * A(k,l) * A(l,i)", {"A": matrix(600, 600, 20)}, ["D.part(i,k)"]),
    ],
)
def test_parts_that_loops_fill_are_arrays(text: str, facts: dict[str, TensorFacts], arrays: list[str]) -> None:
    found = rewritten(text, facts)
    assert found is not None
    assert [str(part.target) for part in found.parts if part.is_array] == arrays


@pytest.mark.parametrize(
    "text", ["C(f,g) = F(i,d) * D(d,f) * H(i,e) * E(e,g)", "C(g,f) = D(d,f) * F(i,d) * E(e,g) * H(i,e)"]
)
def test_rows_of_parts_are_those_of_the_arrays_that_loops_read(text: str) -> None:
    """Loops over entries go over rows of D and of the part inside."""
    keys = matrix(300_000, 3000, 1)
    found = rewritten(text, {"F": keys, "H": keys, "D": vector(3000, 32), "E": vector(3000, 32)})
    assert found is not None
    assert [str(part.target) for part in found.parts] in (["C.part(e,f)"], ["C.part(d,g)"])


def test_parts_under_a_semiring_have_the_entries_that_it_has() -> None:
    facts = {"A": matrix(600, 600, 20)}
    spec = ms.compile(CYCLES, A=facts["A"].kind).spec
    found = choose_rewriting(spec.explicit, facts, has_blas=False)
    assert found is not None
    assert not any(part.is_array for part in found.parts)


@pytest.mark.parametrize("largest", [100.0, 2000.0, 20_000.0])
@pytest.mark.parametrize(
    "text",
    [
        "D(i,l) = A(i,j) * B(j,k) * C(k,l)",
        "s = A(i,j) * B(j,k) * C(k,l) * A(l,i)",
        "y(i) = A(i,j) * B(j,k) * C(k,l) * x(l)",
        "s = A(i,j) * B(j,k) * C(k,i)",
    ],
)
def test_hubs_that_meet_take_no_memory_beyond_the_bound(text: str, largest: float) -> None:
    """All ways: the most that parts can have by degrees is no more than operands and result, or 64 MiB."""
    some, few = matrix(20_000, 20_000, 10, largest=largest), matrix(20_000, 20_000, 0.5)
    known = {"A": some, "B": some, "C": few, "x": vector(20_000)}
    facts = {name: one for name, one in known.items() if f"{name}(" in text}
    spec = ms.compile(text, tensors={name: one.kind for name, one in facts.items()}).spec
    ways = StatementWays(spec.explicit, facts)
    operands = sum(one.sketch.entries * 12 for one in facts.values())
    result = 8 * ways.nest_of(ways.terms[0].factors).most
    found = list(ways.all())
    assert all(way.nbytes <= max(64 << 20, operands + result) for way in found if way.nanoseconds < math.inf)
    assert any(way.nanoseconds < math.inf for way in found)


def test_few_entries_of_a_mask_are_met_one_by_one() -> None:
    """To walk all rows of the others would take longer."""
    big, few = matrix(20_000, 20_000, 50), matrix(20_000, 20_000, 0.01)
    found = rewritten("s = M(i,k) * A(i,j) * B(j,k)", {"M": few, "A": big, "B": big}, always=True)
    assert found is not None
    assert all(part.order is None for part in found.parts)


def array(dtype: str, *extents: int) -> TensorFacts:
    return TensorFacts(TensorType.parse(f"{dtype}[{','.join('?' * len(extents))}]"), vector(*extents).sketch)


@pytest.mark.parametrize("dtype", ["f32", "f64", "c64", "c128"])
def test_blas_multiplies_arrays(dtype: str) -> None:
    found = rewritten("C(i,k) = A(i,j) * B(j,k)", {"A": array(dtype, 500, 400), "B": array(dtype, 400, 500)})
    assert found is not None
    assert (found.parts, found.by_blas) == ((), True)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("C(i,k) = A(i,j) * B(j,k)", {"A": array("f64", 40, 40), "B": array("f64", 40, 40)}),
        ("C(i,k) = A(i,j) * B(j,k)", {"A": array("i64", 300, 300), "B": array("i64", 300, 300)}),
        ("C(i,k) = A(i,j) * B(j,k)", {"A": array("f16", 300, 300), "B": array("f16", 300, 300)}),
        ("C(i,k) = A(i,j) * B(j,k)", {"A": array("f64", 300, 300), "B": array("f32", 300, 300)}),
        ("y(i) = A(i,j) * x(j)", {"A": array("f64", 40, 40), "x": array("f64", 40)}),
        ("C(i,k) = u(i) * v(k)", {"u": array("f64", 3000), "v": array("f64", 3000)}),
        ("s = A(i,j) * B(j,i)", {"A": array("f64", 3000, 3000), "B": array("f64", 3000, 3000)}),
    ],
)
def test_loops_multiply_what_blas_would_not_faster(text: str, facts: dict[str, TensorFacts]) -> None:
    """Small arrays, types that BLAS lacks, and what reads each element once."""
    assert rewritten(text, facts) is None


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("C(i,k) = 2 * A(i,j) * B(j,k)", ["A(i,j) * B(j,k)"]),
        ("C(i,k) = -A(i,j) * B(j,k)", ["A(i,j) * B(j,k)"]),
        ("C(i,k) += A(i,j) * B(j,k)", ["A(i,j) * B(j,k)"]),
        ("C(i,k) = exp(sum(j : A(i,j) * B(j,k)))", ["A(i,j) * B(j,k)"]),
        ("C(i,k) = A(i,j) * B(j,k) + B(i,l) * A(l,k)", ["A(i,j) * B(j,k)", "B(i,l) * A(l,k)"]),
    ],
)
def test_products_of_arrays_inside_of_other_expressions_are_parts(text: str, parts: list[str]) -> None:
    found = rewritten(text, {name: array("f64", 300, 300) for name in "ABC"[: 2 + ("+=" in text)]})
    assert found is not None
    assert not found.by_blas
    assert [(str(part.value), part.by_blas) for part in found.parts] == [
        (f"sum({text[4]} : {text})", True) for text in parts
    ]


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


def test_small_products_of_arrays_are_those_of_blas() -> None:
    facts = {name: vector(2000, 16) for name in "UV"}
    found = rewritten("s = sum(i, j, k, l : U(i,k) * U(i,l) * V(j,k) * V(j,l))", facts)
    assert found is not None
    assert [str(part) for part in found.parts] == [
        "s.part(k,l) = sum(i : U(i,k) * U(i,l)) by BLAS",
        "s.part.2(k,l) = sum(j : V(j,k) * V(j,l)) by BLAS",
    ]


def test_rows_that_each_entry_adds_to_are_read_and_written() -> None:
    facts = {"A": matrix(2000, 2000, 10), "U": vector(2000, 16), "V": vector(2000, 16)}
    found = rewritten("s = A(i,j) * U(i,k) * V(j,k)", facts, always=True)
    assert found is not None
    assert all("(j," not in str(part.target) for part in found.parts)


UNDIRECTED = replace(matrix(3000, 3000, 15), symmetric=True)
OF_GRAPHS = {
    "cycles of five: paths of two are one part": (
        "s = A(i,j) * A(j,k) * A(k,l) * A(l,m) * A(m,i)",
        ["sum(j : A(i,j) * A(j,k))"],
    ),
    "cycles against the direction of rows": ("s = A(j,i) * A(k,j) * A(k,l) * A(l,i)", ["sum(j : A(i,j) * A(j,k))"]),
    "sums of columns are those of rows": ("s = A(i,j) * A(k,j) * A(k,l) * B(l)", []),
}


@pytest.mark.parametrize("name", OF_GRAPHS)
def test_symmetric_matrices_are_read_either_way(name: str) -> None:
    text, parts = OF_GRAPHS[name]
    facts = {"A": UNDIRECTED, "B": vector(3000)} if "B(" in text else {"A": UNDIRECTED}
    found = rewritten(text, facts)
    assert found is not None
    values = [str(part.value) for part in found.parts]
    for part in parts:
        assert found.symmetric == ("A",)
        assert sum(value.count(part) for value in values) == 1, values
    if not parts:  # no product of matrices, and no check
        assert found.symmetric == ()
    directed = rewritten(text, {name: replace(one, symmetric=False) for name, one in facts.items()})
    assert directed is not None
    assert directed.symmetric == ()


def test_products_that_are_symmetric_whatever_the_values_are_read_at_the_same_places() -> None:
    for text in ("s = A(i,j) * A(k,j) * A(k,l) * A(i,l)", "s = A(j,i) * A(j,k) * A(l,i) * A(l,k)"):
        found = rewritten(text, {"A": matrix(3000, 2000, 15)})
        assert found is not None
        assert found.symmetric == ()
        assert len(found.parts) == 1
        first, second = ms.notation.reads(found.value)
        assert first == second


def test_checks_that_take_as_long_as_they_save_are_not_made() -> None:
    found = rewritten("s = A(i,j) * A(j,k) * A(k,l)", {"A": UNDIRECTED})
    assert found is not None
    assert found.symmetric == ()
