from __future__ import annotations

import math

import pytest

from mlir_sparse.errors import NotationError, RankError
from mlir_sparse.notation import (
    Access,
    Assignment,
    AssignOp,
    Binary,
    BinaryOp,
    Call,
    Expr,
    IndexVar,
    Literal,
    check,
    parse,
)

ALIAS = "which may be overwritten already; give the result another name"


@pytest.mark.parametrize(
    "text",
    [
        "a(i) = 1.0",
        "a(i,j) = b(i)",
        "d(i) = A(i,i)",
        "y(i) = y(i) + A(i,j) * x(j)",
        "y(i) += A(i,j) * y(i)",
        "C(i,j) = A(i,j) + A(j,i)",
        "y(i) = sum(j : A(i,j)) + sum(j : B(i,j))",
        "y(i) = x(2*i + k - 1) * w(k)",
        "y(i) = x(3)",
    ],
)
def test_what_has_a_meaning_passes(text: str) -> None:
    check(parse(text))


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        (
            "y(i,i) = A(i,i)",
            5,
            (
                "expected each index variable once in the target, but got `i` again in `y(i,i)`; "
                "give each dimension a variable of its own"
            ),
        ),
        (
            "y(I(i)) = x(i)",
            3,
            (
                "expected sums of index variables in the target, but got `I(i)` in `y(I(i))`; "
                "multiply by a sparse matrix with one entry a row, at these places"
            ),
        ),
        (
            "y(2*i) = y(2*i) + x(i)",
            10,
            (
                "expected `y(2*i)` to be assigned alone, but got it read too; add to it by `+=`, or "
                "read it by another name"
            ),
        ),
        (
            "y(i) = A(i,x) * x(i)",
            17,
            "expected `x` to name a tensor or an index variable, but got both; rename one of the two",
        ),
        ("i = x(i)", 1, "expected `i` to name a tensor or an index variable, but got both; rename one of the two"),
        ("y(i) = max(x(i))", 8, "expected 2 arguments to max (the larger of two; NaN if either is), but got 1"),
        ("y(i) = exp(x(i), 2)", 8, "expected 1 argument to exp (e to the power of the argument), but got 2"),
        ("y(i) = exp()", 8, "expected 1 argument to exp (e to the power of the argument), but got 0"),
        (
            "y(i) = sum(i : A(i,j))",
            12,
            "expected sum to bind a new index variable, but got `i`, and the target has it; rename it in the reduction",
        ),
        (
            "y(i) = sum(j : A(i,j) * max(j : x(j)))",
            29,
            (
                "expected max to bind a new index variable, but got `j`, and a reduction binds it already; "
                "rename it in the reduction"
            ),
        ),
        (
            "y(i) = sum(j, j : A(i,j))",
            15,
            (
                "expected sum to bind a new index variable, but got `j`, and a reduction binds it already; "
                "rename it in the reduction"
            ),
        ),
        (
            "y(i) = sum(j : A(i,j)) * x(j)",
            28,
            "expected `j` only inside the reduction that binds it, but got it outside too; rename one of the two",
        ),
        (
            "y(i) = sum(j : x(i))",
            12,
            "expected the body of sum to use `j`, but got `x(i)`; remove `j` from the reduction",
        ),
        (
            "y = argmax(i, j : A(i,j))",
            15,
            (
                "expected one index variable in argmax, whose value is a position, but got 2; "
                "nest two reductions, or flatten the operand"
            ),
        ),
        (
            "y(i) = where(x(i), 1)",
            8,
            "expected 3 arguments to where (the second where the first is not zero, else the third), but got 2",
        ),
        ("A(i,j) = A(j,i)", 10, f"expected the target to be read as `A(i,j)`, but got `A(j,i)`, {ALIAS}"),
        ("y(i) = x(i) + y(i + 1)", 15, f"expected the target to be read as `y(i)`, but got `y(i + 1)`, {ALIAS}"),
    ],
)
def test_what_has_none_is_refused_by_its_place(text: str, column: int, message: str) -> None:
    with pytest.raises(NotationError) as caught:
        parse(text)
    assert caught.value.message == message
    assert (caught.value.line, caught.value.column) == (1, column)


def test_a_tensor_has_one_rank() -> None:
    with pytest.raises(RankError) as caught:
        parse("y(i) = A(i,j) * x(j)\n     + A(i)")
    assert str(caught.value) == (
        "notation:2:8: expected 2 subscripts on `A`, as in `A(i,j)`, but got 1 subscript in `A(i)`; "
        "give different tensors different names\n"
        "       + A(i)\n"
        "         ^^^^"
    )


def test_a_scalar_has_no_subscripts() -> None:
    with pytest.raises(RankError, match="expected 0 subscripts on `a`, as in `a`, but got 1 subscript in `a\\(i\\)`"):
        parse("a = a(i)")


def built(value: Expr) -> Assignment:
    return Assignment(Access("y", (IndexVar("i"),)), AssignOp.ASSIGN, value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Call("sine", (Literal(1),)), "expected a known function, but got `sine`; did you mean `sin`?"),
        (Call("arctan2", (Literal(1),)), "expected a known function, but got `arctan2`; did you mean `atan2`?"),
        (Literal(math.inf), "expected a finite number, but got inf; pass it as a scalar tensor"),
        (Literal(2**64), "expected an integer of 64 bits, but got a larger one; write it as a real"),
    ],
)
def test_trees_that_no_text_gives_are_refused_too(value: Expr, message: str) -> None:
    with pytest.raises(NotationError) as caught:
        check(built(value))
    assert str(caught.value) == message


def test_an_unknown_function_without_a_near_name_lists_all() -> None:
    with pytest.raises(NotationError, match=r"but got `qqq`; the functions are abs, sign, .*, signbit, .*, c128$"):
        check(built(Call("qqq", (Literal(1),))))


def test_trees_too_deep_to_follow_are_refused_without_following_them() -> None:
    node: Expr = Literal(1)
    for _ in range(100_000):
        node = Binary(BinaryOp.ADD, node, Literal(1))
    with pytest.raises(NotationError, match="expected at most 100 operations inside one another, but got more"):
        check(built(node))
