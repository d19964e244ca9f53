"""KernelSpec to launches on a GPU: plan, lowering, pipeline and runtime for target="cuda"."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from mlir_sparse import lower, pipeline, plan
from mlir_sparse.classes import dataclass
from mlir_sparse.compile.cpu_build import Build
from mlir_sparse.compile.gpu_program import launch_program
from mlir_sparse.errors import MissingPackageError, UnsupportedError
from mlir_sparse.gpu.assembled_module import llvm_ir_of, read_launches, read_ptx
from mlir_sparse.gpu.ptx.libdevice import find_library, functions_wanted
from mlir_sparse.pipeline.gpu_passes import gpu, nvvm, ptx
from mlir_sparse.plan.explain import explain
from mlir_sparse.plan.schedule import STATIC, Schedule
from mlir_sparse.process import settings
from mlir_sparse.process.forks import cached_property
from mlir_sparse.program import Conversion, ExtentVector, FibreView, LevelSpaceView, SharedLevels
from mlir_sparse.program.launch_program import LaunchProgram
from mlir_sparse.program.launch_values import Launch
from mlir_sparse.spec import KernelSpec

__all__ = ["GPU_STAGES", "GpuBuild", "GpuStage"]

GpuStage = Literal["gpu", "nvvm", "ptx"]
GPU_STAGES: tuple[GpuStage, ...] = ("gpu", "nvvm", "ptx")


@dataclass(frozen=True)
class GpuBuild:
    """The stages of a kernel for a GPU; each is computed at its first use."""

    spec: KernelSpec
    chip: str
    schedule: Schedule = STATIC

    @cached_property
    def base(self) -> Build:
        """Returns the build of the kernel as for all targets, with dynamic shapes."""
        inputs = tuple((name, replace(kind, shape=(None,) * kind.rank)) for name, kind in self.spec.inputs)
        output = replace(self.spec.output, shape=(None,) * self.spec.output.rank)
        return Build.of(KernelSpec(self.spec.assignment, inputs, output), self.schedule, loops_only=True)

    @cached_property
    def planned(self) -> plan.Program:
        """Returns the steps; results are initialised before threads add to their elements."""
        return plan.with_wide_sums(plan.without_initial_addends(self.base.program))

    @cached_property
    def mapped(self) -> tuple[plan.MappedNest, ...]:
        """Returns the mapping of each nest's loops to threads.

        Raises:
            UnsupportedError: for a step without a GPU kernel.
        """
        program = self.planned
        types = dict(program.types)
        lookups = [step.result for step in program.steps if isinstance(step, plan.Located)]
        found = []
        for step in program.steps:
            match step:
                case plan.Generic():
                    found.append(plan.map_loops(step, types, frozenset(lookups)))
                    _check_result(found[-1], program)
                case ExtentVector() | LevelSpaceView() | plan.Located() | plan.LocatedRows():
                    pass
                case FibreView() if step.operand in self.spec.assignment.inputs:
                    pass
                case SharedLevels() if step.result == program.result and step.structure in self.spec.assignment.inputs:
                    pass
                case SharedLevels():
                    raise UnsupportedError(
                        f"expected a sparse result with the levels that {step.structure} has above its fibres, for a "
                        f"GPU, but got {program.result} stored as {types[program.result]}: "
                        f"ask for {types[step.result]}, for out='dense', or use target='cpu'"
                    )
                case Conversion() if step.result == program.result:
                    raise UnsupportedError(
                        f"expected a sparse result that a GPU's loops can fill, but got {step.result} stored as "
                        f"{types[step.result]} ({step.reason}): ask for storage in the order of the loops, "
                        "for out='dense', or use target='cpu'"
                    )
                case Conversion():
                    raise UnsupportedError(
                        f"expected operands stored as a GPU's loops walk them, but got {step.operand}, which has to be "
                        f"converted to {types[step.result]} ({step.reason}): convert it before, or use target='cpu'"
                    )
                case _:
                    raise UnsupportedError(
                        f"expected loop nests only, for a GPU, but got {step} ({step.reason}): use target='cpu'"
                    )
        return tuple(found)

    @cached_property
    def program(self) -> plan.Program:
        """Returns the steps, with loops in the order of the mapping."""
        nests = iter(self.mapped)
        base = self.planned
        steps = tuple(next(nests).step if isinstance(step, plan.Generic) else step for step in base.steps)
        return replace(base, steps=steps)

    @cached_property
    def lowered(self) -> lower.LoweredProgram:
        """Returns the steps as `linalg.generic`, each function with its mapping."""
        return lower.lower(self.program, self.mapped)

    @property
    def kernels(self) -> pipeline.Pipeline:
        """Returns the passes down to kernels in the gpu dialect."""
        generics = (step for step in self.program.steps if isinstance(step, plan.Generic))
        return gpu(in_place=any(self.program.type_of(step.result).encoding is not None for step in generics))

    def passes(self, stage: GpuStage) -> pipeline.Pipeline:
        """Returns the passes down to a stage."""
        match stage:
            case "gpu":
                return self.kernels
            case "nvvm":
                return self.kernels.then(nvvm())
            case "ptx":
                return self.kernels.then(nvvm()).then(ptx(self.chip))

    def compile(self, stage: GpuStage, *, as_text: bool = False) -> bytes:
        """Returns the module at a stage.

        Raises:
            UnsupportedError: for sparsified loops that no mapping covers.
            CompileError, CompilerCrash: if MLIR or LLVM fails, with a reproducer.
        """
        kernel = str(self.spec.assignment)
        return pipeline.compile_module(self.lowered.bytecode, self.passes(stage), kernel=kernel, as_text=as_text)

    @cached_property
    def _assembled(self) -> bytes:
        if importlib.util.find_spec("llvmlite") is None:
            raise MissingPackageError(
                "expected the package llvmlite, which writes PTX, but got none: pip install 'mlir-sparse[gpu]'"
            )
        wanted = functions_wanted(self.llvm_ir)
        if wanted and find_library() is None:
            raise UnsupportedError(
                f"expected CUDA's libdevice.10.bc for {', '.join(wanted)} on a GPU, but found none: "
                f"set {settings.LIBDEVICE.name} to its path, or use target='cpu'"
            )
        # Reuse the module that the calls were read from.
        return pipeline.compile_module(self._nvvm, ptx(self.chip), kernel=str(self.spec.assignment))

    def text(self, stage: str) -> str:
        """Returns the kernel at `linalg`, `gpu`, `nvvm` or `ptx`, or at a stage before.

        Raises:
            UnsupportedError: for a stage of another target.
        """
        match stage:
            case "notation":
                return self.base.text(stage)
            case "plan":
                return str(self.program)
            case "linalg":
                return self.lowered.text
            case "gpu" | "nvvm":
                return self.compile(stage, as_text=True).decode()
            case "ptx":
                return read_ptx(self._assembled)
            case _:
                stages = ", ".join(("notation", "plan", "linalg", *GPU_STAGES))
                raise UnsupportedError(f"expected a stage of {stages} for target='cuda', but got {stage!r}")

    @cached_property
    def _nvvm(self) -> bytes:
        return self.compile("nvvm")

    @property
    def llvm_ir(self) -> str:
        """Returns the kernels as LLVM IR, the source of PTX and of emulation."""
        return llvm_ir_of(self._nvvm)

    def trace(self) -> pipeline.Trace:
        """Returns the module after each pass down to PTX, compiled anew; up to the first pass that fails."""
        module, passes = lower.lower(self.program, self.mapped, located=True), self.passes("ptx")
        kernel = str(self.spec.assignment)
        return pipeline.trace_module(module.bytecode, passes, kernel=kernel, variables=module.variables)

    def explain(self) -> str:
        """Returns an account of the program: its steps, and the mapping of loops to threads, with reasons."""
        return explain(self.program, self.mapped)

    # -- launches ------------------------------------------------------------------------------------------------

    @cached_property
    def launches(self) -> LaunchProgram:
        """Returns the program as launches of kernels in PTX."""
        found = read_launches(self._assembled)
        return self._program(read_ptx(self._assembled), found)

    @property
    def emulated(self) -> LaunchProgram:
        """Returns the same launches without PTX, for which no GPU backend is needed."""
        return self._program("", read_launches(self._nvvm))

    def _program(self, text: str, found: Mapping[str, tuple[Launch, ...]]) -> LaunchProgram:
        return launch_program(text, self.chip, self.program, self.lowered.functions, self.mapped, found)


def _check_result(mapped: plan.MappedNest, program: plan.Program) -> None:
    """Refuses a temporary with a new structure: later launches would not know its size."""
    name = mapped.step.result
    # If it is the result before a conversion, name the conversion.
    converted = any(isinstance(step, Conversion) and step.operand == name for step in program.steps)
    if mapped.two_phase is not None and name != program.result and not converted:
        raise UnsupportedError(
            f"expected no sparse intermediate result, for a GPU, but got {name} = {mapped.step.payload} stored as "
            f"{program.type_of(name)} ({dict(program.notes).get(name, mapped.step.reason)}): "
            "compute it by a kernel of its own, or use target='cpu'"
        )
