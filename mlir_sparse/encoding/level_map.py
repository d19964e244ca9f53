"""One level of an encoding: its coordinate as an expression over dimensions, and its type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from mlir_sparse.affine import AffineExpr, Dim
from mlir_sparse.affine.integer_form import Atom, Digit, Form, form_of
from mlir_sparse.classes import dataclass
from mlir_sparse.encoding.level_type import LevelType
from mlir_sparse.errors import EncodingError
from mlir_sparse.text.given_arguments import shown

__all__ = ["LevelSpec", "block_along"]


@dataclass(frozen=True, slots=True)
class LevelSpec:
    """A level: its expression over the dimensions, its type or the word of its format, and its name if it has one.

    Raises:
        EncodingError: for an expression or a type that is none.

    >>> from mlir_sparse.affine import Dim
    >>> from mlir_sparse.encoding.level_type import LevelFormat
    >>> print(LevelSpec(Dim(0), LevelType(LevelFormat.DENSE)))
    d0 : dense
    """

    expr: AffineExpr
    type: LevelType
    name: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        expr: object = self.expr  # callers without a type checker pass anything, here and below
        if not isinstance(expr, AffineExpr):
            raise EncodingError(
                f"expected an affine expression such as Dim(0) for a level, but got {shown(expr)}: "
                "write levels as text for ms.encoding, such as '(i, j) -> (i : dense, j : compressed)'"
            )
        kind: object = self.type
        if not isinstance(kind, LevelType):
            object.__setattr__(self, "type", LevelType(kind))  # type: ignore[arg-type]

    @property
    def terms(self) -> tuple[tuple[Atom, int], ...]:
        """Returns the terms of its expression as an integer form; none where it has no such form."""
        form = form_of(self.expr)
        return form.terms if form is not None else ()

    def to_text(self, dim_names: Sequence[str] = (), symbol_names: Sequence[str] = ()) -> str:
        """Returns the level as it appears in a map, with the names given."""
        return f"{self.expr.to_text(dim_names, symbol_names)} : {self.type.to_text(dim_names, symbol_names)}"

    def __str__(self) -> str:
        return self.to_text()


def block_along(levels: Sequence[LevelSpec], dim: int) -> int:
    """Returns the size of the outermost blocks of a dimension; 1 without blocks."""
    digits = [atom for level in levels for atom, _ in level.terms if isinstance(atom, Digit)]
    return max((d.low for d in digits if d.base == Form(((Dim(dim), 1),)) and d.high is None), default=1)
