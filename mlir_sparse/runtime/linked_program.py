"""Links programs with machine code: calls get the addresses of their functions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from mlir_sparse import _native
from mlir_sparse.machine import MachineProfile, machine_profile
from mlir_sparse.program import Argument, Cut, NestCall, ProgramSteps
from mlir_sparse.runtime.call_arguments import type_id
from mlir_sparse.runtime.function_call import FunctionCall
from mlir_sparse.runtime.machine_code import Machine
from mlir_sparse.runtime.run_steps import Executable
from mlir_sparse.runtime.sparse_result_buffers import SparseResultLayout

__all__ = ["link_program"]


def link_program(program: ProgramSteps, machine: Machine) -> Executable:
    """Returns an executable of a program and its machine code."""
    _tell_of_machine(machine_profile())
    steps = tuple(_call(step, machine) if isinstance(step, NestCall) else step for step in program.steps)
    return Executable(steps, program.result, machine, program.blocks)


@lru_cache(maxsize=1)
def _tell_of_machine(profile: MachineProfile) -> None:
    """Tells native code what the machine's profile chose for it.

    What work is worth a chunk, how long threads wait awake, what results exceed the caches, and how far ahead memory
    is asked for.
    """
    _native.set_machine_work(profile.number("chunk"), profile.number("joined_chunk"))
    _native.set_machine_watch(profile.number("watch"))
    _native.set_machine_distances(profile.number("gathers"), profile.number("rows"))
    _native.set_machine_fill(profile.number("filled"))


def _call(nest: NestCall, machine: Machine) -> FunctionCall:
    """Returns the call of a function; it keeps the machine code alive."""
    parameters = [_parameter(argument, nest.loops) for argument in nest.arguments]
    buffers = (
        None if nest.encoding is None else SparseResultLayout(nest.encoding, nest.dtype, nest.gathers, nest.scatters)
    )
    result = _native.Result.dense() if buffers is None else buffers.native
    cut = None if nest.cut is None else _partition(nest.cut, nest.loops, machine)
    address = machine.addresses[nest.function]
    return FunctionCall(nest, _native.Launcher(address, parameters, result, len(nest.loops), cut, machine), buffers)


def _parameter(argument: Argument, loops: Sequence[str]) -> _native.Parameter:
    subscripts = [
        _native.Subscript([(factor, loops.index(name)) for factor, name in place.terms], place.constant)
        for place in argument.subscripts
    ]
    if argument.encoding is None:
        return _native.Parameter.dense(argument.dtype.numpy, subscripts)
    return _native.Parameter.sparse(type_id(argument.dtype, argument.encoding), subscripts)


def _partition(cut: Cut, loops: Sequence[str], machine: Machine) -> _native.Partition:
    stored = [
        _native.StoredPart(
            part.argument, part.compressed, part.block, part.steps, part.shifts, part.stride, part.sorted, part.level
        )
        for part in cut.stored
    ]
    return _native.Partition(
        variable=loops.index(cut.variable),
        unit=cut.unit,
        listed=cut.compressed,
        outcome=cut.outcome,
        factors=tuple(map(loops.index, cut.factors)),
        stored=stored,
        axes=cut.axes,
        fills=cut.fills,
        identity=bytes.fromhex(cut.identity),
        combine=cut.combine,
        reached=-1 if cut.reached is None else cut.reached,
        weight=cut.weight,
        combining=machine.addresses[cut.combined_by] if cut.combined_by else 0,
    )
