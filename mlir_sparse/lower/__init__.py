"""Writes the loop nests of a program as `linalg.generic` on encoded tensors, in a verified module.

`generic_module` builds a function for each nest. `scalar_region` emits the payload of a generic, and `entry_region_ops`
that of operators on stored entries. Both use `arithmetic_ops` and `truth_ops`, which choose MLIR's operation by the
element type, and `function_ops`, which composes functions that MLIR lacks.
"""

from typing import TYPE_CHECKING

from mlir_sparse.process.first_use import at_first_use

if TYPE_CHECKING:
    from mlir_sparse.lower.cancelled_operands import cancels_operands
    from mlir_sparse.lower.generic_module import LoweredProgram, lower
    from mlir_sparse.lower.notation_locations import notation_place
else:
    __getattr__ = at_first_use(
        __name__,
        {
            "cancelled_operands": ("cancels_operands",),
            "generic_module": (
                "LoweredProgram",
                "lower",
            ),
            "notation_locations": ("notation_place",),
        },
    )

__all__ = ["LoweredProgram", "cancels_operands", "lower", "notation_place"]
