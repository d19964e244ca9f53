"""Converts types and index expressions to MLIR's objects of the current Context."""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Access, AffineSubscript, IndexVar, Subscript

__all__ = ["element_type", "indexing_map", "iterator_types", "tensor_type"]


def tensor_type(kind: TensorType) -> ir.Type:
    """Returns the `tensor<...>` type, which MLIR parses from the text of `TensorType.mlir_text`."""
    return ir.Type.parse(kind.mlir_text())


def element_type(dtype: DType) -> ir.Type:
    """Returns the element type."""
    return ir.Type.parse(dtype.mlir)


def indexing_map(access: Access, loops: Sequence[IndexVar]) -> ir.Attribute:
    """Returns the affine map from loop variables to the subscripts of an access, as an attribute."""
    results = [_affine(subscript, loops) for subscript in access.subscripts]
    return ir.AffineMapAttr.get(ir.AffineMap.get(len(loops), 0, results))


def iterator_types(loops: Sequence[IndexVar], reductions: Sequence[IndexVar]) -> ir.Attribute:
    """Returns the iterator type of each loop, as an attribute."""
    kinds = ["reduction" if variable in reductions else "parallel" for variable in loops]
    return ir.ArrayAttr.get([ir.Attribute.parse(f"#linalg.iterator_type<{kind}>") for kind in kinds])


def _affine(subscript: Subscript, loops: Sequence[IndexVar]) -> ir.AffineExpr:
    if isinstance(subscript, AffineSubscript):
        total = ir.AffineExpr.get_constant(subscript.constant)
        for coefficient, variable in subscript.terms:
            total = total + ir.AffineExpr.get_dim(loops.index(variable)) * coefficient
        return total
    return ir.AffineExpr.get_dim(loops.index(subscript))
