"""Products of sparse factors with dense ones, as what has entries where the sparse factors have.

Reductions that must see zeros, `max(j : A(i,j) * B(j,k))`, combine such entries as loops come to them, and then a
zero where fewer are stored than there are elements. No temporary holds the product.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from mlir_sparse.notation import (
    FUNCTIONS,
    Access,
    Apply,
    Binary,
    BinaryOp,
    Call,
    Expr,
    IndexVar,
    Literal,
    Negate,
    accesses_of,
    operator,
    rebuild,
)
from mlir_sparse.notation.entry_functions import entries_of
from mlir_sparse.spec import depends_on, missing, vanishes

__all__ = ["entry_product", "sparse_factors"]

_OVER = operator(lambda a, b: a / b, name="over")


def entry_product(node: Expr, sparse: Collection[str], materialize: Callable[[Expr], Access]) -> Expr | None:
    """Returns a product as operators on entries; None where it has values at places that are no entries.

    Args:
        node: free of reductions, and zero where its sparse operands are.
        sparse: the operands that leave out zeros.
        materialize: computes a factor that is no product into a temporary.
    """
    found = entries_of(_of_factors(node, sparse, materialize))
    plain = all(
        len(set(access.subscripts)) == len(access.subscripts)
        and all(isinstance(s, IndexVar) for s in access.subscripts)
        for access in accesses_of(found)
    )
    return found if plain and missing(found, sparse) else None


def _of_factors(node: Expr, sparse: Collection[str], materialize: Callable[[Expr], Access]) -> Expr:
    def inner(below: Expr) -> Expr:
        return _of_factors(below, sparse, materialize)

    match node:
        case Binary(BinaryOp.MUL, left, right):
            return rebuild(node, (inner(left), inner(right)))
        case Binary(BinaryOp.DIV, left, right) if not depends_on(right, sparse):
            return Apply(_OVER, (inner(left), right), node.span)
        case Binary(BinaryOp.NE, left, Literal(0)):
            return rebuild(node, (inner(left), Literal(0)))
        case Negate(operand):
            return rebuild(node, (inner(operand),))
        case Call(function, (operand,)) if FUNCTIONS[function].zero_preserving:
            return rebuild(node, (inner(operand),))
        case Binary() | Call() if depends_on(node, sparse) and vanishes(node, sparse):
            return materialize(node)
        case _:
            return node


def sparse_factors(node: Expr, sparse: Collection[str]) -> Expr:
    """Returns what says where a product has entries: its factors but for those that are dense.

    >>> from mlir_sparse.notation import parse
    >>> print(sparse_factors(entries_of(parse("y(i) = A(i,j) * x(j)").value), {"A"}))
    A(i,j)
    """
    if not isinstance(node, Apply):
        return node
    left = [argument for argument in node.arguments if depends_on(argument, sparse)]
    return sparse_factors(left[0], sparse) if len(left) == 1 else node
