"""A cursor over tokens, which every recursive-descent parser of the package reads from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NoReturn

from mlir_sparse.errors import SparseError, SyntaxError_
from mlir_sparse.text.edits import Edit
from mlir_sparse.text.lexer import Token, TokenKind, tokenize
from mlir_sparse.text.source_text import Source, Span

__all__ = ["Cursor"]


class Cursor:
    """Reads the tokens of one text in order, and raises errors with a caret.

    Args:
        source: the text to read.
        error: the class of every syntax error raised here.
        start: the offset of the first character to read.
        bare_ids: whether names are MLIR's bare identifiers, which may hold `$` and `.`.
        comprehension: whether the text is a Tensor Comprehension, which has other comments and names (see `tokenize`).
    """

    # Deep enough for any formula; shallow enough that Python's own stack never overflows first.
    MAX_DEPTH = 100

    def __init__(
        self,
        source: Source,
        error: type[SyntaxError_],
        start: int = 0,
        bare_ids: bool = False,
        comprehension: bool = False,
    ) -> None:
        self.source = source
        # Names of integers that are known later: the sizes and integer parameters of a comprehension.
        self.symbols: frozenset[str] = frozenset()
        # Names that are certainly tensors: the parameters and outputs of a comprehension.
        self.tensors: frozenset[str] = frozenset()
        # The user's own operators, by the names that the text calls them.
        self.known: Mapping[str, object] = {}
        # Where the text has an older spelling, and what stands there today.
        self.older: list[Edit] = []
        # Texts of attributes by the names that a file gives them: `#map`.
        self.aliases: Mapping[str, str] = {}
        # Takes a subscript of a tensor, by its name, where the grammar of linear sums does not.
        self.subscript: Callable[[Cursor, Token], object] | None = None
        self._error = error
        self._tokens = list(tokenize(source, error, start, bare_ids, comprehension))
        self._at = 0
        self._depth = 0

    @property
    def token(self) -> Token:
        """Returns the next token without taking it."""
        return self._tokens[self._at]

    def peek(self, ahead: int) -> Token:
        """Returns the token `ahead` places after the next one; END beyond the end."""
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    @property
    def done(self) -> bool:
        """Returns whether all tokens are taken."""
        return self.token.kind is TokenKind.END

    @property
    def previous(self) -> Span:
        """Returns the span of the token taken last, for spans that end here."""
        return self._tokens[max(0, self._at - 1)].span

    def take(self) -> Token:
        """Takes the next token, whatever it is."""
        token = self.token
        if token.kind is not TokenKind.END:
            self._at += 1
        return token

    def at(self, *texts: str) -> bool:
        """Returns whether the next token is one of the texts."""
        token = self._tokens[self._at]
        return token.text in texts and token.kind is not TokenKind.END

    def at_alone(self, kind: TokenKind) -> bool:
        """Returns whether the next token is of a kind, and a comma or the end of a list follows it."""
        return self.token.kind is kind and self.peek(1).text in (",", ")", "]")

    def accept(self, *texts: str) -> Token | None:
        """Takes the next token if it is one of the texts."""
        return self.take() if self.at(*texts) else None

    def expect(self, text: str, rule: str | None = None) -> Token:
        """Takes the next token, which must be `text`; `rule` says why in the error."""
        if not self.at(text):
            self.fail(f"expected {rule or f'`{text}`'}, but got {self.token.describe()}")
        return self.take()

    def expect_kind(self, kind: TokenKind, rule: str | None = None) -> Token:
        """Takes the next token, which must be of the kind."""
        if self.token.kind is not kind:
            self.fail(f"expected {rule or kind.value}, but got {self.token.describe()}")
        return self.take()

    def expect_end(self) -> None:
        """Raises unless all tokens are taken."""
        if not self.done:
            self.fail(f"expected the end of the text, but got {self.token.describe()}")

    def enter(self) -> None:
        """Counts one level of nesting; raises past MAX_DEPTH. Pair with `leave`."""
        self._depth += 1
        if self._depth > self.MAX_DEPTH:
            self.fail(f"expected at most {self.MAX_DEPTH} levels of nesting, but got more")

    def rename_calls(self, names: Mapping[str, str]) -> None:
        """Renames functions from here on: a name before `(` is read as `names` says."""
        for at in range(self._at, len(self._tokens) - 1):
            token = self._tokens[at]
            if token.text in names and self._tokens[at + 1].text == "(":
                self._tokens[at] = replace(token, text=names[token.text])

    def leave(self) -> None:
        """Ends one level of nesting."""
        self._depth -= 1

    def fail(self, message: str, span: Span | None = None, error: type[SparseError] | None = None) -> NoReturn:
        """Raises with a caret at the span, or at the next token."""
        raise (error or self._error)(message, source=self.source, span=span or self.token.span)
