"""Names of the variables that reductions bind, kept apart from those that are free around them."""

from __future__ import annotations

from collections.abc import Collection

from mlir_sparse.notation.ast import Access, Expr, Fold, IndexVar, Literal, Reduce, children
from mlir_sparse.notation.definition import fresh_name
from mlir_sparse.notation.rebuild import rebuild, rename_variables
from mlir_sparse.notation.summation import free_indices

__all__ = ["variables_of", "with_each_bound_once", "without_clashes"]


def with_each_bound_once(node: Expr, taken: set[str]) -> Expr:
    """Returns an expression in which no two reductions bind one variable; those that do get new names."""
    seen: set[str] = set()

    def renamed(below: Expr) -> Expr:
        if isinstance(below, (Reduce, Fold)):
            clashes = [one for one in below.indices if one.name in seen]
            seen.update(one.name for one in below.indices)
            if clashes:
                below = rename_variables(below, {one: IndexVar(fresh_name(one.name, taken)) for one in clashes})
        if isinstance(below, (Access, Literal)):
            return below
        return rebuild(below, tuple(renamed(child) for child in children(below)))

    return renamed(node)


def without_clashes(node: Expr, free: Collection[str], taken: set[str]) -> Expr:
    """Returns an expression whose reductions bind no variable that is free around it, nor one that is bound there."""
    if isinstance(node, (Access, Literal)):
        return node
    if isinstance(node, (Reduce, Fold)):
        clashes = [one for one in node.indices if one.name in free]
        if clashes:
            renamed = rename_variables(node, {one: IndexVar(fresh_name(one.name, taken)) for one in clashes})
            assert isinstance(renamed, (Reduce, Fold))
            node = renamed
        free = {*free, *(one.name for one in node.indices)}
    return rebuild(node, tuple(without_clashes(child, free, taken) for child in children(node)))


def variables_of(node: Expr) -> tuple[IndexVar, ...]:
    """Returns all variables of an expression, free and bound, each once."""
    found = list(free_indices(node))
    left = [node]
    while left:
        below = left.pop()
        if isinstance(below, (Reduce, Fold)):
            found += below.indices
        left += children(below)
    return tuple(dict.fromkeys(found))
