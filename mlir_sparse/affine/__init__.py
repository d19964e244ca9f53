"""Affine expressions and maps: from dimensions to levels, and back.

Text becomes an `AffineExpr` or an `AffineMap` (`affine_parser`), built by constructors that simplify as MLIR does
(`simplify`). Maps evaluate and compose (`affine_map`). Inverses and bounds are computed on the same expressions in
normal form (`integer_form`), and the printer writes what MLIR would.
"""

from typing import TYPE_CHECKING

from mlir_sparse.affine.affine_expr import AffineBinary, AffineExpr, AffineOp, Constant, Dim, Symbol
from mlir_sparse.affine.affine_map import AffineMap
from mlir_sparse.affine.simplify import add, ceildiv, floordiv, mod, mul, negate, subtract
from mlir_sparse.process.first_use import at_first_use

if TYPE_CHECKING:
    from mlir_sparse.affine.affine_parser import parse_affine_expr, parse_affine_map
    from mlir_sparse.affine.affine_printer import print_map
else:
    __getattr__ = at_first_use(
        __name__,
        {"affine_parser": ("parse_affine_expr", "parse_affine_map"), "affine_printer": ("print_map",)},
    )

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
