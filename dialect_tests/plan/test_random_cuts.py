"""Random statements in random storage: every cut that is legal, at random bounds, computes what the whole does."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import mlir_sparse as ms
from dialect_tests.as_array import as_array
from dialect_tests.cut_statements import computed_in_pieces, extent_of
from mlir_sparse.notation import reads
from mlir_sparse.plan.statement_cuts import StatementCut, cuts
from mlir_sparse.spec import index_ends

EXTENTS = {"i": 7, "j": 6, "k": 5}
# Storage, by the rank of the operand; None is an array. The numbers are small integers, so that sums are exact.
STORAGE: dict[int, list[str | None]] = {
    1: [None, "SparseVector"],
    2: [None, "CSR", "CSC", "COO", "DCSR", "BSR(2, 2)"],
    3: [None, "CSF", "COO"],
}


@st.composite
def statements(draw: st.DrawFn) -> str:
    """Returns the text of an assignment, which need not have a meaning."""
    numbers = itertools.count()

    def access() -> str:
        indices = draw(st.lists(st.sampled_from("ijk"), min_size=0, max_size=3, unique=True))
        subscripts = map(subscript, indices)
        return f"T{next(numbers)}" + (f"({','.join(subscripts)})" if indices else "")

    def subscript(index: str) -> str:
        """Returns a variable, or a sum with it: what another variable or a number adds is read by pieces too."""
        form = draw(st.sampled_from(["", "", "", "", "2*{} + 1", "{} + 3", "{} + {}", "{} + 2*{} + 1", "{} - {} + 7"]))
        others = [other for other in "ijk" if other != index]
        return form.format(index, draw(st.sampled_from(others))) if form else index

    def expression(depth: int) -> str:
        kind = draw(st.sampled_from("axxx+-n/fr" if depth else "a"))
        match kind:
            case "x" | "+" | "-":
                return f"({expression(depth - 1)} {'*' if kind == 'x' else kind} {expression(depth - 1)})"
            case "/":
                return f"{expression(depth - 1)} / 2"
            case "n":
                return f"(-{expression(depth - 1)})"
            case "f":
                return f"{draw(st.sampled_from(['abs', 'sqrt']))}({expression(depth - 1)})"
            case "r":
                indices = draw(st.lists(st.sampled_from("ijk"), min_size=1, max_size=2, unique=True))
                word = draw(st.sampled_from(["sum", "max", "min", "count"]))
                return f"{word}({', '.join(indices)} : {expression(depth - 1)})"
            case _:
                return access()

    target = draw(st.lists(st.sampled_from("ijk"), max_size=2, unique=True))
    return f"R({','.join(target)}) = {expression(2)}" if target else f"R = {expression(2)}"


def _operands(draw: Any, statement: ms.Assignment) -> dict[str, Any]:
    random, found = np.random.default_rng(draw(st.integers(0, 99))), dict[str, Any]()
    for access in reads(statement.value):
        shape = tuple(extent_of(one, EXTENTS) for one in access.subscripts)
        dense = random.integers(-4, 7, shape) * (random.random(shape) < 0.5).astype(float)
        storage = draw(st.sampled_from(STORAGE[len(shape)])) if shape else None
        found[access.tensor] = dense if storage is None else ms.tensor(dense, storage)
    return found


@settings(max_examples=20)
@given(st.data())
def test_every_legal_cut_is_the_whole(data: st.DataObject) -> None:
    text = data.draw(statements())
    try:
        statement = ms.parse(text)
        assert isinstance(statement, ms.Assignment)
        operands = _operands(data.draw, statement)
        with np.errstate(all="ignore"):
            extents = index_ends(statement, {name: np.shape(value) for name, value in operands.items()}, None)
            whole = as_array(ms.evaluate(statement, tensors=operands, out="dense", optimize="off"))
    except ms.SparseError:
        assume(False)  # a statement without a meaning, or refused as a whole
    legal = {name: cut for name, cut in cuts(statement).items() if isinstance(cut, StatementCut)}
    assume(legal)
    variable = data.draw(st.sampled_from(sorted(legal)))
    cut, extent = legal[variable], extents[ms.IndexVar(variable)]
    inside = data.draw(st.lists(st.integers(0, extent), max_size=3))
    if not any(cut.operand(name) in operands for name in cut.parts):
        return
    bounds = [0, *sorted(inside), extent]
    found = computed_in_pieces(statement, cut, operands, bounds, "dense", optimize="off")
    np.testing.assert_allclose(as_array(found), whole, rtol=1e-13, err_msg=f"{text} along {variable}")
