"""A compiled kernel for a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, cast

from mlir_sparse import device
from mlir_sparse.compile import exploring
from mlir_sparse.compile.compile_options import chip_in
from mlir_sparse.compile.compiled_kernel import Result, StatementKernel
from mlir_sparse.compile.gpu_build import GpuBuild
from mlir_sparse.compile.index_operands import made_account
from mlir_sparse.device import Device, DeviceArray
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import AssignOp, IndexVar, reads, tensors_given
from mlir_sparse.plan.library_products import library_product
from mlir_sparse.plan.schedule import STATIC, Schedule
from mlir_sparse.process.forks import Lock, cached_property
from mlir_sparse.program.library_product import LibraryProduct
from mlir_sparse.program.size_values import ALIGNED
from mlir_sparse.runtime.device.device_operands import (
    as_device_argument,
    as_device_output,
    device_of,
    device_type_of,
    overlaps,
    type_of_given,
)
from mlir_sparse.runtime.device.run_launches import DeviceProgram
from mlir_sparse.runtime.device.run_library_products import DeviceValue, run_product
from mlir_sparse.spec import KernelSpec, infer_extents
from mlir_sparse.tensor import DeviceTensor
from mlir_sparse.text.shown_text import ShownText

__all__ = ["GpuKernel", "chip_of_target"]

# A chip whose PTX all supported chips run.
_OLDEST = "sm_80"
# The key of another library's array, which is inspected in each call.
_NO_KEY = "another library's"
# The number of prepared calls that are cached, each for its shapes and structures.
_MOST_PREPARED = 64


def chip_of_target(target: str) -> str:
    """Returns the chip of a target: sm_90 for `cuda:sm_90`; that of this machine's first device for `cuda`.

    Raises:
        UnsupportedError: for another target.
    """
    chip = chip_in(target)
    if chip is not None:
        return chip
    return device.chip_of(Device(0)) if device.available() else _OLDEST


class _Call(Protocol):
    @property
    def where(self) -> Device: ...

    def run(self, operands: Sequence[DeviceValue], out: DeviceArray | None) -> DeviceValue: ...


class _LibraryCall:
    """A call of a library for operands with known shapes."""

    def __init__(self, product: LibraryProduct, names: Sequence[str], shape: tuple[int, ...], where: Device) -> None:
        self._product, self._names, self._shape, self.where = product, tuple(names), shape, where

    def run(self, operands: Sequence[DeviceValue], out: DeviceArray | None) -> DeviceValue:
        values = dict(zip(self._names, operands, strict=True))
        return run_product(self._product, values, self._shape, out, self.where)


class GpuKernel(StatementKernel):
    """A compiled assignment for tensors on a device, of its types with any shape.

    Call it like a Kernel, with `A.to("cuda")` and arrays of this package, CuPy or PyTorch on the same device. Results
    are on it too, and calls return before they are computed; `to_numpy()` waits. A call with a sparse result that
    shares no operand's structure waits for the symbolic phase, to allocate its exact size. `explain()` shows which case
    holds.

    Args:
        spec: the kernel.
        chip: the architecture to compile for.
        via: `codegen` for compiled kernels, `library` for NVIDIA's, `auto` for the first of the two that is possible.
        schedule: the order of loops asked for, if any.
    """

    def __init__(self, spec: KernelSpec, chip: str, via: str = "auto", schedule: Schedule = STATIC) -> None:
        self.spec, self.chip, self.via, self.schedule = spec, chip, via, schedule
        self.parameters = tensors_given(spec.assignment)
        self._inputs = spec.assignment.inputs  # with what calls make
        if via == "library":
            self._by_library = library_product(spec), "asked for"
        self._programs: dict[tuple[TensorType, ...], DeviceProgram] = {}
        self._prepared: dict[tuple[Any, ...], _Call] = {}
        self._lock = Lock()

    @cached_property
    def _by_library(self) -> tuple[LibraryProduct | None, str]:
        """Returns the library's product if the library runs, and why."""
        if self.via != "auto":
            return None, ""
        try:
            _ = self._declared.mapped
        except UnsupportedError as refusal:
            if self.schedule != STATIC:
                return None, ""  # a library's loops have no order to choose
            try:
                return library_product(self.spec), f"codegen refuses it: {refusal}"
            except UnsupportedError:
                pass  # report what compiled kernels need
        return None, ""

    @property
    def _product(self) -> LibraryProduct | None:
        return self._by_library[0]

    def __call__(self, /, *operands: Any, out: Any = None, **named: Any) -> Result:
        """Computes the result on the device of the operands, on the current stream.

        Args:
            operands: the operands, by position.
            out: an array on the device with the shape and dtype of a dense result.
            named: the operands, by name.

        Returns:
            `out` if given; else a DeviceArray for a dense result, a DeviceTensor for a sparse one.

        Raises:
            DeviceError: without a driver, or if it fails.
            UnknownTensorError, OperandError, DTypeError, RankError: for operands that do not fit the kernel, or are not
                on one device.
            ExtentError: for shapes that do not fit together.
        """
        if not named and self._inputs == self.parameters:
            call = self._prepared.get(_key(operands, out))
            if call is not None and (out is None or self._takes(call, operands, out)):
                return call.run(operands, out)
        return self._call(self.bound(operands, named, out), out)

    def _call(self, bound: Mapping[str, Any], out: Any, given: Mapping[IndexVar, int] | None = None) -> Result:
        assert given is None, "extents that no operand tells are those of statements on the processor"
        device.count()  # raises if there is no driver
        types = dict(self.spec.inputs)
        values = {name: as_device_argument(name, bound[name], types[name]) for name in self._inputs}
        target, given_out = None if out is None else as_device_output(out, self.spec.output), cast(Result, out)
        where = device_of(values if target is None else {**values, "out": target})
        operands = tuple(values.values())
        key = _key(operands, target)
        call = self._prepared.get(key)
        if call is None:
            shapes = {name: value.shape for name, value in values.items()}
            shape = None if target is None else target.shape
            extents = infer_extents(self.spec.assignment, shapes, shape)
            sizes = {variable.name: size for variable, size in extents.items()}
            call = self._prepare(values, sizes, where, target)
            self._keep(key, call)
        apart = [value for name, value in values.items() if name != self._added or not _same(value, target)]
        if target is None or not any(overlaps(target, value) for value in apart):
            result = call.run(operands, target)
            return result if target is None else given_out
        computed = call.run(operands, None)
        assert isinstance(computed, DeviceArray)
        computed.copy_into(target)
        return given_out

    @cached_property
    def _added(self) -> str | None:
        """Returns the target of a statement that can accumulate in place: all reads precede the first write."""
        assignment = self.spec.assignment
        name = assignment.target.tensor
        read = any(access.tensor == name for access in reads(assignment.value))
        return name if assignment.op is AssignOp.ADD and not read else None

    def _takes(self, call: _Call, operands: Sequence[DeviceValue], out: Any) -> bool:
        """Returns whether a prepared call can write to an array directly."""
        return (
            type(out) is DeviceArray
            and out.dtype == self.spec.output.dtype.numpy
            and out.device == call.where
            and not out.read_only
            and not self.spec.assignment.op.reads_target
            and not any(overlaps(out, operand) for operand in operands)
        )

    def _keep(self, key: tuple[Any, ...], call: _Call) -> None:
        with self._lock:
            if len(self._prepared) >= _MOST_PREPARED:
                self._prepared.clear()
            self._prepared[key] = call

    def _prepare(
        self, values: Mapping[str, DeviceValue], extents: Mapping[str, int], where: Device, out: DeviceArray | None
    ) -> _Call:
        if self._product is not None:
            shape = tuple(extents[str(subscript)] for subscript in self.spec.assignment.target.subscripts)
            return _LibraryCall(self._product, self._inputs, shape, where)
        types = tuple(device_type_of(value) for value in values.values())
        with self._lock:
            program = self._programs.get(types)
            if program is None:
                program = self._programs[types] = self._program(types)
        return program.prepare(values, extents, where, out)

    def _program(self, types: tuple[TensorType, ...]) -> DeviceProgram:
        inputs = tuple(zip(self._inputs, types, strict=True))
        build = self._build(replace(self.spec, inputs=inputs))
        return DeviceProgram(build.launches, self._inputs, str(self.spec.assignment))

    @cached_property
    def _declared(self) -> GpuBuild:
        return self._build(self.spec)

    def _build(self, spec: KernelSpec) -> GpuBuild:
        return GpuBuild(spec.with_open_blocks().with_output_widths(), self.chip, self.schedule)

    def ir(self, stage: str = "gpu") -> str:
        """Returns the kernel's text at a stage: `notation`, `plan`, `linalg`, `gpu`, `nvvm` or `ptx`; needs no device.

        Raises:
            UnsupportedError: for an unknown stage, and for one that a library's kernel lacks.
        """
        if self._product is None:
            return self._declared.text(stage)
        match stage:
            case "notation":
                return f"{self.spec.explicit}\n"
            case "plan":
                return f"{self._product}\n"
            case _:
                raise UnsupportedError(
                    f"expected a stage of notation, plan via library ({self._by_library[1]}), but got {stage!r}: "
                    "the kernel is NVIDIA's"
                )

    def passes(self) -> exploring.Passes:
        """Returns the module after each pass down to PTX; needs no device.

        Raises:
            UnsupportedError: for a library's kernel, which has none.
        """
        if self._product is not None:
            raise UnsupportedError("expected passes of via='codegen', but the kernel is NVIDIA's, which has none")
        return exploring.gpu_passes(self._declared, self.explain)

    def explain(self, /, *operands: Any, **named: Any) -> str:
        """Returns an account of the kernel: its steps, and the mapping of loops to threads, with reasons.

        Args:
            operands: data, which change nothing here: statements for GPUs are computed as they are written.
            named: the operands, by name.
        """
        if operands or named:
            self.bound(operands, named)  # refuses what a call would
        if self._product is not None:
            return ShownText(f"{self._product}\n\nruns on: cuda, via library ({self._by_library[1]})")
        told = f"{self._declared.explain()}\n\nruns on: cuda:{self.chip}, via codegen"
        return ShownText(told + made_account(self.spec.assignment))

    def compile_for(self, *operands: Any) -> GpuKernel:
        """Compiles for operands with this storage, without a device, and returns the kernel.

        A pickle of it then runs without MLIR and LLVM.

        Args:
            operands: tensors and arrays in host memory or on a device, or types such as `"f32[?,?] CSR"`.

        >>> import mlir_sparse as ms
        >>> ms.compile("y(i) = A(i,j) * x(j)", A="f32[?,?] CSR", x="f32[?]", target="cuda:sm_90", via="library").chip
        'sm_90'
        """
        if self._product is None:
            types = tuple(
                TensorType.parse(one).with_default_widths() if isinstance(one, str) else type_of_given("it", one)
                for one in operands
            )
            with self._lock:
                self._programs[types] = self._program(types)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.spec, self.chip, self.via, self.schedule, self._programs, self._by_library)

    def __repr__(self) -> str:
        return f"GpuKernel({self.spec}, {self.chip}, via {self.via})"


def _unpickled(
    spec: KernelSpec,
    chip: str,
    via: str,
    schedule: Schedule,
    programs: dict[tuple[TensorType, ...], DeviceProgram],
    by_library: tuple[LibraryProduct | None, str],
) -> GpuKernel:
    kernel = GpuKernel(spec, chip, via, schedule)
    kernel._programs = dict(programs)
    kernel._by_library = by_library  # decided before: the planner may not be available here
    return kernel


def _same(value: DeviceValue, target: DeviceArray | None) -> bool:
    return isinstance(value, DeviceArray) and target is not None and value.pointer == target.pointer


def _key(operands: Sequence[Any], out: Any) -> tuple[Any, ...]:
    """Returns the key of a prepared call; None for operands of other libraries, whose calls are not cached."""
    return (
        (out.shape, out.pointer % ALIGNED) if type(out) is DeviceArray else None if out is None else _NO_KEY,
        *[
            one._token
            if type(one) is DeviceTensor
            else (one.shape, one.dtype, one.device.number, one.pointer % ALIGNED)
            if type(one) is DeviceArray
            else None
            for one in operands
        ],
    )
