"""GPU kernels to a launch program: their arguments as buffers of tensors, and the values to allocate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from mlir_sparse import plan
from mlir_sparse.dtypes import INTEGER
from mlir_sparse.notation import AffineSubscript
from mlir_sparse.program import FibreView, LevelSpaceView, SharedLevels
from mlir_sparse.program.launch_program import LaunchProgram, MakeArray, MakeAssembled, MakeBegins, MakeShared
from mlir_sparse.program.launch_values import Array, Choice, Launch
from mlir_sparse.program.size_values import AxisSize, Extent, Parts, Product

__all__ = ["launch_program"]

T = TypeVar("T")
Found = Mapping[str, tuple[Launch, ...]]
Allocated = MakeArray | MakeBegins | MakeShared

# The least number of counts that a warp scans, and the greatest number of parts of a scan.
_LEAST_COUNTS = 512
_MOST_PARTS = 2048


def launch_program(
    text: str,
    chip: str,
    program: plan.Program,
    functions: Sequence[plan.NestFunction],
    mapped: Sequence[plan.MappedNest],
    found: Found,
) -> LaunchProgram:
    """Returns a program as launches of kernels.

    Args:
        text: the kernels in PTX; empty for a program that is emulated.
        chip: the GPU's architecture.
        program: the steps.
        functions: the lowered function of each loop nest.
        mapped: the mapping of each nest to threads.
        found: the launches of each host function.
    """
    allocated: dict[str, Allocated] = {}
    steps: list[Launch | Choice] = []
    assembled: MakeAssembled | None = None
    for function, nest in zip(functions, mapped, strict=True):
        if nest.two_phase is not None:
            allocated |= _scanned(nest, nest.two_phase, program)
            counting, assembled = _two_phases(function, nest, nest.two_phase, program, found)
            steps += counting
            continue
        allocated.setdefault(function.step.result, _allocated(function.step, program))
        steps += _cases(function.name, nest, found)
    rows = next((step for step in program.steps if isinstance(step, SharedLevels)), None)
    views = tuple(step for step in program.steps if isinstance(step, LevelSpaceView | FibreView))
    made, launched = tuple(allocated.values()), tuple(steps)
    return LaunchProgram(text, chip, made, launched, program.result, assembled, rows, views)


def _cases(name: str, mapped: plan.MappedNest, found: Found) -> list[Launch | Choice]:
    """Returns the launches of a function, for each of its mappings."""
    cases = [(case.conditions, found[f"{name}_{case.name}"]) for case in mapped.cases]
    return list(cases[0][1]) if len(cases) == 1 else [Choice(tuple(cases))]


def _two_phases(
    function: plan.NestFunction,
    mapped: plan.MappedNest,
    two_phase: plan.TwoPhaseAssembly,
    program: plan.Program,
    found: Found,
) -> tuple[list[Launch | Choice], MakeAssembled]:
    """Returns the launches of a result's symbolic phase, and the result with those of its numeric phase."""
    name = function.step.result
    kind = program.type_of(name)
    assert kind.encoding is not None
    scanned = [plan.scanned_arrays(name, level) for level in two_phase.levels]
    counting = _cases(f"{function.name}_count", mapped, found)
    for arrays in scanned:
        names = dict(zip(scanned[0], arrays, strict=True))
        counting += [_scan_of(one, names) for one in found[f"{function.name}_scan_all"]]
    steps = _cases(f"{function.name}_fill", mapped, found)
    shape = tuple(Extent(str(subscript)) for subscript in mapped.step.target.subscripts)
    totals = tuple(sums for _, sums, _ in scanned)
    return counting, MakeAssembled(name, kind.dtype, kind.encoding, shape, totals, scanned[0][-1], tuple(steps))


def _scan_of(launch: Launch, names: Mapping[str, str]) -> Launch:
    """Returns a launch that scans the arrays of another level."""

    def renamed(what: T) -> T:
        return replace(what, tensor=names[what.tensor]) if isinstance(what, Array | AxisSize) else what

    x, y, z = (replace(work, counts=tuple(map(renamed, work.counts))) for work in launch.grid)
    return replace(launch, grid=(x, y, z), parameters=tuple(map(renamed, launch.parameters)))


def _scanned(mapped: plan.MappedNest, two_phase: plan.TwoPhaseAssembly, program: plan.Program) -> dict[str, Allocated]:
    """Returns the temporaries of a result's symbolic phase."""
    encoding = program.type_of(mapped.step.result).encoding
    assert encoding is not None
    owners = tuple(Extent(str(variable)) for variable in two_phase.owners)
    allocated: dict[str, Allocated] = {}
    for level in two_phase.levels:
        counts, sums, begins = plan.scanned_arrays(mapped.step.result, level)
        allocated[counts] = MakeArray(counts, INTEGER, (Product(owners),))
        allocated[sums] = MakeArray(sums, INTEGER, (Parts(Product(owners), _LEAST_COUNTS, _MOST_PARTS),))
        allocated[begins] = MakeBegins(begins, encoding.pos_width or 64, Product(owners, 1))
    return allocated


def _allocated(step: plan.Generic, program: plan.Program) -> Allocated:
    """Returns how to allocate a result or a temporary, given the first nest that writes it."""
    kind = program.type_of(step.result)
    if kind.encoding is not None:
        shared = plan.shared_structure(step, dict(program.types))
        assert shared is not None
        if len(shared.subscripts) == len(step.target.subscripts):
            return MakeShared(step.result, kind.dtype, shared.tensor)
        shape = tuple(Extent(str(subscript)) for subscript in step.target.subscripts)
        return MakeShared(step.result, kind.dtype, shared.tensor, kind.encoding, shape)
    frames = {frame.subscript: frame.variable for frame in step.frames}
    names = [frames[s] if isinstance(s, AffineSubscript) else s for s in step.target.subscripts]
    return MakeArray(step.result, kind.dtype, tuple(Extent(str(name)) for name in names))
