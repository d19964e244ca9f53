"""What the planner makes of the kernels of the literature: steps, loop orders, conversions, and their reasons."""

from __future__ import annotations

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.generated import FAMILY, places
from mlir_sparse.notation import Reduce, ReduceOp, reads, walk
from mlir_sparse.plan import AccumulateMode, Generic, Program, plan
from mlir_sparse.program import Conversion

VECTOR, MATRIX, CSR, CSC = "f64[?]", "f64[?,?]", "f64[?,?] CSR", "f64[?,?] CSC"
CSF = "f64[?,?,?] CSF"


def program(text: str, out: str | None = None, **types: str) -> Program:
    """Returns the plan of a kernel; no MLIR is needed for it."""
    return plan(ms.compile(text, out=out, tensors=types).spec)


def generics(planned: Program) -> list[Generic]:
    return [step for step in planned.steps if isinstance(step, Generic)]


def conversions(planned: Program) -> list[Conversion]:
    return [step for step in planned.steps if isinstance(step, Conversion)]


def orders(planned: Program) -> list[str]:
    return [" ".join(map(str, step.loops)) for step in generics(planned)]


# (text, types, out, loop order of each linalg.generic, operands converted, whether the result is converted)
KERNELS: tuple[tuple[str, dict[str, str], str | None, list[str], list[str], bool], ...] = (
    ("y(i) = A(i,j) * x(j)", {"A": CSR, "x": VECTOR}, None, ["i j"], [], False),
    ("y(i) = A(i,j) * x(j)", {"A": CSC, "x": VECTOR}, None, ["j i"], [], False),
    ("y(j) = A(i,j) * x(i)", {"A": CSR, "x": VECTOR}, None, ["i j"], [], False),
    # Rows of B and C in the innermost loop: stride 1.
    ("C(i,j) = A(i,k) * B(k,j)", {"A": CSR, "B": MATRIX}, None, ["i k j"], [], False),
    # Gustavson 1978: no conversion, the result a row at a time.
    ("C(i,j) = A(i,k) * B(k,j)", {"A": CSR, "B": CSR}, None, ["i k j"], [], False),
    ("C(i,j) = A(i,k) * B(k,j)", {"A": CSC, "B": CSC}, "CSC", ["j k i"], [], False),
    ("C(i,j) = A(i,k) * B(k,j)", {"A": CSR, "B": CSC}, "CSR", ["i k j"], ["B"], False),
    # The outer product cannot insert: one operand is converted, never both.
    ("C(i,j) = A(i,k) * B(k,j)", {"A": CSC, "B": CSR}, "CSR", ["i k j"], ["A"], False),
    ("C(i,j) = A(i,k) * B(k,j)", {"A": CSC, "B": CSR}, "CSC", ["j k i"], ["B"], False),
    # SDDMM is fused: k innermost, only where S has entries.
    ("C(i,j) = S(i,j) * A(i,k) * B(k,j)", {"S": CSR, "A": MATRIX, "B": MATRIX}, None, ["i j k"], [], False),
    ("C(i,j) = S(i,j) * A(i,k) * B(k,j)", {"S": CSC, "A": MATRIX, "B": MATRIX}, None, ["j i k"], [], False),
    # MTTKRP is fused: the levels of B outside, the rows of the factors inside.
    ("C(i,j) = B(i,k,l) * D(k,j) * E(l,j)", {"B": CSF, "D": MATRIX, "E": MATRIX}, None, ["i k l j"], [], False),
    # A product of matrices with a vector is two products with vectors.
    ("y(i) = A(i,j) * (B(j,k) * x(k))", {"A": CSR, "B": CSR, "x": VECTOR}, None, ["j k", "i j"], [], False),
    # The addend is no operand of the sum: it fills the output first.
    ("y(i) = b(i) - A(i,j) * x(j)", {"b": VECTOR, "A": CSR, "x": VECTOR}, None, ["i j"], [], False),
    ("y(i) = b(i) - A(i,j) * x(j)", {"b": VECTOR, "A": CSC, "x": VECTOR}, None, ["i", "j i"], [], False),
    ("y(i) = b(i) - A(i,j) * x(j)", {"b": VECTOR, "A": "f64[?,?] DCSR", "x": VECTOR}, None, ["i", "i j"], [], False),
    (
        "y(i) = a * A(j,i) * x(j) + b * z(i)",
        {"a": "f64[]", "A": CSR, "x": VECTOR, "b": "f64[]", "z": VECTOR},
        None,
        ["i", "j i"],
        [],
        False,
    ),
    ("C(i,j) = A(i,j) + B(i,j)", {"A": CSR, "B": CSR}, None, ["i j"], [], False),
    ("C(i,j) = A(i,j) + B(i,j)", {"A": CSR, "B": CSC}, "CSR", ["i j"], ["B"], False),
    ("C(i,j) = A(i,j) + A(j,i)", {"A": CSR}, None, ["i j"], ["A"], False),
    ("C(i,j) = A(i,j) + B(i,j)", {"A": CSR, "B": CSR}, "CSC", ["i j"], [], True),
    ("C(j,i) = A(i,j)", {"A": CSR}, "CSR", ["i j"], [], True),
    ("C(j,i) = A(i,j)", {"A": CSR}, "CSC", ["i j"], [], False),
    ("C(i,j) = A(i,j) + B(i,j) + D(i,j)", {"A": CSR, "B": CSR, "D": CSR}, None, ["i j", "i j"], [], False),
    ("C(i,j) = A(i,j) + B(i,j) - 2 * A(i,j)", {"A": CSR, "B": CSR}, None, ["i j"], [], False),
    ("C(i,j) = A(i,k) * B(k,j) + D(i,j)", {"A": CSR, "B": CSR, "D": CSR}, None, ["i k j", "i j"], [], False),
    ("C(i,j) = T(i,j,k) * x(k)", {"T": CSF, "x": VECTOR}, "CSR", ["i j k"], [], False),
    ("s = A(i,j)", {"A": CSC}, None, ["j i"], [], False),
    ("s = B(i,j,k) * D(i,j,k)", {"B": CSF, "D": CSF}, None, ["i j k"], [], False),
    ("s = B(i,j,k) * D(i,j,k)", {"B": CSF, "D": "f64[?,?,?] CSF(2,1,0)"}, None, ["i j k"], ["D"], False),
)


@pytest.mark.parametrize(("text", "types", "out", "loops", "converted", "result_converted"), KERNELS)
def test_steps(
    text: str, types: dict[str, str], out: str | None, loops: list[str], converted: list[str], result_converted: bool
) -> None:
    planned = program(text, out, **types)
    assert orders(planned) == loops
    inputs = [step.operand for step in conversions(planned) if step.operand in types]
    assert inputs == converted
    assert (len(conversions(planned)) > len(inputs)) == result_converted


def test_the_cheaper_operand_is_converted() -> None:
    """Which one that is depends on the extents: entries are counted, not operands."""
    text = "s = A(i,j) * B(i,j)"
    first = program(text, A="f64[10,1000] CSR", B="f64[10,1000] CSC")
    second = program(text, A="f64[1000,10] CSR", B="f64[1000,10] CSC")
    # A few entries in each of 10 rows against a few in each of 1000 columns.
    assert [step.operand for step in conversions(first)] == ["A"]
    assert [step.operand for step in conversions(second)] == ["B"]


@pytest.mark.parametrize(
    "text", ["C(i,j) = A(i,j) / x(j)", "C(i,j) = A(i,j) / (x(j) + 1) - B(i,j)", "y(i) = A(i,j) / x(j) - B(i,j)"]
)
def test_loops_over_quotients_are_over_the_entries_divided(text: str) -> None:
    """They were taken to be over all elements of the divisor, and operands were converted to avoid that."""
    types = {name: kind for name, kind in {"A": CSR, "B": CSR, "x": VECTOR}.items() if f"{name}(" in text}
    planned = program(text, "CSR" if text.startswith("C") else None, **types)
    assert conversions(planned) == []
    assert [nest.loops[0].name for nest in generics(planned)] == ["i"] * len(generics(planned))


def test_an_operand_is_converted_once() -> None:
    planned = program("C(i,j) = A(j,i) + 2 * A(j,i) + B(i,j)", A=CSR, B=CSR)
    assert [step.operand for step in conversions(planned)] == ["A"]


@pytest.mark.parametrize("text", FAMILY)
@pytest.mark.parametrize("storage", ["sparse", "dense", "mixed"])
def test_each_generic_is_one_accumulation(text: str, storage: str) -> None:
    assignment = ms.parse(text)
    ranks = {a.tensor: len(a.subscripts) for a in (assignment.target, *_accesses(assignment))}
    types = {}
    for number, name in enumerate(assignment.inputs):
        rank = ranks[name]
        sparse = rank and (storage == "sparse" or (storage == "mixed" and number % 2 == 0))
        encoding = {0: "", 1: "SparseVector", 2: "CSR", 3: "CSF"}[rank] if sparse else ""
        dtype = "i64" if name in places(assignment) else "f64"
        types[name] = f"{dtype}[{','.join('?' * rank)}] {encoding}".strip()
    planned = plan(ms.compile(text, out="dense" if assignment.op.reads_target else None, tensors=types).spec)
    for step in generics(planned):
        assert not any(isinstance(node, Reduce) for node in walk(step.payload))
        assert set(step.reductions) == set(step.loops) - set(step.computed.indices)
        assert len(step.loops) == len(set(step.loops))
        assert set(step.loops) == set(step.computed.indices) | set(step.reductions)
        if step.mode is AccumulateMode.REPLACE:
            assert not step.reductions
        assert step.reason
    for change in conversions(planned):
        assert change.reason
    assert planned.steps[-1].result == planned.result


def _accesses(assignment: ms.Assignment) -> list[ms.Access]:
    return list(reads(assignment.value))


def test_other_reductions_than_sums_count_the_entries_instead_of_reading_zeros() -> None:
    planned = program("y(i) = max(j : A(i,j))", A="f64[?,?] DCSR")
    assert not conversions(planned)
    greatest, stored, extent, result = generics(planned)
    assert [str(node) for step in (greatest, stored) for node in _accesses_of_step(step)] == ["A(i,j)"] * 2
    assert [str(variable) for variable in extent.loops] == ["j"]
    assert str(result.payload).startswith("where(")


def test_other_reductions_that_have_no_zeros_to_skip_see_every_element() -> None:
    planned = program("y(i) = max(j : A(i,j) + x(j))", A=CSR, x=VECTOR)
    (step,) = generics(planned)
    assert step.combine is ReduceOp.MAX
    assert planned.type_of(_accesses_of_step(step)[0].tensor).encoding is None


def _accesses_of_step(step: Generic) -> list[ms.Access]:
    return [node for node in walk(step.payload) if isinstance(node, ms.Access)]


def test_temporaries_have_names_of_their_own() -> None:
    """`t` and `A_converted` may be the user's tensors."""
    planned = program("y(i) = t(i,j) * (B(j,k) * t_1(k))", t=CSR, B=CSR, t_1=VECTOR)
    names = [name for name, _ in planned.types]
    assert len(names) == len(set(names))
    text = "C(i,j) = A(i,j) + A(j,i) + A_converted(i,j)"
    dense = np.arange(9.0).reshape(3, 3)
    result = ms.evaluate(text, A=ms.tensor(dense), A_converted=ms.tensor(np.eye(3)))
    np.testing.assert_array_equal(result.to_numpy(), dense + dense.T + np.eye(3))


def test_plans_are_deterministic() -> None:
    for text, types, out, *_ in KERNELS:
        assert str(program(text, out, **types)) == str(program(text, out, **types))


# -- text ---------------------------------------------------------------------------------------------------


def test_the_plan_of_spgemm() -> None:
    kernel = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=CSR, B=CSR)
    assert kernel.ir("plan").rstrip() == (
        "C(i,j) = sum(k : A(i,k) * B(k,j))\n"
        "  A: f64[?,?] CSR\n"
        "  B: f64[?,?] CSR\n"
        "  C: f64[?,?] CSR\n"
        "  C(i,j) += A(i,k) * B(k,j) from the identity; loops i, k, j  # inserts in the order of the loops"
    )


def test_explain_names_loops_levels_and_reasons() -> None:
    told = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=CSR, B=CSR).explain()
    for line in (
        "C(i,j) = sum(k : A(i,k) * B(k,j))",
        "C: f64[?,?] CSR (result)",
        "step 1: linalg.generic",
        "for i (parallel) in A.0[dense]",
        "for k (reduction) in A.1[compressed] & B.0[dense]",
        "for j (parallel) in B.1[compressed]",
        "because: inserts in the order of the loops",
        "runs on: cpu, ",
    ):
        assert line in told
    assert "step 2" not in told


def test_explain_shows_unions_and_conversions() -> None:
    told = ms.compile("C(i,j) = A(i,j) + B(i,j)", A=CSR, B="f64[?,?] DCSC").explain()
    assert "convert B from f64[?,?] DCSC" in told
    assert "because: its levels run j, i, the loops i, j" in told
    assert " | " in told.split("for j")[1].splitlines()[0]
    blocked = ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] BSR(2, 2)", x=VECTOR).explain()
    assert "the sparsifier orders the loops of blocked storage itself" in blocked


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        ("BSR(2, 2)", "loops over blocks join neither another sparse operand nor a sparse result"),
        ("NV_24", "loops over blocks join neither another sparse operand nor a sparse result"),
        ("DIA", "the sparsifier makes no loops of (i, j) -> (j - i : compressed, i : range)"),
        ("CSR_SLICE", "loops run over whole tensors, a slice is a part of its parent's buffers"),
        ("UnorderedCOO", "coordinates in no order join neither another sparse operand nor a sparse result"),
        ("CSC", "its levels run j, i, the loops i, j"),
        ("(i, j) -> (i : compressed(nonunique), j : compressed)", "of entries with equal coordinates"),
    ],
)
def test_explain_says_what_keeps_an_operand_out_of_the_loops(stored: str, reason: str) -> None:
    told = ms.compile("C(i,j) = A(i,j) * B(i,j)", A=f"f64[?,?] {stored}", B=CSR, out="CSR").explain()
    assert f"because: {reason}" in told, told
    assert "convert A from" in told


def test_loops_follow_the_text_where_all_operands_are_converted() -> None:
    told = ms.compile("C(i,j) = A(i,j) + B(i,j)", A="f64[?,?] BSR(2, 2)", B="f64[?,?] BSR(3, 3)").explain()
    assert told.index("for i (parallel)") < told.index("for j (parallel)")


def test_maps_whose_least_coordinate_varies_with_the_shape_are_converted() -> None:
    """`l0 - j` is i, and starts at 1 less the number of columns: no number that a subscript can add."""
    told = ms.compile(
        "y(i) = A(i,j) * x(j)", A="f64[?,?] (i, j) -> (i + j : compressed, j : dense)", x=VECTOR
    ).explain()
    assert "because: the sparsifier makes no loops of (i, j) -> (i + j : compressed, j : dense)" in told


# -- refusals -----------------------------------------------------------------------------------------------


def test_functions_that_complex_numbers_lack_are_refused_by_name() -> None:
    with pytest.raises(ms.UnsupportedError, match=r"expected a function that complex numbers have, but got floor"):
        ms.compile("y(i) = floor(x(i))", x="c128[?]").ir("plan")


def test_a_temporary_of_a_temporary_has_a_name_of_its_own() -> None:
    planned = program(
        "y(j,i) or=! sum(r : x(r) * (B(i,i) & R(j,k,i)))",
        x="f64[?]",
        B="f64[?,?]",
        R="f64[?,?,?] CSF",
        y="bool[?,?] CSR",
    )
    made = [step.target.tensor for step in generics(planned)]
    assert len(set(made)) == len(made) == 3
