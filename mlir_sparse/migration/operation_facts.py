"""What a rule for an operation reads and returns: its tokens, what the file says elsewhere, and changes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable

from mlir_sparse.classes import dataclass
from mlir_sparse.text.edits import Edit
from mlir_sparse.text.mlir_tokens import MlirKind, MlirText, UnreadableError
from mlir_sparse.text.source_text import Span

__all__ = ["FileFacts", "LeftAsItIs", "OldOperation", "Rule", "ShapedType", "SpellingChange"]

_EXTENT = re.compile(r"\s*(\?|[0-9]+)\s*x")


@dataclass(frozen=True, slots=True)
class SpellingChange:
    """One change to a file.

    Args:
        line: its line in the old file, from 1.
        was: what stood there; nothing where something is inserted.
        now: what stands there; nothing where something is taken away.
    """

    line: int
    was: str
    now: str

    def __str__(self) -> str:
        return f"{self.line}: {_shown(self.was)} -> {_shown(self.now)}"


@dataclass(frozen=True, slots=True)
class LeftAsItIs:
    """What is older and stays, as nothing today says the same.

    Args:
        line: its line, from 1.
        what: the operation or attribute.
        reason: why it stays, and what to write.
    """

    line: int
    what: str
    reason: str

    def __str__(self) -> str:
        return f"{self.line}: {self.what} is left as it is: {self.reason}"


def _shown(text: str) -> str:
    return f"`{' '.join(text.split())}`" if text.strip() else "nothing"


@dataclass(frozen=True, slots=True)
class ShapedType:
    """The type of a tensor, memref or vector.

    Args:
        kind: `tensor`, `memref` or `vector`.
        extents: its extents, None where one is dynamic.
        rest: the element type, and all that follows it.
    """

    kind: str
    extents: tuple[int | None, ...]
    rest: str

    @property
    def element(self) -> str:
        """Returns the type of its elements."""
        depth = 0
        for at, character in enumerate(self.rest):
            depth += (character in "<({[") - (character in ">)}]")
            if character == "," and depth == 0:
                return self.rest[:at].strip()
        return self.rest.strip()

    @property
    def layout_strides(self) -> tuple[int | None, ...] | None:
        """Returns the strides of `strided<[4, ?], ...>`; None for any other layout."""
        found = re.search(r"\bstrided<\[([^\]]*)\]", self.rest)
        if found is None:
            return None
        words = [word.strip() for word in found[1].split(",")]
        return tuple(int(word) if word.isdecimal() else None for word in words)

    def of_kind(self, kind: str) -> str:
        """Returns the plain type of the same shape and elements."""
        extents = "".join(f"{'?' if extent is None else extent}x" for extent in self.extents)
        return f"{kind}<{extents}{self.element}>"


class FileFacts:
    """What a file says about names: attributes, types, constants.

    Args:
        text: the file.
    """

    def __init__(self, text: MlirText) -> None:
        self._text = text
        self._taken = {token.text for token in text.tokens if token.kind is MlirKind.SIGIL}
        self.attributes: dict[str, str] = {}
        self._types: dict[str, str] = {}
        self._constants: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for at, token in enumerate(text.tokens):
            if token.kind is MlirKind.SIGIL and text.word(at + 1) == "=":
                self._note(at)

    def _note(self, at: int) -> None:
        text, name = self._text, self._text.word(at)
        after = text.word(at + 2)
        if name[0] in "!#":
            # An alias is known where its definition is a type or an attribute in brackets.
            try:
                stop = text.after_type(at + 2)
            except UnreadableError:
                return
            (self._types if name[0] == "!" else self.attributes)[name] = text.between(at + 2, stop)
        elif after in ("arith.constant", "constant", "std.constant"):
            value = text.word(at + 3)
            if value.isdecimal() and text.word(at + 4) == ":" and text.word(at + 5) == "index":
                self._constants[name].append((at, int(value)))

    def constant(self, name: str, before: int) -> int:
        """Returns the integer that a value is, by its last definition before a token.

        Raises:
            UnreadableError: if no constant defines it.
        """
        found = [value for at, value in self._constants[name] if at < before]
        if not found:
            raise UnreadableError(f"expected {name} to be an arith.constant, but it is computed")
        return found[-1]

    def fresh(self, name: str) -> str:
        """Returns a name for a value that the file does not have: this one, or this with a number."""
        numbered = (f"{name}_{number}" for number in range(1, len(self._taken) + 2))
        found = next(one for one in (name, *numbered) if one not in self._taken)
        self._taken.add(found)
        return found

    def shape(self, mlir: str) -> ShapedType:
        """Returns the shape of a type.

        Raises:
            UnreadableError: for a type that has none.
        """
        mlir = self._types.get(mlir.strip(), mlir).strip()
        kind, bracket, inside = mlir.partition("<")
        if not bracket or not inside.endswith(">") or kind.strip() not in ("tensor", "memref", "vector"):
            raise UnreadableError(f"expected a tensor, memref or vector, but got {mlir}")
        rest, extents = inside[:-1], []
        while found := _EXTENT.match(rest):
            extents.append(None if found[1] == "?" else int(found[1]))
            rest = rest[found.end() :]
        return ShapedType(kind.strip(), tuple(extents), rest.strip())


class OldOperation:
    """An operation in a file.

    Args:
        text: the file.
        at: the token with its name.
        facts: what the file says about names.
    """

    def __init__(self, text: MlirText, at: int, facts: FileFacts) -> None:
        self.text = text
        self.at = at
        self.facts = facts

    @property
    def name(self) -> str:
        """Returns its name."""
        return self.text.word(self.at)

    def rename(self, name: str) -> Edit:
        """Returns the edit of its name."""
        return Edit(self.text.tokens[self.at].span, name)

    def replace(self, first: int, stop: int, now: str) -> Edit:
        """Returns the edit that puts a text in the place of tokens."""
        return Edit(self.text.span(first, stop), now)

    def insert(self, at: int, now: str) -> Edit:
        """Returns the edit that puts a text behind the token before one."""
        end = self.text.tokens[at - 1].end
        return Edit(Span(end, end), now)

    def before(self, lines: Iterable[str]) -> Edit:
        """Returns the edit that puts operations before this one, a line each."""
        source = self.text.source.text
        start = self.text.tokens[self.first].start
        line_start = max(source.rfind("\n", 0, start), source.rfind("\r", 0, start)) + 1
        indent = source[line_start:start]
        indent = indent if not indent.strip() else indent[: len(indent) - len(indent.lstrip())]
        end = "\r\n" if "\r\n" in source else "\n"
        return Edit(Span(start, start), "".join(f"{line}{end}{indent}" for line in lines))

    def after_operand(self, at: int) -> int:
        """Returns the token behind an operand, `%x` or `%x#1`."""
        return at + 2 if self.text.word(at + 1)[:1] == "#" and self.text.word(at + 1)[1:].isdecimal() else at + 1

    @property
    def first(self) -> int:
        """Returns the token that it starts with: the first of its results, or its name."""
        at = self.at
        if self.text.word(at - 1) != "=":
            return at
        at -= 1
        while self.text.word(at - 1)[:1] in ("%", ",", ":") or self.text.word(at - 1).isdecimal():
            at -= 1
        return at


Rule = Callable[[OldOperation], Iterable[Edit]]
