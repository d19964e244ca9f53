"""Multiplications whose result is a position and no value: `firsti`, `secondj`, ... (SuiteSparse:GraphBLAS' names).

Of a product of two tensors, `first` and `second` say which factor's subscript is the result, `i` and `j` whether its
first or its second; of a vector both mean its only one. `firsti1` and the like count from 1.
"""

from __future__ import annotations

from mlir_sparse.dtypes import INTEGER
from mlir_sparse.errors import NotationError
from mlir_sparse.notation.ast import Access, Apply, Assignment, Binary, BinaryOp, Expr, IndexVar, Literal
from mlir_sparse.notation.index_values import index_vector
from mlir_sparse.notation.operator import Operator

__all__ = ["POSITIONAL", "position_of"]

_NAMES = tuple(f"{factor}{axis}{base}" for factor in ("first", "second") for axis in "ij" for base in ("", "1"))
# The overlap alone is the number of each product: under a semiring `position_of` stands for it.
POSITIONAL: dict[str, Operator] = {name: Operator(name, ("a", "b"), Literal(1), dtype=INTEGER.name) for name in _NAMES}
"""The positional multiplications by name."""


def position_of(multiply: Operator, node: Binary, product: Expr, second: Operator, assignment: Assignment) -> Expr:
    """Returns a position wherever a product has an entry.

    Args:
        multiply: the positional multiplication.
        node: the product as it was written.
        product: what has an entry where both factors have one.
        second: the operator that gives its second operand where both have an entry.
        assignment: the statement, for errors.

    Raises:
        NotationError: for a factor that is no tensor, or that has an axis without a plain index variable there.
    """
    factor = node.left if multiply.name.startswith("first") else node.right
    axis = int("j" in multiply.name.removeprefix("first").removeprefix("second"))
    subscripts = factor.subscripts if isinstance(factor, Access) else ()
    place = subscripts[min(axis, len(subscripts) - 1)] if 1 <= len(subscripts) <= 2 else None
    if not isinstance(place, IndexVar):
        raise NotationError(
            f"expected a vector or a matrix at index variables, whose position {multiply.name} is, but got `{factor}`",
            source=assignment.source,
            span=factor.span,
        )
    position: Expr = index_vector(place)
    if multiply.name.endswith("1"):
        position = Binary(BinaryOp.ADD, position, Literal(1))
    return Apply(second, (product, position), node.span)
