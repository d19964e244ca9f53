"""KernelSpec to machine code: where plan, lowering, pipeline and runtime are joined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

from mlir_sparse import _native, kernel, lower, notation, pipeline, plan, runtime
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.kernel import KernelSpec
from mlir_sparse.notation import IndexVar
from mlir_sparse.schedule import STATIC, Schedule
from mlir_sparse.tensor.pick import Gathered, Place, Sum

__all__ = ["STAGES", "Build", "Stage"]

Stage = Literal["notation", "plan", "linalg", "sparsified", "llvm", "llvmir", "asm"]
STAGES: tuple[Stage, ...] = ("notation", "plan", "linalg", "sparsified", "llvm", "llvmir", "asm")


@dataclass(frozen=True)
class Build:
    """A kernel specialised to the widths of its operands: the stages, each made when first asked for."""

    spec: KernelSpec
    densified: bool = False
    schedule: Schedule = STATIC

    @classmethod
    def of(cls, spec: KernelSpec, schedule: Schedule = STATIC) -> Build:
        """Returns the build of a kernel; from dense operands where arithmetic would cancel sparse ones."""
        build = cls(spec, schedule=schedule)
        folds = spec.output.dtype.kind != "f"  # 0 * x and x - x are not 0 in floating point
        reads_sparse = any(kind.encoding is not None for _, kind in spec.inputs)
        return (
            cls(spec, True, schedule)
            if folds and reads_sparse and lower.cancels_operands(build.lowered.bytecode)
            else build
        )

    @cached_property
    def program(self) -> plan.Program:
        """Returns the steps."""
        return plan.plan(self.spec, densified=self.densified, order=self.schedule.order)

    @cached_property
    def identity(self) -> str:
        """Returns what tells this program from others."""
        return str(self.program)

    @property
    def result_type(self) -> TensorType:
        """Returns the type of the result, with the widths of its positions and coordinates."""
        return self.program.type_of(self.program.result)

    @cached_property
    def lowered(self) -> lower.LoweredProgram:
        """Returns the steps as `linalg.generic` on encoded tensors."""
        return lower.lower(self.program)

    @property
    def lanes(self) -> int:
        """Returns the lanes to vectorise with: as the schedule says, or as pays on this machine where all may.

        Raises:
            UnsupportedError: for lanes in a schedule where lanes of one vector could meet in one element.
        """
        asked, why_scalar = self.schedule.lanes, self._why_scalar()
        if asked and why_scalar:
            raise UnsupportedError(f"expected scalar loops (lanes=0), because {why_scalar}, but got lanes={asked}")
        if asked is not None:
            return asked
        return 0 if why_scalar else pipeline.vector_lanes()

    def _why_scalar(self) -> str:
        """Returns why loops must be scalar: what vectors of the sparsifier compute wrong; "" where none is."""
        kinds = [kind for _, kind in self.program.types if kind.encoding is not None]
        if not all(k.dtype.name in ("f32", "f64") for _, k in self.program.types):
            return "its vectors are of f32 and f64 only"
        wide = all(
            w >= 32 for k in kinds if k.encoding for w in (k.encoding.pos_width or 64, k.encoding.crd_width or 64)
        )
        if not wide:
            return "its vectors read positions and coordinates of 32 bits and more only"
        if not all(k.encoding.is_unique for k in kinds if k.encoding):
            return "coordinates of one level may repeat, and lanes would meet in one element"
        return (
            "" if self.spec.output.encoding is None else "the result is sparse, and its entries are appended one by one"
        )

    @property
    def sparsifier(self) -> pipeline.Pipeline:
        """Returns the passes down to loops."""
        return pipeline.sparsifier(self.lanes, "assemble" if self.inserts else None, tile=self.schedule.tile)

    @cached_property
    def inserts(self) -> bool:
        """Returns whether some loops have a sparse result."""
        generics = (step for step in self.program.steps if isinstance(step, plan.Generic))
        return any(self.program.type_of(step.result).encoding is not None for step in generics)

    @property
    def passes(self) -> pipeline.Pipeline:
        """Returns the passes down to the LLVM dialect."""
        return self.sparsifier.then(pipeline.cpu())

    def compile(self, passes: pipeline.Pipeline, *, as_text: bool = False) -> bytes:
        """Returns the module after the passes, run in the compiler's process.

        Raises:
            CompileError, CompilerCrash: when MLIR fails, with a reproducer.
        """
        return pipeline.compile_module(self.lowered.bytecode, passes, kernel=str(self.spec.assignment), as_text=as_text)

    @cached_property
    def executable(self) -> runtime.Executable:
        """Returns the program as machine code of this process."""
        pipeline.warm_up()  # the compiler starts while the module is built
        return self.linked(runtime.CompiledModule(self.compile(self.passes), self.names))

    @cached_property
    def computing(self) -> runtime.Executable:
        """Returns the program as machine code that computes values into structures that are there."""
        if not self.inserts:
            return self.executable
        passes = pipeline.sparsifier(self.lanes, "compute", tile=self.schedule.tile).then(pipeline.cpu())
        return self.linked(runtime.CompiledModule(self.compile(passes), self.names))

    @property
    def names(self) -> tuple[str, ...]:
        """Returns the functions of the module."""
        return tuple(function.name for function in lower.functions_of(self.program))

    def linked(self, module: runtime.CompiledModule | runtime.LoadedModule) -> runtime.Executable:
        """Returns the program over machine code that was made of it, now or ahead of time; needs no MLIR."""
        functions = iter(lower.functions_of(self.program))
        stages = tuple(
            _call_stage(next(functions), self.program, module.addresses)
            if isinstance(step, plan.Generic)
            else _native_stage(step, self.program)
            for step in self.program.steps
        )
        return runtime.Executable(stages, self.program.result, module)

    def trace(self) -> pipeline.Trace:
        """Returns the module after each pass."""
        kernel = str(self.spec.assignment)
        return pipeline.trace_module(self.lowered.bytecode, self.lowered.text, self.passes, kernel=kernel)

    def text(self, stage: str) -> str:
        """Returns the program at one of STAGES.

        Raises:
            UnsupportedError: for any other.
        """
        match stage:
            case "notation":
                return f"{self.spec.explicit}\n"
            case "plan":
                return str(self.program)
            case "linalg":
                return _native_steps(self.program) + self.lowered.text
            case "sparsified":
                return self.compile(self.sparsifier, as_text=True).decode()
            case "llvm":
                return self.compile(self.passes, as_text=True).decode()
            case "llvmir":
                return runtime.llvm_ir(self.compile(self.passes))
            case "asm":
                return runtime.assembly(self.compile(self.passes), self.names)
            case _:
                raise UnsupportedError(f"expected a stage of {', '.join(STAGES)}, but got {stage!r}")


def _native_steps(program: plan.Program) -> str:
    """Returns the steps between the functions of a module as comments that MLIR skips."""
    steps = [step for step in program.steps if not isinstance(step, plan.Generic | plan.Extent)]
    return "".join(
        f"// {s.result} = {_doing(s)} {s.operand} as {program.type_of(s.result)}: {s.reason}\n" for s in steps
    )


def _doing(step: plan.Conversion | plan.LevelView | plan.Pick | plan.Position) -> str:
    match step:
        case plan.Conversion():
            return "natively converted"
        case plan.Pick(access=access):
            return f"elements {access} of"
        case plan.Position():
            return "positions in"
        case _:
            return "levels of"


def _native_stage(
    step: plan.Conversion | plan.LevelView | plan.Extent | plan.Pick | plan.Position, program: plan.Program
) -> runtime.Convert | runtime.View | runtime.Extent | runtime.Pick | runtime.Position:
    if isinstance(step, plan.Pick):
        encoding = program.type_of(step.result).encoding
        return runtime.Pick(step.result, step.operand, tuple(map(_place, step.access.subscripts)), encoding)
    if isinstance(step, plan.Position):
        return runtime.Position(step.result, step.operand, step.greatest)
    if isinstance(step, plan.Extent):
        return runtime.Extent(step.result, step.variable.name, program.type_of(step.result).dtype)
    if isinstance(step, plan.LevelView):
        return runtime.View(step.result, step.operand)
    kind = program.type_of(step.result)
    return runtime.Convert(
        step.result, step.operand, kind, step.drop_zeros, kernel.extreme_or(step.missing, kind.dtype)
    )


def _place(subscript: notation.Subscript) -> Place:
    match subscript:
        case IndexVar(name):
            return Sum(((1, name),))
        case notation.AffineSubscript(terms, constant):
            return Sum(tuple((coefficient, variable.name) for coefficient, variable in terms), constant)
        case notation.Access(tensor):
            return Gathered(tensor, tuple(variable.name for variable in subscript.indices))


def _call_stage(function: lower.Function, program: plan.Program, addresses: Mapping[str, int]) -> runtime.Call:
    step, output = function.step, program.type_of(function.step.result)
    parameters = [_parameter(access, program.type_of(access.tensor), step.loops) for access in function.operands]
    result, buffers = _native.Result.dense(), None
    if output.encoding is None:
        parameters.append(_parameter(step.target, output, step.loops))
    else:
        scatters = plan.scattered(step, dict(program.types)) is not None
        buffers = runtime.Buffers(output.encoding, output.dtype, step.gathers, scatters)
        result = _native.Result.sparse(buffers.arguments)
    launcher = _native.Launcher(addresses[function.name], parameters, result, len(step.loops))
    return runtime.Call(
        launcher,
        tuple(access.tensor for access in function.operands),
        tuple(tuple(_axis(s, step) for s in access.subscripts) for access in function.operands),
        tuple((frame.variable.name, frame.operand, frame.dim) for frame in step.frames),
        step.result,
        tuple(name for s in step.target.subscripts if (name := _axis(s, step)) is not None),
        output.dtype,
        output.encoding,
        step.meeting is plan.Meeting.CONTINUE,
        buffers,
        partial(_bounds, step),
    )


def _bounds(step: plan.Generic, entries: Mapping[str, int], extents: Mapping[str, int]) -> tuple[int, int]:
    return plan.least_entries(step, entries, extents), plan.most_entries(step, entries, extents)


def _axis(subscript: notation.Subscript, step: plan.Generic) -> str | None:
    """Returns the index variable that an axis is of, also where a sum of levels stands for it."""
    if isinstance(subscript, IndexVar):
        return subscript.name
    return next((frame.variable.name for frame in step.frames if frame.subscript == subscript), None)


def _subscript(subscript: notation.Subscript, loops: tuple[IndexVar, ...]) -> _native.Subscript:
    match subscript:
        case IndexVar():
            return _native.Subscript([(1, loops.index(subscript))])
        case notation.AffineSubscript(terms, constant):
            return _native.Subscript([(c, loops.index(v)) for c, v in terms], constant)
        case _:
            raise AssertionError("gathered elements are picked before the loops")


def _parameter(access: notation.Access, kind: TensorType, loops: tuple[IndexVar, ...]) -> _native.Parameter:
    subscripts = [_subscript(subscript, loops) for subscript in access.subscripts]
    if kind.encoding is None:
        return _native.Parameter.dense(kind.dtype.numpy, subscripts)
    return _native.Parameter.sparse(runtime.type_id(kind.dtype, kind.encoding), subscripts)
