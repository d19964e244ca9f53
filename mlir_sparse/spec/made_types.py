"""The types of operands that calls make: positions of index variables as values, places of gathers with offsets."""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse.dtypes import INTEGER
from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Assignment, index_vectors, shifted_gathers

__all__ = ["made_types"]


def made_types(assignment: Assignment, types: Mapping[str, TensorType]) -> dict[str, TensorType]:
    """Returns the types of what calls make for a statement, by name.

    Args:
        assignment: the statement.
        types: the types of the tensors that users pass.

    >>> from mlir_sparse.notation import parse
    >>> made = made_types(parse("y(i) = x(I(i,j) + 1) * j"), {"I": TensorType.parse("i32[?,?] CSR")})
    >>> {name: str(kind) for name, kind in made.items()}
    {'j.index': 'i64[?]', 'I.at_1_1': 'i64[?,?]'}
    """
    found = dict.fromkeys(index_vectors(assignment), TensorType(INTEGER, (None,)))
    for name, gather in shifted_gathers(assignment).items():
        if (kind := types.get(gather.tensor)) is not None:
            # Other types than integers are refused where they are read.
            found[name] = TensorType(INTEGER if kind.dtype.is_integer else kind.dtype, (None,) * kind.rank)
    return found
