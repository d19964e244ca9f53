from __future__ import annotations

import re
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlir_sparse.errors import NotationSyntaxError, SyntaxError_
from mlir_sparse.text.lexer import TokenKind, is_name, tokenize
from mlir_sparse.text.source_text import Source


def texts(text: str) -> list[str]:
    return [token.text for token in tokenize(Source(text, "t"))[:-1]]


def test_operators_are_read_longest_first() -> None:
    text = "+=! += + *=! *= ** * =! == = -> - <= < != !"
    assert [piece for piece in text.split(" ") if texts(piece) != [piece]] == []
    assert texts("+=!=") == ["+=!", "="]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("0", TokenKind.INTEGER),
        ("0x1F", TokenKind.INTEGER),
        ("12", TokenKind.INTEGER),
        ("1.", TokenKind.REAL),
        (".5", TokenKind.REAL),
        ("1e-3", TokenKind.REAL),
        ("1.5E+3j", TokenKind.REAL),
        ("2j", TokenKind.REAL),
        ("α_1", TokenKind.NAME),
        ("_", TokenKind.NAME),
        ("#CSR", TokenKind.HASH_NAME),
        ("#sparse_tensor.encoding", TokenKind.HASH_NAME),
        ("?", TokenKind.SYMBOL),
    ],
)
def test_a_token_of_each_kind(text: str, kind: TokenKind) -> None:
    (token, end) = tokenize(Source(text, "t"))
    assert (token.kind, token.text) == (kind, text)
    assert end.kind is TokenKind.END


def test_comments_and_space_separate_tokens() -> None:
    assert texts("a // b = c\n\t d") == ["a", "d"]


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("y = 12ab", 5, "expected a number, but got `12ab`"),
        ("y = 1.5.2", 5, "expected a number, but got `1.5.2`"),
        ("y = 1e", 5, "expected a number, but got `1e`"),
        ("y = 2jj", 5, "expected a number, but got `2jj`"),
        ("y = 0xg", 5, "expected a number, but got `0xg`"),
        ("y = x²", 5, "expected a name of letters, digits and `_`, but got `x²`"),
        ("y = 'a'", 5, 'expected a token, but got "\'"'),
        ("y = ٣", 5, "expected a token, but got '٣'"),
    ],
)
def test_malformed_tokens_are_refused_where_they_stand(text: str, column: int, message: str) -> None:
    with pytest.raises(NotationSyntaxError) as caught:
        tokenize(Source(text, "notation"), NotationSyntaxError)
    assert caught.value.message == message
    assert (caught.value.line, caught.value.column) == (1, column)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        tokens = tokenize(Source(text, "t"))
    except SyntaxError_:
        return
    written = [text[token.span.start : token.span.end] for token in tokens]
    assert [normalize("NFKC", piece) for piece in written] == [token.text for token in tokens]


@given(st.text(max_size=5))
def test_a_name_is_one_token(text: str) -> None:
    if is_name(text):
        assert texts(text) == [normalize("NFKC", text)]


@pytest.mark.parametrize(
    ("text", "way_out"),
    [
        ("y(i) = a(i) \u00d7 b(i)", "write `*`"),
        ("y(i) = a(i) \u2212 b(i)", "write `-`"),
        ("y(i) = \uff12 * a(i)", "write `2`"),
        ("y(i) = a(i)\u200b", "ZERO WIDTH SPACE: delete it"),
        ("\ufeffy(i) = a(i)", "a byte order mark: read files by `encoding='utf-8-sig'`"),
    ],
)
def test_signs_of_editors_and_typesetters_have_a_way_out(text: str, way_out: str) -> None:
    with pytest.raises(SyntaxError_, match=re.escape(way_out)):
        tokenize(Source(text, "notation"))


def test_arrows_of_typesetters_have_a_way_out_in_encodings() -> None:
    with pytest.raises(SyntaxError_, match="write `->`"):
        tokenize(Source("(i, j) \u2192 (i : dense, j : compressed)", "encoding"))
