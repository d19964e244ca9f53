"""Code as HTML, a line at a time: Pygments tells its tokens apart."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from html import escape
from typing import Any

from mlir_sparse.compile.exploring.passes_value import Language
from mlir_sparse.errors import MissingPackageError

try:
    from pygments.lexers import LlvmLexer, ObjdumpLexer, PtxLexer
    from pygments.token import Comment, Keyword, Name, Number, String

    from mlir_sparse.compile.exploring.mlir_lexer import MlirLexer
except ImportError as error:
    raise MissingPackageError(
        f"expected Pygments, which colours the code of a page, but got: {error}: pip install Pygments, "
        "or print the passes as text"
    ) from error

__all__ = ["highlighted"]

_OPTIONS = {"stripnl": False, "ensurenl": False}
_LEXERS = {
    Language.MLIR: MlirLexer(**_OPTIONS),
    Language.LLVM: LlvmLexer(**_OPTIONS),
    Language.ASSEMBLY: ObjdumpLexer(**_OPTIONS),
    Language.PTX: PtxLexer(**_OPTIONS),
}
# The class of what a token is, the first that it is in. Classes have one letter: a page has 100,000 of them.
_CLASSES = (
    (Comment, "c"),
    (String, "s"),
    (Number, "n"),
    (Keyword.Type, "t"),
    (Keyword, "k"),
    (Name.Function, "f"),
    (Name.Label, "b"),
    (Name.Constant, "h"),
)


@lru_cache(maxsize=1 << 14)  # most lines stand in most stages
def highlighted(line: str, language: Language) -> str:
    """Returns a line of code as HTML.

    >>> highlighted("%0 = arith.addf %a, %b : f64 // <&>", Language.MLIR)
    '%0 = <i class=k>arith.addf</i> %a, %b : <i class=t>f64</i> <i class=c>// &lt;&amp;&gt;</i>'
    """
    return "".join(_marked(line, language))


def _marked(line: str, language: Language) -> Iterator[str]:
    for kind, text in _LEXERS[language].get_tokens(line):
        shown, name = escape(text, quote=False), _class_of(kind)
        yield f"<i class={name}>{shown}</i>" if name else shown


@lru_cache(maxsize=256)
def _class_of(kind: Any) -> str:
    return next((name for ancestor, name in _CLASSES if kind in ancestor), "")
