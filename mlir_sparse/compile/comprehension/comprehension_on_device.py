"""Compiled comprehensions for a GPU: kernels one after the other, whose results stay in device memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlir_sparse import device
from mlir_sparse.compile.call_limits import check_static
from mlir_sparse.compile.comprehension.comprehension_kernel import ComprehensionKernel
from mlir_sparse.compile.comprehension.comprehension_operands import wanted_outputs
from mlir_sparse.compile.comprehension.comprehension_optimizer import CompileStatement
from mlir_sparse.compile.comprehension.comprehension_outputs import Storage
from mlir_sparse.compile.comprehension.comprehension_run import StatementStep
from mlir_sparse.compile.index_operands import makes_operands
from mlir_sparse.compile.statement_optimizer import DataSketches
from mlir_sparse.device import DeviceArray, as_device, empty
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Assignment, Comprehension, has_affine_target
from mlir_sparse.runtime.device.device_operands import as_device_argument, as_device_output, device_of
from mlir_sparse.runtime.device.run_library_products import DeviceValue

__all__ = ["DeviceComprehensionKernel"]


class DeviceComprehensionKernel(ComprehensionKernel):
    """A compiled comprehension for tensors on a device, of its types with any shape.

    Call it like a ComprehensionKernel, with tensors and arrays on one device. The outputs are on it too, and calls
    return before they are computed. Its `kernels` are those of `compile(..., target="cuda")`.
    """

    def __init__(
        self,
        comprehension: Comprehension,
        types: Mapping[str, TensorType],
        storage: Mapping[str, Storage],
        compile_statement: CompileStatement,
        sketches: DataSketches | None = None,
    ) -> None:
        """Takes arguments that `compile` has checked.

        Raises:
            UnsupportedError: for statements that read or assign parts of tensors, or use elements of tensors as sizes.
        """
        super().__init__(comprehension, types, storage, compile_statement, sketches)
        for statement in comprehension.statements:
            if statement.ranges or statement.exists or has_affine_target(statement):
                raise _parts_of(statement)
        for statement in comprehension.statements if self._makes else ():
            if makes_operands(statement):
                raise UnsupportedError(
                    "expected statements of comprehensions without index variables as values for a GPU, but got "
                    f"`{statement}`: pass a vector of the positions, or use target='cpu'"
                )
        sizes = [name for name in self._waits if name in self.parameters]
        if sizes:
            raise UnsupportedError(
                f"expected subscripts and ranges that do not depend on what lies on a device, but got {sizes[0]} in "
                f"{comprehension.name or comprehension.statements[0]}: write its number, or use target='cpu'"
            )

    def _result_type(self, kernel: Any) -> TensorType:
        kind: TensorType = kernel.spec.with_output_widths().output
        return kind

    def _call(self, given: Mapping[str, Any], out: Any) -> Any:
        device.count()  # raises if there is no driver
        values = {name: as_device_argument(name, given[name], kind) for name, kind in self.types.items()}
        check_static(self.types.items(), {name: value.shape for name, value in values.items()})
        wanted = wanted_outputs(self.comprehension, out)
        outputs = {name: as_device(name, one) for name, one in wanted.items()}
        where = device_of({**values, **outputs})
        steps = self.steps_for(values, {name: output.shape for name, output in outputs.items()}).steps
        kinds = {step.placed.statement.target.tensor: step.kernel.output for step in steps}
        targets = {name: as_device_output(output, kinds[name]) for name, output in outputs.items()}
        for step in steps:
            values[step.placed.statement.target.tensor] = _ran(step, values, where)
        for name, target in targets.items():
            computed = values[name]
            assert isinstance(computed, DeviceArray)
            computed.copy_into(target)
        returned = tuple(wanted.get(name, values[name]) for name in self.comprehension.results)
        return returned[0] if len(returned) == 1 else returned

    def trace(self, /, *operands: Any, **named: Any) -> Any:
        """Refuses: operands and results of statements are not kept on a device.

        Raises:
            UnsupportedError: always; the kernels can be called one by one.
        """
        raise UnsupportedError("expected target='cpu' for a trace of what was computed, but got a kernel for a GPU")

    def ir(self, stage: str = "gpu") -> str:
        """Returns the text of all statements at a stage, in order, each under a comment; needs no device.

        Raises:
            UnsupportedError: for an unknown stage, and where a statement depends on sizes that are not known yet.
        """
        if stage == "notation":
            return super().ir("notation")
        pairs: tuple[tuple[Assignment, Any], ...] = self._statements()
        return "\n".join(f"// {statement}\n{kernel.ir(stage)}" for statement, kernel in pairs)


def _ran(step: StatementStep, values: Mapping[str, DeviceValue], where: device.Device) -> DeviceValue:
    """Runs a statement, and returns its value."""
    if step.placed.is_part or not all(part.is_whole for part in step.parts):
        raise _parts_of(step.placed.statement)
    operands = {part.name: values[part.tensor] for part in step.parts}
    kernel: Any = step.kernel
    output = kernel.output
    array = empty(step.placed.shape, output.dtype, where) if output.encoding is None else None
    result: DeviceValue = kernel._call(operands, array)
    return result


def _parts_of(statement: Assignment) -> UnsupportedError:
    return UnsupportedError(
        f"expected statements over whole tensors, for a GPU, but got parts of them in `{statement}`: "
        "compute with parts that are tensors of their own, or use target='cpu'"
    )
