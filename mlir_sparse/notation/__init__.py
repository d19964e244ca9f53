"""Index notation: text to an Assignment and back, and the summation rule."""

from mlir_sparse.notation.ast import (
    Access,
    AffineSubscript,
    Apply,
    Assignment,
    AssignOp,
    Binary,
    BinaryOp,
    Call,
    Expr,
    Fold,
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
from mlir_sparse.notation.einsum import einsum_text, parse_einsum
from mlir_sparse.notation.functions import FUNCTIONS, Function
from mlir_sparse.notation.linear import bind, symbols_of
from mlir_sparse.notation.masks import MASK, SELECT, WITHOUT, is_mask
from mlir_sparse.notation.operator import ARITHMETIC, Distribution, Extreme, Monoid, Operator
from mlir_sparse.notation.parser import parse
from mlir_sparse.notation.printer import to_text
from mlir_sparse.notation.rebuild import rebuild, replace_accesses, substitute
from mlir_sparse.notation.summation import free_indices, with_explicit_sums
from mlir_sparse.notation.tracing import monoid, operator

__all__ = [
    "ARITHMETIC",
    "ELEMENT_TYPES",
    "FUNCTIONS",
    "MASK",
    "SELECT",
    "WITHOUT",
    "Access",
    "AffineSubscript",
    "Apply",
    "AssignOp",
    "Assignment",
    "Binary",
    "BinaryOp",
    "Call",
    "Comprehension",
    "Distribution",
    "Expr",
    "Extreme",
    "Fold",
    "Formula",
    "Function",
    "Index",
    "IndexVar",
    "Literal",
    "Monoid",
    "Negate",
    "Operator",
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
    "einsum_text",
    "free_indices",
    "indices",
    "is_comprehension",
    "is_mask",
    "monoid",
    "operator",
    "parse",
    "parse_comprehension",
    "parse_einsum",
    "reads",
    "rebuild",
    "reduce",
    "replace_accesses",
    "substitute",
    "symbols_of",
    "tensors",
    "to_text",
    "walk",
    "where",
    "with_explicit_sums",
]
