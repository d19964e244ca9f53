"""Index notation: text to an Assignment and back, and the summation rule."""

from mlir_sparse.notation.ast import (
    Access,
    AffineSubscript,
    Assignment,
    AssignOp,
    Binary,
    BinaryOp,
    Call,
    Expr,
    IndexVar,
    Literal,
    Negate,
    Reduce,
    ReduceOp,
    Subscript,
    children,
    walk,
)
from mlir_sparse.notation.builders import Formula, Index, TensorVar, call, indices, reduce, tensors, where
from mlir_sparse.notation.check import check
from mlir_sparse.notation.einsum import parse_einsum
from mlir_sparse.notation.functions import FUNCTIONS, Function
from mlir_sparse.notation.parser import parse
from mlir_sparse.notation.printer import to_text
from mlir_sparse.notation.summation import free_indices, with_explicit_sums

__all__ = [
    "FUNCTIONS",
    "Access",
    "AffineSubscript",
    "AssignOp",
    "Assignment",
    "Binary",
    "BinaryOp",
    "Call",
    "Expr",
    "Formula",
    "Function",
    "Index",
    "IndexVar",
    "Literal",
    "Negate",
    "Reduce",
    "ReduceOp",
    "Subscript",
    "TensorVar",
    "call",
    "check",
    "children",
    "free_indices",
    "indices",
    "parse",
    "parse_einsum",
    "reduce",
    "tensors",
    "to_text",
    "walk",
    "where",
    "with_explicit_sums",
]
