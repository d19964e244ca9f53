"""The text of comprehensions and of ranges: what it means, how it prints, and what is said about mistakes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlir_sparse.errors import NotationError, NotationSyntaxError, RankError, SparseError, UnknownTensorError
from mlir_sparse.notation import (
    AffineSubscript,
    IndexVar,
    Range,
    bind,
    indices,
    is_comprehension,
    parse,
    parse_comprehension,
    tensors,
)

MV = "def mv(float(M,K) A, float(K) x) -> (C) { C(i) +=! A(i,k) * x(k) }"


def test_a_comprehension_is_a_value() -> None:
    mv = parse_comprehension(MV)
    assert mv == parse_comprehension(MV.replace(" ", "  ").replace("{", "{ // begins\n # and goes on\n"))
    assert (mv.name, mv.inputs, mv.results, mv.sizes) == ("mv", ("A", "x"), ("C",), ("M", "K"))
    assert [parameter.dtype for parameter in mv.parameters] == ["f32", "f32"]
    assert mv.statements[0] == parse("C(i) +=! A(i,k) * x(k)")
    assert hash(mv) == hash(parse_comprehension(str(mv)))


def test_a_comprehension_prints_as_it_is_read() -> None:
    text = (
        "def 2f(half(3,N) A, int32 s, double(N) x) -> (float(N) y, t) {\n"
        "  y(i) = A(0,N - i - 1) * N + x(s*i + 1) where i in 0:N - 2, exists x(i + 2)\n"
        "  t max=! y(i)\n"
        "}"
    )
    assert str(parse_comprehension(text)) == text


def test_outputs_that_are_read_first_are_operands() -> None:
    sgemm = parse_comprehension("def f(float b, float(N) A) -> (C, D) { C(i) = b*C(i); D(i) = A(i); D(i) += C(i) }")
    assert (sgemm.updated, sgemm.inputs) == (("C",), ("b", "A", "C"))


@pytest.mark.parametrize(
    ("name", "ours"), [("fmaxf", "fmax"), ("fmin", "fmin"), ("fabsf", "abs"), ("expf", "exp"), ("powf", "pow")]
)
def test_the_functions_of_c_have_its_names(name: str, ours: str) -> None:
    arguments = "x(i), x(i)" if ours in ("fmax", "fmin", "pow") else "x(i)"
    read = parse_comprehension(f"def f(float(N) x) -> (y) {{ y(i) = {name}({arguments}) }}")
    assert read.statements[0] == parse(f"y(i) = {ours}({arguments})")


def test_every_element_type_of_the_paper_is_known() -> None:
    names = ["half", "float", "double", "int", "int8", "int16", "int32", "int64", "bool"]
    dtypes = ["f16", "f32", "f64", "i32", "i8", "i16", "i32", "i64", "bool"]
    parameters = ", ".join(f"{name}(N) a{number}" for number, name in enumerate(names))
    read = parse_comprehension(f"def f({parameters}) -> (y) {{ y(i) = a0(i) }}")
    assert [parameter.dtype for parameter in read.parameters] == dtypes


def test_sizes_and_parameters_are_numbers_in_subscripts() -> None:
    read = parse_comprehension("def f(int s, float(N) x) -> (y) { y(i) = x(2*s*i + N - 3*(N - 1)) where i in 0:s }")
    (access,) = (node for node in read.statements[0].value.subscripts)  # type: ignore[union-attr]
    assert isinstance(access, AffineSubscript)
    assert access.symbolic == ((2, ("s",), IndexVar("i")), (-2, ("N",), None))
    assert str(bind(access, {"s": 3, "N": 5})) == "6*i - 7"
    assert read.statements[0].ranges[0].high.symbolic == ((1, ("s",), None),)


def test_a_statement_has_ranges() -> None:
    read = parse("y(i) = x(2*i + k) where k in -1:(3 - 1)*2, exists z(i)")
    bounds = AffineSubscript((), -1), AffineSubscript((), 4)
    assert read.ranges == (Range(IndexVar("k"), *bounds),)
    assert read.inputs == ("x", "z")
    assert str(read) == "y(i) = x(2*i + k) where k in -1:4, exists z(i)"
    assert parse(str(read)) == read
    assert parse("y(i) = where(x(i) > 0, x(i), exists(i)) where i in 0:2").ranges


def test_python_builds_ranges() -> None:
    (i, k), (x, y) = indices("i k"), tensors("x y")
    built = y.assign(i, x[2 * i + k], "max=!", ranges={k: range(2), i: (0, 3)})
    assert built == parse("y(i) max=! x(2*i + k) where k in 0:2, i in 0:3")
    for wrong in ({k: range(0, 4, 2)}, {2 * k: (0, 1)}, {k: (0, 1.5)}, {k: (1,)}):
        with pytest.raises(NotationError, match="expected a"):
            y.assign(i, x[2 * i + k], ranges=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("y(i) = x(i) where", "", "expected an index variable and its range, as in `k in 0:2`, or `exists A(i)`, but"),
        ("y(i) = x(i) where i 0:2", "0", "expected `in` and the range of `i`, as in `i in 0:2`, but got `0`"),
        ("y(i) = x(i) where i in 0", "", "expected `:` and the end of the range of `i`, but got the end of the text"),
        ("y(i) = x(i) where i in 0:N", "N", "expected an integer in the range of `i`, but got `N`; only a compreh"),
        ("y(i) = x(i) where i in 0:z(1)*2", "*2", "expected an operator or the end of the text, but got `*`"),
        ("y(i) = x(i) where k in 0:z(1)", "k in", "expected a range of an index variable of the statement, but got `k"),
        ("y(i) = x(i) where i in 0:9999999999999999999", "99", "expected an integer of 64 bits, but got"),
        ("y(i) = x(i) where i in 3:2", "i in 3", "expected a range of `i` that ends at or after its start, but got 3"),
        ("y(i) = x(i) where k in 0:2", "k in", "expected a range of an index variable of the statement, but got `k in"),
        (
            "y(i) = x(i) where i in 0:2, i in 0:2",
            "i in 0:2$",
            "expected one range for `i`, but got another: `i in 0:2`",
        ),
        ("y(i) = x(i) where exists z(i, k)", "k", "expected index variables of the statement in `exists z(i,k)`, but"),
    ],
)
def test_mistakes_in_ranges_have_a_place(text: str, place: str, message: str) -> None:
    _check_mistake(text, place, message, parse)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("def f(float(M) x -> (y) { }", "->", "expected `,` or `)` after a parameter, but got `->`"),
        ("def f(float(M) x) (y) { }", "(y)", "expected `->` and the outputs, as in `-> (C)`, but got `(`"),
        ("def f(uint7(M) x) -> (y) { }", "uint7", "expected one of the element types half float double bool int "),
        ("def f(float(M,) x) -> (y) { }", ") x", "expected a size, by name or number, but got `)`"),
        ("def f(float(M)) -> (y) { }", ") ->", "expected the name of a tensor after its type, but got `)`"),
        ("def f() -> () { }", ") {", "expected an element type and a name, as in `float(M,K) A`, but got `)`"),
        ("def f(float(M) x) -> (y) y(i) = x(i)", "y(i)", "expected `{` and the statements, but got `y`"),
        ("def f(float(M) x) -> (y) {\n y(i) = x(i)", "", "expected a statement or `}`, but got the end of the text"),
        ("def f(float(M) x) -> (y) { y(i) = x(i) 2 }", "2 }", "expected a target such as `y(i)`, but got `2`"),
        (
            "def f(float(M) x) -> (y) { y(i) = x(i) } def",
            "def$",
            "expected the end of the text, but got `def`; put each",
        ),
        ("def f(float(M) x, int x) -> (y) { y(i) = x(i) }", "int x", "expected `x` once, but got it again"),
        ("def f(float(M) M) -> (y) { y(i) = M(i) }", "float(M) M", "expected `M` to name a tensor or a size, but got"),
        ("def f(float(M) x) -> (y) { y(i) = z(i) }", "z(i)", "expected a parameter, an output or a tensor that a stat"),
        ("def f(float(M) x) -> (y) { y(i) = t(i) t(i) = x(i) }", "t(i) t", "expected a parameter, an output or a ten"),
        (
            "def f(float(M) x) -> (y) { x(i) = 2*x(i) y(i) = x(i) }",
            "x(i) =",
            "expected an output or a new tensor to as",
        ),
        ("def f(float(M) x) -> (y, z) { y(i) = x(i) }", "z)", "expected a statement that assigns `z`, but got none"),
        (
            "def f(float(M) x) -> (y) { y(i,j) = x(i,j) }",
            "x(i,j)",
            "expected 1 subscript on `x`, as in `float(M) x`, bu",
        ),
        ("def f(float(M) x) -> (y) { y(i) = x(i) y = x(i) }", "y = ", "expected 1 subscript on `y`, as in `y(i)`, but"),
        ("def f(float(M) x) -> (y) { y(x) = x(x) }", "x(x)", "expected `x` to name a tensor or an index variable, bu"),
        ("def f(float(M) x) -> (y) { y(t) = x(t) t(i) = x(i) }", "t) =", "expected `t` to name a tensor or an index v"),
        ("def f(float(M) x) -> (y) { y(x(i)) = x(i) }", "x(i)) =", "expected sums of index variables in the target"),
        ("def f(float(M) x) -> (y) { y(i) = M(i) }", "M(i)", "expected `M` to name a size, but got it with subscripts"),
        ("def f(float(M) x) -> (y) { M = x(i) y = M }", "M = ", "expected a tensor to assign to, but got the size `M`"),
        (
            "def f(float(M) x) -> (int(M) x) { x(i) = x(i) }",
            "int(M) x",
            "expected one type for `x`, but got `float(M) x` and `int32(M) x`",
        ),
        # The causality of updates in place: no element is read after it may have been overwritten at another place.
        ("def f(float(N,N) A) -> (A) { A(i,j) = A(j,i) }", "A(j,i)", "expected the target to be read as `A(i,j)`, but"),
        ("def f(float(N) x) -> (y) { y(i) = x(i) y(i) += y(i + 1) }", "y(i + 1)", "expected the target to be read as"),
    ],
)
def test_mistakes_in_comprehensions_have_a_place(text: str, place: str, message: str) -> None:
    _check_mistake(text, place, message, parse_comprehension)


def _check_mistake(text: str, place: str, message: str, read: object) -> None:
    with pytest.raises((NotationSyntaxError, NotationError, RankError, UnknownTensorError)) as caught:
        read(text)  # type: ignore[operator]
    assert caught.value.message.startswith(message), caught.value.message
    at = text.rindex(place.removesuffix("$")) if place.endswith("$") else text.index(place) if place else len(text)
    assert caught.value.span is not None
    assert caught.value.span.start == at, str(caught.value)


_TOKENS = (
    "def mv f x y A ( ) -> { } , ; : + - * / = += +=! max= =! where in exists if not 0 1 2.5 9999999999999999999999 "
    "float int float(N) (N) (i) (i,j) A(i,k) x(k) y(i) N i # // \n ' 2LUT max sum sum(j :"
)
_PIECES = st.sampled_from(_TOKENS.split(" "))


@given(st.lists(_PIECES, max_size=30).map(" ".join), st.sampled_from(["", "def ", MV[:-1], MV[:40]]))
def test_any_text_is_read_or_refused(text: str, before: str) -> None:
    for whole in (before + text, text):
        try:
            read = parse_comprehension(whole)
        except SparseError:
            continue
        assert parse_comprehension(str(read)) == read


@given(st.text())
def test_any_characters_are_read_or_refused(text: str) -> None:
    for whole in (text, f"def {text}", MV + text, MV.replace("A(i,k)", text), f"y(i) = x(i) where {text}"):
        try:
            read = parse_comprehension(whole) if is_comprehension(whole) else parse(whole)
        except SparseError:
            continue
        assert (parse_comprehension if is_comprehension(whole) else parse)(str(read)) == read  # type: ignore[operator]


@pytest.mark.parametrize("name", ["L2", "sine", "logs"])
def test_a_table_may_be_called_almost_as_a_function(name: str) -> None:
    text = f"def lut(float(B,R) {name}, int(N,M) I) -> (O) {{ O(i,j) +=! {name}(I(i,k),j) }}"
    (statement,) = parse_comprehension(text).statements
    assert statement.inputs == (name, "I")
