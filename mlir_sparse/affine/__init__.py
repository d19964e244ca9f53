"""Affine expressions and maps: how dimensions become levels and come back."""

from mlir_sparse.affine.expr import AffineBinary, AffineExpr, AffineOp, Constant, Dim, Symbol
from mlir_sparse.affine.map import AffineMap
from mlir_sparse.affine.parser import parse_affine_expr, parse_affine_map
from mlir_sparse.affine.printer import print_map
from mlir_sparse.affine.simplify import add, ceildiv, floordiv, mod, mul, negate, subtract

__all__ = [
    "AffineBinary",
    "AffineExpr",
    "AffineMap",
    "AffineOp",
    "Constant",
    "Dim",
    "Symbol",
    "add",
    "ceildiv",
    "floordiv",
    "mod",
    "mul",
    "negate",
    "parse_affine_expr",
    "parse_affine_map",
    "print_map",
    "subtract",
]
