"""Products with a literal that the sparsifier crashes on where they are added to something with a dense level.

In `B(i,j) * d(j) + 2 * (C(i,j) + P(i,j))` it takes the literal for a dense row of its own, as loops over a union reach
it, and looks `d` up at no coordinate. The dense rows of a matrix in CSR are such a row beside lists of rows, as in
`B(i,j,k) * D(i,k) + 2 * (C(i,j,k) + P(i,j,k))`. A product with a dense row over all of its variables is not concerned.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from mlir_sparse.notation import Access, Binary, BinaryOp, Expr, Literal, accesses_of, children, free_indices, rebuild
from mlir_sparse.plan.nests.entry_regions import is_native, regions_of
from mlir_sparse.spec import depends_on

__all__ = ["without_literal_products"]

_PRODUCTS = (BinaryOp.MUL, BinaryOp.DIV)


def without_literal_products(
    node: Expr, sparse: Collection[str], kind: str, mixed: bool, make: Callable[[Expr], Expr]
) -> Expr:
    """Returns a sum in which products with a literal and a union of entries are made beforehand; others as they are.

    Of a product with a literal a sum of three terms or more is made, where it has a dense row.

    Args:
        node: an expression that the sparsifier knows.
        sparse: the tensors that leave out zeros.
        kind: the kind of element type it computes in.
        mixed: whether its sparse tensors are stored, or read, in more than one way.
        make: makes an expression, and returns what reads it.
    """
    rows = any(access.indices and access.tensor not in sparse for access in accesses_of(node))
    if not (isinstance(node, Binary) and (rows or mixed)):
        return node
    if node.op in _PRODUCTS:
        unions = [below for below in _known(node, sparse, kind) if _unites(below, sparse, kind)]
        if len(unions) < 2 or not _is_concerned(node, sparse, kind):
            return node
        operands = (
            make(each) if not isinstance(each, Access) and depends_on(each, sparse) else each for each in children(node)
        )
        return rebuild(node, tuple(operands))
    if node.op not in (BinaryOp.ADD, BinaryOp.SUB):
        return node

    def made(below: Expr) -> Expr:
        if not depends_on(below, sparse) or not is_native(below, sparse, kind):
            return below
        if isinstance(below, Binary) and below.op in _PRODUCTS and _is_concerned(below, sparse, kind):
            return make(below)
        return rebuild(below, tuple(map(made, children(below))))

    return rebuild(node, tuple(map(made, children(node))))


def _is_concerned(node: Expr, sparse: Collection[str], kind: str) -> bool:
    known = list(_known(node, sparse, kind))
    if not any(isinstance(below, Literal) for below in known):
        return False
    variables = set(free_indices(node))
    if any(factor.tensor not in sparse and set(factor.indices) == variables for factor in _factors(node)):
        return False
    return any(_unites(below, sparse, kind) for below in known)


def _known(node: Expr, sparse: Collection[str], kind: str) -> Iterator[Expr]:
    """Yields a node and what is below it, but for what stands in regions."""
    yield node
    if not depends_on(node, sparse) or is_native(node, sparse, kind):
        for child in children(node):
            yield from _known(child, sparse, kind)


def _factors(node: Expr) -> Iterator[Access]:
    match node:
        case Access():
            yield node
        case Binary(BinaryOp.MUL, left, right):
            yield from _factors(left)
            yield from _factors(right)
        case Binary(BinaryOp.DIV, left, _):
            yield from _factors(left)
        case _:
            pass


def _unites(node: Expr, sparse: Collection[str], kind: str) -> bool:
    """Returns whether the entries of a node are those of one operand or another."""
    if not depends_on(node, sparse):
        return False
    if is_native(node, sparse, kind):
        return isinstance(node, Binary) and node.op in (BinaryOp.ADD, BinaryOp.SUB)
    found = regions_of(node, sparse)
    return found is None or found.left or found.right
