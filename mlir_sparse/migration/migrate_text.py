"""A whole file in older spellings, rewritten: encodings, operations, types and commands."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding.encoding_parser import take_encoding
from mlir_sparse.encoding.older_keys import OLDER_KEYS, OLDER_WIDTHS
from mlir_sparse.errors import EncodingSyntaxError, SparseError
from mlir_sparse.migration.older_commands import command_edits
from mlir_sparse.migration.older_operations import OTHER_RULES
from mlir_sparse.migration.older_sparse_operations import SPARSE_RULES
from mlir_sparse.migration.older_types import pointer_types
from mlir_sparse.migration.operation_facts import FileFacts, LeftAsItIs, OldOperation, SpellingChange
from mlir_sparse.migration.renamed_operations import RENAMED, RENAMED_AT_STATEMENTS
from mlir_sparse.text.cursor import Cursor
from mlir_sparse.text.edits import Edit, edited
from mlir_sparse.text.mlir_tokens import MlirKind, MlirText, UnreadableError
from mlir_sparse.text.source_text import Source, Span

__all__ = ["Migration", "migrated"]

_RULES = SPARSE_RULES | OTHER_RULES
_GENERIC = RENAMED | {"sparse_tensor.insert": "tensor.insert"}
_GENERIC_LEVELS = {
    "sparse_tensor.pointers": "sparse_tensor.positions",
    "sparse_tensor.indices": "sparse_tensor.coordinates",
}
_SPLIT = "// -----"


@dataclass(frozen=True, slots=True)
class Migration:
    """What became of a file.

    Args:
        text: the file of today.
        changes: each change, in the order of the file.
        left: what is older and stays.
    """

    text: str
    changes: tuple[SpellingChange, ...]
    left: tuple[LeftAsItIs, ...]


def migrated(text: str, name: str = "<text>") -> Migration:
    """Returns a file in the spelling that the bindings of today read.

    Args:
        text: the file, whether MLIR can parse it or not.
        name: what errors call it.

    >>> found = migrated('#SV = #sparse_tensor.encoding<{ dimLevelType = [ "compressed" ] }>')
    >>> print(found.text)
    #SV = #sparse_tensor.encoding<{ map = (d0) -> (d0 : compressed) }>
    >>> print(*found.changes)
    1: `dimLevelType = [ "compressed" ]` -> `map = (d0) -> (d0 : compressed)`
    """
    starts = [0, *(at + 1 for at, character in enumerate(text) if character == "\n")]
    parts: list[str] = []
    changes: list[SpellingChange] = []
    left: list[LeftAsItIs] = []
    for first, last in pairwise((*_chunks(text, starts), len(text))):
        chunk = _Chunk(text[first:last], name)
        edits = chunk.edits()
        parts.append(edited(chunk.source, edits))
        for edit in sorted(edits, key=lambda one: one.span.start):
            was = chunk.source[edit.span.start : edit.span.end]
            if was != edit.text and was.strip() != ",":
                changes.append(SpellingChange(bisect_right(starts, first + edit.span.start), was, edit.text))
        left += (LeftAsItIs(bisect_right(starts, first + at), what, reason) for at, what, reason in chunk.left)
    return Migration("".join(parts), tuple(changes), tuple(left))


def _chunks(text: str, starts: Iterable[int]) -> Iterator[int]:
    """Yields the start of each part of a file that `--split-input-file` takes apart."""
    yield 0
    yield from (start for start in starts if start and text.startswith(_SPLIT, start))


class _Chunk:
    """A part of a file, with names of its own for types and attributes."""

    def __init__(self, source: str, name: str) -> None:
        self.source = source
        self._text = MlirText(source, name)
        self._facts = FileFacts(self._text)
        self._taken: list[tuple[int, int]] = []  # in order
        self._edits: list[Edit] = []
        self._encodings: dict[str, list[Edit] | str] = {}
        self.left: list[tuple[int, str, str]] = []

    def edits(self) -> list[Edit]:
        """Returns all edits, of which none overlaps another."""
        text = self._text
        # Names without a dialect are of LLVM 14 and older, where functions have none either.
        has_bare_names = any(self._is_function(at) for at in range(len(text.tokens)))
        for at, token in enumerate(text.tokens):
            if token.kind is MlirKind.NAME:
                self._operation(at, has_bare_names)
            elif token.kind is MlirKind.STRING and text.word(at + 1) == "(":
                self._generic_operation(at)
            elif token.text in ("#sparse_tensor.encoding", "#sparse_tensor") and text.word(at + 1) == "<":
                self._encoding(at)
        self._add(pointer_types(text))
        self._add(command_edits(self.source, 0))
        return self._edits

    def _add(self, edits: Iterable[Edit]) -> None:
        """Adds edits where no other is."""
        for edit in edits:
            start, end = edit.span.start, edit.span.end
            place = bisect_right(self._taken, (start, end))
            overlaps = (place and self._taken[place - 1][1] > start) or (
                place < len(self._taken) and self._taken[place][0] < end
            )
            if start < end and overlaps:
                continue
            self._edits.append(edit)
            if start < end:
                self._taken.insert(place, (start, end))

    def _is_function(self, at: int) -> bool:
        word = self._text.word(at)
        if word == "builtin.func":
            return True
        after = self._text.word(at + 1)
        return word == "func" and (after in ("private", "public", "nested") or after.startswith("@"))

    def _operation(self, at: int, has_bare_names: bool) -> None:
        text = self._text
        word = text.word(at)
        if text.word(at + 1) == "=":  # the name of an attribute
            return
        operation = OldOperation(text, at, self._facts)
        if word in RENAMED:
            self._add([operation.rename(RENAMED[word])])
        elif word in _RULES:
            try:
                self._add(list(_RULES[word](operation)))
            except (UnreadableError, ValueError) as error:
                self.left.append((text.tokens[at].start, word, str(error)))
        elif has_bare_names and word in RENAMED_AT_STATEMENTS and self._starts_statement(at):
            self._add([operation.rename(RENAMED_AT_STATEMENTS[word])])

    def _starts_statement(self, at: int) -> bool:
        text = self._text
        if self._is_function(at):
            return True
        before, after = text.word(at - 2), text.word(at + 1)
        if text.word(at) in ("br", "cond_br", "assert"):
            return after[:1] in ("^", "%")
        is_result = before[:1] == "%" or (before.isdecimal() and text.word(at - 3) == ":")
        return text.word(at - 1) == "=" and is_result and not after.startswith("@")

    def _generic_operation(self, at: int) -> None:
        """An operation in MLIR's generic form, whose name is a string."""
        text = self._text
        name = text.word(at).strip('"')
        if text.word(at - 1) in (",", "(", "["):
            return
        operation = OldOperation(text, at, self._facts)
        if name in _GENERIC:
            self._add([operation.rename(f'"{_GENERIC[name]}"')])
        elif name in _GENERIC_LEVELS:
            self._add([operation.rename(f'"{_GENERIC_LEVELS[name]}"')])
            try:
                opening = text.after_bracket(at + 1)
                stop = text.after_bracket(opening)
            except UnreadableError as error:
                self.left.append((text.tokens[at].start, name, str(error)))
                return
            self._add(
                operation.replace(place, place + 1, "level")
                for place in range(opening, stop)
                if text.word(place) == "dimension" and text.word(place + 1) == "="
            )

    def _encoding(self, at: int) -> None:
        text = self._text
        if text.word(at) == "#sparse_tensor" and text.word(at + 2) != "encoding":
            return
        try:
            stop = text.after_bracket(at + 1)
        except UnreadableError:
            return
        written, start = text.between(at, stop), text.tokens[at].start
        if written not in self._encodings:
            self._encodings[written] = self._read(written)
        found = self._encodings[written]
        if isinstance(found, str):
            keys = (text.word(place) for place in range(at, stop) if text.word(place + 1) == "=")
            if any(key in OLDER_KEYS or key in OLDER_WIDTHS for key in keys):
                self.left.append((start, "an encoding", found))
            return
        self._add(Edit(Span(start + one.span.start, start + one.span.end), one.text) for one in found)

    def _read(self, written: str) -> list[Edit] | str:
        """Returns the edits of an encoding, or why it has no meaning."""
        try:
            cursor = Cursor(Source(written, "encoding"), EncodingSyntaxError, bare_ids=True)
            cursor.aliases = self._facts.attributes
            take_encoding(cursor)
        except SparseError as error:
            return error.message
        return cursor.older
