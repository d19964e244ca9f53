from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mlir_sparse.text.source_text import Source, Span


def test_lines_and_columns_count_from_one() -> None:
    source = Source("a\nbc\n", "t")
    assert [source.line_column(offset) for offset in range(6)] == [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 1)]


def test_the_caret_spans_what_is_wrong() -> None:
    assert Source("one\ntwo three\nfour", "t").caret(Span(8, 13)) == "  two three\n      ^^^^^"


def test_the_caret_stays_on_its_line() -> None:
    assert Source("ab\ncd", "t").caret(Span(1, 5)) == "  ab\n   ^"


def test_the_caret_stays_below_its_character_after_tabs() -> None:
    assert Source("\ta\tb", "t").caret(Span(3, 4)) == "  \ta\tb\n  \t \t^"


def test_the_caret_of_an_empty_text() -> None:
    assert Source("", "t").caret(Span(0, 0)) == "  \n  ^"


def test_a_long_line_is_cut_around_the_caret() -> None:
    shown, marked = Source("a + " * 1000 + "?" + " + b" * 1000, "t").caret(Span(4000, 4001)).splitlines()
    assert len(shown) < 140
    assert shown.startswith("  ...")
    assert shown.endswith("...")
    assert shown[marked.index("^")] == "?"


@given(st.text(), st.integers(0, 50), st.integers(0, 50))
def test_carets_point_into_the_shown_line(text: str, start: int, length: int) -> None:
    start = min(start, len(text))
    shown, marked = Source(text, "t").caret(Span(start, min(start + length, len(text)))).split("\n")
    assert "^" in marked
    assert marked.index("^") <= len(shown)
