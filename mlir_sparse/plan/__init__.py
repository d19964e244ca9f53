"""Plans a kernel: the steps that compute it, each with its reason.

`planner` makes the steps with `rewrite/` (rules on expressions) and `order/` (loop orders, storage), on values that
`program_builder` names and types. `choose_cuts` and `mapping/` partition loop nests for threads, `program_as_data`
turns the plan into a program, and `explain` prints it.
"""

from typing import TYPE_CHECKING

from mlir_sparse.process.first_use import at_first_use

if TYPE_CHECKING:
    from mlir_sparse.plan.choose_cuts import choose_cut
    from mlir_sparse.plan.chunk_results import combining_functions
    from mlir_sparse.plan.facts_of_nests import facts_of_nest
    from mlir_sparse.plan.mapping.choose_mapping import map_loops
    from mlir_sparse.plan.mapping.mapped_nest import MappedNest, explain_mapping, shared_structure
    from mlir_sparse.plan.mapping.two_phase_results import TwoPhaseAssembly, scanned_arrays
    from mlir_sparse.plan.nests.entry_regions import Regions, is_native, regions_of
    from mlir_sparse.plan.nests.initial_addends import without_initial_addends
    from mlir_sparse.plan.nests.widen_half_sums import with_wide_sums
    from mlir_sparse.plan.order.scattered_masks import scattered
    from mlir_sparse.plan.plan_steps import (
        AccumulateMode,
        Frame,
        Generic,
        Located,
        LocatedRows,
        NestFunction,
        Program,
        Step,
        combining_name,
        functions_of,
        identity_of,
        values_read,
    )
    from mlir_sparse.plan.planner import plan
    from mlir_sparse.plan.program_as_data import steps_of
else:
    __getattr__ = at_first_use(
        __name__,
        {
            "choose_cuts": ("choose_cut",),
            "chunk_results": ("combining_functions",),
            "facts_of_nests": ("facts_of_nest",),
            "mapping.choose_mapping": ("map_loops",),
            "mapping.mapped_nest": (
                "MappedNest",
                "explain_mapping",
                "shared_structure",
            ),
            "mapping.two_phase_results": (
                "TwoPhaseAssembly",
                "scanned_arrays",
            ),
            "nests.entry_regions": (
                "Regions",
                "is_native",
                "regions_of",
            ),
            "nests.initial_addends": ("without_initial_addends",),
            "nests.widen_half_sums": ("with_wide_sums",),
            "order.scattered_masks": ("scattered",),
            "plan_steps": (
                "AccumulateMode",
                "Frame",
                "Generic",
                "Located",
                "LocatedRows",
                "NestFunction",
                "Program",
                "Step",
                "combining_name",
                "functions_of",
                "identity_of",
                "values_read",
            ),
            "planner": ("plan",),
            "program_as_data": ("steps_of",),
        },
    )

__all__ = [
    "AccumulateMode",
    "Frame",
    "Generic",
    "Located",
    "LocatedRows",
    "MappedNest",
    "NestFunction",
    "Program",
    "Regions",
    "Step",
    "TwoPhaseAssembly",
    "choose_cut",
    "combining_functions",
    "combining_name",
    "explain_mapping",
    "facts_of_nest",
    "functions_of",
    "identity_of",
    "is_native",
    "map_loops",
    "plan",
    "regions_of",
    "scanned_arrays",
    "scattered",
    "shared_structure",
    "steps_of",
    "values_read",
    "with_wide_sums",
    "without_initial_addends",
]
