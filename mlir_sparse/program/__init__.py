"""Programs as data: the plan makes them, saved kernels store them, the runtime runs them.

A program is `ProgramSteps`: native steps (`steps`) and calls of loop nests (`nest_call`), each with the cut into chunks
(`cuts`) that threads run, and which of them may run for some rows at a time (`blocks`). On a GPU it is a
`LaunchProgram` (`launch_values`), whose numbers and conditions are values too (`size_values`), or a product of a
library (`library_product`). `step_codec` writes programs as JSON.
"""

from typing import TYPE_CHECKING

from mlir_sparse.process.first_use import at_first_use

if TYPE_CHECKING:
    from mlir_sparse.program.blocks import BlockArray, Blocks
    from mlir_sparse.program.cuts import Cut, CutResult, StoredCut
    from mlir_sparse.program.entry_bounds import EntryBounds
    from mlir_sparse.program.nest_call import Argument, NestCall
    from mlir_sparse.program.program_steps import ProgramSteps, Step
    from mlir_sparse.program.step_codec import read_steps, write_steps
    from mlir_sparse.program.steps import (
        ArrayProduct,
        Conversion,
        ExtentVector,
        FibreView,
        LevelSpaceView,
        NativeStep,
        Pick,
        Position,
        SharedLevels,
    )
    from mlir_sparse.program.subscript_data import Gathered, IndexSum, Place
else:
    __getattr__ = at_first_use(
        __name__,
        {
            "blocks": (
                "BlockArray",
                "Blocks",
            ),
            "cuts": (
                "Cut",
                "CutResult",
                "StoredCut",
            ),
            "entry_bounds": ("EntryBounds",),
            "nest_call": (
                "Argument",
                "NestCall",
            ),
            "program_steps": (
                "ProgramSteps",
                "Step",
            ),
            "step_codec": (
                "read_steps",
                "write_steps",
            ),
            "steps": (
                "ArrayProduct",
                "Conversion",
                "ExtentVector",
                "FibreView",
                "LevelSpaceView",
                "NativeStep",
                "Pick",
                "Position",
                "SharedLevels",
            ),
            "subscript_data": (
                "Gathered",
                "IndexSum",
                "Place",
            ),
        },
    )

__all__ = [
    "Argument",
    "ArrayProduct",
    "BlockArray",
    "Blocks",
    "Conversion",
    "Cut",
    "CutResult",
    "EntryBounds",
    "ExtentVector",
    "FibreView",
    "Gathered",
    "IndexSum",
    "LevelSpaceView",
    "NativeStep",
    "NestCall",
    "Pick",
    "Place",
    "Position",
    "ProgramSteps",
    "SharedLevels",
    "Step",
    "StoredCut",
    "read_steps",
    "write_steps",
]
