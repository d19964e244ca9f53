"""Programs as data: steps, calls of loop nests, cuts. The plan makes them, files hold them, the runtime runs them."""

from mlir_sparse.program.cuts import Cut, CutResult, StoredCut
from mlir_sparse.program.entry_bounds import EntryBounds
from mlir_sparse.program.nest_call import Argument, NestCall
from mlir_sparse.program.places import Gathered, IndexSum, Place
from mlir_sparse.program.program_steps import ProgramSteps, Step
from mlir_sparse.program.step_codec import read_steps, write_steps
from mlir_sparse.program.steps import (
    Conversion,
    ExtentVector,
    FibreView,
    LevelSpaceView,
    NativeStep,
    Pick,
    Position,
    SharedLevels,
)

__all__ = [
    "Argument",
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
