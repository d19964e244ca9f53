"""What `op=` and `op=!` give: reductions by the operator, onto the present value or from the identity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import mlir_sparse as ms
from dialect_tests.crossing import crossed
from mlir_sparse.tools.cli import main

Array = np.ndarray[Any, Any]

A = np.array([[1.0, 2.0, 3.0], [4.0, 0.0, -6.0], [7.0, 0.5, 2.0]])
TARGET = np.array([10.0, -20.0, 1.0])
MASK = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 1]])
STORAGE = (None, "CSR", "DCSR", "CSC", "COO")
# What each operator combines two values by, its reduction, and its identity.
OPERATORS = {
    "+": (np.add, np.sum, 0.0),
    "*": (np.multiply, np.prod, 1.0),
    "max": (np.maximum, np.max, -np.inf),
    "min": (np.minimum, np.min, np.inf),
    "or": (np.logical_or, np.any, 0),
    "and": (np.logical_and, np.all, 1),
}


def _stored(dense: Array, storage: str | None) -> Any:
    return dense if storage is None else ms.tensor(dense, storage)


@crossed(op=OPERATORS, storage=STORAGE, forgets=[False, True])
def test_an_update_reduces_by_its_operator(op: str, storage: str | None, forgets: bool) -> None:
    """Each element of the target is combined with the whole row; `!` forgets what it was."""
    combine, reduce, _ = OPERATORS[op]
    rows = reduce(A, axis=1)
    if forgets:
        np.testing.assert_array_equal(ms.evaluate(f"y(i) {op}=! A(i,j)", A=_stored(A, storage)), rows)
    else:
        found = ms.evaluate(f"y(i) {op}= A(i,j)", A=_stored(A, storage), y=TARGET)
        np.testing.assert_array_equal(found, combine(TARGET, rows))


@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize("op", [op for op in OPERATORS if op != "+"])
def test_an_update_reduces_the_whole_right_side(op: str, storage: str | None) -> None:
    """Also what the variable is not in: the sum alone goes as deep as it can."""
    combine, reduce, _ = OPERATORS[op]
    found = ms.evaluate(f"y(i) {op}= b(i) - 2 * A(i,j) * x(j)", A=_stored(A, storage), y=TARGET, b=A[:, 1], x=A[0])
    np.testing.assert_array_equal(found, combine(TARGET, reduce(A[:, 1:2] - 2 * A * A[0], axis=1)))


@pytest.mark.parametrize("op", OPERATORS)
def test_an_update_of_a_number_reduces_all(op: str) -> None:
    combine, reduce, _ = OPERATORS[op]
    found = ms.evaluate(f"t {op}= A(i,j)", A=ms.tensor(A, "CSR"), t=3.0)
    np.testing.assert_array_equal(found, combine(3.0, reduce(A)))


@pytest.mark.parametrize("op", OPERATORS)
def test_an_update_over_nothing_leaves_the_target(op: str) -> None:
    """An empty reduction is the identity."""
    combine, _, identity = OPERATORS[op]
    empty = np.zeros((3, 0))
    for storage in (None, "CSR"):
        found = ms.evaluate(f"y(i) {op}= A(i,j)", A=_stored(empty, storage), y=TARGET)
        np.testing.assert_array_equal(found, combine(TARGET, identity))


@crossed(op=["min", "max", "*"], storage=STORAGE, text=["{}= A(i,j) if", "{}=! A(i,j) if", "{}= A(i,j) if not"])
def test_an_update_under_a_mask_reduces_what_the_mask_leaves(op: str, storage: str | None, text: str) -> None:
    """The target stays where nothing is left, and `!` gives the identity there."""
    combine, _, identity = OPERATORS[op]
    dense = np.where(A == 0, 9.0, A)  # sparse storage has an entry wherever the array has an element
    rows = combine.reduce(np.where((MASK == 0) == ("not" in text), dense, identity), axis=1)
    target = {} if "!" in text else {"y": TARGET}
    text = f"y(i) {text.format(op)} M(i,j)"
    found = ms.evaluate(text, A=_stored(dense, storage), M=ms.tensor(MASK, "CSR"), **target)
    np.testing.assert_array_equal(found, combine(TARGET, rows) if target else rows)


def test_an_update_by_a_product_under_a_complement_names_the_way_out() -> None:
    a, mask, target = np.array([[1.0, 0], [0, 2]]), np.array([[1.0, 0], [1, 0]]), np.array([[1.0, 5], [0, 3]])
    given = {"M": ms.tensor(mask, "CSR"), "C": ms.tensor(target, "CSR")}
    with pytest.raises(ms.UnsupportedError, match=r"sparse storage, as by ms\.evaluate\(\.\.\., out='CSR'\)"):
        ms.evaluate("C(i,j) *= A(i,k) * A(k,j) if not M(i,j)", A=ms.tensor(a, "CSR"), **given)
    product = ms.evaluate("D(i,j) = A(i,k) * A(k,j)", A=ms.tensor(a, "CSR"), out="CSR")
    found = ms.evaluate("C(i,j) *= D(i,j) if not M(i,j)", D=product, **given)
    np.testing.assert_array_equal(found.to_numpy(), np.where((mask == 0) & (a @ a != 0), target * (a @ a), target))


@pytest.mark.parametrize("storage", STORAGE)
def test_an_update_is_the_addition_of_a_semiring(storage: str | None) -> None:
    """`min=` is `+=` under min_plus; what is no addition there is refused by name."""
    dense = np.where(A == 0, 9.0, A)
    given = {"A": _stored(dense, storage), "x": np.array([1.0, -2.0, 5.0])}
    wanted = np.min(dense + given["x"], axis=1)
    found = ms.evaluate("y(i) min= A(i,j) * x(j)", tensors={**given, "y": TARGET}, semiring="min_plus")
    np.testing.assert_array_equal(found, np.minimum(TARGET, wanted))
    found = ms.evaluate("y(i) min=! A(i,j) * x(j)", tensors=given, semiring="min_plus")
    np.testing.assert_array_equal(found, wanted)
    with pytest.raises(ms.NotationError, match="expected sums and products under the semiring min_plus, but got"):
        ms.evaluate("y(i) max= A(i,j) * x(j)", tensors={**given, "y": TARGET}, semiring="min_plus")


@pytest.mark.parametrize("op", ["min", "max", "*"])
def test_a_statement_of_a_comprehension_updates_the_same(op: str) -> None:
    combine, reduce, _ = OPERATORS[op]
    text = f"def f(double(M,N) A, double(M) b) -> (y) {{ y(i) = b(i) y(i) {op}= A(i,j) where j in 0:2 }}"
    found = ms.evaluate(text, A=ms.tensor(A, "CSR"), b=TARGET)
    np.testing.assert_array_equal(found, combine(TARGET, reduce(A[:, :2], axis=1)))


@pytest.mark.parametrize("op", ["min", "max"])
def test_a_sparse_target_is_updated_the_same(op: str) -> None:
    """Zeros that neither stores count as zeros."""
    combine, reduce, _ = OPERATORS[op]
    T = np.arange(-4.0, 23.0).reshape(3, 3, 3) * (np.arange(27).reshape(3, 3, 3) % 4 == 0)
    found = ms.evaluate(f"Y(i,j) {op}= T(i,j,k)", T=ms.tensor(T, "CSF"), Y=ms.tensor(A, "CSR"))
    np.testing.assert_array_equal(found.to_numpy(), combine(A, reduce(T, axis=2)))


def test_the_command_line_updates_and_verifies_the_same(tmp_path: Path) -> None:
    source, target, result = (str(tmp_path / name) for name in ("A.mtx", "y.tns", "out.tns"))
    ms.write(source, ms.tensor(A, "CSR"))
    ms.write(target, ms.tensor(TARGET, "SparseVector"))
    arguments = ["y(i) min= A(i,j)", "-f", "A:CSR", "-i", f"A={source}", "-i", f"y={target}", "-o", f"y={result}"]
    ran = CliRunner().invoke(main, ["run", *arguments, "--verify"])
    assert ran.exit_code == 0, ran.output
    np.testing.assert_array_equal(ms.read(result).to_numpy(), np.minimum(TARGET, A.min(axis=1)))


@crossed(masked=[0.0, 1.0, None], dtype=["int64", "int8", "float32"], storage=[None, "CSR", "COO"])
def test_truth_values_that_numbers_meet_begin_with_the_identity_of_numbers(
    storage: str | None, dtype: str, masked: float | None
) -> None:
    """The least of no truth values is true, which as a number would be less than 2."""
    for dense in (np.zeros((0, 0)), np.zeros((2, 2)), np.array([[1.0, 0], [1, 1]]), np.ones((2, 3))):
        A = dense if storage is None else ms.tensor(dense, storage)
        reduced = [] if masked == 0.0 else list((dense == 1).ravel())
        for op, better, start in (("min", min, 2), ("max", max, -2)):
            text = f"y {op}= A(i,k) == 1" if masked is None else f"y {op}= (A(i,k) == 1) if M(i,k)"
            operands = {"y": np.array(start, dtype), "A": A, "M": np.full(dense.shape, masked or 0.0)}
            if masked is None:
                del operands["M"]
            assert ms.evaluate(text, tensors=operands) == better([start, *reduced])


def test_truth_values_are_no_infinities_under_a_semiring() -> None:
    A, x = np.array([[True, False], [True, True]]), np.array([3, 4])
    for name, reduce in (("min_plus", np.min), ("max_plus", np.max)):
        found = ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x, semiring=name)
        np.testing.assert_array_equal(found, reduce(A + x, axis=1))
