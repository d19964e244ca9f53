"""Kernel to Program: steps that the sparsifier is known to take, and why each is there."""

from mlir_sparse.plan.choose_cuts import Outcome, Partition, partition
from mlir_sparse.plan.explain import explain
from mlir_sparse.plan.mapping.choose_mapping import map_loops
from mlir_sparse.plan.mapping.thread_mapping import (
    Case,
    Mapped,
    Quantity,
    Test,
    Whole,
    explain_mapping,
    shared_structure,
)
from mlir_sparse.plan.mapping.two_phase_results import Own
from mlir_sparse.plan.order.scattered_masks import scattered
from mlir_sparse.plan.planner import plan
from mlir_sparse.plan.program import (
    Conversion,
    Extent,
    FibreView,
    Frame,
    Generic,
    LevelView,
    Located,
    LocatedRows,
    Meeting,
    Pick,
    Position,
    Program,
    Rows,
    Step,
    combining_name,
)
from mlir_sparse.plan.rewrite.entry_regions import Regions, is_native, regions_of
from mlir_sparse.plan.rewrite.entry_tree import entry_tree
from mlir_sparse.plan.rewrite.initial_addends import parted
from mlir_sparse.plan.rewrite.sum_of_terms import accesses_of
from mlir_sparse.plan.rewrite.widen_half_sums import with_wide_sums

__all__ = [
    "Case",
    "Conversion",
    "Extent",
    "FibreView",
    "Frame",
    "Generic",
    "LevelView",
    "Located",
    "LocatedRows",
    "Mapped",
    "Meeting",
    "Outcome",
    "Own",
    "Partition",
    "Pick",
    "Position",
    "Program",
    "Quantity",
    "Regions",
    "Rows",
    "Step",
    "Test",
    "Whole",
    "accesses_of",
    "combining_name",
    "entry_tree",
    "explain",
    "explain_mapping",
    "is_native",
    "map_loops",
    "parted",
    "partition",
    "plan",
    "regions_of",
    "scattered",
    "shared_structure",
    "with_wide_sums",
]
