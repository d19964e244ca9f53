"""Affine expressions and maps: how dimensions become levels and come back."""

from mlir_sparse.affine.affine_expr import AffineBinary, AffineExpr, AffineOp, Constant, Dim, Symbol
from mlir_sparse.affine.affine_map import AffineMap
from mlir_sparse.affine.affine_parser import parse_affine_expr, parse_affine_map
from mlir_sparse.affine.affine_printer import print_map
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
