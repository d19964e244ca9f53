"""NumPy's einsum strings: an index variable for each axis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, reduce
from typing import NoReturn

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import NotationSyntaxError, RankError, SparseError
from mlir_sparse.notation.ast import Access, Assignment, AssignOp, Binary, BinaryOp, Expr, IndexVar
from mlir_sparse.text.source_text import Source, Span

__all__ = ["EinsumSubscripts", "einsum_text", "parse_einsum"]

_DOTS = "..."
# Number n of the sublist form is the letter at n; sorted, as implicit outputs are.
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

_Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EinsumSubscripts:
    """The subscripts of an einsum, with a variable for each axis of an ellipsis.

    Args:
        operands: for each operand the names of the index variables of its axes.
        output: likewise for the result.
        source: the text.
    """

    operands: tuple[_Labels, ...]
    output: _Labels
    source: Source

    @property
    def assignment(self) -> Assignment:
        """Returns the assignment to `out` of operands `a0`, `a1`, ..."""
        accesses: list[Expr] = [Access(f"a{n}", tuple(map(IndexVar, labels))) for n, labels in enumerate(self.operands)]
        value = reduce(lambda a, b: Binary(BinaryOp.MUL, a, b), accesses)
        return Assignment(Access("out", tuple(map(IndexVar, self.output))), AssignOp.ASSIGN, value, self.source)


def einsum_text(sublists: Sequence[Sequence[object]], output: Sequence[object] | None) -> str:
    """Returns the einsum string of lists of numbers, NumPy's other form.

    Args:
        sublists: for each operand numbers from 0 to 51, and at most one Ellipsis.
        output: likewise for the result; None for an implicit output.

    Raises:
        NotationSyntaxError: for anything else in a list.

    >>> einsum_text([[0, 1], [1, ...]], [0, ...])
    'AB,B...->A...'
    """
    text = ",".join("".join(map(_letter, sublist)) for sublist in sublists)
    return text if output is None else f"{text}->{''.join(map(_letter, output))}"


def _letter(item: object) -> str:
    if item is Ellipsis:
        return _DOTS
    try:
        number = item.__index__()  # type: ignore[attr-defined]  # NumPy's integers have it as well
    except AttributeError:
        number = -1
    if not 0 <= number < len(_LETTERS):
        raise NotationSyntaxError(
            f"expected numbers from 0 to 51 and Ellipsis as einsum's subscripts, but got {item!r}"
        )
    return _LETTERS[number]


@lru_cache(maxsize=512)
def parse_einsum(text: str, ranks: tuple[int, ...]) -> EinsumSubscripts:
    """Parses an einsum string for operands of given ranks.

    Args:
        text: subscripts as in `numpy.einsum`: `"ik,kj->ij"`, also with an implicit output (`"ij,j"`: the axes of an
            ellipsis, then the letters that occur once, capitals first) or an ellipsis (`"...i,...i->..."`, aligned to
            the right). Blanks are ignored.
        ranks: the number of dimensions of each operand.

    Raises:
        NotationSyntaxError: for text that is no einsum string.
        RankError: where the numbers of operands or subscripts differ from those of the text.

    >>> print(parse_einsum("ik,kj->ij", (2, 2)).assignment)
    out(i,j) = a0(i,k) * a1(k,j)
    >>> parse_einsum("...b,bA", (3, 2)).output
    ('e1', 'e0', 'A')
    """
    return _Parser(text, ranks).parse()


class _Parser:
    """Parses one einsum string."""

    def __init__(self, text: str, ranks: tuple[int, ...]) -> None:
        self.text, self.ranks = text, ranks
        self.source = Source(text, "einsum")

    def fail(self, message: str, start: int, stop: int, error: type[SparseError] = NotationSyntaxError) -> NoReturn:
        raise error(message, source=self.source, span=Span(start, max(start + 1, stop)))

    def parse(self) -> EinsumSubscripts:
        left, arrow, right = self.text.partition("->")
        parts = left.split(",")
        if len(parts) != len(self.ranks):
            given = f"expected subscripts for {len(self.ranks)} operands, but got {len(parts)} in {self.text!r}"
            self.fail(given, 0, len(left), RankError)
        starts = [sum(len(part) + 1 for part in parts[:number]) for number in range(len(parts))]
        found = [self.tokens(part, start) for part, start in zip(parts, starts, strict=True)]
        places = zip(found, parts, starts, self.ranks, strict=True)
        spreads = [self.spread(number, *place) for number, place in enumerate(places)]
        widest = max((spread for spread in spreads if spread is not None), default=0)
        operands = tuple(_variable_names(tokens, spread or 0) for tokens, spread in zip(found, spreads, strict=True))
        if not arrow:
            return EinsumSubscripts(operands, _implicit(operands, widest), self.source)
        output = self.output(right, len(left) + len(arrow), operands, widest)
        return EinsumSubscripts(operands, output, self.source)

    def tokens(self, part: str, start: int) -> list[str]:
        """Returns the letters and ellipses of one operand."""
        found: list[str] = []
        at = 0
        while at < len(part):
            if part.startswith(_DOTS, at):
                if _DOTS in found:
                    self.fail(
                        f"expected one ellipsis an operand, but got another in {part!r}", start + at, start + at + 3
                    )
                found.append(_DOTS)
                at += len(_DOTS)
                continue
            if part[at] != " ":
                if part[at] not in _LETTERS:
                    rule = "letters and `...` as subscripts"
                    self.fail(f"expected {rule}, but got {part[at]!r}", start + at, start + at + 1)
                found.append(part[at])
            at += 1
        return found

    def spread(self, number: int, tokens: list[str], part: str, start: int, rank: int) -> int | None:
        """Returns the number of axes of an operand's ellipsis; None without one."""
        letters = len(tokens) - tokens.count(_DOTS)
        fits = letters <= rank if _DOTS in tokens else letters == rank
        if not fits:
            message = f"expected {rank} subscripts for operand {number}, but got {letters} in {part.strip()!r}"
            if letters < rank:
                message += ": write `...` for the rest"
            self.fail(message, start, start + len(part), RankError)
        return rank - letters if _DOTS in tokens else None

    def output(self, right: str, start: int, operands: tuple[_Labels, ...], widest: int) -> _Labels:
        tokens = self.tokens(right, start)
        if widest and _DOTS not in tokens:
            rule = f"the output to have `...` as well, whose {widest} axes it would lose otherwise"
            self.fail(f"expected {rule}, but got {right.strip()!r}", start, start + len(right))
        known = {label for labels in operands for label in labels}
        for token in tokens:
            if token != _DOTS and (token not in known or tokens.count(token) > 1):
                at = start + right.rindex(token)
                rule = "each output subscript once, and in some operand"
                self.fail(f"expected {rule}, but got {token!r} in {right.strip()!r}", at, at + 1)
        return _variable_names(tokens, widest)


def _variable_names(tokens: Sequence[str], spread: int) -> _Labels:
    """Returns the names of index variables. Axes of an ellipsis are numbered from the right, as they align."""
    dots = [f"e{number}" for number in reversed(range(spread))]
    return tuple(label for token in tokens for label in (dots if token == _DOTS else [token]))


def _implicit(operands: tuple[_Labels, ...], spread: int) -> _Labels:
    """Returns the implicit output: the ellipsis, then the letters that occur once, sorted."""
    letters = [label for labels in operands for label in labels if label in _LETTERS]
    return (*_variable_names([_DOTS], spread), *sorted(letter for letter in set(letters) if letters.count(letter) == 1))
