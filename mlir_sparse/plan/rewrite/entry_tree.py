"""What the entries of a loop nest's result follow from: its payload, reduced to where entries must meet."""

from __future__ import annotations

from typing import Any

from mlir_sparse.notation import Access, Binary, BinaryOp, Expr, Literal, children

__all__ = ["entry_tree"]


def entry_tree(node: Expr) -> tuple[Any, ...]:
    """Returns a payload as `runtime.Entries` takes it: data, without the names of functions.

    >>> from mlir_sparse.notation import IndexVar
    >>> A, x = Access("A", (IndexVar("i"), IndexVar("j"))), Access("x", (IndexVar("j"),))
    >>> entry_tree(Binary(BinaryOp.MUL, Literal(2), Binary(BinaryOp.ADD, A, x)))
    ('*', ('1',), ('+', ('of', 'A', 'i', 'j'), ('of', 'x', 'j')))
    """
    match node:
        case Literal():
            return ("1",)
        case Access(tensor):
            return ("of", tensor, *dict.fromkeys(index.name for index in node.indices))
    meets = isinstance(node, Binary) and node.op in (BinaryOp.MUL, BinaryOp.DIV)
    symbol = node.op.value if isinstance(node, Binary) and meets else "+"
    return (symbol, *(entry_tree(child) for child in children(node)))
