# Mistakes are what is tested: many a line here breaks the types on purpose.
# mypy: disable-error-code="arg-type,call-overload,misc,no-untyped-call,operator"

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from mlir_sparse.errors import NotationError, RankError
from mlir_sparse.notation import AssignOp, Formula, TensorVar, call, indices, parse, reduce, tensors, where

i, j, k = indices("i j k")
A, B, x, b, alpha = tensors("A, B, x, b, alpha")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (A[i, j] * x[j], "y(i) = A(i,j) * x(j)"),
        (b[i] - A[i, j] * x[j], "y(i) = b(i) - A(i,j) * x(j)"),
        (alpha * A[j, i] * x[j] + b[i] / 2, "y(i) = alpha * A(j,i) * x(j) + b(i) / 2"),
        (b[i] - (b[i] - 1), "y(i) = b(i) - (b(i) - 1)"),
        (2 - b[i], "y(i) = 2 - b(i)"),
        (1 / b[i], "y(i) = 1 / b(i)"),
        (2j + b[i], "y(i) = 2j + b(i)"),
        ((1 + 2j) * b[i], "y(i) = complex(1, 2) * b(i)"),
        (-b[i] * -2.5, "y(i) = -b(i) * -2.5"),
        (+(b[i] ** 2), "y(i) = b(i) ** 2"),
        (2 ** b[i], "y(i) = 2 ** b(i)"),
        (abs(b[i]), "y(i) = abs(b(i))"),
        (call("max", b[i], 0), "y(i) = max(b(i), 0)"),
        (reduce("max", j, A[i, j]), "y(i) = max(j : A(i,j))"),
        (reduce("sum", [j, k], A[i, j] * B[j, k]), "y(i) = sum(j, k : A(i,j) * B(j,k))"),
        (x[2 * i + k - 1] * b[k], "y(i) = x(2*i + k - 1) * b(k)"),
        (x[1 - i] * x[-(i + k)], "y(i) = x(-i + 1) * x(-i - k)"),
        (x[i * 2 - k * np.int64(3)] * x[+i], "y(i) = x(2*i - 3*k) * x(i)"),
        (A[i, 0], "y(i) = A(i,0)"),
        (alpha, "y(i) = alpha"),
        (3, "y(i) = 3"),
        (np.float32(0.5), "y(i) = 0.5"),
        (np.int8(3) * b[i], "y(i) = 3 * b(i)"),
        (np.float64(2) * b[i] - np.float64(1), "y(i) = 2.0 * b(i) - 1.0"),
        (np.complex64(2j) / b[i], "y(i) = 2j / b(i)"),
        (Fraction(1, 4) * b[i], "y(i) = 0.25 * b(i)"),
        (np.exp(b[i]), "y(i) = exp(b(i))"),
        (np.arcsin(b[i]), "y(i) = asin(b(i))"),
        (np.maximum(b[i], np.float64(1)), "y(i) = max(b(i), 1.0)"),
        (-np.abs(np.negative(b[i])), "y(i) = -abs(-b(i))"),
        ((b[i] < 1) & (b[i] >= x[i]), "y(i) = b(i) < 1 & b(i) >= x(i)"),
        ((b[i] == x[i]) | ~(b[i] != 2), "y(i) = b(i) == x(i) | !(b(i) != 2)"),
        (b[i] > 1, "y(i) = b(i) > 1"),
        (np.float64(1) <= b[i], "y(i) = 1.0 <= b(i)"),
        (np.logical_and(b[i], np.logical_not(x[i])), "y(i) = b(i) & !x(i)"),
        (where(b[i] > 0, b[i], 0), "y(i) = where(b(i) > 0, b(i), 0)"),
        (reduce("any", j, A[i, j] > x[j]), "y(i) = or(j : A(i,j) > x(j))"),
        (reduce("argmax", j, A[i, j]), "y(i) = argmax(j : A(i,j))"),
    ],
)
def test_formulas_equal_their_text(value: object, text: str) -> None:
    (y,) = tensors("y")
    y[i] = value
    assert y.assignment == parse(text)


def test_updates_keep_their_operator() -> None:
    (y,) = tensors("y")
    y[i] += A[i, j] * x[j]
    assert y.assignment == parse("y(i) += A(i,j) * x(j)")
    y[i, j] *= 2
    assert y.assignment == parse("y(i,j) *= 2")
    y[()] += x[i]
    assert y.assignment == parse("y += x(i)")
    y[i] -= x[i]
    assert y.assignment == parse("y(i) = y(i) - x(i)")


@pytest.mark.parametrize("op", list(AssignOp))
def test_assign_takes_every_operator(op: AssignOp) -> None:
    (y,) = tensors("y")
    assert y.assign(i, A[i, j], op.value) == y.assign((i,), A[i, j], op) == parse(f"y(i) {op.value} A(i,j)")


def test_a_running_sum_is_a_sum() -> None:
    (y,) = tensors("y")
    total = b[i]
    total += x[i]
    total *= 2
    y[i] = total
    assert y.assignment == parse("y(i) = (b(i) + x(i)) * 2")


def test_what_is_built_shows_as_notation() -> None:
    assert repr(A[i, j] * x[j]) == "Formula('A(i,j) * x(j)')"
    assert [repr(A), repr(i), repr(2 * i - 1)] == ["TensorVar('A')", "Index('i')", "Index('2*i - 1')"]


def assign(value: object, *subscripts: object) -> None:
    TensorVar("y")[subscripts or (i,)] = value


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: A[i, j] * i, "expected a tensor or a number, but got the index variable `i` as a value; "),
        (lambda: i * A[i, j], "expected a tensor or a number, but got the index variable `i` as a value; "),
        (lambda: A["i", j], "expected indices in the subscripts of `A`, but got str 'i'; make them by "),
        (lambda: A[1:2], "expected indices in the subscripts of `A`, but got slice slice\\(1, 2, None\\); "),
        (lambda: i * j, "expected a subscript linear in the index variables, but got `i` times `j`"),
        (lambda: i // 2, "expected a subscript linear in the index variables, but got a quotient of `i`"),
        (
            lambda: A[i, j] * np.eye(2),
            "expected an expression or a number, but got ndarray .*; name data by",
        ),
        (
            lambda: np.eye(2) * A[i, j],
            "expected an expression or a number, but got ndarray .*; name data by",
        ),
        (lambda: A[i, j] * "2", "expected an expression or a number, but got str '2'; name data by a TensorVar"),
        (lambda: A[i, j] * float("inf"), "expected a finite number, but got inf; pass it as a scalar tensor"),
        (
            lambda: bool(A[i, j]),
            "expected a formula to be evaluated first, but got the truth of `A\\(i,j\\)` asked for; join",
        ),
        (lambda: call("sine", x[i]), "expected a known function, but got `sine`; did you mean `sin`?"),
        (lambda: call("exp"), "expected 1 argument to exp .*, but got 0"),
        (lambda: np.add.reduce(x[i]), "expected a plain call of add on expressions, but got reduce or keywords"),
        (lambda: np.gcd(x[i], 2), "expected a known function, but got `gcd`; "),
        (lambda: reduce("some", j, A[i, j]), "expected one of the reductions sum, prod, max, min, .*, but got 'some'"),
        (lambda: reduce("max", 2 * j, A[i, j]), "expected index variables to reduce over, but got Index\\('2\\*j'\\)"),
        (lambda: indices("i 2"), "expected a name of letters, digits and `_`, but got '2'"),
        (lambda: TensorVar("a b"), "expected a name of letters, digits and `_`, but got 'a b'"),
        (lambda: TensorVar("y").assignment, "expected an assignment to `y`, but got none; write y\\[...\\] = ..."),
        (lambda: TensorVar("y").assign(i, 1, "-="), "expected one of = \\+= .*, but got '-='"),
        (lambda: operator.iadd(TensorVar("y"), x[i]), "expected subscripts on `y`, as Python would rebind the name; "),
        (lambda: operator.imul(TensorVar("y"), x[i]), "expected subscripts on `y`, as Python would rebind the name; "),
        (
            lambda: assign(x[i], i, i),
            "notation:1:5: expected each index variable once in the target",
        ),
        (lambda: assign(x[i], x[i]), "notation:1:3: expected sums of index variables in the target, but got `x"),
    ],
)
def test_mistakes(act: Callable[[], object], message: str) -> None:
    with pytest.raises(NotationError, match=message):
        act()


def test_mistakes_in_an_assignment_show_its_text() -> None:
    with pytest.raises(RankError) as caught:
        assign(A[i, j] * A[i])
    assert str(caught.value) == (
        "notation:1:17: expected 2 subscripts on `A`, as in `A(i,j)`, but got 1 subscript in `A(i)`; "
        "give different tensors different names\n"
        "  y(i) = A(i,j) * A(i)\n"
        "                  ^^^^"
    )


def test_a_long_loop_of_additions_is_refused() -> None:
    total: Formula = alpha
    for _ in range(5000):
        total = total + x[i]
    with pytest.raises(NotationError, match="expected at most 100 operations inside one another"):
        assign(total)


def test_tensors_cannot_be_looped_over() -> None:
    with pytest.raises(TypeError):
        list(A)
    with pytest.raises(TypeError):
        _ = i in A


def test_bf16_scalars_are_refused_with_the_way_out() -> None:
    with pytest.raises(NotationError, match="expected an expression or a number, but got bfloat16"):
        _ = x[i] * ml_dtypes.bfloat16(1)
