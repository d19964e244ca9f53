"""The rules on expressions, in the order in which a plan applies them."""

from __future__ import annotations

from mlir_sparse.plan.rewrite.distribute import DISTRIBUTE
from mlir_sparse.plan.rewrite.factors_into_sums import FACTORS_INTO_SUMS
from mlir_sparse.plan.rewrite.flatten_sums import FLATTEN_SUMS
from mlir_sparse.plan.rewrite.masks_into_folds import MASKS_INTO_FOLDS
from mlir_sparse.plan.rewrite.merge_sums import MERGE_SUMS
from mlir_sparse.plan.rewrite.missing_as_masks import MISSING_AS_MASKS
from mlir_sparse.plan.rewrite.negate_factors import NEGATE_FACTORS
from mlir_sparse.plan.rewrite.rewrite_rule import Rule
from mlir_sparse.plan.rewrite.split_choices import SPLIT_CHOICES
from mlir_sparse.plan.rewrite.split_sums import SPLIT_SUMS
from mlir_sparse.plan.rewrite.sums_as_folds import SUMS_AS_FOLDS
from mlir_sparse.plan.rewrite.truth_in_counts import TRUTH_IN_COUNTS

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (
    SUMS_AS_FOLDS,
    FLATTEN_SUMS,
    DISTRIBUTE,
    FACTORS_INTO_SUMS,
    TRUTH_IN_COUNTS,
    SPLIT_SUMS,
    MERGE_SUMS,
    SPLIT_CHOICES,
    NEGATE_FACTORS,
    MISSING_AS_MASKS,
    MASKS_INTO_FOLDS,
)
