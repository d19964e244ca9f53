"""Comprehensions on data: which statements are inlined, what they share, and that numbers stay the same."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.statement_cases import matrix, vector
from mlir_sparse.compile.comprehension.comprehension_build import compile_comprehension
from mlir_sparse.compile.statement_optimizer import DataSketches
from mlir_sparse.notation import Comprehension
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts

entry_points = import_module("mlir_sparse.compile.entry_points")
optimizer = import_module("mlir_sparse.compile.comprehension.comprehension_optimizer")

Array = np.ndarray[Any, Any]

N = 50_000
A, B, x = matrix(N, N, 40), matrix(N, N, 40), vector(N)
HEAD = "def f(double(N,N) A, double(N,N) B, double(N) x, double(N) z)"


def planned(body: str, outputs: str = "y", **facts: TensorFacts) -> list[str]:
    """Returns the statements that a comprehension is computed by, each with its parts, for sketches of its operands."""
    parsed = ms.parse(f"{HEAD} -> ({outputs}) {{ {body} }}")
    assert isinstance(parsed, Comprehension)
    known = {"A": A, "B": B, "x": x, "z": x} | facts
    sketches = tuple(known[name].sketch for name in parsed.inputs)
    given = {name: known[name].kind for name in parsed.inputs}
    rounded = DataSketches(sketches, tuple(sketch.rounded for sketch in sketches))
    part = entry_points.StatementCompiler(entry_points.CompileOptions())
    kernel = compile_comprehension(parsed, given, None, "cpu", part, rounded)
    lines = []
    for one in kernel.kernels:
        found = one.spec.rewriting  # type: ignore[attr-defined]
        lines += [str(part) for part in found.parts] if found else []
        lines.append(str(one.spec.planned) if found else str(one.spec.assignment))  # type: ignore[attr-defined]
    return lines


PLANS = {
    "a product that one vector is multiplied by": (
        "C(i,k) = A(i,j) * B(j,k)  y(i) = C(i,k) * x(k)",
        "y",
        ["y.part(j) = sum(k : B(j,k) * x(k))", "y(i) = sum(j : A(i,j) * y.part(j))"],
    ),
    "and is an output too": (
        "C(i,k) = A(i,j) * B(j,k)  y(i) = C(i,k) * x(k)",
        "C, y",
        ["C(i,k) = A(i,j) * B(j,k)", "y.part(j) = sum(k : B(j,k) * x(k))", "y(i) = sum(j : A(i,j) * y.part(j))"],
    ),
    "a product that is summed": (
        "C(i,k) = A(i,j) * B(j,k)  y = C(i,k)",
        "y",
        ["y.part(j) = sum(k : B(j,k))", "y = sum(i, j : A(i,j) * y.part(j))"],
    ),
    "two products, one inside of the other": (
        "C(i,k) = A(i,j) * B(j,k)  D(i,k) = C(i,j) * A(j,k)  y(i) = D(i,k) * x(k)",
        "y",
        [
            "y.part(j) = sum(k : A(j,k) * x(k))",
            "y.part.2(j1) = sum(j : B(j1,j) * y.part(j))",
            "y(i) = sum(j1 : A(i,j1) * y.part.2(j1))",
        ],
    ),
    "a vector that is read twice": (
        "t(i) = A(i,j) * x(j)  n = t(i) * t(i)  y(i) = t(i) / sqrt(n)",
        "y",
        ["t(i) = A(i,j) * x(j)", "n = t(i) * t(i)", "y(i) = t(i) / sqrt(n)"],
    ),
    "what nobody needs": ("C(i,k) = A(i,j) * B(j,k)  y(i) = A(i,j) * x(j)", "y", ["y(i) = A(i,j) * x(j)"]),
    "elementwise steps": (
        "t(i) = 2 * x(i)  u(i) = exp(t(i))  y(i) = u(i) - z(i)",
        "y",
        ["y(i) = exp(2 * x(i)) - z(i)"],
    ),
    "an equal product, by other names": (
        "t(i) = A(i,j) * x(j)  u(p) = A(p,q) * x(q)  y(i) = t(i) * u(i)",
        "t, y",
        ["t(i) = A(i,j) * x(j)", "u(p) = t(p)", "y(i) = t(i) * u(i)"],
    ),
    "a part that two statements have": (
        "y(i) = A(i,j) * B(j,k) * x(k)  v(j) = A(j,i) * B(i,l) * x(l)",
        "y, v",
        [
            "y.part(j) = sum(k : B(j,k) * x(k))",
            "y(i) = sum(j : A(i,j) * y.part(j))",
            "v(j) = y(j)",
        ],
    ),
    "a part that two statements have, read in two ways": (
        "y(i) = A(i,j) * B(j,k) * x(k)  v(j) = A(i,j) * B(i,l) * x(l)",
        "y, v",
        [
            "y.part(j) = sum(k : B(j,k) * x(k))",
            "y(i) = sum(j : A(i,j) * y.part(j))",
            "v(j) = sum(i : A(i,j) * y.part(i))",
        ],
    ),
}


@pytest.mark.parametrize("case", PLANS)
def test_the_plan(case: str) -> None:
    body, outputs, expected = PLANS[case]
    assert planned(body, outputs) == expected


KEPT = {
    "updated": "C(i,k) = A(i,j) * B(j,k)  C(i,k) += A(i,k)  y(i) = C(i,k) * x(k)",
    "updated after it is read": "C(i,k) = A(i,j) * B(j,k)  y(i) = C(i,k) * x(k)  C(i,k) += A(i,k)",
    "made of what changes": "t(i) = x(i)  C(i) = A(i,j) * t(j)  t(i) += z(i)  y(i) = A(i,j) * C(j) + t(i)",
    "compared": "C(i,k) = A(i,j) * B(j,k)  y(i) = x(i) * (C(i,k) > 1)",
    "read by a function": "C(i,k) = A(i,j) * B(j,k)  y(i) = exp(C(i,k)) * x(k)",
    "read by another reduction": "C(i,k) = A(i,j) * B(j,k)  y(i) max=! C(i,k) * x(k)",
    "read by its own entries": "C(i,k) = A(i,j) * B(j,k)  y(i) = stored(C(i,k))",
    "on the diagonal": "C(i,k) = A(i,j) * B(j,k)  y(i) = C(i,i) * x(i)",
    "shifted": "C(i,k) = A(i,j) * B(j,k)  y(i) = C(i,k + 1) * x(k)",
    "another reduction": "C(i) max=! A(i,j) * B(j,k)  y(i) = A(i,j) * C(j)",
    # Where a row of A is empty, C is zero: times an infinite z that is NaN, but nothing if it was skipped.
    "a zero that may meet infinity": "C(i) = A(i,j) * x(j)  y(i) = C(i) * z(i)",
}


@pytest.mark.parametrize("case", KEPT)
def test_what_is_not_inlined(case: str) -> None:
    statements = [line for line in planned(KEPT[case]) if not line.startswith(("y.part", "C.part"))]
    assert statements[0].startswith("C(" if "t(i)" not in KEPT[case] else "t(")
    assert len(statements) >= 2


def test_updates_stay_in_their_places() -> None:
    body = KEPT["updated after it is read"]
    assert [line.split(" = ")[0].split(" += ")[0] for line in planned(body, "y, C")] == ["C(i,k)", "y(i)", "C(i,k)"]
    assert planned(body) == planned(body, "y")


@pytest.fixture(scope="module")
def large() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    places = rng.integers(0, 3000, (2, 120_000))
    given = {name: ms.tensor((places, rng.random(120_000)), "CSR", shape=(3000, 3000)) for name in "AB"}
    return given | {"x": np.ones(3000)}


# -- numbers -------------------------------------------------------------------------------------------------------


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inlines all values that may be, whatever that takes."""
    plan = optimizer.plan_statements
    monkeypatch.setattr(optimizer, "plan_statements", lambda *given, **more: plan(*given, always=True, **more))
    optimizer._plan.cache_clear()


def both(text: str, **operands: Any) -> tuple[Any, Any, str]:
    """Returns the results as written and inlined, and the account."""
    off, auto = (ms.evaluate(text, **operands, optimize=name) for name in ("off", "auto"))
    return off, auto, ms.compile(text, **operands).explain()


def integers(*shape: int, dtype: Any = np.float64) -> Array:
    rng = np.random.default_rng(len(shape))
    return (rng.integers(-3, 4, shape) * (rng.random(shape) < 0.6)).astype(dtype)


TEXT = """
def f(double(M,K) A, double(K,N) B, double(N) x) -> (y, s) {
  C(i,k) = A(i,j) * B(j,k)
  D(i,k) = C(i,k) - 2 * C(i,k)
  y(i) = D(i,k) * x(k)
  s = D(i,k)
}"""


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(
    ("storage", "sizes"),
    [("CSC", (4, 5, 6)), ("dense", (4, 5, 6))]
    + [("CSR", sizes) for sizes in ((4, 5, 6), (1, 1, 1), (0, 3, 2), (3, 0, 2), (3, 2, 0))],
)
def test_inlined_values_are_the_same(storage: str, sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    dense = {"A": integers(m, k), "B": integers(k, n)}
    stored = dense if storage == "dense" else {name: ms.tensor(one, storage) for name, one in dense.items()}
    off, auto, account = both(TEXT, **stored, x=np.arange(n) - 1.0)
    assert "C is computed where it is read" in account
    assert "D is computed where it is read" in account
    for one, other in zip(off, auto, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(auto[0], -(dense["A"] @ dense["B"]) @ (np.arange(n) - 1.0))


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(
    ("dtype", "inlines"),
    [
        ("i8", True),
        ("i32", True),
        ("i64", True),
        ("f32", True),
        ("c128", True),
        ("f16", False),
        ("bf16", False),
    ],
)
def test_only_types_that_do_not_round_in_between(dtype: str, inlines: bool) -> None:
    kind = ms.dtypes.DType.of(dtype).numpy
    head = f"def f({dtype}(N,N) A, {dtype}(N,N) B, {dtype}(N) x) -> (y)"
    text = head + "{ C(i,k) = A(i,j) * B(j,k)  y(i) = C(i,k) * x(k) }"
    # Integers of 8 bits wrap around, in the same way in any order.
    given = {"A": ms.tensor(integers(6, 6).astype(kind)), "B": ms.tensor((50 * integers(6, 6)).astype(kind))}
    off, auto, account = both(text, **given, x=np.ones(6, kind))
    assert ("C is computed where it is read" in account) == inlines
    assert (off.dtype, off.tolist()) == (auto.dtype, auto.tolist())


@pytest.mark.usefixtures("always")
def test_truth_values_are_kept() -> None:
    text = "def f(bool(N,N) A, bool(N,N) B) -> (y) { C(i,k) = A(i,k) & B(i,k)  y(i) or=! C(i,k) }"
    a, b = integers(5, 5) > 0, integers(5, 5) < 2
    off, auto, account = both(text, A=ms.tensor(a), B=ms.tensor(b))
    assert "C is computed once: it has truth values" in account
    np.testing.assert_array_equal(auto, (a & b).any(axis=1))
    np.testing.assert_array_equal(auto, off)


@pytest.mark.usefixtures("always")
def test_a_value_of_another_type_is_kept() -> None:
    text = "def f(int32(N,N) A, int32(N) x, double(N) z) -> (y) { t(i) = A(i,j) * x(j)  y(i) = t(i) + z(i) }"
    given = {"A": np.full((2, 2), 2**30, np.int32), "x": np.full(2, 3, np.int32), "z": np.full(2, 0.5)}
    off, auto, account = both(text, **given)
    assert "t is computed once: it is i32, and is read in f64" in account
    np.testing.assert_array_equal(auto, off)


@pytest.mark.usefixtures("always")
def test_infinity_times_a_zero_stays_nan() -> None:
    text = """
    def f(double(N,N) A, double(N) x, double(N) z) -> (y, v) {
      t(i) = A(i,j) * x(j)  y(i) = t(i) * z(i)  v(i) = t(i) / z(i)
    }"""
    A_ = ms.tensor([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, np.nan]])
    for z in (np.array([1.0, np.inf, 2.0]), np.array([0.0, 0.0, np.nan])):
        off, auto, _ = both(text, A=A_, x=np.array([1.0, -np.inf, 2.0]), z=z)
        for one, other in zip(off, auto, strict=True):
            np.testing.assert_array_equal(one, other)
        assert np.isnan(auto[0][1]) == np.isinf(z[1])


@pytest.mark.usefixtures("always")
def test_stored_zeros_of_an_output_stay() -> None:
    text = (
        "def f(double(N,N) A, double(N,N) B, double(N) x) -> (C, y) { C(i,k) = A(i,j) * B(j,k)  y(i) = C(i,k) * x(k) }"
    )
    A_ = ms.tensor((np.array([[0, 0], [0, 1]]), np.array([1.0, -1.0])), "CSR", shape=(2, 2))
    B_ = ms.tensor((np.array([[0, 1], [0, 0]]), np.array([2.0, 2.0])), "CSR", shape=(2, 2))
    off, auto, _ = both(text, A=A_, B=B_, x=np.ones(2))
    assert (off[0].nse, off[0].encoding) == (auto[0].nse, auto[0].encoding) == (1, off[0].encoding)
    np.testing.assert_array_equal(auto[1], [0, 0])


@pytest.mark.usefixtures("always")
def test_a_tensor_that_is_read_and_updated() -> None:
    text = """
    def f(double(N,N) A, double(N) x) -> (x, y) {
      t(i) = A(i,j) * x(j)
      x(i) += 2 * t(i)
      u(i) = A(i,j) * x(j)
      y(i) = t(i) - u(i)
    }"""
    a, v = integers(5, 5), integers(5)
    off, auto, account = both(text, A=ms.tensor(a), x=v)
    assert "t is computed once: x changes" in account
    t = a @ v
    np.testing.assert_array_equal(auto[0], v + 2 * t)
    np.testing.assert_array_equal(auto[1], t - a @ (v + 2 * t))
    np.testing.assert_array_equal(off[1], auto[1])


def test_names_of_variables_do_not_meet() -> None:
    text = "def f(double(N,N) A, double(N) x) -> (y) { C(i,k) = A(i,j) * A(j,k)  y(j) = C(j,i) * C(i,k) * x(k) }"
    lines = planned(text.partition("{")[2].rpartition("}")[0])
    assert lines[-1].startswith("y(j) = sum(")
    a, v = integers(6, 6), integers(6)
    np.testing.assert_array_equal(ms.evaluate(text, A=ms.tensor(a), x=v), a @ a @ a @ a @ v)


# -- calls ---------------------------------------------------------------------------------------------------------


def test_off_and_types_alone_are_as_written() -> None:
    text = "def f(double(N,N) A, double(N) x) -> (y) { t(i) = A(i,j) * x(j)  y(i) = A(i,j) * t(j) }"
    given = {"A": ms.tensor(integers(4, 4)), "x": np.ones(4)}
    types = {name: str(ms.compile("s = A(i,j) * x(j)", **given).spec.type_of(name)) for name in given}  # type: ignore[attr-defined]
    assert ms.compile(text, **given, optimize="off").ir() == ms.compile(text, **types).ir()


def test_data_is_not_looked_at_where_nothing_is_to_gain() -> None:
    A_, x_ = ms.tensor(integers(4, 4)), np.ones(4)
    ms.evaluate("def mv(double(N,N) A, double(N) x) -> (y) { y(i) = A(i,j) * x(j) }", A=A_, x=x_)
    (ms.lazy(A_) @ x_).compute()
    assert A_._sketch is None


def test_algebra_multiplies_out_what_was_inlined(large: dict[str, Any]) -> None:
    text = HEAD.partition(", double(N) z")[0] + ") -> (y) { C(i,k) = A(i,j) * B(j,k)  y(i) = (C(i,k) - C(i,k)) * x(k) }"
    kernels = {name: ms.compile(text, **large, optimize=name).explain() for name in ("auto", "algebra")}
    assert "differences multiplied out" in kernels["algebra"]
    assert "C is computed where it is read" in kernels["algebra"]
    assert "C is computed once" in kernels["auto"]


def test_a_trace_has_every_statement() -> None:
    text = "def f(double(N,N) A, double(N) x) -> (y) { dead(i) = x(i)  C(i,k) = A(i,j) * A(j,k)  y(i) = C(i,k) * x(k) }"
    a = integers(4, 4)
    kernel = ms.compile(text, A=ms.tensor(a), x=np.ones(4))
    assert [run.statement.target.tensor for run in kernel.trace(ms.tensor(a), np.ones(4))] == ["dead", "C", "y"]  # type: ignore[attr-defined]
    assert "dead is not computed: no output needs it" in kernel.explain()


def test_explain_says_why_a_value_is_kept(large: dict[str, Any]) -> None:
    text = "def f(double(N,N) A, double(N) x) -> (y) { t(i) = A(i,j) * x(j)  u(i) = A(j,i) * t(j)  y = x(i) * u(i) }"
    explained = ms.compile(text, A=large["A"], x=large["x"]).explain()
    assert "u is computed once: its zeros are multiplied, also where its operands store nothing" in explained


@pytest.mark.usefixtures("always")
def test_one_kernel_serves_other_shapes_and_parts() -> None:
    text = (
        "def f(double(N,M) A, double(M,K) B, double(K) x) -> (y) { C(i,k) = A(i,j) * B(j,k)  y(i) = C(i,k + 1) * x(k) }"
    )
    whole = "def f(double(N,M) A, double(M,K) B, double(P) x) -> (y) { C(i,k) = A(i,j) * B(j,k)  y(i) = C(i,k) * x(k) }"
    kernel = ms.compile(whole, A=ms.tensor(integers(4, 4)), B=ms.tensor(integers(4, 4)), x=np.ones(4))
    for k, p in ((4, 4), (5, 3), (3, 3)):
        a, b, v = integers(3, 2), integers(2, k), integers(p)
        for _ in range(2):
            np.testing.assert_array_equal(kernel(ms.tensor(a), ms.tensor(b), v), (a @ b)[:, :p] @ v)
    a, b, v = integers(3, 2), integers(2, 4), integers(4)
    np.testing.assert_array_equal(ms.evaluate(text, A=ms.tensor(a), B=ms.tensor(b), x=v), (a @ b)[:, 1:] @ v[:3])


def test_repeated_calls_see_new_values_and_other_types() -> None:
    text = "def f(double(N,N) A, double(N) x) -> (y) { t(i) = A(i,j) * x(j)  y(i) = t(i) + 1 }"
    a = integers(4, 4)
    for number in range(4):
        v = integers(4) + number
        for operand in (ms.tensor(a), ms.tensor(a, "CSC"), a, ms.tensor(a + number)):
            dense = operand if isinstance(operand, np.ndarray) else operand.to_numpy()
            np.testing.assert_array_equal(ms.evaluate(text, A=operand, x=v), dense @ v + 1)
            out = np.empty(4)
            assert ms.evaluate(text, A=operand, x=v, out=out) is out
            np.testing.assert_array_equal(out, dense @ v + 1)
    with pytest.raises(ms.DTypeError):
        ms.evaluate(text, A=ms.tensor(a), x=np.ones(4, np.float32))
    with pytest.raises(ms.ExtentError):
        ms.evaluate(text, A=ms.tensor(a), x=np.ones(5))
