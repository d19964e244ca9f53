"""Every legal cut of a statement, computed in pieces and joined, is the whole; every other has its reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.as_array import as_array
from dialect_tests.cut_statements import computed_in_pieces, extent_of
from mlir_sparse.compile.index_operands import with_made_operands
from mlir_sparse.plan.statement_cuts import StatementCut, cuts
from mlir_sparse.spec import index_ends

EXTENTS = {"i": 7, "j": 6, "k": 5, "l": 4}
# Statements, with the variables along which each can be cut.
STATEMENTS = {
    "y(i) = A(i,j) * x(j)": "ij",
    "y(j) = A(i,j) * x(i)": "ij",
    "y(i) = b(i) - A(i,j) * x(j)": "i",
    "C(i,k) = A(i,j) * B(j,k)": "ijk",
    "C(i,k) = A(i,j) * B(j,k) + D(i,k)": "ik",
    "S(i,j) = M(i,j) * (U(i,k) * V(j,k))": "ijk",
    "X(i,l) = T(i,j,k) * P(j,l) * Q(k,l)": "ijkl",
    "Z(i,j) = A(i,j) + F(i,j)": "ij",
    "m(j) = max(i : A(i,j))": "ij",
    "m(i) = max(j : A(i,j)) * b(i)": "i",
    "n = count(i, j : A(i,j))": "ij",
    "s = A(i,j) * F(i,j)": "ij",
    "p(j) = prod(i : A(i,j))": "ij",
    "t(i) = or(j : A(i,j))": "ij",
    "c(i) = argmax(j : A(i,j))": "i",
    "e(i) = exp(A(i,j) * x(j))": "ij",
    "r(i) = A(i,j) * x(j) / d(j)": "ij",
    "r(i) = A(i,j) * x(j) / b(i)": "ij",
    "r(i) = b(i) / A(i,j)": "ij",
    "g(i) = W(I(i), j) * x(j)": "j",
    "h(i) = z(2*i + 1) * b(i)": "i",
    "h(i) = z(i + 3)": "i",
    "h(i) = z(i + 1) - 2 * z(i + 2) + z(i + 5)": "i",
    "h(i) = z(i + k) * d(k)": "ik",
    "h(i) = z(3*i + 2*k + 1) * e(k)": "ik",
    "h(i) = z(i - k + 4) * e(k)": "i",
    "h(i) = z(2*i) * z(i + 7)": "i",
    "h(i) = max(k : z(i + k) * d(k))": "ik",
    "N(i,j) = F(i + k, j + l) * e(k) * o(l)": "ijkl",
    "N(i,j) = F(i + k, j) * e(k) * i": "ijk",
    "q(i) = A(i,j) * x(j) + b(i) * w": "i",
    "v(i) = sqrt(sum(j : A(i,j) * A(i,j)))": "i",
}


def _operands(statement: Any, storage: str) -> dict[str, Any]:
    random = np.random.default_rng(5)
    found: dict[str, Any] = {"W": random.random((9, EXTENTS["j"])), "w": np.float64(2.5)}
    found["I"] = random.integers(0, 9, EXTENTS["i"])
    for access in _reads(statement):
        if access.tensor in found:
            continue
        shape = tuple(extent_of(one, EXTENTS) for one in access.subscripts)
        dense = random.integers(1, 6, shape).astype(float)
        if access.tensor in ("A", "F", "M", "T"):
            dense *= random.random(shape) < 0.4
            found[access.tensor] = ms.tensor(dense, storage if len(shape) == 2 else "CSF")
        else:
            found[access.tensor] = dense
    return found


def _reads(statement: Any) -> list[Any]:
    from mlir_sparse.notation import reads

    return list(reads(statement.value))


@pytest.mark.parametrize("storage", ["CSR", "COO"])
@pytest.mark.parametrize("text", STATEMENTS)
def test_pieces_make_the_whole_along_each_legal_variable(text: str, storage: str) -> None:
    statement = ms.parse(text)
    assert isinstance(statement, ms.Assignment)
    found = cuts(statement)
    assert "".join(sorted(name for name, cut in found.items() if isinstance(cut, StatementCut))) == STATEMENTS[text]
    operands = _operands(statement, storage)
    names = {access.tensor for access in _reads(statement)}
    operands = {name: value for name, value in operands.items() if name in names}
    whole = ms.evaluate(text, tensors=operands, optimize="off")
    operands = with_made_operands(statement, operands)
    extents = index_ends(statement, {name: np.shape(value) for name, value in operands.items()}, None)
    for variable, cut in found.items():
        if isinstance(cut, str):
            assert variable in cut or "no operand" in cut
            continue
        extent = extents[ms.IndexVar(variable)]
        pieces = computed_in_pieces(statement, cut, operands, [0, 2, 2, extent - 1, extent])
        np.testing.assert_allclose(as_array(pieces), as_array(whole), rtol=1e-12)


@pytest.mark.parametrize(
    "name", ["min_plus", "max_times", "or_and", "plus_pair", "plus_first", "any_second", "any_pair"]
)
def test_semirings_combine_by_their_addition(name: str) -> None:
    ring = ms.semiring(name)
    random = np.random.default_rng(8)
    A = ms.tensor(np.where(random.random((7, 6)) < 0.4, random.integers(1, 9, (7, 6)), 0), "CSR")
    x = random.integers(1, 9, 6)
    statement = ms.parse("y(i) = A(i,j) * x(j)")
    assert isinstance(statement, ms.Assignment)
    whole = ms.evaluate(statement, A=A, x=x, semiring=ring)
    for variable, cut in cuts(statement, ring).items():
        assert isinstance(cut, StatementCut)
        bounds = [0, 3, 7] if variable == "i" else [0, 1, 6]
        np.testing.assert_array_equal(computed_in_pieces(statement, cut, {"A": A, "x": x}, bounds, None, ring), whole)


@pytest.mark.parametrize("name", ["plus_times", "min_plus", "max_plus", "any_first"])
def test_sparse_pieces_are_combined_entry_by_entry(name: str) -> None:
    ring = ms.semiring(name)
    random = np.random.default_rng(9)
    A = ms.tensor(np.where(random.random((7, 6)) < 0.3, random.integers(1, 9, (7, 6)), 0).astype(float), "CSR")
    B = ms.tensor(np.where(random.random((6, 5)) < 0.3, random.integers(1, 9, (6, 5)), 0).astype(float), "CSR")
    statement = ms.parse("C(i,k) = A(i,j) * B(j,k)")
    assert isinstance(statement, ms.Assignment)
    cut = cuts(statement, ring)["j"]
    assert isinstance(cut, StatementCut)
    found = computed_in_pieces(statement, cut, {"A": A, "B": B}, [0, 2, 3, 6], "CSR", ring)
    whole = ms.evaluate(statement, A=A, B=B, out="CSR", semiring=ring)
    fill = {"plus": 0, "any": 0, "min": np.inf, "max": -np.inf}[name.partition("_")[0]]
    np.testing.assert_array_equal(found.to_numpy(fill), whole.to_numpy(fill))


def test_an_operand_that_is_read_both_ways_has_two_names() -> None:
    statement = ms.parse("C(i,k) = A(i,j) * A(j,k)")
    assert isinstance(statement, ms.Assignment)
    cut = cuts(statement)["i"]
    assert isinstance(cut, StatementCut)
    assert dict(cut.parts) == {"A": 0}
    assert [cut.operand(name) for name in cut.whole] == ["A"]
    random = np.random.default_rng(4)
    A = ms.tensor(np.where(random.random((6, 6)) < 0.4, 1.0, 0), "CSR")
    found = computed_in_pieces(statement, cut, {"A": A}, [0, 1, 4, 6], "CSR")
    np.testing.assert_array_equal(found.to_numpy(), A.to_numpy() @ A.to_numpy())


@pytest.mark.parametrize(
    ("text", "variable", "reason"),
    [
        ("y(i) = b(i) - A(i,j) * x(j)", "j", "b(i) lacks j: each piece would count it"),
        ("c(i) = argmax(j : A(i,j))", "j", "argmax of j keeps a place, not the value to compare"),
        ("m(i) = max(j : A(i,j)) * b(i)", "j", "max of j is below a product"),
        ("y(i) = (A(i,j) * x(j)) * (B(i,k) * z(k))", "", ""),
        ("g(i) = W(I(i), j) * x(j)", "i", "W(I(i),j) gathers along i"),
        ("h(i) = z(k - i + 6) * d(k)", "i", "z(k - i + 6) is read backwards along i"),
        ("h(i) = z(i + k) where k in 1:3", "i", "z(i + k) has k, which has a range of its own, beside i"),
        ("h(2*i + 1) = z(i)", "i", "h(2*i + 1) is written to at sums of i"),
        ("h(i) = W(i, i + 1)", "i", "W(i,i + 1) has i twice"),
        ("d(i) = A(i,i)", "i", "A(i,i) has i twice"),
        ("y(i) += A(i,j) * x(j)", "j", "y(i), which is read, lacks j: each piece would count it"),
        ("v(i) = sqrt(sum(j : A(i,j)))", "j", "j is reduced inside of sqrt(sum(j : A(i,j)))"),
    ],
)
def test_refused_cuts_say_why(text: str, variable: str, reason: str) -> None:
    statement = ms.parse(text)
    assert isinstance(statement, ms.Assignment)
    found = cuts(statement)
    if not variable:
        assert all(isinstance(cut, StatementCut) for cut in found.values())
    else:
        assert found[variable] == reason
