"""Which plan is chosen for each statement of the benchmark's section `programs`, by sketches of its inputs.

That these plans compute what the statements say, the benchmark's tests see.
"""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.libraries.own import taken
from benchmarks.libraries.programs_own import declared
from benchmarks.programs import WORKLOADS
from benchmarks.programs.drawn import Drawn, Graph, Tensor, Uniform

import mlir_sparse as ms
from dialect_tests.statement_cases import drawn_facts, rewritten, workload_facts
from mlir_sparse.compile import Kernel
from mlir_sparse.compile.definitions.composed_kernel import ComposedKernel
from mlir_sparse.tensor.sketch_of import sketch_of

# What is made first, and what reads it; None for what is computed as it is written.
PLANS: dict[str, tuple[list[str], str] | None] = {
    "A B x": (["y.part(j) = sum(k : B(j,k) * x(k))"], "sum(j : A(i,j) * y.part(j))"),
    "SUMMM, one sum": (["s.part(j) = sum(k : B(j,k))"], "sum(i, j : A(i,j) * s.part(j))"),
    "SUMMM, a statement": (["s.part(j) = sum(k : B(j,k))"], "sum(i, j : A(i,j) * s.part(j))"),
    "BATAX, 5 a row": (["y.part(i) = sum(k : A(i,k) * x(k))"], "sum(i : beta * A(i,j) * y.part(i))"),
    "BATAX, 10 a row": (["y.part(i) = sum(k : A(i,k) * x(k))"], "sum(i : beta * A(i,j) * y.part(i))"),
    "BATAX, 40 a row": (["y.part(i) = sum(k : A(i,k) * x(k))"], "sum(i : beta * A(i,j) * y.part(i))"),
    "BATAX, 100 a row": (["y.part(i) = sum(k : A(i,k) * x(k))"], "sum(i : beta * A(i,j) * y.part(i))"),
    "A B C, C nearly empty": (["D.part(j,l) = sum(k : B(j,k) * C(k,l))"], "sum(j : A(i,j) * D.part(j,l))"),
    "A B C D, D nearly empty": (
        ["E.part(k,m) = sum(l : C(k,l) * D(l,m))", "E.part.2(j,m) = sum(k : B(j,k) * E.part(k,m))"],
        "sum(j : A(i,j) * E.part.2(j,m))",
    ),
    "A B C, hubs of A and B aligned": (["D.part(j,l) = sum(k : B(j,k) * C(k,l))"], "sum(j : A(i,j) * D.part(j,l))"),
    "trace(A B)": None,
    "MMM, CSR by CSR": None,
    "MMM, CSR by CSC": None,
    "(A + B) x": ([], "sum(j : A(i,j) * x(j)) + sum(j : B(i,j) * x(j))"),
    "A exp(x)": (["y.part(j) = exp(x(j))"], "sum(j : A(i,j) * y.part(j))"),
    "exp(x(i)) A x": (["y.part(i) = sum(j : A(i,j) * z(j))"], "exp(x(i)) * y.part(i)"),
    "A x / norm(A x)": (
        ["y.part(i) = sum(j : A(i,j) * x(j))", "y.part.2 = sum(k : y.part(k) * y.part(k))"],
        "y.part(i) / sqrt(y.part.2)",
    ),
    "x' A' A x": (["s.part(j) = sum(i : x(i) * A(j,i))"], "sum(j : s.part(j) * s.part(j))"),
    "x' A z": None,
    "A x + A z": (["y.part(j) = x(j) + z(j)"], "sum(j : A(i,j) * y.part(j))"),
    "X' (X w - y)": (["g.part.2(i) = sum(k : X(i,k) * w(k)) - y(i)"], "sum(i : X(i,j) * g.part.2(i))"),
    "logistic gradient": (
        ["g.part(i) = sum(k : X(i,k) * w(k))", "g.part.2(i) = 1 / (1 + exp(-g.part(i))) - y(i)"],
        "sum(i : X(i,j) * g.part.2(i))",
    ),
    "a (b + c), a sparse": None,
    "(A @ B).sum()": (["s.part(j) = sum(k : B(j,k))"], "sum(i, j : A(i,j) * s.part(j))"),
    "prediction over a star join": (["p.part(d) = sum(f : D(d,f) * w(f)) by BLAS"], "sum(d : F(i,d) * p.part(d))"),
    "regression over a star join": (
        [
            "g.part(e) = sum(h : D(e,h) * w(h)) by BLAS",
            "g.part.3(i) = sum(e : F(i,e) * g.part(e)) - y(i)",
            "g.part.4(d) = sum(i : F(i,d) * g.part.3(i))",
        ],
        "sum(d : g.part.4(d) * D(d,f))",
    ),
    "scores of sales, two tables": (
        ["R.part(s) = sum(f : S(s,f) * v(f)) by BLAS", "R.part.2(p) = sum(g : P(p,g) * w(g)) by BLAS"],
        "L(s,p) * (R.part(s) + R.part.2(p))",
    ),
    "covariance over a star join": (
        ["C.part(d,g) = sum(i, e : F(i,d) * F(i,e) * D(e,g))"],
        "sum(d : C.part(d,g) * D(d,f))",
    ),
    "GCN layer": (["H.part(j,h) = sum(f : X(j,f) * W(f,h)) by BLAS"], "sum(j : A(i,j) * H.part(j,h))"),
    "triangles": (["s.part(k,i) = sum(j : A(i,k) * A(i,j) * A(j,k))"], "sum(k, i : s.part(k,i))"),
    "tailed triangles": (
        ["s.part(i) = sum(l : A(i,l))", "s.part.2(k,i) = sum(j : A(i,k) * A(i,j) * A(j,k))"],
        "sum(i, k : s.part(i) * s.part.2(k,i))",
    ),
    "4-cycles": (
        ["s.part(i,k) = sum(j : A(i,j) * A(j,k))"],
        "sum(i, k : s.part(i,k) * s.part(i,k))",
    ),
    "3-paths": (
        ["s.part(j) = sum(i : A(j,i))"],  # of a matrix that calls find to be its own transpose
        "sum(j, k : s.part(j) * A(j,k) * s.part(k))",
    ),
    "3-stars": (["s.part(i) = sum(j : A(i,j))"], "sum(i : s.part(i) * s.part(i) * s.part(i))"),
    "BFS, first step": None,
    "ALS loss": (
        ["s.part.2(i,j) = -X(i,j) + sum(k : U(i,k) * V(j,k)) by BLAS"],
        "sum(i, j : pow(s.part.2(i,j), 2))",
    ),
    "SDDMM": None,
    "TTM": None,
    "TTM chain": None,
    "MTTKRP": None,
    "MTTKRP, sparse factors": (
        ["O.part(j,r) = C(j,r)", "O.part.2(k,r) = D(k,r)"],
        "sum(j, k : T(i,j,k) * O.part(j,r) * O.part.2(k,r))",
    ),
    "CP-ALS step": (["O.part(i,s) = sum(j, k : T(i,j,k) * C(j,s) * D(k,s))"], "sum(s : O.part(i,s) * G(s,r))"),
}
# Plans that are right for symmetric matrices alone, as those of undirected graphs are.
SYMMETRIC = {"triangles", "tailed triangles", "4-cycles", "3-paths"}
# Of tensors that are declared by a definition: parts without their names, which composition gives them.
DEFINED = {
    "low rank": (["sum(j : V(j,k) * x(j))"], "sum(k : U(i,k) * y.part(k))"),
    "sparse plus low rank": (
        ["sum(j : V(j,k) * x(j))", "sum(k : U(i,k) * y.part(k))"],
        "sum(j : S(i,j) * x(j)) + y.part.2(i)",
    ),
    "one-hot join": (["sum(f : D(D.p,f) * w(f))"], "p.part(c(i))"),
    "rows permuted": (["sum(j : A(A.p,j) * x(j))"], "y.part(P(i))"),
    "scaled, twice": (
        [
            "e(k) * x(k)",
            "sum(k : A(j,k) * y.part.2(k))",
            "e(j) * d(j) * y.part.3(j)",
            "sum(j : A(i,j) * y.part.4(j))",
        ],
        "d(i) * y.part.5(i)",
    ),
}
# Statements inside of programs, whose operands change from call to call.
LOOPS = {"C = A B; y = C x", "BFS, to the end", "PageRank, 10 steps", 'ALS loss, "algebra"'}


def test_each_statement_has_its_plan() -> None:
    assert {name.partition(", ")[2] for name in WORKLOADS} == {
        *PLANS,
        *LOOPS,
        *(f"defined: {name}" for name in DEFINED),
    }


@pytest.mark.parametrize("name", PLANS)
def test_the_plan_is_the_expected_one(name: str) -> None:
    workload = WORKLOADS[f"programs, {name}"]
    found = rewritten(workload.text, workload_facts(workload), out=workload.out)
    assert (None if found is None else ([str(part) for part in found.parts], str(found.value))) == PLANS[name]
    assert bool(found and found.symmetric) == (name in SYMMETRIC)


@pytest.mark.parametrize("name", DEFINED)
def test_definitions_are_composed_before_the_plan_is_made(name: str) -> None:
    workload = WORKLOADS[f"programs, defined: {name}"]
    kernel = ms.compile(workload.text, tensors=declared(workload, workload.operands()))
    assert isinstance(kernel, ComposedKernel)
    assert isinstance(kernel.kernel, Kernel)
    found = kernel.kernel.spec.rewriting
    assert found is not None
    assert ([str(part.value) for part in found.parts], str(found.value)) == DEFINED[name]


@pytest.mark.parametrize("drawn", [Uniform(3000, 2000, 20), Tensor((200, 300, 50), 60_000), Graph(3000, 20_000)])
def test_facts_that_are_not_counted_are_those_of_the_data(drawn: Drawn) -> None:
    """Places that were drawn twice are one entry; the largest of many degrees is some deviations above their mean."""
    expected, counted = drawn_facts(drawn).sketch, sketch_of(taken(drawn.made()))
    assert counted.shape == expected.shape
    assert counted.entries == pytest.approx(expected.entries, rel=0.05)
    for one, other in zip(counted.axes, expected.axes, strict=True):
        np.testing.assert_allclose([one.distinct, one.squares], [other.distinct, other.squares], rtol=0.1)
        assert 0.4 < one.largest / other.largest < 2.5
