"""`stored(...)`: an expression evaluated at stored entries only, as an operator on entries."""

from __future__ import annotations

from mlir_sparse.notation.ast import Access, Apply, Call, Expr, Fold, Reduce, children, walk
from mlir_sparse.notation.operator import Operator
from mlir_sparse.notation.rebuild import accesses_of, rebuild
from mlir_sparse.notation.scalar_functions import STORED

__all__ = ["mistake_in_stored", "with_operators"]


def mistake_in_stored(node: Call) -> str | None:
    """Returns the fault of the argument of `stored`, or None."""
    (body,) = node.arguments
    if any(isinstance(below, (Reduce, Fold, Apply)) or _is_stored(below) for below in walk(body)):
        return f"expected an elementwise argument to stored, but got `{body}`; put stored inside the reduction"
    count = len(accesses_of(body))
    if not 1 <= count <= 2:
        return (
            f"expected one or two tensors in stored, whose entries say where the result has any, but got {count} in "
            f"`{body}`; give part of it a name by an assignment of its own"
        )
    return None


def with_operators(node: Expr) -> Expr:
    """Replaces each `stored` by an operator, whose result has entries where all its tensors have one.

    >>> from mlir_sparse.notation.notation_parser import parse
    >>> found = with_operators(parse("C(i,j) = stored(exp(A(i,j)) + x(j))").value)
    >>> print(found.operator.overlap, *found.arguments)
    exp(a) + b A(i,j) x(j)
    """
    return _with_operators(node) if any(map(_is_stored, walk(node))) else node


def _with_operators(node: Expr) -> Expr:
    if isinstance(node, Call) and node.function == STORED:
        (body,) = node.arguments
        accesses = accesses_of(body)
        names = ("a", "b")[: len(accesses)]
        region = _renamed(body, dict(zip(accesses, names, strict=True)))
        return Apply(Operator(STORED, names, region), accesses, node.span)
    return rebuild(node, tuple(_with_operators(child) for child in children(node)))


def _is_stored(node: Expr) -> bool:
    return isinstance(node, Call) and node.function == STORED


def _renamed(node: Expr, names: dict[Access, str]) -> Expr:
    if isinstance(node, Access):
        return Access(names[node])
    return rebuild(node, tuple(_renamed(child, names) for child in children(node)))
