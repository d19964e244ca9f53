"""Text to encodings: attributes, alias definitions and bare maps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mlir_sparse.affine import AffineMap
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.literal_parser import parse_typed_value
from mlir_sparse.encoding.map_parser import ParsedMap, parse_map
from mlir_sparse.encoding.older_keys import OLDER_KEYS, OLDER_WIDTHS, KeyEntry, OlderParts, edits_of_entries
from mlir_sparse.encoding.typed_literal import TypedValue
from mlir_sparse.encoding.verify import Draft, first_fault
from mlir_sparse.errors import EncodingError, EncodingSyntaxError
from mlir_sparse.text.cursor import Cursor
from mlir_sparse.text.edits import Edit
from mlir_sparse.text.lexer import Token, TokenKind
from mlir_sparse.text.source_text import Source, Span

__all__ = ["parse_encoding", "take_encoding"]

_KEYS = ("map", "posWidth", "crdWidth", "explicitVal", "implicitVal")
# MLIR's words for the two widths differ between the errors of its parser and of its verifier.
_WIDTH_WORDS = {"posWidth": "position", "crdWidth": "index"}


def parse_encoding(text: str) -> Encoding:
    """Parses an attribute, an alias definition or a bare map.

    Args:
        text: `#sparse_tensor.encoding<{ map = ... }>`, `#NAME = #sparse_tensor.encoding<...>`, or a map alone; in the
            spelling of any release of LLVM since 13.

    Raises:
        EncodingSyntaxError: for text outside the grammar, with line, column and a caret.
        EncodingError: for an encoding that MLIR's verifier refuses, in its words, likewise.

    >>> print(parse_encoding("(i, j) -> (j : dense, i : compressed)"))
    #sparse_tensor.encoding<{ map = (d0, d1) -> (d1 : dense, d0 : compressed) }>
    """
    cursor = Cursor(Source(text, "encoding"), EncodingSyntaxError, bare_ids=True)
    encoding = take_encoding(cursor)
    cursor.expect_end()
    return encoding


def take_encoding(cursor: Cursor) -> Encoding:
    """Takes an attribute, an alias definition or a bare map; more text may follow it."""
    if cursor.token.kind is not TokenKind.HASH_NAME:
        return _Attribute(cursor).finish(parse_map(cursor))
    if cursor.peek(1).text == "=":
        cursor.take()
        cursor.take()
    name = cursor.token
    if name.text not in ("#sparse_tensor.encoding", "#sparse_tensor"):
        rule = "undefined symbol alias id" if name.kind is TokenKind.HASH_NAME else "expected an encoding, but got"
        cursor.fail(f"{rule} {name.describe()}, expected #sparse_tensor.encoding<{{ map = ... }}>")
    cursor.take()
    wrapped = name.text == "#sparse_tensor"
    for text in ("<", "encoding") if wrapped else ():
        cursor.expect(text)
    encoding = _Attribute(cursor).parse()
    if wrapped:
        cursor.expect(">")
    return encoding


class _Attribute:
    """The dictionary between `<{` and `}>`."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._values: dict[str, Any] = {}
        self._spans: dict[str, Span] = {}
        self._parsed: ParsedMap | None = None
        self._older = OlderParts(cursor)
        self._renamed: set[str] = set()

    def parse(self) -> Encoding:
        cursor = self._cursor
        cursor.expect("<")
        opening = cursor.expect("{").span
        entries = list(self._entries())
        closing = cursor.expect("}").span
        cursor.expect(">")
        if self._older.given:
            if self._parsed is not None:
                cursor.fail("expected map alone, but got a key of older releases too", self._older.first)
            return self._finish_older(entries)
        if self._parsed is None:
            rule = "expected a non-empty array for lvlTypes"
            cursor.fail(f"{rule}, but got no map = (...) -> (...)", opening.to(closing), EncodingError)
        return self.finish(self._parsed)

    def _entries(self) -> Iterator[KeyEntry]:
        cursor = self._cursor
        while cursor.token.kind is TokenKind.NAME:
            key = cursor.take()
            name = OLDER_WIDTHS.get(key.text, key.text)
            if name not in _KEYS and key.text not in OLDER_KEYS:
                cursor.fail(f"unexpected key: {key.text}, expected one of {', '.join(_KEYS)}", key.span)
            if name != key.text:
                cursor.older.append(Edit(key.span, name))
            cursor.expect("=")
            if key.text in OLDER_KEYS:
                self._older.take(key)
            elif name == "map":
                if self._parsed is not None:
                    cursor.fail("expected one map, but got a second", key.span)
                self._parsed = parse_map(cursor)
            else:
                self._parse_value(key, name)
            span = key.span.to(cursor.previous)
            comma = cursor.accept(",")
            yield KeyEntry(key.text, span, comma.span if comma else None)
            if comma is None:
                break

    def _finish_older(self, entries: Sequence[KeyEntry]) -> Encoding:
        encoding = self.finish(self._older.as_map())
        self._cursor.older += edits_of_entries(entries, encoding.map_text())
        return encoding

    def _parse_value(self, name: Token, key: str) -> None:
        cursor = self._cursor
        # MLIR takes a key of today twice, and goes by the last one.
        if key in self._spans and (name.text != key or key in self._renamed):
            cursor.fail(f"expected {key} once, but got it again", name.span)
        if name.text != key:
            self._renamed.add(key)
        start = cursor.token.span
        value = parse_typed_value(cursor, key)
        self._spans[key] = start.to(cursor.previous)
        if key in _WIDTH_WORDS and not value.is_integer:
            rule = f"expected an integral {_WIDTH_WORDS[key]} bitwidth"
            cursor.fail(f"{rule}, but got {value}", self._spans[key], EncodingError)
        self._values[key] = value.value if key in _WIDTH_WORDS else value

    def finish(self, parsed: ParsedMap) -> Encoding:
        """Verifies all parts, with carets in errors, then builds the encoding."""
        self._check_inverse(parsed)
        explicit: TypedValue | None = self._values.get("explicitVal")
        implicit: TypedValue | None = self._values.get("implicitVal")
        pos_width, crd_width = self._values.get("posWidth", 0), self._values.get("crdWidth", 0)
        given: AffineMap | None = parsed.lvl_to_dim
        draft = Draft(
            dim_rank=len(parsed.dims),
            levels=tuple(parsed.levels),
            slices=tuple(parsed.slices),
            pos_width=pos_width,
            crd_width=crd_width,
            implicit_val=implicit,
            lvl_to_dim_given=given,
            num_symbols=len(parsed.symbols),
        )
        if fault := first_fault(draft):
            span = self._spans.get(fault.place) or parsed.spans.get((fault.place, fault.index))
            self._cursor.fail(fault.message, span or parsed.spans["map", 0], EncodingError)
        return Encoding(
            dim_names=tuple(parsed.dims),
            levels=tuple(parsed.levels),
            slices=tuple(parsed.slices),
            pos_width=pos_width,
            crd_width=crd_width,
            explicit_val=explicit,
            implicit_val=implicit,
            lvl_to_dim_given=given,
            symbol_names=tuple(parsed.symbols),
        )

    def _check_inverse(self, parsed: ParsedMap) -> None:
        missing = [name for name, expr in zip(parsed.dims, parsed.inverse, strict=True) if expr is None]
        if missing and len(missing) < len(parsed.dims):
            rule = "expected lvlToDim to be an inverse of dimToLvl"
            got = f"no expression for {', '.join(missing)}"
            place = "dim", parsed.dims[missing[0]]
            self._cursor.fail(f"{rule}, but got {got}", parsed.spans[place], EncodingError)
