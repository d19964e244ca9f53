"""A file of MLIR as tokens, each with its place: any text has them, whether it parses or not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from mlir_sparse.text.source_text import Source, Span

__all__ = ["MlirKind", "MlirText", "MlirToken", "UnreadableError"]


class MlirKind(Enum):
    """The kinds of token."""

    NAME = "NAME"
    SIGIL = "SIGIL"  # %value, @symbol, ^block, !type, #attribute
    NUMBER = "NUMBER"
    STRING = "STRING"
    SYMBOL = "SYMBOL"


class MlirToken(NamedTuple):
    """A token and its place."""

    kind: MlirKind
    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        """Returns its place."""
        return Span(self.start, self.end)


class UnreadableError(ValueError):
    """Text that is no operation, type or attribute of the form that is looked for."""


_TOKEN = re.compile(
    r"""
    (?P<SPACE>[ \t\r\n]+|//[^\r\n]*)
  | (?P<NAME>[A-Za-z_][\w$.]*)
  | (?P<SIGIL>[%^!\#](?:[0-9]+|[A-Za-z$._-][\w$.-]*)|@(?:[A-Za-z_][\w$.]*|"(?:[^"\\\r\n]|\\.)*"))
  | (?P<NUMBER>[0-9]+(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?)?)
  | (?P<STRING>"(?:[^"\\\r\n]|\\.)*")
  | (?P<SYMBOL>->|::|>=|<=|.)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_OPENING = {closing: opening for opening, closing in _CLOSING.items()}


class MlirText:
    """The tokens of a file, without comments.

    >>> [token.text for token in MlirText('%0 = "a.b"(%x) : () -> f64 // no', "x").tokens]
    ['%0', '=', '"a.b"', '(', '%x', ')', ':', '(', ')', '->', 'f64']
    """

    def __init__(self, text: str, name: str) -> None:
        self.source = Source(text, name)
        self.tokens = tuple(_tokens(text))
        self._closings = self._matched()

    def word(self, at: int) -> str:
        """Returns the text of a token; nothing beyond the ends."""
        return self.tokens[at].text if 0 <= at < len(self.tokens) else ""

    def between(self, first: int, stop: int) -> str:
        """Returns the text from one token up to, not including, another."""
        return self.source.text[self.tokens[first].start : self.tokens[stop - 1].end]

    def span(self, first: int, stop: int) -> Span:
        """Returns the place from one token up to, not including, another."""
        return Span(self.tokens[first].start, self.tokens[stop - 1].end)

    def _matched(self) -> dict[int, int]:
        found: dict[int, int] = {}
        opened: list[int] = []
        for at, token in enumerate(self.tokens):
            if token.kind is not MlirKind.SYMBOL:
                continue
            if token.text in _CLOSING:
                opened.append(at)
            elif token.text in _OPENING:
                wanted = _OPENING[token.text]
                while opened and self.word(opened[-1]) != wanted:
                    opened.pop()
                if opened:
                    found[opened.pop()] = at
        return found

    def after_bracket(self, at: int) -> int:
        """Returns the token behind the bracket that closes the one at a token.

        Raises:
            UnreadableError: if nothing closes it, or no bracket is there.
        """
        if at not in self._closings:
            raise UnreadableError(f"expected a bracket that is closed, but got `{self.word(at)}`")
        return self._closings[at] + 1

    def after_type(self, at: int) -> int:
        """Returns the token behind a type.

        Raises:
            UnreadableError: if no type is there.
        """
        if self.word(at) == "(":
            stop = self.after_bracket(at)
            return self.after_type(stop + 1) if self.word(stop) == "->" else stop
        if at >= len(self.tokens) or self.tokens[at].kind not in (MlirKind.NAME, MlirKind.SIGIL):
            raise UnreadableError(f"expected a type, but got `{self.word(at)}`")
        return self.after_bracket(at + 1) if self.word(at + 1) == "<" else at + 1

    def expect(self, at: int, word: str) -> int:
        """Returns the token behind a word that must be there.

        Raises:
            UnreadableError: if it is not.
        """
        if self.word(at) != word:
            raise UnreadableError(f"expected `{word}`, but got `{self.word(at)}`")
        return at + 1


def _tokens(text: str) -> Iterator[MlirToken]:
    kinds = {kind.value: kind for kind in MlirKind}
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup
        if kind != "SPACE" and kind is not None:
            yield MlirToken(kinds[kind], found[0], found.start(), found.end())
