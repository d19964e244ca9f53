"""Expressions that a program computes once, however often they stand in the text."""

from __future__ import annotations

from mlir_sparse.dtypes import DType
from mlir_sparse.notation import (
    Access,
    Expr,
    Fold,
    IndexVar,
    Reduce,
    rename_variables,
    walk,
)

__all__ = ["KnownTemporaries"]

_Key = tuple[Expr, int, DType]


class KnownTemporaries:
    """The temporaries of a program, by what they hold.

    Args:
        renames: whether expressions are the same that differ by the names of their variables. They are not where
            variables have ranges of their own.
    """

    def __init__(self, *, renames: bool) -> None:
        self._renames = renames
        self._known: dict[_Key, str] = {}

    def known(self, node: Expr, variables: tuple[IndexVar, ...], dtype: DType) -> str | None:
        """Returns the name of the temporary that holds an expression, with a dimension for each of the variables."""
        return self._known.get(self._key(node, variables, dtype))

    def add(self, node: Expr, variables: tuple[IndexVar, ...], dtype: DType, name: str) -> None:
        """Notes what a temporary holds."""
        self._known[self._key(node, variables, dtype)] = name

    def _key(self, node: Expr, variables: tuple[IndexVar, ...], dtype: DType) -> _Key:
        order = dict.fromkeys((*variables, *_variables(node)))
        if self._renames and _is_sized(node):
            names = {variable: IndexVar(f"#{number}") for number, variable in enumerate(order)}
            return rename_variables(node, names), len(variables), dtype
        return node, len(variables), dtype


def _variables(node: Expr) -> tuple[IndexVar, ...]:
    found: dict[IndexVar, None] = {}
    for below in walk(node):
        match below:
            case Access():
                found.update(dict.fromkeys(below.indices))
            case Reduce(indices=indices) | Fold(indices=indices):
                found.update(dict.fromkeys(indices))
            case _:
                pass
    return tuple(found)


def _is_sized(node: Expr) -> bool:
    """Returns whether axes say how far every variable runs: sums of variables do not."""
    plain = {s for below in walk(node) if isinstance(below, Access) for s in below.subscripts}
    return plain.issuperset(_variables(node))
