from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

import mlir_sparse as ms
from dialect_tests.crossing import examples
from dialect_tests.generated import KernelCase, assignments, kernels, operands
from dialect_tests.oracle import assert_close, evaluate
from mlir_sparse.notation import Assignment, AssignOp, check, free_indices, parse, with_explicit_sums


@pytest.mark.parametrize(
    ("text", "explicit"),
    [
        # At `+` and `-` into each operand that uses the variable.
        ("y(i) = b(i) - A(i,j) * x(j)", "y(i) = b(i) - sum(j : A(i,j) * x(j))"),
        ("y(i) = A(i,j) + x(i)", "y(i) = sum(j : A(i,j)) + x(i)"),
        ("y(i) = A(i,j) + x(j)", "y(i) = sum(j : A(i,j)) + sum(j : x(j))"),
        ("y = x(i) + 1 - z(j)", "y = sum(i : x(i)) + 1 - sum(j : z(j))"),
        # At `*` into the one factor that uses it, or around the product where both do.
        ("y(i) = A(i,j) * x(j)", "y(i) = sum(j : A(i,j) * x(j))"),
        ("y(i) = 2 * A(i,j)", "y(i) = 2 * sum(j : A(i,j))"),
        ("y = x(i) * z(j)", "y = sum(i : x(i)) * sum(j : z(j))"),
        ("y(i) = A(i,j) * B(j,k) * x(k)", "y(i) = sum(k : sum(j : A(i,j) * B(j,k)) * x(k))"),
        ("y(i) = A(i,j) * (B(j,k) * x(k))", "y(i) = sum(j : A(i,j) * sum(k : B(j,k) * x(k)))"),
        ("y(i) = (A(i,j) + B(i,j)) * x(j)", "y(i) = sum(j : (A(i,j) + B(i,j)) * x(j))"),
        ("y(i) = (A(i,j) + b(i)) * c(i)", "y(i) = (sum(j : A(i,j)) + b(i)) * c(i)"),
        # At `/` into the numerator, but around where a denominator uses it.
        ("y(i) = A(i,j) / s", "y(i) = sum(j : A(i,j)) / s"),
        ("y(i) = b(i) / A(i,j)", "y(i) = sum(j : b(i) / A(i,j))"),
        ("y(i) = A(i,j) / x(j)", "y(i) = sum(j : A(i,j) / x(j))"),
        ("y = x(i) / (z(j) * z(j))", "y = sum(j : sum(i : x(i)) / (z(j) * z(j)))"),
        # Around a call; through a minus.
        ("y(i) = exp(A(i,j) * x(j))", "y(i) = sum(j : exp(A(i,j) * x(j)))"),
        ("y(i) = -A(i,j)", "y(i) = -sum(j : A(i,j))"),
        ("y(i) = relu(-A(i,j)) * b(i)", "y(i) = sum(j : relu(-A(i,j))) * b(i)"),
        # Through an explicit sum, around other reductions; what is bound stays.
        ("y = sum(i : b(i) - A(i,j) * x(j))", "y = sum(i : b(i) - sum(j : A(i,j) * x(j)))"),
        ("y = max(i : A(i,j))", "y = sum(j : max(i : A(i,j)))"),
        ("y(i) = max(j : A(i,j))", "y(i) = max(j : A(i,j))"),
        # Several at one place are one reduction, in the order of the text.
        ("a = B(j,i) * A(i,j)", "a = sum(j, i : B(j,i) * A(i,j))"),
        ("a = T(k,i,j)", "a = sum(k, i, j : T(k,i,j))"),
        ("y(i) = x(i + k) * w(k)", "y(i) = sum(k : x(i + k) * w(k))"),
        # Nothing to reduce; the target's own variables; broadcasting.
        ("C(i,j) = A(i,j) * B(i,j)", "C(i,j) = A(i,j) * B(i,j)"),
        ("a(i) = 1.0", "a(i) = 1.0"),
        ("C(i,j) = x(i)", "C(i,j) = x(i)"),
        # Updates stay; named reductions take the whole right side and become `=`.
        ("y(i) += A(i,j) * x(j)", "y(i) += sum(j : A(i,j) * x(j))"),
        # ... but for the sum, the operator is what they reduce by.
        ("y(i) max= A(i,j)", "y(i) max= max(j : A(i,j))"),
        ("y(i) min= b(i) - A(i,j)", "y(i) min= min(j : b(i) - A(i,j))"),
        ("y(i) *= 2 * A(i,j)", "y(i) *= prod(j : 2 * A(i,j))"),
        ("y(i) or= A(i,j)", "y(i) or= or(j : A(i,j))"),
        ("y and= A(i,j)", "y and= and(i, j : A(i,j))"),
        ("y(i) min= sum(k : A(i,j) * B(j,k))", "y(i) min= min(j : sum(k : A(i,j) * B(j,k)))"),
        ("y(i) min= A(i,j) if m(i)", "y(i) min= min(j : A(i,j)) if m(i)"),
        ("y(i) +=! b(i) + A(i,j)", "y(i) = sum(j : b(i) + A(i,j))"),
        ("y(i) *=! A(i,j)", "y(i) = prod(j : A(i,j))"),
        ("y(i) max=! A(i,j) * B(j,k)", "y(i) = max(j, k : A(i,j) * B(j,k))"),
        ("y min=! 2 * x(i)", "y = min(i : 2 * x(i))"),
        ("y(i) max=! b(i)", "y(i) = b(i)"),
        ("y(i) max=! sum(k : A(i,j) * B(j,k))", "y(i) = max(j : sum(k : A(i,j) * B(j,k)))"),
    ],
)
def test_where_sums_stand(text: str, explicit: str) -> None:
    assert str(with_explicit_sums(parse(text))) == explicit
    assert with_explicit_sums(parse(text)) == parse(explicit)


@given(assignments())
def test_explicit_sums_are_complete_and_stay(assignment: Assignment) -> None:
    explicit = with_explicit_sums(assignment)
    check(explicit)
    assert set(free_indices(explicit.value)) <= set(explicit.target.indices)
    assert not explicit.op.value.endswith("!")
    assert with_explicit_sums(explicit) == explicit


@examples(200)
@given(assignments(), st.integers(0, 99), st.integers(0, 3))
def test_the_oracle_places_sums_in_the_same_places(assignment: Assignment, seed: int, extent: int) -> None:
    # An explicit min of no truth values is true, which is less than a target of 3: see the next test.
    assume(extent or assignment.op not in (AssignOp.MAX, AssignOp.MIN))
    # All extents are equal, as the drawn trees subscript any axis by any variable.
    extents = dict.fromkeys([index.name for index in assignment.indices], extent)
    data = operands(assignment, extents, np.dtype(np.int64), 0.7, seed)
    try:
        expected = evaluate(assignment, data, extents=extents)
    except TypeError:  # of truth values NumPy has no differences
        reject()
    np.testing.assert_array_equal(evaluate(with_explicit_sums(assignment), data, extents=extents), expected)


@pytest.mark.parametrize(
    ("text", "y", "expected"),
    [
        ("y min= !A(i,i)", 3, 3),
        ("y min= min(i : !A(i,i))", 3, 1),  # of truth values, whose greatest is true
        ("y min= min(i : A(i,i))", 3, 3),
        ("y max= !A(i,i)", -3, -3),
        ("y max= max(i : !A(i,i))", -3, 0),
        ("y max= max(i : A(i,i))", -3, -3),
    ],
)
def test_extremes_over_nothing_beside_a_target(text: str, y: int, expected: int) -> None:
    data = {"A": np.zeros((0, 0), np.int64), "y": np.array(y)}
    assert evaluate(text, data) == expected
    assert ms.evaluate(text, tensors=data) == expected


@given(kernels())
def test_kernels_mean_the_same_with_explicit_sums(case: KernelCase) -> None:
    assume("stored(" not in str(case.assignment))  # an operator on entries by then, which has an oracle of its own
    expected = evaluate(case.assignment, case.tensors, extents=case.extents)
    assert_close(evaluate(with_explicit_sums(case.assignment), case.tensors, extents=case.extents), expected)
