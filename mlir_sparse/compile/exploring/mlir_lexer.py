"""Tells apart the tokens of MLIR's text, for Pygments, which has no lexer of it."""

from __future__ import annotations

from typing import Any, ClassVar

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

__all__ = ["MlirLexer"]

_SYNTAX = (
    "affine_map|affine_set|attributes|attrs|array|args|args_in|blocks|dense|dense_resource|do|else|false|in|init|ins|"
    "into|iter_args|loc|map|outs|private|public|resource|step|threads|to|true|unit"
)
_SUFFIX = r"[\w$.-]+"


class MlirLexer(RegexLexer):  # type: ignore[misc]  # Pygments has no types
    """A lexer of MLIR in its custom and its generic form."""

    name = "MLIR"
    aliases: ClassVar[list[str]] = ["mlir"]
    filenames: ClassVar[list[str]] = ["*.mlir"]
    tokens: ClassVar[dict[str, list[Any]]] = {
        "root": [
            (r"\s+", Whitespace),
            (r"//[^\n]*", Comment.Single),
            (r'"(?:[^"\\\n]|\\.)*"', String),
            (rf'@(?:{_SUFFIX}|"(?:[^"\\\n]|\\.)*")', Name.Function),
            (rf"%{_SUFFIX}(?:[#:]\d+)*", Name.Variable),
            (rf"\^{_SUFFIX}", Name.Label),
            (rf"#{_SUFFIX}", Name.Constant),
            (rf"!{_SUFFIX}", Keyword.Type),
            (r"[A-Za-z_][\w$]*(?:\.[\w$]+)+", Keyword),
            (r"(?:(?:\?|\*|\d+)x)+(?=[a-z!(<#])", Number.Integer),
            (r"(?:tensor|memref|vector|complex|tuple)(?=<)", Keyword.Type),
            (r"(?:[su]?i\d+|b?f\d+\w*|tf32|index|none)\b", Keyword.Type),
            (r"\b0x[0-9A-Fa-f]+\b", Number.Hex),
            (r"-?\b\d+(?:\.\d*(?:[eE][-+]?\d+)?)?", Number),
            (r"\b(?:module|func|return)\b", Keyword),
            (rf"\b(?:{_SYNTAX})\b", Name.Builtin),
            (r"[A-Za-z_][\w$]*", Name),
            (r"->|[-+*=:/|&?]", Operator),
            (r"[^\w\s]", Punctuation),
        ],
    }
