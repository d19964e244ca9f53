"""The account of a plan: iteration graph, lattices, costs and reasons in TACO's terms."""

from __future__ import annotations

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.stopped_compiler import compiler_that_never_answers

VECTOR, MATRIX, CSR, CSC = "f64[?]", "f64[?,?]", "f64[?,?] CSR", "f64[?,?] CSC"
SPARSE, DCSR, CSF = "f64[?] SparseVector", "f64[?,?] DCSR", "f64[?,?,?] CSF"


def explained(text: str, out: str | None = None, **types: str) -> str:
    return ms.compile(text, out=out, tensors=types, optimize="off").explain()


def lines_with(told: str, start: str) -> list[str]:
    """Returns what follows a word at the start of lines."""
    return [line.strip().removeprefix(start) for line in told.splitlines() if line.strip().startswith(start)]


# (text, types, out, the cost of each loop nest)
COSTS: tuple[tuple[str, dict[str, str], str | None, list[str]], ...] = (
    ("y(i) = A(i,j) * x(j)", {"A": CSR, "x": VECTOR}, None, ["O(i + nse(A))"]),
    ("y(i) = A(i,j) * x(j)", {"A": DCSR, "x": VECTOR}, None, ["O(nse(A))"]),
    ("y(i) = A(i,j) * x(j)", {"A": "f64[?,?] COO", "x": VECTOR}, None, ["O(nse(A))"]),
    ("y(i) = A(i,j) * x(j)", {"A": "f64[?,?] BSR(2, 2)", "x": VECTOR}, None, ["O(i + nse(A))"]),
    ("y(i) = A(i,j) * x(j)", {"A": "f64[?,?] DIA", "x": VECTOR}, None, ["O(nse(A.levels.0) * i)"]),
    ("y(i) = A(i,j) * x(j)", {"A": MATRIX, "x": VECTOR}, None, ["O(i * j)"]),
    # A sparse vector is met by every row.
    ("y(i) = A(i,j) * x(j)", {"A": CSR, "x": SPARSE}, None, ["O(nse(A) + i * nse(x))"]),
    ("C(i,k) = A(i,j) * B(j,k)", {"A": CSR, "B": MATRIX}, None, ["O(i + nse(A) * k)"]),
    ("C(i,j) = S(i,j) * A(i,k) * B(k,j)", {"S": CSR, "A": MATRIX, "B": MATRIX}, None, ["O(i + nse(S) * k)"]),
    # Gustavson 1978: the rows of B at the entries of A.
    ("C(i,j) = A(i,k) * B(k,j)", {"A": CSR, "B": CSR}, "CSR", ["O(i + nse(A) + sum over A(i,k) of nse(B(k,:)))"]),
    (
        "C(i,j) = L(i,j) * (L(i,k) * M(k,j))",
        {"L": CSR, "M": CSC},
        "CSR",
        ["O(i + nse(L) + sum over L(i,j) of nse(L(i,:)) + sum over L(i,j) of nse(M(:,j)))"],
    ),
    ("C(i,j) = A(i,j) + B(i,j)", {"A": CSR, "B": CSR}, "CSR", ["O(i + nse(A) + nse(B))"]),
    ("C(i,j) = A(i,j) * B(i,j)", {"A": DCSR, "B": DCSR}, "CSR", ["O(nse(A) + nse(B))"]),
    ("y(i) = b(i) - A(i,j) * x(j)", {"b": VECTOR, "A": CSR, "x": VECTOR}, None, ["O(i + nse(A))"]),
    ("y(i) = A(i,j) * (B(j,k) * x(k))", {"A": CSR, "B": CSR, "x": VECTOR}, None, ["O(j + nse(B))", "O(i + nse(A))"]),
    ("C(i,l) = T(i,j,k) * D(k,l) * E(j,l)", {"T": CSF, "D": MATRIX, "E": MATRIX}, None, ["O(nse(T) * l)"]),
    ("y(i) = x(i + k) * w(k)", {"x": VECTOR, "w": VECTOR}, None, ["O(i * k)"]),
    ("a = 2 * b", {"b": "f64[]"}, None, ["O(1)"]),
)


@pytest.mark.parametrize(("text", "types", "out", "costs"), COSTS)
def test_costs(text: str, types: dict[str, str], out: str | None, costs: list[str]) -> None:
    told = explained(text, out, **types)
    assert [cost.rpartition("), ")[0] + ")" for cost in lines_with(told, "cost: ")] == costs


def test_a_row_that_is_scattered_is_looked_up() -> None:
    """Masked SpGEMM: the mask is walked once, the products as without it."""
    told = explained("C(i,j) = M(i,j) * (A(i,k) * B(k,j))", "CSR", M=CSR, A=CSR, B=CSR)
    (cost,) = lines_with(told, "cost: ")
    assert cost.startswith("O(nse(M) + i + nse(A) + sum over A(i,k) of nse(B(k,:))), ")
    assert "for j (parallel) in M.1[compressed] & B.1[compressed]: walks B.1, looks up M.1" in told
    assert "scattered: the entries of M(i,j) along j" in told


def test_the_cost_is_that_of_the_loops_run() -> None:
    """SDDMM visits each entry of S and, at each, k products: counted by a kernel that counts its own steps."""
    told = explained("C(i,j) = S(i,j) * A(i,k) * B(k,j)", S="f64[7,9] CSR", A="f64[7,5]", B="f64[5,9]")
    # 7 rows, 9 entries in each by estimate (no row has 10), 5 products at each.
    assert ", 385 steps by estimate" in told
    assert 7 + 7 * 9 + 7 * 9 * 5 == 385


@pytest.mark.parametrize(
    ("text", "types", "graph"),
    [
        ("C(i,j) = A(i,k) * B(k,j)", {"A": CSR, "B": CSR}, "A: i -> k; B: k -> j; C: i -> j"),
        ("y(i) = A(i,j) * x(j)", {"A": CSC, "x": VECTOR}, "A: j -> i; x, y in any order"),
        ("s = T(i,j,k) * R(i,j,k)", {"T": CSF, "R": CSF}, "T: i -> j -> k; R: i -> j -> k"),
        ("y(i) = A(i,j) * x(j)", {"A": "f64[?,?] DIA", "x": VECTOR}, "A.levels: A.l0 -> i; x, y in any order"),
    ],
)
def test_iteration_graphs(text: str, types: dict[str, str], graph: str) -> None:
    assert lines_with(explained(text, None, **types), "iteration graph: ") == [graph]


@pytest.mark.parametrize(
    ("text", "types", "loop"),
    [
        (
            "y(i) = A(i,j) * x(j)",
            {"A": CSR, "x": VECTOR},
            "for j (reduction) in A.1[compressed]: walks A.1, looks",
        ),
        (
            "C(i,j) = A(i,k) * B(k,j)",
            {"A": CSR, "B": CSR},
            "for k (reduction) in A.1[compressed] & B.0[dense]: walks A.1, looks up B.0",
        ),
        (
            "y(i) = (A(i,j) + B(i,j) + D(i,j)) * x(j)",
            {"A": CSR, "B": CSR, "D": CSR, "x": "f64[?]"},
            "for j (reduction) in A.1[compressed] | B.1[compressed] | D.1[compressed]: merges A.1, B.1 and D.1",
        ),
        (
            "C(i,j) = (A(i,j) + B(i,j)) * D(i,j)",
            {"A": CSR, "B": CSR, "D": CSR},
            "for j (parallel) in (A.1[compressed] | B.1[compressed]) & D.1[compressed]: merges A.1, D.1 and B.1",
        ),
        (
            "C(i,j) = A(i,j) * B(i,j)",
            {"A": CSR, "B": DCSR},
            "for i (parallel) in A.0[dense] & B.0[compressed]: walks B.0, looks up A.0",
        ),
        (
            "C(i,j) = A(i,j) + B(i,j)",
            {"A": CSR, "B": DCSR},
            "for i (parallel) in A.0[dense] | B.0[compressed]: counts, with B.0 alongside",
        ),
        (
            "C(i,j) = A(i,j) if not M(i,j)",
            {"A": CSR, "M": CSR},
            "for j (parallel) in A.1[compressed] - M.1[",
        ),
        ("C(i,j) = A(i,j) if not M(i,j)", {"A": CSR, "M": CSR}, "for i (parallel) in A.0[dense]"),
    ],
)
def test_lattices(text: str, types: dict[str, str], loop: str) -> None:
    told = explained(text, None, **types)
    assert any(line.strip().startswith(loop) for line in told.splitlines()), told


def test_a_loop_order_is_compared_with_the_next() -> None:
    told = explained("C(i,j) = A(i,k) * B(k,j)", None, A=CSR, B=MATRIX)
    (order,) = lines_with(told, "loop order: ")
    assert order.startswith("i, k, j; the cheapest of 6 by estimate, at 10,011,000; next ")


def test_a_conversion_is_compared_with_going_without() -> None:
    told = explained("C(i,j) = A(i,j) + B(i,j)", "CSR", A=CSR, B=CSC)
    (otherwise,) = lines_with(told, "otherwise: ")
    assert otherwise.startswith("loops j, i with A converted would cost 124,000 by estimate, against 82,000 with it")
    told = explained("C(i,j) = A(i,j) + B(i,j)", "CSR", A=CSR, B="f64[?,?] DIA")
    assert lines_with(told, "otherwise: ") == ["no order of the loops takes B as it is"]


def test_fused_and_split_products() -> None:
    (fused,) = lines_with(explained("C(i,j) = S(i,j) * A(i,k) * B(k,j)", None, S=CSR, A=MATRIX, B=MATRIX), "fused: ")
    assert fused == "A(i,k) * B(k,j) is summed only where S(i,j) has entries, and never formed elsewhere"
    assert lines_with(explained("C(i,j) = L(i,j) * (L(i,k) * L(k,j))", "CSR", L=CSR), "fused: ")
    told = explained("y(i) = A(i,j) * (B(j,k) * x(k))", None, A=CSR, B=CSR, x=VECTOR)
    assert not lines_with(told, "fused: ")
    (apart,) = lines_with(told, "apart: ")
    assert apart.startswith("summed first, at 21,010 by estimate; inside the other loops it would be ")


def test_what_is_shared_is_said() -> None:
    told = explained("y(i) = exp(sum(j : A(i,j) * x(j))) + sqrt(sum(k : A(i,k) * x(k)))", None, A=CSR, x=VECTOR)
    assert lines_with(told, "shared: ") == ["made once, read 2 times, by step 2"]
    assert told.count("+= A(i,j) * x(j)") == 1
    told = explained("C(i,j) = A(j,i) + 2 * A(j,i) + B(i,j)", None, A=CSR, B=CSR)
    assert told.count("convert A") == 1


def test_how_a_sparse_result_is_put_together() -> None:
    told = explained("C(i,j) = A(i,k) * B(k,j)", "CSR", A=CSR, B=CSR)
    assert "into C: f64[?,?] CSR, the entries along j gathered in a workspace" in told
    assert "into C: f64[?,?] CSR, entries appended as they come" in explained(
        "C(i,j) = A(i,j) * B(i,j)", "CSR", A=CSR, B=CSR
    )
    sampled = explained("C(i,j) = 2 * A(i,j)", "CSR", A=CSR)
    assert "into C.values: f64[?] dense, an element at each entry of A(i,j)" in sampled
    assert "C has C.values below the first 2 levels of A" in sampled


def test_operators_are_told_with_their_regions() -> None:
    larger = ms.operator(lambda a, b: ms.where(a > b, a, b), left="keep")
    told = ms.compile("C(i,j) = f(A(i,j), B(i,j))", A=CSR, B=CSR, f=larger).explain()
    assert "operators\n  f(a, b) = where(a > b, a, b); left: a; right: nothing\n" in told
    assert "operators" not in explained("C(i,j) = A(i,j) * B(i,j)", None, A=CSR, B=CSR)
    told = ms.compile("y(i) = A(i,j) * x(j)", A=CSR, x=VECTOR, semiring="min_plus").explain()
    assert "operators\n  plus(a, b) = a + b\n  min(a, b) = min(a, b), identity greatest\n" in told


def test_strategies_say_what_they_did() -> None:
    told = explained("y(i) = sin(A(i,j)) * x(j)", A=CSR, x=VECTOR)
    assert "\nstrategies of kernel\n  fuse-fill: applied to i\n" in told
    sums = lines_with(told, "sum-rows: not applied to j, because ")
    assert sums == ["vectors of entries have no math.sin of f64"]


def test_strategies_are_told_of_each_function() -> None:
    told = explained("C(i,j) = A(i,j) + B(i,j) + D(i,j)", "CSR", A=CSR, B=CSR, D=CSR)
    assert lines_with(told, "strategies of ") == ["kernel_0", "kernel_1"]
    assert lines_with(told, "split-merges: ") == ["applied to j"] * 2


@pytest.mark.usefixtures("new_compilers")
def test_a_kernel_that_does_not_compile_is_explained_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIR_SPARSE_COMPILE_TIMEOUT", "0.05")
    # A number of its own: no other test has left an answer.
    with compiler_that_never_answers():
        told = explained("y(i) = 0.1002003004 * A(i,j) * x(j) * z(i)", A=CSR, x=VECTOR, z=VECTOR)
    assert "because: accumulates from the identity" in told
    (why,) = lines_with(told, "unknown: ")
    assert why.startswith("expected MLIR to lower the kernel, but the compiler ran past 0.05 s")


def test_how_streams_and_task_graphs_may_cut_a_statement_is_told() -> None:
    told = explained("y(i) = b(i) - A(i,j) * x(j)", A=CSR, b=VECTOR, x=VECTOR).partition("\npieces\n")[2]
    assert told.splitlines()[:2] == [
        "  along i: axis 0 of b, axis 0 of A; each piece reads all of x; results follow one another along axis 0",
        "  not along j: b(i) lacks j: each piece would count it",
    ]
    told = ms.compile("y(j) = A(i,j) * x(i)", A=CSR, x=VECTOR, semiring="min_plus").explain()
    assert "  along i: axis 0 of A, axis 0 of x; results are combined by min\n" in told
    assert "\npieces\n  none: there are no loops" in explained("a = 2 * b", b="f64[]")


def test_of_equal_orders_the_one_that_meets_least_is_taken() -> None:
    """A list met outside leaves less to go over than one met inside."""
    text = "O(i,l) = T(i,j,k) * S(l,j,k)"
    told = explained(text, "CSR", T="f64[?,?,?] CSF", S="f64[?,?,?] CSF")
    (order,) = lines_with(told, "loop order: ")
    assert order == "i, j, k, l; no dearer than i, j, l, k with S converted, and meets fewer coordinates of lists"
    draw = np.random.default_rng(0)
    T, S = (np.where(draw.random((9, 7, 5)) < 0.3, draw.random((9, 7, 5)), 0) for _ in "TS")
    found = ms.evaluate(text, T=ms.tensor(T, "CSF"), S=ms.tensor(S, "CSF"), out="CSR")
    np.testing.assert_allclose(found.to_numpy(), np.einsum("ijk,ljk->il", T, S), rtol=1e-13)
