"""Types that are spelled otherwise today: pointers of the LLVM dialect named what they point to."""

from __future__ import annotations

from collections.abc import Iterator

from mlir_sparse.text.edits import Edit
from mlir_sparse.text.mlir_tokens import MlirText, UnreadableError

__all__ = ["pointer_types"]


def pointer_types(text: MlirText) -> Iterator[Edit]:
    """Yields the edits of `!llvm.ptr<i8>` to `!llvm.ptr`, and of `ptr<i8>` in other types of the dialect.

    >>> [edit.text for edit in pointer_types(MlirText("!llvm.ptr<i8, 3> !llvm.struct<(ptr<i8>, i32)>", "x"))]
    ['!llvm.ptr<3>', 'ptr']
    """
    at, stop = 0, 0  # within a type of the dialect up to `stop`
    while at < len(text.tokens):
        word, opens = text.word(at), text.word(at + 1) == "<"
        if opens and (word == "!llvm.ptr" or (word == "ptr" and at < stop)) and not text.word(at + 2).isdecimal():
            try:
                end = text.after_bracket(at + 1)
            except UnreadableError:
                return
            yield Edit(text.span(at, end), word + _space(text, end))
            at = end
            continue
        if opens and word.startswith("!llvm."):
            try:
                stop = max(stop, text.after_bracket(at + 1))
            except UnreadableError:
                return
        at += 1


def _space(text: MlirText, end: int) -> str:
    """Returns the address space of the pointer type that ends before a token."""
    is_given = text.word(end - 2).isdecimal() and text.word(end - 3) == ","
    return f"<{text.word(end - 2)}>" if is_given else ""
