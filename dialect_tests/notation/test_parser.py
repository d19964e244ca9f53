from __future__ import annotations

import re

import pytest
from hypothesis import given

from dialect_tests.crossing import examples
from dialect_tests.generated import notation_text
from mlir_sparse.errors import NotationError, NotationSyntaxError, RankError, SparseError
from mlir_sparse.notation import (
    Access,
    AffineSubscript,
    Assignment,
    AssignOp,
    Binary,
    BinaryOp,
    Call,
    IndexVar,
    Literal,
    Negate,
    Reduce,
    ReduceOp,
    parse,
)

i, j, k = (IndexVar(name) for name in "ijk")
ADD, SUB, MUL, DIV = (BinaryOp(sign) for sign in "+-*/")
LT, GE, EQ, AND, OR = (BinaryOp(sign) for sign in ("<", ">=", "==", "&", "|"))
x, A, y = Access("x", (j,)), Access("A", (i, j)), Access("y", (i,))

OPERATORS = "= += *= max= min= or= and= +=! *=! max=! min=! or=! and=!"
REDUCTIONS = "sum, prod, max, min, or, and, count, argmax, argmin"
NOT_A_SUBSCRIPT = "expected index variables in the subscripts of the tensor"


def value(text: str) -> object:
    return parse(f"y(i) = {text}").value


def test_matrix_times_vector() -> None:
    assert parse("y(i) = A(i,j) * x(j)") == Assignment(y, AssignOp.ASSIGN, Binary(MUL, A, x))


@pytest.mark.parametrize("text", ["y(i) = A[i,j]*x(j)", " y [ i ]=A( i , j )\n * x(j) // SpMV"])
def test_brackets_spaces_and_comments_do_not_matter(text: str) -> None:
    assert parse(text) == parse("y(i) = A(i,j) * x(j)")


@pytest.mark.parametrize("divisor", ["2", "-1", "x(i)", "(x(i) + 1)", "A(i,j) * 2"])
def test_a_comment_that_reads_as_a_divisor_is_refused(divisor: str) -> None:
    with pytest.raises(NotationSyntaxError, match=r"notation:1:13: .* reads as a divisor: write `floor_divide"):
        parse(f"y(i) = x(i) // {divisor}")


@pytest.mark.parametrize("words", ["", "rows", "2 rows", "see (3)", "x times y, at each i", "x(i) is a vector"])
def test_other_comments_after_a_statement_are_left_out(words: str) -> None:
    assert parse(f"y(i) = x(i) // {words}\n") == parse("y(i) = x(i)")


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("x(i) and z(i)", "x(i) & z(i)"),
        ("x(i) > 1 and not z(i) > 2 or x(i)", "(x(i) > 1 & !(z(i) > 2)) | x(i)"),
        ("not x(i) & z(i)", "!(x(i) & z(i))"),
        ("not x(i) and z(i)", "!x(i) & z(i)"),
        ("not not x(i)", "!!x(i)"),
        ("x(i) if not z(i) and x(i)", "x(i) if (!z(i) & x(i))"),
        ("x(i) if not z(i) & x(i)", "x(i) if !(z(i) & x(i))"),
        ("x(i) if not z(i) or x(i) else 2", "x(i) if (!z(i) | x(i)) else 2"),
        ("maximum(j : A(i,j))", "max(j : A(i,j))"),
        ("minimum(j : A(i,j))", "min(j : A(i,j))"),
        ("product(j : A(i,j))", "prod(j : A(i,j))"),
    ],
)
def test_pythons_and_numpys_spellings(text: str, ours: str) -> None:
    assert value(text) == value(ours)


@pytest.mark.parametrize(
    ("text", "way_out"),
    [
        ("y(i) = x(i)^2", "write `**` for powers"),
        ("y(i) = x(i) # two", "comments begin with `//`"),
        ("y(i) = ~x(i)", "write `!`"),
        ("ij,j->i", "pass einsum's strings to ms.einsum"),
    ],
)
def test_signs_of_other_languages_are_refused_with_the_way_out(text: str, way_out: str) -> None:
    with pytest.raises(NotationSyntaxError, match=re.escape(way_out)):
        parse(text)


@pytest.mark.parametrize("text", ["a = s", "a() = s()", "a[] = s[]"])
def test_scalars_need_no_parentheses(text: str) -> None:
    assert parse(text) == Assignment(Access("a"), AssignOp.ASSIGN, Access("s"))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("x(j) - x(j) - x(j)", Binary(SUB, Binary(SUB, x, x), x)),
        ("x(j) - (x(j) - x(j))", Binary(SUB, x, Binary(SUB, x, x))),
        ("x(j) + x(j) * x(j)", Binary(ADD, x, Binary(MUL, x, x))),
        ("x(j) / x(j) * x(j)", Binary(MUL, Binary(DIV, x, x), x)),
        ("-x(j) * x(j)", Binary(MUL, Negate(x), x)),
        ("-(x(j) * x(j))", Negate(Binary(MUL, x, x))),
        ("--x(j)", Negate(Negate(x))),
        ("+x(j)", x),
        ("x(j) * -x(j)", Binary(MUL, x, Negate(x))),
        ("x(j) ** 2", Call("pow", (x, Literal(2)))),
        ("-x(j) ** 2", Negate(Call("pow", (x, Literal(2))))),
        ("-2 ** 2", Negate(Call("pow", (Literal(2), Literal(2))))),
        ("x(j) + x(j) < x(j)", Binary(LT, Binary(ADD, x, x), x)),
        ("x(j) < x(j) & x(j) >= x(j)", Binary(AND, Binary(LT, x, x), Binary(GE, x, x))),
        ("x(j) | x(j) & x(j)", Binary(OR, x, Binary(AND, x, x))),
        ("x(j) & x(j) & x(j)", Binary(AND, Binary(AND, x, x), x)),
        ("(x(j) == x(j)) == x(j)", Binary(EQ, Binary(EQ, x, x), x)),
        ("!x(j) == x(j)", Binary(EQ, Call("logical_not", (x,)), x)),
        ("!(x(j) == x(j))", Call("logical_not", (Binary(EQ, x, x),))),
        ("!!-x(j)", Call("logical_not", (Call("logical_not", (Negate(x),)),))),
        ("where(x(j) < 0, -x(j), x(j))", Call("where", (Binary(LT, x, Literal(0)), Negate(x), x))),
        ("2 ** -1 ** 2", Call("pow", (Literal(2), Negate(Call("pow", (Literal(1), Literal(2))))))),
    ],
)
def test_operators_bind_as_in_python(text: str, tree: object) -> None:
    assert value(text) == tree


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("2", 2),
        ("-2", -2),
        ("0x10", 16),
        ("007", 7),
        ("-9223372036854775808", -(2**63)),
        ("18446744073709551615", 2**64 - 1),
        ("2.5", 2.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("2j", 2j),
        ("-1.5e1j", -15j),
        ("-0j", -0j),
        ("complex(0, -15)", complex(0, -15)),
        ("complex(-0.0, 15)", complex(-0.0, 15)),
        ("complex(1, -2.5)", 1 - 2.5j),
        ("-0.0", -0.0),
    ],
)
def test_numbers(text: str, number: complex) -> None:
    literal = value(text)
    assert literal == Literal(number), "type and signs of zeros are as in Python"
    assert value(str(literal)) == literal


@pytest.mark.parametrize(
    ("text", "subscript"),
    [
        ("2*i + k - 1", AffineSubscript(((2, i), (1, k)), -1)),
        ("i*2", AffineSubscript(((2, i),), 0)),
        ("-i", AffineSubscript(((-1, i),), 0)),
        ("2*(i + 3*(k - 1))", AffineSubscript(((2, i), (6, k)), -6)),
        ("3 - -i", AffineSubscript(((1, i),), 3)),
        ("k + i - k", i),
        ("1*i + 0", i),
        ("0*i + 2*3", AffineSubscript((), 6)),
    ],
)
def test_affine_subscripts_have_one_form(text: str, subscript: object) -> None:
    assert value(f"x({text})") == Access("x", (subscript,))  # type: ignore[arg-type]


def test_functions_and_reductions_of_one_name() -> None:
    assert value("max(x(j), A(i,j))") == Call("max", (x, A))
    assert value("max(j : A(i,j))") == Reduce(ReduceOp.MAX, (j,), A)
    assert value("any(j : A(i,j))") == value("or(j : A(i,j))") == Reduce(ReduceOp.OR, (j,), A)
    assert value("all(j : A(i,j))") == value("and(j : A(i,j))") == Reduce(ReduceOp.AND, (j,), A)
    assert value("argmax(j : A(i,j))") == Reduce(ReduceOp.ARGMAX, (j,), A)
    assert value("sum(j, k : A(i,j) * x(k))") == Reduce(ReduceOp.SUM, (j, k), Binary(MUL, A, Access("x", (k,))))


@pytest.mark.parametrize("name", ["min", "sine", "arcsin"])
def test_brackets_make_a_tensor_of_what_is_nearly_a_function_name(name: str) -> None:
    assignment = parse(f"y(i) = {name}[I(i)] + {name}[J[i]]")
    assert assignment.inputs == (name, "I", "J")
    assert parse(str(assignment)) == assignment


def test_brackets_make_a_tensor_of_a_function_name() -> None:
    assert value("exp[j] * max") == Binary(MUL, Access("exp", (j,)), Access("max"))
    assert parse("max max= min").op is AssignOp.MAX


@pytest.mark.parametrize("op", list(AssignOp))
def test_assignment_operators(op: AssignOp) -> None:
    assert parse(f"y(i) {op.value} A(i,j)") == Assignment(y, op, A)


def test_letters_of_any_script_make_names() -> None:
    assert parse("ŷ(ι) = Α(ι,κ) * β(κ)").inputs == ("Α", "β")


def test_inputs_and_indices_come_in_the_order_of_the_text() -> None:
    assignment = parse("y(i) += b(i) - sum(k : A(i,k) * x(k)) * b(i)")
    assert assignment.inputs == ("y", "b", "A", "x")
    assert assignment.indices == (i, k)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "expected a target such as `y(i)`, but got the end of the text"),
        ("2 = x", 1, "expected a target such as `y(i)`, but got `2`"),
        (
            "y(i)",
            5,
            f"expected one of {OPERATORS} after the target, but got the end of the text",
        ),
        (
            "y(i) -= x(i)",
            6,
            f"expected one of {OPERATORS} after the target, but got `-`",
        ),
        ("y(i) =", 7, "expected a tensor, a number, a function or `(`, but got the end of the text"),
        ("y(i) = * x(i)", 8, "expected a tensor, a number, a function or `(`, but got `*`"),
        ("y(i) = x(i) x(i)", 13, "expected an operator or the end of the text, but got `x`"),
        ("y(i) = A(i,j", 13, "expected `,` or `)` after a subscript of `A`, but got the end of the text"),
        ("y(i) = A(i,j]", 13, "expected `,` or `)` after a subscript of `A`, but got `]`"),
        ("y(i) = A(i,)", 12, "expected an index variable or an integer in the subscripts of `A`, but got `)`"),
        ("y(i) = (x(i) + 1", 17, "expected an operator or `)`, but got the end of the text"),
        ("y(i) = exp(x(i)", 16, "expected an operator, `,` or `)`, but got the end of the text"),
        ("y(i) = sum(j : A(i,j)", 22, "expected an operator or `)`, but got the end of the text"),
        ("y(i) = sum(x(i))", 12, "expected index variables and `:`, as in `sum(j : A(i,j))`, but got `x`"),
        (
            "y(i) = some(j : A(i,j))",
            8,
            f"expected one of the reductions {REDUCTIONS} before `(`, but got `some`",
        ),
        (
            "y(i) =! x(i)",
            6,
            f"expected one of {OPERATORS} after the target, but got `=!`; write `= !` with a space to negate",
        ),
        (
            "y(i) = x(i) < y(i) < z(i)",
            20,
            (
                "expected one comparison between two operands, but got `<` after one; join comparisons by `&`, as in "
                "`0 < x(i) & x(i) < 1`, or put one in parentheses"
            ),
        ),
        ("y(i) = x(i) < ", 15, "expected a tensor, a number, a function or `(`, but got the end of the text"),
        (
            "y(i) = x(2j)",
            10,
            "expected an index variable or an integer in the subscripts of `x`, but got `2j`; write `2*j`",
        ),
        ("y(i) = x(0.5)", 10, "expected an index variable or an integer in the subscripts of `x`, but got `0.5`"),
        ("y(i) = x(i*j)", 12, "expected a subscript linear in the index variables, but got a product of two"),
        ("y(i) = x(i/2)", 11, "expected a subscript linear in the index variables, but got `/`"),
        (
            "y(i) = x(9*" + "9" * 19 + ")",
            12,
            "expected an integer of 64 bits, but got `" + "9" * 19 + "`; write it as a real",
        ),
        ("y(i) = x(4294967296*4294967296)", 21, "expected a subscript with numbers of 64 bits, but got larger ones"),
        (
            "y(i) = 18446744073709551616",
            8,
            "expected an integer of 64 bits, but got `18446744073709551616`; write it as a real",
        ),
        ("y(i) = 1e999", 8, "expected a number that fits in 64 bits, but got `1e999`"),
        ("y(i) = complex(x, 2)", 16, "expected a real number, as in `complex(1.0, 2.0)`, but got `x`"),
        ("y(i) = complex(1)", 17, "expected `,` and the imaginary part, but got `)`"),
        (
            "y(i) = sine(x(i))",
            13,
            f"{NOT_A_SUBSCRIPT} `sine`, but got the expression `x(...`; as a function, did you mean `sin`?",
        ),
    ],
)
def test_syntax_errors(text: str, column: int, message: str) -> None:
    with pytest.raises(NotationSyntaxError) as caught:
        parse(text)
    assert caught.value.message == message
    assert (caught.value.line, caught.value.column) == (1, column)


def test_errors_show_the_line_and_the_place() -> None:
    with pytest.raises(NotationSyntaxError) as caught:
        parse("y(i) =\n  A(i,j) *\n  x(2j)")
    assert str(caught.value) == (
        "notation:3:5: expected an index variable or an integer in the subscripts of `x`, but got `2j`; write `2*j`\n"
        "    x(2j)\n"
        "      ^^"
    )


def test_only_text_is_parsed() -> None:
    with pytest.raises(NotationSyntaxError, match=r"expected text such as .*, but got int 3"):
        parse(3)  # type: ignore[arg-type]


def test_a_hundred_operations_are_the_limit() -> None:
    assert parse("y = " + "+".join(["a"] * 101)).inputs == ("a",)
    assert parse("y = " + "(" * 100 + "a" + ")" * 100) == parse("y = a")
    with pytest.raises(NotationError, match="expected at most 100 operations inside one another, but got more; split"):
        parse("y = " + "+".join(["a"] * 102))


@pytest.mark.parametrize("text", ["(" * 5000, "exp(" * 5000, "a**" * 5000 + "a", "sum(j:" * 5000])
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(NotationSyntaxError, match="expected at most 100 levels of nesting, but got more"):
        parse("y = " + text)


def test_deep_subscripts_are_refused() -> None:
    with pytest.raises(NotationSyntaxError, match="levels of nesting"):
        parse("y = x(" + "(" * 5000 + "i")
    assert parse("y = x(" + "-" * 5000 + "i)") == parse("y = x(i)")


def test_a_chain_of_any_length_is_refused_in_time() -> None:
    for text in ("a(i)*" * 5000 + "2", "-" * 5000 + "a"):
        with pytest.raises(NotationError, match="operations inside one another"):
            parse("y = " + text)


@examples(500)
@given(notation_text())
def test_any_text_parses_or_is_refused_by_name(text: str) -> None:
    refusal: SparseError | None = None
    try:
        parsed = parse(text)
    except (NotationSyntaxError, NotationError, RankError) as error:
        refusal = error
    if refusal is None:
        assert parse(str(parsed)) == parsed
    else:
        assert refusal.message.startswith("expected ")
        assert refusal.source is not None
        assert refusal.span is not None


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("y(i) = maximum(x(i), 0.5)", "y(i) = max(x(i), 0.5)"),
        ("y(i) = minimum(x(i) if i > 2 else 0, absolute(z(i)))", "y(i) = min(where(i > 2, x(i), 0), abs(z(i)))"),
        ("y(i) = arcsin(x[i]) + power(fabs(x(i)), 2)", "y(i) = asin(x(i)) + pow(abs(x(i)), 2)"),
        ("y(i) = x(i) > 0 && z(i) > 1 || !w(i)", "y(i) = x(i) > 0 & z(i) > 1 | !w(i)"),
        ("y(i) = x(i) > 0 ? x(i) : z(i) ? 1 : 2", "y(i) = where(x(i) > 0, x(i), where(z(i), 1, 2))"),
        ("y(i) = x(i) if m(i) else z(i) if not n(i) else 2", "y(i) = where(m(i), x(i), where(!n(i), z(i), 2))"),
        ("y(i) = x(i) if i < 3", "y(i) = select(x(i), i < 3)"),
        ("y(i) = x(i) if not m(i)", "y(i) = x(i) if not m(i)"),
        ("y(i) = sum(j, A(i,j) * x(j))", "y(i) = sum(j : A(i,j) * x(j))"),
        ("a = sum(i, j, A(i,j)) + count(k, x(k) > 0)", "a = sum(i, j : A(i,j)) + count(k : x(k) > 0)"),
        # Tensors with such names stay tensors, as do reductions of two and max of two.
        ("y(i) = maximum(i,j) + power(i) * mod(2*i)", "y(i) = maximum(i,j) + power(i) * mod(2*i)"),
        ("y(i) = max(i, x(i))", "y(i) = max(i, x(i))"),
    ],
)
def test_other_spellings_are_printed_in_ours(text: str, printed: str) -> None:
    found = parse(text)
    assert str(found) == printed
    assert parse(printed) == found


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("y(i) = x(i) ? 1", 16, "expected an operator or `:` and the value where the condition does not hold"),
        ("y(i) = x(i) if i <", 19, "expected a tensor, a number, a function or `(`"),
        ("y(i) = x(i) if m(i) else", 25, "expected a tensor, a number, a function or `(`"),
        ("y(i) = (x(i) if m(i)", 21, "expected an operator or `)`"),
        ("y(i) = sum(j,)", 14, "expected a tensor, a number, a function or `(`"),
    ],
)
def test_conditions_that_break_off(text: str, column: int, message: str) -> None:
    with pytest.raises(NotationSyntaxError) as caught:
        parse(text)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"notation:1:{column}:")


def test_chains_of_conditions_of_any_length_are_refused_in_time() -> None:
    for text in ("y(i) = " + "x(i) if m(i) else " * 5000 + "1", "y(i) = " + "m(i) ? 1 : " * 5000 + "1"):
        with pytest.raises(NotationSyntaxError, match="expected at most 100 levels of nesting"):
            parse(text)
