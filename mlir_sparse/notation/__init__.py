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
    Range,
    Reduce,
    ReduceOp,
    Subscript,
    children,
    reads,
    walk,
)
from mlir_sparse.notation.builders import Formula, Index, TensorVar, call, indices, reduce, tensors, where
from mlir_sparse.notation.check import check
from mlir_sparse.notation.comprehension import ELEMENT_TYPES, Comprehension, Parameter, accesses_of_statement
from mlir_sparse.notation.comprehension_check import check_comprehension
from mlir_sparse.notation.comprehension_parser import is_comprehension, parse_comprehension
from mlir_sparse.notation.einsum import parse_einsum
from mlir_sparse.notation.functions import FUNCTIONS, Function
from mlir_sparse.notation.linear import bind, symbols_of
from mlir_sparse.notation.parser import parse
from mlir_sparse.notation.printer import to_text
from mlir_sparse.notation.summation import free_indices, with_explicit_sums

__all__ = [
    "ELEMENT_TYPES",
    "FUNCTIONS",
    "Access",
    "AffineSubscript",
    "AssignOp",
    "Assignment",
    "Binary",
    "BinaryOp",
    "Call",
    "Comprehension",
    "Expr",
    "Formula",
    "Function",
    "Index",
    "IndexVar",
    "Literal",
    "Negate",
    "Parameter",
    "Range",
    "Reduce",
    "ReduceOp",
    "Subscript",
    "TensorVar",
    "accesses_of_statement",
    "bind",
    "call",
    "check",
    "check_comprehension",
    "children",
    "free_indices",
    "indices",
    "is_comprehension",
    "parse",
    "parse_comprehension",
    "parse_einsum",
    "reads",
    "reduce",
    "symbols_of",
    "tensors",
    "to_text",
    "walk",
    "where",
    "with_explicit_sums",
]
