"""The passes of kernels: what their pages show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from mlir_sparse.compile.cpu_build import Build
from mlir_sparse.compile.exploring.operand_pictures import operand_view
from mlir_sparse.compile.exploring.passes_value import (
    Language,
    MachineText,
    OperandView,
    Passes,
    PassSection,
    PlanStep,
    SectionDetails,
    SourcePart,
)
from mlir_sparse.compile.gpu_build import GpuBuild
from mlir_sparse.errors import SparseError
from mlir_sparse.loops.remarks import Remark
from mlir_sparse.lower import notation_place
from mlir_sparse.notation import Assignment
from mlir_sparse.notation.notation_places import NotationPlaces, PartKind
from mlir_sparse.pipeline import Trace
from mlir_sparse.plan import Generic, Program
from mlir_sparse.plan.order.loop_graph import loop_graph
from mlir_sparse.spec import KernelSpec

__all__ = ["cpu_passes", "gpu_passes"]

_AGAIN = (
    "The statement was compiled anew for this page, pass by pass. Calls run machine code that the same passes made, "
    "whether it was compiled then, came from the cache on disk or from a file."
)


def cpu_passes(build: Build, account: Callable[[], str]) -> Passes:
    """Returns the passes of a kernel for the processor.

    Args:
        build: its build.
        account: explains it.
    """
    trace = build.trace()
    return _passes(build.spec, "cpu", trace, partial(_cpu_details, build, account, trace))


def gpu_passes(build: GpuBuild, account: Callable[[], str]) -> Passes:
    """Returns the passes of a kernel for a GPU, down to PTX; likewise."""
    trace = build.trace()
    return _passes(build.spec, f"cuda:{build.chip}", trace, partial(_gpu_details, build, account, trace))


def _passes(spec: KernelSpec, target: str, trace: Trace, details: partial[SectionDetails]) -> Passes:
    statement = str(spec.assignment)
    return Passes((PassSection(statement, statement, target, trace, details),))


def _cpu_details(build: Build, account: Callable[[], str], trace: Trace) -> SectionDetails:
    remarks: tuple[Remark, ...] = ()
    machine, notes = list[MachineText](), [_AGAIN]
    if trace.failure is None:
        remarks = build.remarks
        machine.append(MachineText("llvmir", Language.LLVM, build.text("llvmir")))
        try:
            code = build.text("asm")
            machine += [MachineText("asm", Language.ASSEMBLY, code)] if code else []
        except SparseError as error:  # without a disassembler
            notes.append(f"No assembly: {error}.")
    return SectionDetails(
        _parts(build.spec.assignment),
        tuple(_operands(build.spec)),
        tuple(_steps(build.program)),
        account(),
        remarks,
        tuple(machine),
        tuple(notes),
    )


def _gpu_details(build: GpuBuild, account: Callable[[], str], trace: Trace) -> SectionDetails:
    machine = () if trace.failure is not None else (MachineText("ptx", Language.PTX, build.text("ptx")),)
    return SectionDetails(
        _parts(build.spec.assignment),
        tuple(_operands(build.spec)),
        tuple(_steps(build.program)),
        account(),
        machine=machine,
        notes=(_AGAIN,),
    )


def _parts(assignment: Assignment) -> tuple[SourcePart, ...]:
    return tuple(
        SourcePart(
            part.kind.value, part.text, tuple(map(notation_place, part.spans)), part.kind is not PartKind.VARIABLE
        )
        for part in NotationPlaces(assignment).parts
    )


def _operands(spec: KernelSpec) -> Iterator[OperandView]:
    target = spec.assignment.target.tensor
    for name, kind in spec.inputs:
        if name != target:
            yield operand_view(name, kind, is_result=False)
    yield operand_view(target, spec.output, is_result=True)


def _steps(program: Program) -> Iterator[PlanStep]:
    types = dict(program.types)
    for step in program.steps:
        title = str(step).partition("  #")[0]
        yield PlanStep(title, loop_graph(step, types) if isinstance(step, Generic) else None)
