"""Another way to compute a statement: parts that are made first, and an expression that reads them."""

from __future__ import annotations

from dataclasses import dataclass

from mlir_sparse.notation import Access, Expr

__all__ = ["Part", "Rewriting"]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a statement that is made once, before what reads it.

    Args:
        target: the temporary, at the index variables that the part keeps; its name is a generated one.
        value: the expression, with explicit sums; it may read parts made before.
    """

    target: Access
    value: Expr

    def __str__(self) -> str:
        return f"{self.target} = {self.value}"


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A statement rewritten: equal where numbers are exact.

    Args:
        parts: what is made first, in order.
        value: what stands for the right side of the statement, with explicit sums.
        account: what `explain()` says of it, a line each.
        renamed: (name, name in the text) of each index variable that it calls otherwise.
    """

    parts: tuple[Part, ...]
    value: Expr
    account: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
