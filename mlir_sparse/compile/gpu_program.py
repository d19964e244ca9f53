"""GPU kernels to a launch program: their arguments as buffers of tensors, and the values to allocate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlir_sparse import lower, plan
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding
from mlir_sparse.encoding.buffer_layout import level_buffers
from mlir_sparse.gpu.assembled_module import HostLaunch
from mlir_sparse.notation import AffineSubscript, accesses_of
from mlir_sparse.program import ExtentVector, FibreView, LevelSpaceView, SharedLevels
from mlir_sparse.program.launch_values import (
    Array,
    Choice,
    Launch,
    LaunchProgram,
    LevelBuffer,
    MakeArray,
    MakeAssembled,
    MakeBegins,
    MakeShared,
    Parameter,
    View,
    Work,
)
from mlir_sparse.program.size_values import (
    AxisSize,
    Count,
    Extent,
    Fixed,
    LevelSize,
    Parts,
    Positions,
    Product,
    Start,
    Stored,
)

__all__ = ["launch_program", "views_of"]

Found = Mapping[str, tuple[HostLaunch, ...]]
Allocated = MakeArray | MakeBegins | MakeShared

# The width of counts, the least number of counts that a warp scans, and the greatest number of parts of a scan.
_COUNTS = DType("i64")
_LEAST_COUNTS = 512
_MOST_PARTS = 2048


def launch_program(
    text: str,
    chip: str,
    program: plan.Program,
    functions: Sequence[plan.NestFunction],
    mapped: Sequence[plan.Mapped],
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
        if nest.own is not None:
            allocated |= _scanned(nest, nest.own, program)
            counting, assembled = _two_phases(function, nest, nest.own, program, found)
            steps += counting
            continue
        allocated.setdefault(function.step.result, _allocated(function.step, program))
        written = _written(function.step.result, program)
        steps += _cases(function.name, nest, _Arguments(program, function, written), found)
    rows = next((step for step in program.steps if isinstance(step, SharedLevels)), None)
    return LaunchProgram(text, chip, tuple(allocated.values()), tuple(steps), program.result, assembled, rows)


def views_of(program: plan.Program) -> dict[str, View]:
    """Returns the views of operands, by their names in steps."""
    found: dict[str, View] = {}
    for step in program.steps:
        match step:
            case LevelSpaceView():
                found[step.result] = View(step.operand)
            case FibreView():
                found[step.result] = View(step.operand, step.depth, step.encoding, _counting(step.result, program))
            case _:
                pass
    return found


def _counting(view: str, program: plan.Program) -> str:
    """Returns the variable that numbers the fibres of a view."""
    nests = (step for step in program.steps if isinstance(step, plan.Generic))
    reads = (access for nest in nests for access in accesses_of(nest.payload))
    return str(next(access.subscripts[0] for access in reads if access.tensor == view))


def _written(name: str, program: plan.Program) -> tuple[LevelBuffer | Array, ...]:
    """Returns the buffers that loops write, of a dense result or one that shares an operand's structure."""
    encoding = program.type_of(name).encoding
    return (Array(name) if encoding is None else LevelBuffer(name, len(level_buffers(encoding))),)


def _cases(name: str, mapped: plan.Mapped, arguments: _Arguments, found: Found) -> list[Launch | Choice]:
    """Returns the launches of a function, for each of its mappings."""
    cases = []
    for case in mapped.cases:
        launches = tuple(arguments.launch(one) for one in found[f"{name}_{case.name}"])
        cases.append((case.conditions, launches))
    return list(cases[0][1]) if len(cases) == 1 else [Choice(tuple(cases))]


def _two_phases(
    function: plan.NestFunction, mapped: plan.Mapped, own: plan.Own, program: plan.Program, found: Found
) -> tuple[list[Launch | Choice], MakeAssembled]:
    """Returns the launches of a result's symbolic phase, and the result with those of its numeric phase."""
    name = function.step.result
    kind = program.type_of(name)
    assert kind.encoding is not None
    scanned = [tuple(Array(allocated) for allocated in _names(name, level)) for level in own.levels]
    counts, sums, begins = (tuple(arrays) for arrays in zip(*scanned, strict=True))
    counting = _cases(f"{function.name}_count", mapped, _Arguments(program, function, counts), found)
    for arrays in scanned:
        scanning = _Arguments(program, function, arrays, operands=False)
        counting += [scanning.launch(one) for one in found[f"{function.name}_scan_all"]]
    # The first positions are the begins of entries in the first level, or known without a kernel.
    rest = tuple(LevelBuffer(name, number + 1) for number in range(len(level_buffers(kind.encoding))))
    steps = _cases(f"{function.name}_fill", mapped, _Arguments(program, function, (*begins, *rest)), found)
    shape = tuple(Extent(str(subscript)) for subscript in mapped.step.target.subscripts)
    totals, first = tuple(array.tensor for array in sums), begins[0].tensor
    return counting, MakeAssembled(name, kind.dtype, kind.encoding, shape, totals, first, tuple(steps))


def _names(result: str, level: int) -> tuple[str, str, str]:
    """Returns the names of a level's temporaries: entries of each owner, sums of parts, begins."""
    return f"{result}.counts{level}", f"{result}.sums{level}", f"{result}.begins{level}"


def _scanned(mapped: plan.Mapped, own: plan.Own, program: plan.Program) -> dict[str, Allocated]:
    """Returns the temporaries of a result's symbolic phase."""
    encoding = program.type_of(mapped.step.result).encoding
    assert encoding is not None
    owners = tuple(Extent(str(variable)) for variable in own.owners)
    allocated: dict[str, Allocated] = {}
    for level in own.levels:
        counts, sums, begins = _names(mapped.step.result, level)
        allocated[counts] = MakeArray(counts, _COUNTS, (Product(owners),))
        allocated[sums] = MakeArray(sums, _COUNTS, (Parts(Product(owners), _LEAST_COUNTS, _MOST_PARTS),))
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


class _Arguments:
    """The arguments of a lowered function: buffers of level storage and arrays."""

    def __init__(
        self,
        program: plan.Program,
        function: plan.NestFunction,
        written: Sequence[LevelBuffer | Array],
        *,
        operands: bool = True,
    ) -> None:
        self._extents = {step.result: step.variable for step in program.steps if isinstance(step, ExtentVector)}
        self._sources = {step.result: step.source for step in program.steps if isinstance(step, plan.Located)}
        self._rows = {step.result: step for step in program.steps if isinstance(step, plan.LocatedRows)}
        self._buffers: list[LevelBuffer | Array | str] = []
        self._starts = {
            (guard.argument, guard.axis): Start(guard.frame.operand, guard.frame.dim)
            for guard in lower.guards_of(function, dict(program.types))
            if guard.frame is not None
        }
        self._levels: dict[int, tuple[str, int]] = {}
        for access in function.operands if operands else ():
            self._add(access.tensor, program.type_of(access.tensor).encoding)
        self._buffers += written

    def _add(self, name: str, encoding: Encoding | None) -> None:
        if encoding is None:
            self._buffers.append(Array(name))
            return
        buffers, shift = level_buffers(encoding), 0
        if name in self._rows:
            name, shift = self._rows[name].operand, self._rows[name].first
        for number, (level, kind, _) in enumerate(buffers):
            if kind == "positions":
                self._levels[len(self._buffers)] = (name, level)
            self._buffers.append(LevelBuffer(name, number + shift))
        self._buffers.append(LevelBuffer(name, len(buffers) + shift))
        self._buffers.append(name)  # its level sizes

    def launch(self, launch: HostLaunch) -> Launch:
        """Returns a launch in terms of tensors."""
        x, y, z = (self._work(size, block) for size, block in launch.grid)
        parameters = tuple(self._parameter(text) for text in launch.parameters)
        return Launch(launch.kernel, (x, y, z), launch.threads, parameters)

    def _work(self, size: str, block: int) -> Work:
        kind, *numbers = size.split()
        if size == "fixed 1":
            return Work()
        if kind == "chunks":
            return Work((self._count(f"stored {numbers[0]} {numbers[1]}"),), block * int(numbers[2]))
        return Work((self._count(size),), block)

    def _parameter(self, text: str) -> Parameter:
        kind, *numbers = text.split()
        if kind == "level":
            return LevelBuffer(numbers[0], int(numbers[1]))
        if kind == "level_size":
            return LevelSize(numbers[0], int(numbers[1]))
        if kind in ("buffer", "parts"):
            found = self._buffers[int(numbers[0])]
            assert not isinstance(found, str)
            return found
        return self._count(text)

    def _count(self, text: str) -> Count:
        kind, *rest = text.split()
        numbers = [int(number) for number in rest]
        match kind:
            case "fixed":
                return Fixed(numbers[0])
            case "stored":
                return Stored(*self._levels[numbers[0]])
            case "positions":
                return Positions(*self._levels[numbers[0]])
            case "start":
                return self._starts[numbers[0], numbers[1]]
            case "size":
                name = self._buffers[numbers[0]]
                assert isinstance(name, str)
                return LevelSize(name, numbers[1])
            case "dim":
                array = self._buffers[numbers[0]]
                assert isinstance(array, Array)
                variable = self._extents.get(array.tensor)
                if array.tensor in self._sources:
                    return AxisSize(self._sources[array.tensor], numbers[1])
                return AxisSize(array.tensor, numbers[1]) if variable is None else Extent(variable)
            case _:
                raise AssertionError(f"a size that kernels do not ask for: {text}")
