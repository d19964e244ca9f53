"""Index notation: what to compute, as a value.

Text (`notation_parser`, `comprehension_parser`, `einsum_strings`) or Python objects (`builders`) become an `Assignment`
or a `Comprehension`, whose nodes are in `ast`. `check_assignment` refuses those without a meaning, `summation` makes
every sum explicit, and `notation_printer` writes text again. Operators and semirings are declared here with their laws.
"""

from typing import TYPE_CHECKING

from mlir_sparse.notation.affine_targets import has_affine_target, refuse_affine_targets, with_plain_target
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
from mlir_sparse.notation.builders import TensorVar, tensors
from mlir_sparse.notation.check_assignment import check, check_height
from mlir_sparse.notation.check_comprehension import check_comprehension
from mlir_sparse.notation.comprehension import ELEMENT_TYPES, Comprehension, Parameter, accesses_of_statement
from mlir_sparse.notation.comprehension_parser import is_comprehension, parse_comprehension
from mlir_sparse.notation.entry_functions import under
from mlir_sparse.notation.formula import Formula, call, reduce, where
from mlir_sparse.notation.gathered_sums import factors_of, gathered_sums, product_of
from mlir_sparse.notation.index import Index, indices
from mlir_sparse.notation.index_values import (
    index_vector,
    index_vectors,
    is_index_vector,
    is_made_by_calls,
    tensors_given,
    with_index_vectors,
)
from mlir_sparse.notation.linear_subscript import bind, symbols_of
from mlir_sparse.notation.masks import MASK, SELECT, WITHOUT, chosen_values, is_mask
from mlir_sparse.notation.notation_parser import parse
from mlir_sparse.notation.operator import Distribution, Extreme, Monoid, Operator
from mlir_sparse.notation.rebuild import accesses_of, rebuild, rename_variables, replace_accesses, substitute
from mlir_sparse.notation.scalar_functions import FUNCTIONS, Function
from mlir_sparse.notation.semiring import Semiring, semiring
from mlir_sparse.notation.shifted_gathers import ShiftedGather, shifted_gather_of, shifted_gathers
from mlir_sparse.notation.summation import free_indices, with_explicit_sums
from mlir_sparse.notation.tracing import monoid, operator
from mlir_sparse.process.first_use import at_first_use

if TYPE_CHECKING:
    from mlir_sparse.notation.definition import (
        Composition,
        Definition,
        IndexFormula,
        NoCompositionError,
        composed,
        fresh_name,
    )
    from mlir_sparse.notation.einsum_strings import einsum_text, parse_einsum
    from mlir_sparse.notation.notation_printer import to_text
else:
    __getattr__ = at_first_use(
        __name__,
        {
            "definition": (
                *("Composition", "Definition", "IndexFormula", "NoCompositionError", "composed", "fresh_name"),
            ),
            "einsum_strings": ("einsum_text", "parse_einsum"),
            "notation_printer": ("to_text",),
        },
    )

__all__ = [
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
    "Composition",
    "Comprehension",
    "Definition",
    "Distribution",
    "Expr",
    "Extreme",
    "Fold",
    "Formula",
    "Function",
    "Index",
    "IndexFormula",
    "IndexVar",
    "Literal",
    "Monoid",
    "Negate",
    "NoCompositionError",
    "Operator",
    "Parameter",
    "Range",
    "Reduce",
    "ReduceOp",
    "Semiring",
    "ShiftedGather",
    "Subscript",
    "TensorVar",
    "accesses_of",
    "accesses_of_statement",
    "bind",
    "call",
    "check",
    "check_comprehension",
    "check_height",
    "children",
    "chosen_values",
    "composed",
    "einsum_text",
    "factors_of",
    "free_indices",
    "fresh_name",
    "gathered_sums",
    "has_affine_target",
    "index_vector",
    "index_vectors",
    "indices",
    "is_comprehension",
    "is_index_vector",
    "is_made_by_calls",
    "is_mask",
    "monoid",
    "operator",
    "parse",
    "parse_comprehension",
    "parse_einsum",
    "product_of",
    "reads",
    "rebuild",
    "reduce",
    "refuse_affine_targets",
    "rename_variables",
    "replace_accesses",
    "semiring",
    "shifted_gather_of",
    "shifted_gathers",
    "substitute",
    "symbols_of",
    "tensors",
    "tensors_given",
    "to_text",
    "under",
    "walk",
    "where",
    "with_explicit_sums",
    "with_index_vectors",
    "with_plain_target",
]
