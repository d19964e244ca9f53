"""The element types that operands of operators on entries are computed in."""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse.dtypes import TRUTH, DType
from mlir_sparse.notation import Access, Apply, Expr, Fold, Literal, Operator, walk
from mlir_sparse.notation.entry_functions import is_arithmetic, only_chooses
from mlir_sparse.spec.computed_type import promote, result_dtype

__all__ = ["entry_dtype", "operand_entry_dtype"]


def operand_entry_dtype(argument: Expr, operator: Operator, dtype: DType, dtypes: Mapping[str, DType]) -> DType:
    """Returns the element type that an operand is computed in: arithmetic's is that of the statement.

    Operators of a user's get their operands in the operands' own types.

    Args:
        argument: the operand.
        operator: what it is an operand of.
        dtype: the type that the operator's result is computed in.
        dtypes: the element type of every tensor.
    """
    if not is_arithmetic(operator):
        return result_dtype(argument, dtypes)
    return entry_dtype(argument, dtype, dtypes)


def entry_dtype(node: Expr, dtype: DType, dtypes: Mapping[str, DType]) -> DType:
    """Returns the element type that a part of a statement is computed in.

    Logic stays logic whatever it is added to. What is read, or chosen from what is read, has the type of the data, as
    the greatest integer of that type may stand for infinity. A user's monoid combines values of their own type. What an
    operator of a declared type gives is reduced in that type, as counts of entries are.

    Args:
        node: the part.
        dtype: the type of the statement.
        dtypes: the element type of every tensor.
    """
    own = result_dtype(node, dtypes)
    if own == TRUTH or _is_only_read(node):
        return own
    if isinstance(node, Fold) and (_is_declared(node.body) or not is_arithmetic(node.monoid.operator)):
        return own
    return promote(own, dtype)


def _is_declared(node: Expr) -> bool:
    return isinstance(node, Apply) and node.operator.dtype is not None


def _is_only_read(node: Expr) -> bool:
    return all(
        isinstance(below, Access | Literal) or (isinstance(below, Apply) and only_chooses(below.operator))
        for below in walk(node)
    )
