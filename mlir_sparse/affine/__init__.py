"""Affine expressions and maps: from dimensions to levels, and back.

Text becomes an `AffineExpr` or an `AffineMap` (`affine_parser`), built by constructors that simplify as MLIR does
(`simplify`). Maps evaluate and compose (`affine_map`). Inverses and bounds are computed on the same expressions in
normal form (`integer_form`), and the printer writes what MLIR would.
"""

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
