"""Characters to tokens, for both grammars: index notation and encodings."""

from __future__ import annotations

import re
import unicodedata
from enum import Enum
from functools import cache

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import SyntaxError_
from mlir_sparse.text.identifiers import normal_name
from mlir_sparse.text.shortened import shortened
from mlir_sparse.text.source_text import Source, Span

__all__ = ["Token", "TokenKind", "is_name", "tokenize"]


class TokenKind(Enum):
    """The kinds of token; each value is how an error names one."""

    NAME = "a name"
    INTEGER = "an integer"
    REAL = "a number"
    HASH_NAME = "an alias"
    STRING = "a string"
    SYMBOL = "a symbol"
    END = "the end of the text"


_KINDS = {kind.name: kind for kind in TokenKind}


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number or sign of a text, and its place."""

    kind: TokenKind
    text: str
    span: Span

    def describe(self) -> str:
        """Returns the token as an error shows it.

        >>> Token(TokenKind.NAME, "x", Span(0, 1)).describe()
        '`x`'
        """
        return self.kind.value if self.kind is TokenKind.END else f"`{shortened(self.text)}`"


# Longest first: `+=!` before `+=` before `+`. A complex literal ends in `j`, as in Python (`2j`, `1.5e3j`).
# Digits match possessively, so that `12ab` is one malformed number and not `1` followed by `2ab`.
_TOKEN = r"""
    (?P<SPACE>\s+|//[^\r\n]*%s)%s
  | (?P<REAL>(?:(?:[0-9]++\.[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+j?
      |[0-9]++(?:[eE][+-]?[0-9]++j?|j))(?![\w.]))
  | (?P<INTEGER>(?:0[xX][0-9a-fA-F]++|[0-9]++)(?![\w.]))
  | (?P<MALFORMED>[0-9][\w.]*)
  | (?P<HASH_NAME>\#[A-Za-z_][A-Za-z_0-9$.]*)
  | (?P<NAME>%s)
  | (?P<SYMBOL>\+=!|\*=!|\+=|\*=|=!|->|<=|>=|==|!=|\*\*|&&|\|\||[-+*/%%()\[\]{}<>=,:;?!|&])
"""
# `\w` has no accents that follow their letter, as some systems write them: Latin, Greek, Cyrillic, kana.
_ACCENTS = r"\u0300-\u036f\u3099\u309a"
_NAME = rf"[^\W\d][\w{_ACCENTS}]*"
# Level types were strings once.
_STRING = r"""
  | (?P<STRING>"[^"\n]*")"""
# What stands for comments, strings and names, by grammar.
_PLAIN = "", "", _NAME
_BARE_IDS = "", _STRING, rf"[^\W\d][\w{_ACCENTS}$.]*"
_COMPREHENSION = r"|\#[^\n]*", "", _NAME

# What signs of other languages are in index notation.
_INSTEAD = {
    "^": ": write `**` for powers, `!=` for exclusive or",
    "#": ": comments begin with `//`",
    "~": ": write `!`",
}
# Signs that editors and typesetters put in place of those of both grammars.
_TYPOGRAPHIC = {
    "\u2212": "-",
    "\u2013": "-",
    "\u00d7": "*",
    "\u00b7": "*",
    "\u22c5": "*",
    "\u00f7": "/",
    "\u2192": "->",
}


@cache
def _pattern(grammar: tuple[str, str, str]) -> re.Pattern[str]:
    """Compiles the tokens of a grammar, when a text of it is first read: each takes a millisecond."""
    return re.compile(_TOKEN % grammar, re.VERBOSE)


_pattern(_PLAIN)  # while the package is loaded, so that the first kernel does not wait for it


def is_name(text: str) -> bool:
    """Returns whether a text is one whole NAME token.

    >>> is_name("x_1"), is_name("x y"), is_name("2x")
    (True, False, False)
    """
    if text.isascii():
        return text.isidentifier()
    match = _pattern(_PLAIN).fullmatch(text)
    return match is not None and match.lastgroup == "NAME" and _is_identifier(text)


def tokenize(
    source: Source,
    error: type[SyntaxError_] = SyntaxError_,
    start: int = 0,
    bare_ids: bool = False,
    comprehension: bool = False,
) -> tuple[Token, ...]:
    """Splits a text into tokens and an END token; `//` starts a comment.

    Args:
        source: the text.
        error: the class to raise, which says whose grammar it is.
        start: the offset of the first character to read.
        bare_ids: whether names are MLIR's bare identifiers, which may hold `$` and `.`.
        comprehension: whether the text is a Tensor Comprehension: `#` starts a comment, and the name after `def`
            may begin with a digit (`2LUT`).

    Raises:
        SyntaxError_: (as `error`) at a character that starts no token, and at a malformed number.

    >>> [token.text for token in tokenize(Source("y(i) += 2.5", "notation"))]
    ['y', '(', 'i', ')', '+=', '2.5', '']
    """
    tokens: list[Token] = []
    pattern = _pattern(_BARE_IDS if bare_ids else _COMPREHENSION if comprehension else _PLAIN)
    offset, text = start, source.text
    while offset < len(text):
        match = pattern.match(text, offset)
        if match is None:
            span = Span(offset, offset + 1)
            way_out = _way_out(text[offset], source)
            raise error(f"expected a token, but got {text[offset]!r}{way_out}", source=source, span=span)
        kind = match.lastgroup
        if comprehension and kind == "MALFORMED" and [token.text for token in tokens] == ["def"]:
            kind = "NAME"
        else:
            _refuse_malformed(match, source, error)
        if kind is not None and kind != "SPACE":
            tokens.append(Token(_KINDS[kind], normal_name(match[0]), Span(offset, match.end())))
        offset = match.end()
    tokens.append(Token(TokenKind.END, "", Span(len(text), len(text))))
    return tuple(tokens)


def _way_out(sign: str, source: Source) -> str:
    if sign.isascii():
        return _INSTEAD.get(sign, "") if source.name == "notation" else ""
    if sign == "\ufeff":
        return ", a byte order mark: read files by `encoding='utf-8-sig'`"
    if not sign.isprintable():
        return f", {unicodedata.name(sign, 'a character that cannot be seen')}: delete it"
    plain = _TYPOGRAPHIC.get(sign, unicodedata.normalize("NFKC", sign))
    return f": write `{plain}`" if plain.isascii() and plain.strip() else ""


def _refuse_malformed(match: re.Match[str], source: Source, error: type[SyntaxError_]) -> None:
    text = match[0]
    if match.lastgroup == "MALFORMED":
        raise error(f"expected a number, but got `{text}`", source=source, span=Span(*match.span()))
    if match.lastgroup == "NAME" and not _is_identifier(text):
        rule = "expected a name of letters, digits and `_`"
        raise error(f"{rule}, but got `{text}`", source=source, span=Span(*match.span()))


def _is_identifier(text: str) -> bool:
    # `\w` has more than letters and digits (the superscript of `x²`): Python's own notion of a name decides.
    return text.isidentifier() or text.replace("$", "_").replace(".", "_").isidentifier()
