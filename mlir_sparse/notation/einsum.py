"""NumPy's einsum strings as assignments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from mlir_sparse.errors import NotationSyntaxError, RankError
from mlir_sparse.notation.ast import Access, Assignment, AssignOp, Binary, BinaryOp, Expr, IndexVar
from mlir_sparse.text.source import Source, Span

__all__ = ["parse_einsum"]

_DOTS = "..."


def parse_einsum(text: str, ranks: Sequence[int]) -> Assignment:
    """Parses an einsum string into an assignment to `out` of operands `a0`, `a1`, ...

    Args:
        text: subscripts as `numpy.einsum` takes them: `"ik,kj->ij"`, with an implicit
            output (`"ij,j"`) or an ellipsis (`"...i,...i->..."`).
        ranks: the number of dimensions of each operand.

    Raises:
        NotationSyntaxError: for text that is no einsum string.
        RankError: for another number of operands or subscripts than there are.

    >>> print(parse_einsum("ik,kj->ij", (2, 2)))
    out(i,j) = a0(i,k) * a1(k,j)
    """
    source = Source(text, "einsum")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(ranks):
        message = f"expected subscripts for {len(ranks)} operands, but got {len(parts)} in {text!r}"
        raise RankError(message, source=source, span=Span(0, len(left)))
    spread = max((rank - _letters(part) for part, rank in zip(parts, ranks, strict=True) if _DOTS in part), default=0)
    operands: list[Expr] = []
    offset = 0
    for number, (part, rank) in enumerate(zip(parts, ranks, strict=True)):
        names = _names(part, rank - _letters(part), source, offset)
        if len(names) != rank:
            message = f"expected {rank} subscripts for operand {number}, but got {len(names)} in {part.strip()!r}"
            raise RankError(message, source=source, span=Span(offset, offset + len(part)))
        operands.append(Access(f"a{number}", tuple(map(IndexVar, names))))
        offset += len(part) + 1
    output = _names(right, spread, source, len(left) + 2) if arrow else _implicit(left, spread)
    _check_output(output, operands, source, len(left) + 2)
    value = reduce(lambda a, b: Binary(BinaryOp.MUL, a, b), operands)
    return Assignment(Access("out", tuple(map(IndexVar, output))), AssignOp.ASSIGN, value, source)


def _letters(part: str) -> int:
    return len(part.replace(_DOTS, "").replace(" ", ""))


def _names(part: str, dots: int, source: Source, offset: int) -> list[str]:
    """Returns the index names of one operand; an ellipsis stands for `dots` of them, aligned to the right."""
    names: list[str] = []
    at = 0
    while at < len(part):
        if part.startswith(_DOTS, at):
            names += [f"e{number}" for number in reversed(range(max(0, dots)))]
            at += len(_DOTS)
            continue
        if not part[at].isspace():
            if not part[at].isalpha():
                message = f"expected letters and `...` as subscripts, but got {part[at]!r}"
                raise NotationSyntaxError(message, source=source, span=Span(offset + at, offset + at + 1))
            names.append(part[at])
        at += 1
    return names


def _implicit(left: str, spread: int) -> list[str]:
    """Returns the output NumPy infers: the ellipsis, then the letters that stand once, sorted."""
    letters = [c for c in left if c.isalpha()]
    dots = [f"e{number}" for number in reversed(range(spread))]
    return dots + sorted(c for c in set(letters) if letters.count(c) == 1)


def _check_output(output: list[str], operands: list[Expr], source: Source, offset: int) -> None:
    known = {index.name for operand in operands if isinstance(operand, Access) for index in operand.indices}
    for position, name in enumerate(output):
        if name not in known or output.count(name) > 1:
            rule = "each output subscript once, and in some operand"
            message = f"expected {rule}, but got {name!r} in {''.join(output)!r}"
            raise NotationSyntaxError(message, source=source, span=Span(offset + position, offset + position + 1))
