"""Programs as data: all that running one takes but its machine code.

A recipe is made of a plan once, and of what a file holds ever after: it is written and
read by `codec`, and linked with the addresses of functions.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlir_sparse import _native
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.runtime.call_arguments import type_id
from mlir_sparse.runtime.function_call import Call
from mlir_sparse.runtime.function_cuts import Cut
from mlir_sparse.runtime.machine_code import Machine
from mlir_sparse.runtime.result_buffers import Buffers
from mlir_sparse.runtime.result_capacity import Entries
from mlir_sparse.runtime.run_steps import Convert, Executable, Extent, Fibres, Pick, Position, Rows, View

__all__ = ["Argument", "Loops", "Recipe", "Step"]


@dataclass(frozen=True, slots=True)
class Argument:
    """What one argument of a function must be.

    Args:
        dtype: its element type.
        encoding: its storage; None for an array.
        subscripts: of each dimension the (coefficient, loop) pairs of its subscript, and the constant.
    """

    dtype: DType
    encoding: Encoding | None
    subscripts: tuple[tuple[tuple[tuple[int, int], ...], int], ...]


@dataclass(frozen=True, slots=True)
class Loops:
    """A call of a function before the function has an address; what `Call` has by the same name is the same.

    Args:
        function: the name of the function.
        arguments: its arguments, a dense result the last.
        depth: the number of its loops, one more where the result is along entries.
        operands: the names of the values it reads.
        axes: for each operand the index variable of each axis, None where the subscript is no plain variable.
        frames: (variable, tensor, dim) of each variable that runs beyond the edges of a tensor in level space.
        result: the name of the value it computes.
        variables: the index variable of each axis of the result.
        dtype: the result's element type.
        encoding: the result's storage; None for a dense array.
        continues: whether it adds to what the result holds.
        gathers: whether rows of a sparse result are gathered in a workspace.
        scatters: whether a row of an operand is scattered.
        entries: the bounds on the entries of a sparse result.
        cut: how the call is cut in pieces; None where it stays whole.
        sampled: which operand it is at whose entries the result, a vector, has its elements; None for any other result.
    """

    function: str
    arguments: tuple[Argument, ...]
    depth: int
    operands: tuple[str, ...]
    axes: tuple[tuple[str | None, ...], ...]
    frames: tuple[tuple[str, str, int], ...]
    result: str
    variables: tuple[str, ...]
    dtype: DType
    encoding: Encoding | None
    continues: bool
    gathers: bool
    scatters: bool
    entries: Entries
    cut: Cut | None = None
    sampled: int | None = None

    def linked(self, machine: Machine) -> Call:
        """Returns the call of the function in machine code, which it keeps."""
        address = machine.addresses[self.function]
        partition = None if self.cut is None else self.cut.linked()
        result, buffers = _native.Result.dense(), None
        if self.encoding is not None:
            buffers = Buffers(self.encoding, self.dtype, self.gathers, self.scatters)
            result = buffers.native
        parameters = [_parameter(argument) for argument in self.arguments]
        return Call(
            _native.Launcher(address, parameters, result, self.depth, partition, machine),
            self.operands,
            self.axes,
            self.frames,
            self.result,
            self.variables,
            self.dtype,
            self.encoding,
            self.continues,
            buffers,
            self.entries,
            self.sampled,
        )


Step = Loops | Convert | View | Fibres | Rows | Extent | Pick | Position


@dataclass(frozen=True, slots=True)
class Recipe:
    """A program: its steps as data.

    Args:
        steps: what to do, in order.
        result: the name of the value to return.
        type: the type of the result, with the widths of its positions and coordinates.
        identity: what tells this program from others.
        densified: whether it reads dense operands in place of sparse ones.
    """

    steps: tuple[Step, ...]
    result: str
    type: TensorType
    identity: str
    densified: bool

    @property
    def functions(self) -> tuple[str, ...]:
        """Returns the names of the functions that it calls."""
        return tuple(step.function for step in self.steps if isinstance(step, Loops))

    @property
    def samples(self) -> bool:
        """Returns whether some loops compute values at the entries of an operand."""
        return any(isinstance(step, Loops) and step.sampled is not None for step in self.steps)

    @property
    def inserts(self) -> bool:
        """Returns whether some loops have a sparse result."""
        return any(isinstance(step, Loops) and step.encoding is not None for step in self.steps)

    def linked(self, machine: Machine) -> Executable:
        """Returns the program over machine code of its functions."""
        stages = tuple(step.linked(machine) if isinstance(step, Loops) else step for step in self.steps)
        return Executable(stages, self.result, machine)


def _parameter(argument: Argument) -> _native.Parameter:
    subscripts = [_native.Subscript(list(terms), constant) for terms, constant in argument.subscripts]
    if argument.encoding is None:
        return _native.Parameter.dense(argument.dtype.numpy, subscripts)
    return _native.Parameter.sparse(type_id(argument.dtype, argument.encoding), subscripts)
