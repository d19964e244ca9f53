from __future__ import annotations

import pytest

from mlir_sparse.errors import NotationError, NotationSyntaxError
from mlir_sparse.text.cursor import Cursor
from mlir_sparse.text.lexer import TokenKind
from mlir_sparse.text.source_text import Source


def cursor(text: str) -> Cursor:
    return Cursor(Source(text, "t"), NotationSyntaxError)


def test_tokens_are_taken_in_order() -> None:
    reader = cursor("a + b")
    assert reader.peek(1).text == "+"
    assert reader.take().text == "a"
    assert reader.accept("-") is None
    assert reader.expect("+").text == "+"
    assert reader.expect_kind(TokenKind.NAME).text == "b"
    reader.expect_end()
    assert reader.done


def test_the_end_is_never_passed() -> None:
    reader = cursor("a")
    for _ in range(3):
        reader.take()
    assert reader.token.kind is TokenKind.END
    assert not reader.at("")


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda c: c.expect(")"), "t:1:1: expected `)`, but got `a`\n  a b\n  ^"),
        (lambda c: c.expect(")", "a bracket"), "t:1:1: expected a bracket, but got `a`\n  a b\n  ^"),
        (lambda c: c.expect_kind(TokenKind.INTEGER), "t:1:1: expected an integer, but got `a`\n  a b\n  ^"),
        (lambda c: c.expect_end(), "t:1:1: expected the end of the text, but got `a`\n  a b\n  ^"),
    ],
)
def test_what_is_missing_is_named(act: object, message: str) -> None:
    with pytest.raises(NotationSyntaxError) as caught:
        act(cursor("a b"))  # type: ignore[operator]
    assert str(caught.value) == message


def test_a_rule_may_raise_another_error() -> None:
    with pytest.raises(NotationError, match="no meaning"):
        cursor("a").fail("no meaning", error=NotationError)


def test_nesting_has_an_end() -> None:
    reader = cursor("a")
    for _ in range(Cursor.MAX_DEPTH):
        reader.enter()
    with pytest.raises(NotationSyntaxError, match="expected at most 100 levels of nesting, but got more"):
        reader.enter()
