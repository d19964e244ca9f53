"""Where the parts of a statement stand in its text: what debug locations point at."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import Enum

from mlir_sparse.classes import dataclass
from mlir_sparse.notation.ast import (
    Access,
    Apply,
    Assignment,
    Binary,
    Call,
    Expr,
    Fold,
    Literal,
    Negate,
    Reduce,
    children,
    reads,
    walk,
)
from mlir_sparse.text.source_text import Span

__all__ = ["NotationPart", "NotationPlaces", "PartKind"]


class PartKind(Enum):
    """What a part of a statement is."""

    ACCESS = "access"
    OPERATOR = "operator"
    FUNCTION = "function"
    ACCUMULATION = "accumulation"
    VARIABLE = "index variable"


@dataclass(frozen=True, slots=True)
class NotationPart:
    """A part of a statement that code comes from.

    Args:
        kind: what it is.
        text: its text.
        spans: where it stands; several where it is repeated.
    """

    kind: PartKind
    text: str
    spans: tuple[Span, ...]


class NotationPlaces:
    """The places of a statement's parts in the text that it prints as.

    Places are found in the text and not taken from the nodes: a plan makes nodes anew, and kernels are cached by
    statements that users spaced otherwise.

    >>> from mlir_sparse.notation.notation_parser import parse
    >>> places = NotationPlaces(parse("y(i) = A(i,j)*x(j)"))
    >>> [(part.text, *part.spans) for part in places.parts[:2]]
    [('y(i)', Span(start=0, end=4)), ('=', Span(start=5, end=6))]
    """

    def __init__(self, assignment: Assignment) -> None:
        self.text = str(assignment)
        self._accesses = tuple(dict.fromkeys((assignment.target, *reads(assignment.value), *assignment.exists)))
        start = len(str(assignment.target)) + 1
        self.accumulation = Span(start, start + len(assignment.op.value))
        self.whole = Span(0, len(self.text))
        self._alike: dict[str, list[Expr]] = {}
        for node in walk(assignment.value):
            self._alike.setdefault(_shape(node), []).append(node)
        self.parts = tuple(self._parts(assignment))

    def of(self, node: Expr) -> tuple[Span, ...]:
        """Returns the places of a node: of an operator its sign, of a call its name; none if it is not in the text."""
        found = tuple(self._of_equal(node))
        if found or isinstance(node, Access):
            return found
        alike = self._alike.get(_shape(node), ()) if children(node) else ()
        if alike:
            return tuple(dict.fromkeys(span for other in alike for span in self._of_equal(other)))
        return tuple(dict.fromkeys(span for child in children(node) for span in self.of(child)))

    def of_tensor(self, name: str) -> tuple[Span, ...]:
        """Returns the places of all accesses of a tensor."""
        found = (span for access in self._accesses if access.tensor == name for span in self._outermost(access))
        return tuple(dict.fromkeys(found))

    def of_variable(self, name: str) -> Span | None:
        """Returns the first place of an index variable; None if it is not in the text."""
        return next(iter(self._variable(name)), None)

    def _of_equal(self, node: Expr) -> Iterator[Span]:
        if isinstance(node, Access):
            yield from self._outermost(node)
            return
        try:
            text = str(node)
        except ValueError:  # a literal that the plan made, such as an infinity
            return
        for span in _occurrences(self.text, text):
            match node:
                case Binary(op, left):
                    behind = span.start + len(str(left))  # which may stand in parentheses
                    sign = self.text.find(f" {op.value} ", behind)
                    if sign >= 0:
                        yield Span(sign + 1, sign + 1 + len(op.value))
                case Literal():
                    yield span
                case _:
                    name = _name_of(node)
                    if self.text.startswith(name, span.start):
                        yield Span(span.start, span.start + len(name))

    def _outermost(self, access: Access) -> Iterator[Span]:
        """Yields the places of an access; of one in a subscript, those of the access around it."""
        around = [span for other in self._accesses if other != access for span in _occurrences(self.text, str(other))]
        for span in _occurrences(self.text, str(access)):
            inside = (other for other in around if other.start <= span.start and span.end <= other.end)
            yield max(inside, key=lambda other: other.end - other.start, default=span)

    def _variable(self, name: str) -> Iterator[Span]:
        for access in self._accesses:
            for span in _occurrences(self.text, str(access)):
                begin = span.start + len(access.tensor)
                for found in re.finditer(rf"(?<![\w.]){re.escape(name)}(?![\w(\[])", self.text[begin : span.end]):
                    yield Span(begin + found.start(), begin + found.end())

    def _parts(self, assignment: Assignment) -> Iterator[NotationPart]:
        """Yields the parts in the order of the text, index variables last."""
        found: dict[tuple[Span, ...], NotationPart] = {}

        def note(kind: PartKind, spans: Iterable[Span]) -> None:
            kept = tuple(sorted(dict.fromkeys(spans), key=lambda span: span.start))
            if kept:
                found[kept] = NotationPart(kind, self.text[kept[0].start : kept[0].end], kept)

        for access in self._accesses:
            note(PartKind.ACCESS, self._outermost(access))
        note(PartKind.ACCUMULATION, [self.accumulation])
        for node in walk(assignment.value):
            if not isinstance(node, Access | Literal):
                kind = PartKind.OPERATOR if isinstance(node, Binary | Negate) else PartKind.FUNCTION
                note(kind, self._of_equal(node))
        yield from sorted(found.values(), key=lambda part: part.spans[0].start)
        for variable in assignment.indices:
            spans = tuple(dict.fromkeys(self._variable(variable.name)))
            if spans:
                yield NotationPart(PartKind.VARIABLE, variable.name, spans)


def _shape(node: Expr) -> str:
    """Returns a text that a node shares with what a plan makes of it over other subscripts: over levels, or picked."""
    match node:
        case Access(tensor):
            return tensor.partition(".")[0]
        case Literal():
            return repr(node.value)
        case Binary(op):
            name = op.value
        case _:
            name = _name_of(node)
    return f"{name}({', '.join(map(_shape, children(node)))})"


def _name_of(node: Negate | Call | Reduce | Fold | Apply) -> str:
    match node:
        case Negate():
            return "-"
        case Call(name):
            return name
        case Reduce(op):
            return op.value
        case Fold(monoid):
            return monoid.name
        case Apply(operator):
            return operator.name


def _occurrences(text: str, part: str) -> Iterator[Span]:
    """Yields where a part stands in a text, not inside of longer words."""
    before = r"(?<![\w.])" if part[:1].isidentifier() or part[:1].isdigit() else ""
    after = r"(?![\w(\[])" if part[-1:].isidentifier() or part[-1:].isdigit() else ""
    for found in re.finditer(f"{before}{re.escape(part)}{after}", text):
        yield Span(found.start(), found.end())
