"""KernelSpec to machine code: plan, lowering, pipeline and runtime, one after the other."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Literal, assert_never

from mlir_sparse import _native, lower, pipeline, plan, runtime
from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import VECTOR_TYPES
from mlir_sparse.encoding import Encoding
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Access, Expr, accesses_of, walk
from mlir_sparse.notation.entry_functions import is_about_entries
from mlir_sparse.plan.schedule import STATIC, Schedule
from mlir_sparse.process.forks import cached_property, importing
from mlir_sparse.program import (
    ArrayProduct,
    Conversion,
    ExtentVector,
    FibreView,
    LevelSpaceView,
    Pick,
    Position,
    ProgramSteps,
    SharedLevels,
)
from mlir_sparse.spec import KernelSpec
from mlir_sparse.text.given_arguments import text_of
from mlir_sparse.text.listed_words import listed

if TYPE_CHECKING:
    from mlir_sparse.loops.remarks import Remark

__all__ = ["STAGES", "Build", "Stage"]

Stage = Literal["notation", "plan", "linalg", "sparsified", "llvm", "llvmir", "asm"]
STAGES: tuple[Stage, ...] = ("notation", "plan", "linalg", "sparsified", "llvm", "llvmir", "asm")


@dataclass(frozen=True)
class Build:
    """The stages of a kernel for operands of given widths; each is computed at its first use.

    Args:
        spec: the kernel.
        densified: whether it reads sparse operands as dense arrays.
        schedule: the user's schedule.
        loops_only: whether it may consist of loop nests only, as for a GPU.
    """

    spec: KernelSpec
    densified: bool = False
    schedule: Schedule = STATIC
    loops_only: bool = False

    @classmethod
    def of(cls, spec: KernelSpec, schedule: Schedule = STATIC, *, loops_only: bool = False) -> Build:
        """Returns the build of a kernel, with dense operands if arithmetic would cancel sparse ones."""
        build = cls(spec, schedule=schedule, loops_only=loops_only)
        folds = not spec.output.dtype.is_real  # 0 * x and x - x are not 0 in floating point
        reads_sparse = any(kind.encoding is not None for _, kind in spec.inputs)
        return (
            cls(spec, True, schedule, loops_only)
            if folds and reads_sparse and lower.cancels_operands(build.lowered.bytecode)
            else build
        )

    @classmethod
    def ready(cls, spec: KernelSpec, schedule: Schedule = STATIC) -> Build:
        """Returns the build of a kernel with its machine code, from the cache on disk or compiled now."""
        requested = cls(spec, schedule=schedule)
        stored = runtime.fetch(requested.key, requested.encodings)
        if stored is None:
            stored = runtime.fetch_sent(requested._portable_key, requested.encodings)
        if stored is not None:
            steps, machine = stored
            return cls(spec, steps.densified, schedule).given(steps, machine, None)
        if _has_loops(spec):
            pipeline.warm_up()  # the compiler starts while what plans is loaded, and the statement planned
        build = cls.of(spec, schedule)
        module = build.executable.module
        if build.steps.functions:
            runtime.store(requested.key, requested.encodings, build.steps, module, changed=build._changed)
        return build

    @property
    def key(self) -> str:
        """Returns everything that decides the machine code: the fields of a build, and the machine.

        Fields enter by their `repr`: a new one, here or in a Schedule, needs no change here.
        """
        return f"{self!r}\n{pipeline.host_text()}"

    @property
    def _portable_key(self) -> str:
        """Returns everything that decides whether machine code is that of this build, from wherever it comes."""
        return f"{self!r}\n{runtime.portable_stamp()}\n{pipeline.code_text()}"

    @property
    def sent(self) -> runtime.SentCode | None:
        """Returns the machine code for other processes, which keep it by `runtime.keep_sent`; None where there is none.

        That is so before it is compiled, and where code was linked or sources of the package are not known.
        """
        if "executable" not in self.__dict__ or not self.steps.functions or not runtime.portable_stamp():
            return None
        requested = Build(self.spec, schedule=self.schedule)
        with contextlib.suppress(UnsupportedError):
            return runtime.to_send(requested._portable_key, requested.encodings, self.steps, self.executable.module)
        return None

    @property
    def encodings(self) -> tuple[Encoding | None, ...]:
        """Returns the encodings in the key, which stored steps refer to."""
        return (*(kind.encoding for _, kind in self.spec.inputs), self.spec.output.encoding)

    @cached_property
    def program(self) -> plan.Program:
        """Returns the plan: the steps, with the expressions of loop nests."""
        order = self.schedule.order
        return plan.plan(self.spec, densified=self.densified, order=order, loops_only=self.loops_only)

    @cached_property
    def steps(self) -> ProgramSteps:
        """Returns the steps as data: the program without its machine code."""
        return plan.steps_of(self.program, self.densified)

    @property
    def identity(self) -> str:
        """Returns a text that is unique to this program."""
        return self.steps.identity

    def given(self, steps: ProgramSteps, machine: runtime.Machine | None, computing: runtime.Machine | None) -> Build:
        """Returns this build with stored steps and machine code, so that a call plans, lowers and compiles nothing."""
        self.__dict__["steps"] = steps
        for name, code in (("executable", machine), ("computing", computing)):
            if code is not None:
                self.__dict__[name] = runtime.link_program(steps, code)
        return self

    @cached_property
    def lowered(self) -> lower.LoweredProgram:
        """Returns the steps as `linalg.generic` on encoded tensors."""
        return lower.lower(self.program)

    @property
    def lanes(self) -> int:
        """Returns the vector lanes: the schedule's, or the fastest on this machine if all loops can use them.

        Raises:
            UnsupportedError: for lanes in a schedule if lanes of one vector could write the same element.
        """
        lanes, why_scalar = self.schedule.lanes, self._why_scalar()
        if lanes and why_scalar:
            raise UnsupportedError(f"expected scalar loops (lanes=0), because {why_scalar}, but got lanes={lanes}")
        if lanes is not None:
            return lanes
        return 0 if why_scalar else pipeline.vector_lanes()

    def _why_scalar(self) -> str:
        """Returns why loops must be scalar: because the sparsifier's vectors would be wrong; "" if they need not."""
        kinds = [kind for _, kind in self.program.types if kind.encoding is not None]
        if not all(k.dtype.in_vectors for _, k in self.program.types):
            return f"its vectors are of {listed(VECTOR_TYPES)} only"
        wide = all(
            w >= 32 for k in kinds if k.encoding for w in (k.encoding.pos_width or 64, k.encoding.crd_width or 64)
        )
        if not wide:
            return "its vectors read positions and coordinates of 32 bits and more only"
        if not all(k.encoding.is_unique for k in kinds if k.encoding):
            return "coordinates of one level may repeat, and lanes would meet in one element"
        if any(_reads_number(step.payload) for step in self.program.steps if isinstance(step, plan.Generic)):
            return "a number is read beside entries, from which it makes no vector"
        if self.inserts and any(part.level for cut in self.steps.cuts for part in cut.stored):
            return "rows below others are cut where the result is, which vectors made before would not see"
        return (
            "" if self.spec.output.encoding is None else "the result is sparse, and its entries are appended one by one"
        )

    @property
    def sparsifier(self) -> pipeline.Pipeline:
        """Returns the passes down to loops."""
        return self._sparsifier("assemble" if self.inserts or self.steps.samples else None)

    @property
    def tiles(self) -> bool:
        """Returns whether to use register tiles for dense rows where possible."""
        return self._tile != 0

    @property
    def has_dense_rows(self) -> bool:
        """Returns whether some innermost loop reads dense arrays only, inside a loop over entries."""
        for step in self.program.steps:
            if not isinstance(step, plan.Generic) or not step.loops:
                continue
            read = accesses_of(step.payload)
            sparse = [access for access in read if self.program.type_of(access.tensor).encoding is not None]
            if sparse and not any(step.loops[-1] in access.indices for access in sparse):
                return True
        return False

    def check_schedule(self) -> None:
        """Refuses a schedule that the kernel cannot follow.

        Raises:
            ScheduleError: for an order that is no permutation of the index variables.
            UnsupportedError: for an order or lanes that the storage rules out, and a tile without dense rows.
        """
        _ = self.lanes  # plans the kernel
        if self.schedule.tile and not self.has_dense_rows:
            raise UnsupportedError(
                "expected no tile where no innermost loop runs over rows of dense arrays inside a loop over entries, "
                f"but got '{self.schedule}' for {self.spec.assignment}: leave the tile out"
            )

    @property
    def _tile(self) -> int | None:
        schedule = self.schedule
        scalar = schedule.lanes == 0 or (schedule.lanes is None and pipeline.scalar_asked())
        return 0 if schedule.tile is None and scalar else schedule.tile

    def _sparsifier(self, results: pipeline.Results) -> pipeline.Pipeline:
        scatters = pipeline.scatters_fast() and not self._why_scalar()
        return pipeline.sparsifier(
            self.lanes, results, tile=self._tile, tile_lanes=self.schedule.lanes or 0, scatters=scatters
        )

    @property
    def inserts(self) -> bool:
        """Returns whether some loops have a sparse result."""
        return self.steps.inserts

    @property
    def passes(self) -> pipeline.Pipeline:
        """Returns the passes down to the LLVM dialect."""
        return self.sparsifier.then(pipeline.cpu())

    @cached_property
    def _changed(self) -> bool:
        """Returns whether sources were edited since they were loaded; this runs while the compiler works."""
        return runtime.sources_changed()

    def compile(self, passes: pipeline.Pipeline, *, as_text: bool = False, functions: tuple[str, ...] = ()) -> bytes:
        """Returns the module after the passes, or machine code of its functions, from the compiler's process.

        Raises:
            CompileError, CompilerCrash: if MLIR fails, with a reproducer.
        """
        kernel = str(self.spec.assignment)
        return pipeline.compile_module(
            self.lowered.bytecode,
            passes,
            kernel=kernel,
            as_text=as_text,
            functions=functions,
            meanwhile=(lambda: self._changed) if functions else None,
        )

    def _machine(self, passes: pipeline.Pipeline) -> runtime.Machine:
        """Returns the machine code of the functions after the passes."""
        functions = self.steps.functions
        if not functions:
            return runtime.NoCode()
        if _native.loads_objects:
            code = self.compile(passes, functions=functions)
            # MLIR's engine remains for code that the native loader refuses: other relocations, calls of MLIR's runtime.
            with contextlib.suppress(ValueError, RuntimeError):
                return runtime.LoadedObject(code, functions)
        return runtime.CompiledModule(self.compile(passes), functions)

    @cached_property
    def executable(self) -> runtime.Executable:
        """Returns the program linked with its machine code."""
        if self.steps.functions:
            pipeline.warm_up()  # the compiler starts while the module is built
        return runtime.link_program(self.steps, self._machine(self.passes))

    @cached_property
    def computing(self) -> runtime.Executable:
        """Returns the program of the numeric phase, linked with its machine code."""
        if not self.inserts:
            return self.executable
        key = f"computing {self.key}"
        stored = runtime.fetch(key, self.encodings)
        if stored is not None:
            return runtime.link_program(self.steps, stored[1])
        passes = self._sparsifier("compute").then(pipeline.cpu())
        machine = self._machine(passes)
        runtime.store(key, self.encodings, self.steps, machine, changed=runtime.sources_changed())
        return runtime.link_program(self.steps, machine)

    @cached_property
    def remarks(self) -> tuple[Remark, ...]:
        """Returns the remarks of the strategies, computed at the first use, so that kernels from disk have them too.

        Raises:
            CompileError, CompilerCrash: if MLIR fails, with a reproducer.
        """
        with importing():
            from mlir_sparse.plan.expected_loops import expected_loops  # loads what plans, for remarks alone

        types = dict(self.program.types)
        expected = {each.name: expected_loops(each.step, types) for each in plan.functions_of(self.program)}
        kernel = str(self.spec.assignment)
        return pipeline.remarks_on(self.lowered.bytecode, self.passes, expected, kernel=kernel) if expected else ()

    def trace(self) -> pipeline.Trace:
        """Returns the module after each pass, compiled anew; up to the first pass that fails."""
        module = lower.lower(self.program, located=True)
        kernel = str(self.spec.assignment)
        return pipeline.trace_module(module.bytecode, self.passes, kernel=kernel, variables=module.variables)

    def text(self, stage: str) -> str:
        """Returns the program at one of STAGES.

        Raises:
            UnsupportedError: for any other stage.
        """
        match text_of(stage, "a stage"):
            case "notation":
                return f"{self.spec.explicit}\n"
            case "plan":
                return str(self.program)
            case "linalg":
                return _assumed(self.spec) + _native_steps(self.program) + self.lowered.text
            case "sparsified":
                return self.compile(self.sparsifier, as_text=True).decode()
            case "llvm":
                return self.compile(self.passes, as_text=True).decode()
            case "llvmir":
                return runtime.llvm_ir(self.compile(self.passes))
            case "asm":
                code = self._machine(self.passes).object_file()
                return runtime.assembly(code) if code else ""
            case _:
                raise UnsupportedError(f"expected a stage of {', '.join(STAGES)}, but got {stage!r}")


def _has_loops(spec: KernelSpec) -> bool:
    """Returns whether a statement is compiled whatever its plan: not where native steps may be all of it."""
    reads_sparse = any(kind.encoding is not None for _, kind in spec.inputs)
    return reads_sparse and not isinstance(spec.assignment.value, Access)


def _assumed(spec: KernelSpec) -> str:
    """Returns what operands must be like, beside their types, as an MLIR comment."""
    names = spec.rewriting.symmetric if spec.rewriting else ()
    return f"// {', '.join(names)}: equal to the transpose, which calls check\n" if names else ""


def _native_steps(program: plan.Program) -> str:
    """Returns the native steps of a program as MLIR comments."""
    steps = [
        step
        for step in program.steps
        if not isinstance(step, plan.Generic | plan.Located | plan.LocatedRows | ExtentVector)
    ]
    return "".join(f"// {s.result} = {_doing(s)} as {program.type_of(s.result)}: {s.reason}\n" for s in steps)


def _doing(step: Conversion | LevelSpaceView | FibreView | SharedLevels | Pick | Position | ArrayProduct) -> str:
    match step:
        case Conversion(operand=operand):
            return f"natively converted {operand}"
        case Pick(access=access, operand=operand):
            return f"elements {access} of {operand}"
        case Position(operand=operand):
            return f"positions in {operand}"
        case FibreView(operand=operand):
            return f"fibres of {operand}"
        case SharedLevels(structure=structure, depth=depth, operand=operand):
            return f"below {depth} levels of {structure} {operand}"
        case ArrayProduct():
            return f"by BLAS {step.product}"
        case LevelSpaceView(operand=operand):
            return f"levels of {operand}"
        case _:
            assert_never(step)


def _reads_number(payload: Expr) -> bool:
    """Returns whether an operator on entries reads an array without dimensions, which loops then read at each entry."""
    operators = (node for node in walk(payload) if is_about_entries(node))
    return any(not access.subscripts for node in operators for access in accesses_of(node))
