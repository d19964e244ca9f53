"""Ours against MLIR's parser and verifier: the same texts taken, the same refused, for the same reason."""

from __future__ import annotations

import pytest

from dialect_tests.encoding import mlir_reference as mlir
from dialect_tests.encoding.conformance import FOREIGN, REFUSED, REFUSED_FIELDS, VALID, WRONG, attribute
from mlir_sparse._mlir.provider import bindings_name
from mlir_sparse.encoding import TensorType, encoding
from mlir_sparse.encoding.encoding_parser import parse_encoding
from mlir_sparse.errors import EncodingError, EncodingSyntaxError, SyntaxError_, UnsupportedError

# What MLIR and we call by different words: MLIR names only the token it wanted.
_OWN_WORDS = ("expected ':'", "expected '->'", "expected affine expression", "constant too large for index")
# What LLVM 22 and before take, and later releases refuse: singleton levels have to follow.
_LATER = (
    "(i, j) -> (i : compressed(nonunique), j : dense)",
    "(i, j, k) -> (i : compressed, j : singleton(nonunique), k : dense)",
)


def _said(ours: str, theirs: str) -> bool:
    # MLIR reads a width as unsigned before it complains.
    return theirs.rstrip(".").replace("4294967288", "-8") in ours


@pytest.mark.parametrize("text", VALID)
def test_what_mlir_takes_prints_as_mlir_prints_it(text: str) -> None:
    assert str(parse_encoding(text)) == mlir.reprint(text)


@pytest.mark.parametrize("text", VALID)
def test_what_prints_parses_back(text: str) -> None:
    parsed = parse_encoding(text)
    assert parse_encoding(str(parsed)) == parsed
    assert parse_encoding(parsed.to_text()) == parsed
    assert parse_encoding(parsed.to_text()).dim_names == parsed.dim_names


@pytest.mark.parametrize("text", VALID)
def test_what_mlir_takes_is_native_but_for_symbols(text: str) -> None:
    parsed = parse_encoding(text)
    assert parsed.is_native is not bool(parsed.symbol_names)


@pytest.mark.parametrize(("text", "level", "lacks"), FOREIGN)
def test_what_mlir_has_no_word_for_is_read_and_kept_from_it(text: str, level: int, lacks: str) -> None:
    theirs = mlir.complaint(attribute(f"map = {text}"))
    assert theirs is not None
    parsed = parse_encoding(text)
    for printed in (str(parsed), parsed.to_text(), parsed.map_text()):
        assert parse_encoding(printed) == parsed
    assert parse_encoding(parsed.to_text()).dim_names == parsed.dim_names
    assert str(parse_encoding(str(parsed))) == str(parse_encoding(parsed.to_text())) == str(parsed)
    assert parsed.foreign_reason is not None
    assert parsed.foreign_reason.startswith(f"level {level} (")
    assert lacks in parsed.foreign_reason
    assert f"not in the dialect: level {level} (" in parsed.describe()
    with pytest.raises(UnsupportedError) as caught:
        parsed.mlir_text()
    assert caught.value.message == f"expected an encoding that the dialect can say, but got {parsed.foreign_reason}"
    with pytest.raises(UnsupportedError):
        TensorType.parse(f"f64[{','.join('?' * parsed.dim_rank)}] {text}").mlir_text()


@pytest.mark.parametrize(("text", "place", "message"), WRONG)
def test_what_no_tensor_can_have_is_refused_at_the_place(text: str, place: str, message: str) -> None:
    with pytest.raises((EncodingError, EncodingSyntaxError)) as caught:
        parse_encoding(text)
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (1, text.rindex(place) + 1)
    assert "^" in str(caught.value)


@pytest.mark.parametrize(("text", "place"), REFUSED)
def test_what_mlir_refuses_is_refused_in_its_words_at_the_place(text: str, place: str) -> None:
    theirs = mlir.complaint(attribute(f"map = {text}"))
    assert theirs is not None or (text in _LATER and bindings_name() != "torch_mlir")
    with pytest.raises((EncodingError, EncodingSyntaxError)) as caught:
        parse_encoding(text)
    assert theirs in (None, *_OWN_WORDS, mlir.ASSERTION) or _said(caught.value.message, theirs)
    assert (caught.value.line, caught.value.column) == (1, text.rindex(place) + 1)


@pytest.mark.parametrize(("field", "place"), REFUSED_FIELDS)
def test_fields_that_mlir_refuses(field: str, place: str) -> None:
    text = attribute(f"map = (i) -> (i : dense), {field}")
    theirs = mlir.complaint(text)
    assert theirs is not None
    with pytest.raises((EncodingError, EncodingSyntaxError)) as caught:
        parse_encoding(text)
    assert _said(caught.value.message, theirs)
    assert caught.value.column == text.index(place, text.index(field)) + 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(i, j) -> (i : dense, j floordiv 4 : dense, j mod 4 : block2_4)", "structured[2, 4]"),
        ("(i, j) -> (i : dense, j : compressed(nonunique, high))", "loose_compressed(nonunique)"),
        ("(i, j) -> (i : dense, j : compressed(high))", "loose_compressed"),
        ("(i, j) -> (i : dense, j : loose_compressed(high))", "loose_compressed"),
    ],
)
def test_older_spellings_print_in_the_current_one(old: str, new: str) -> None:
    printed = str(parse_encoding(old))
    assert f" : {new})" in printed
    assert mlir.reprint(printed) == printed


# MLIR 24 crashes on the first two, takes the next two and goes wrong after, and refuses the right inverse in the last.
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#sparse_tensor.encoding<{}>", "expected a non-empty array for lvlTypes"),
        ("() -> ()", "expected a non-empty array for lvlTypes"),
        ("(i, j) -> (j floordiv 2 : dense, j mod 2 : dense)", "failed to infer lvlToDim from dimToLvl"),
        (
            "{a, b, c}(i = b, j = a * 2 + c) -> (a = i floordiv 2 : dense, b = j : dense, c = i mod 2 : dense)",
            "expected lvlToDim to be an inverse of dimToLvl",
        ),
    ],
)
def test_refused_although_mlir_does_not_refuse_it(text: str, message: str) -> None:
    with pytest.raises(EncodingError, match=message):
        parse_encoding(text)


def test_the_right_inverse_of_row_blocks_is_taken() -> None:
    text = "{a, b, c}(i = a * 2 + c, j = b) -> (a = i floordiv 2 : dense, b = j : dense, c = i mod 2 : dense)"
    assert str(parse_encoding(text).lvl_to_dim) == "(d0, d1, d2) -> (d0 * 2 + d2, d1)"


@pytest.mark.parametrize(
    ("dtype", "field"),
    [
        ("f32", "explicitVal = 1 : i32"),
        ("i32", "explicitVal = 1 : i32, implicitVal = 0.0 : f32"),
        ("c64", "explicitVal = 1.0 : f32"),
    ],
)
def test_values_of_another_element_type(dtype: str, field: str) -> None:
    text = f"{dtype}[?] {attribute(f'map = (i) -> (i : compressed), {field}')}"
    whole = encoding(text[text.index("#") :])
    element = {"c64": "complex<f32>"}.get(dtype, dtype)
    theirs = mlir.type_complaint(f"tensor<?x{element}, {whole}>")
    assert theirs is not None
    with pytest.raises(EncodingError) as caught:
        TensorType.parse(text)
    assert theirs in caught.value.message


@pytest.mark.parametrize("value", ["1 : i32", "1.0 : f32", "#complex.number<:f32 1.0, 0.0>"])
def test_implicit_values_other_than_zero(value: str) -> None:
    text = attribute(f"map = (i) -> (i : compressed), implicitVal = {value}")
    element = value.split()[-1] if "complex" not in value else "complex<f32>"
    assert mlir.type_complaint(f"tensor<?x{element}, {text}>") == "implicit value must be zero"
    with pytest.raises(EncodingError, match="implicit value must be zero") as caught:
        parse_encoding(text)
    assert caught.value.column == text.index(value) + 1


def test_an_alias_definition() -> None:
    text = "#CSR = #sparse_tensor.encoding<{\n  map = (i, j) -> (i : dense, j : compressed)  // rows\n}>"
    assert parse_encoding(text) == encoding("CSR")


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("#CSR", (1, 1), "undefined symbol alias id `#CSR`"),
        ("#CSR = (i) -> (i : dense)", (1, 8), "expected an encoding"),
        ("#CSR = CSR", (1, 8), "expected an encoding"),
        ("(i) -> (i : dense) x", (1, 20), "expected the end of the text, but got `x`"),
        ("#sparse_tensor.encoding<{ map = (i)\n -> (i : dense)", (2, 16), "expected `}`, but got the end of the text"),
        ("#sparse_tensor.encoding<{ map = (i) -> (i : dense) posWidth = 8 }>", (1, 52), "expected `}`"),
        ("#sparse_tensor.encoding<{ map = (i) -> (i : dense), map = (i) -> (i : dense) }>", (1, 53), "a second"),
        ("#sparse_tensor.encoding<{ explicitVal = x }>", (1, 41), "expected a numeric value for explicitVal"),
        ("(i) -> (i : structured[256, 256])", (1, 13), "expected structured sizes of 0 to 255"),
        ("(i) -> (i : dense", (1, 18), "expected `,` or `)` in level-specifier list"),
        ("(i) -> (i dense)", (1, 11), "expected `:` and a level format, but got `dense`"),
    ],
)
def test_syntax_errors_have_a_place(text: str, place: tuple[int, int], message: str) -> None:
    with pytest.raises((SyntaxError_, EncodingError)) as caught:
        parse_encoding(text)
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == place
    assert "^" in str(caught.value)
