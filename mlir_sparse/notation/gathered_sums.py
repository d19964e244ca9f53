"""Sums over the columns of selections, which have one entry of 1 a row, as gathers: no sum is left."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from functools import reduce
from typing import TYPE_CHECKING

from mlir_sparse.notation.ast import Access, Binary, BinaryOp, Expr, IndexVar, Reduce, ReduceOp, children
from mlir_sparse.notation.rebuild import rebuild
from mlir_sparse.notation.summation import free_indices
from mlir_sparse.process.first_use import import_at_first_call

if TYPE_CHECKING:
    from mlir_sparse.notation.definition import at_subscripts
else:
    import_at_first_call(__name__, {"notation.definition": ("at_subscripts",)})

__all__ = ["factors_of", "gathered_sums", "product_of"]


def gathered_sums(
    node: Expr, places: Mapping[str, str], taken: set[str], rows: Container[IndexVar] | None = None
) -> Expr:
    """Returns an expression in which gathers stand for sums over columns of selections, wherever they can.

    Args:
        node: the expression, with explicit sums.
        places: by the name of each selection, the array that has the column of each row.
        taken: the names that no variable may have; new names are added.
        rows: the variables whose rows may be gathered; all when absent.

    Raises:
        NoCompositionError: for a gathered subscript inside of a linear sum.

    >>> from mlir_sparse.notation.notation_parser import parse
    >>> from mlir_sparse.notation.summation import with_explicit_sums
    >>> join = with_explicit_sums(parse("p(i) = H(i,d) * D(d,f) * w(f)"))
    >>> print(gathered_sums(join.value, {"H": "c"}, set()))
    sum(f : D(c(i),f) * w(f))
    """
    below = rebuild(node, tuple(gathered_sums(child, places, taken, rows) for child in children(node)))
    match below:
        case Reduce(ReduceOp.SUM, indices, body):
            return _summed(indices, body, places, taken, rows, below)
        case _:
            return below


def _summed(
    indices: tuple[IndexVar, ...],
    body: Expr,
    places: Mapping[str, str],
    taken: set[str],
    rows: Container[IndexVar] | None,
    node: Expr,
) -> Expr:
    """Returns a sum of a product without the selections whose columns it is over."""
    factors = list(factors_of(body))
    for number, factor in enumerate(factors):
        match factor:
            case Access(name, (IndexVar() as row, IndexVar() as column)) if name in places and column in indices:
                pass
            case _:
                continue
        rest = factors[:number] + factors[number + 1 :]
        known = rows is None or row in rows
        if known and row != column and any(column in free_indices(other) for other in rest):
            found = at_subscripts(product_of(rest), {column: Access(places[name], (row,))}, taken)
            left = tuple(index for index in indices if index != column)
            return _summed(left, found, places, taken, rows, Reduce(ReduceOp.SUM, left, found) if left else found)
    return node


def factors_of(node: Expr) -> Iterator[Expr]:
    """Yields the factors of a product, whatever its parentheses."""
    match node:
        case Binary(BinaryOp.MUL, left, right):
            yield from factors_of(left)
            yield from factors_of(right)
        case _:
            yield node


def product_of(factors: list[Expr]) -> Expr:
    """Returns the product of expressions, from left to right."""
    return reduce(lambda a, b: Binary(BinaryOp.MUL, a, b), factors)
