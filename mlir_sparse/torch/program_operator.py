"""Programs as one operator of PyTorch, `mlir_sparse::program`, which autograd and `torch.compile` see as a whole."""

from __future__ import annotations

from functools import cache
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

from mlir_sparse.errors import OperandError
from mlir_sparse.gradients import DifferentiableProgram
from mlir_sparse.tensor.borders.foreign_arrays import torch_array
from mlir_sparse.tensor.borders.torch_sparse import import_torch, strided_tensor

__all__ = ["numbered", "program_operator", "registered", "traced_key"]

_PROGRAMS: WeakValueDictionary[str, DifferentiableProgram] = WeakValueDictionary()
_KERNELS: WeakValueDictionary[int, Any] = WeakValueDictionary()
_NUMBERS = count()


def registered(program: DifferentiableProgram) -> str:
    """Returns the name of a program in graphs, for as long as the program lives."""
    if not program.key:
        program.key = f"{'; '.join(str(step.core) for step in program.steps)} #{next(_NUMBERS)}"
        _PROGRAMS[program.key] = program
    return program.key


def numbered(kernel: Any) -> int:
    """Returns a number by which `traced_key` finds a kernel, for as long as the kernel lives."""
    number = next(_NUMBERS)
    _KERNELS[number] = kernel
    return number


def traced_key(number: int, kinds: str) -> str:
    """Returns the name of a kernel's program in graphs, for operands of some kinds; a constant of the graph."""
    return registered(_KERNELS[number].program_of_kinds(kinds))


# What `torch._dynamo.assume_constant_result` says of a function, without the import of a second.
traced_key._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _program(key: str) -> DifferentiableProgram:
    found = _PROGRAMS.get(key)
    if found is None:
        raise OperandError(f"expected the kernel of {key} to be alive, but got it freed: keep it beside the graph")
    return found


@cache
def program_operator() -> Any:
    """Returns the operator, which is registered at the first call.

    It takes the key of a program and its operands, and returns its results. Its derivative is itself with the key of
    the program's adjoint, so that derivatives of every order are.
    """
    torch = import_torch()

    def run(key: str, operands: list[Any]) -> list[Any]:
        program = _program(key)
        arrays = [torch_array(operand.detach().contiguous()) for operand in operands]
        return [strided_tensor(torch, array) for array in program(arrays)]

    def shapes(key: str, operands: list[Any]) -> list[Any]:
        program = _program(key)
        found = program.result_shapes([tuple(operand.shape) for operand in operands])
        dtypes = [torch_dtype(torch, program, name) for name in program.outputs.values()]
        # Of a tensor without data results have none either; those of a graph say the device that they stand for.
        place = next((one.device for one in operands if one.device.type == "meta"), None)
        return [torch.empty(shape, dtype=dtype, device=place) for shape, dtype in zip(found, dtypes, strict=True)]

    made = torch.library.custom_op(
        "mlir_sparse::program", run, mutates_args=(), device_types="cpu",
        schema="(str key, Tensor[] operands) -> Tensor[]",
    )  # fmt: skip
    made.register_fake(shapes)
    made.register_autograd(lambda ctx, grads: _backward(torch, made, ctx, grads), setup_context=_keep)
    return made


def torch_dtype(torch: Any, program: DifferentiableProgram, name: str) -> Any:
    """Returns the element type of a result, as PyTorch's."""
    return getattr(torch, program.dtype_of(name).numpy_name)


def _keep(ctx: Any, inputs: tuple[str, list[Any]], output: list[Any]) -> None:
    key, operands = inputs
    ctx.program = _program(key)
    ctx.save_for_backward(*operands)


def _backward(torch: Any, operator: Any, ctx: Any, grads: list[Any]) -> tuple[None, list[Any]]:
    program, operands = ctx.program, ctx.saved_tensors
    needed = [name for name, needs in zip(program.inputs, ctx.needs_input_grad[1], strict=True) if needs]
    adjoint, given = program.adjoint(needed)
    if adjoint is None:  # the results are constant nearly everywhere
        return None, [None] * len(operands)
    missing = any(grad is None for grad in grads)
    sizes = program.result_shapes([tuple(one.shape) for one in operands]) if missing else [()] * len(grads)
    cotangents = [
        torch.zeros(size, dtype=torch_dtype(torch, program, name)) if grad is None else grad
        for grad, size, name in zip(grads, sizes, program.outputs.values(), strict=True)
    ]
    found = dict(zip(given, operator(registered(adjoint), [*operands, *cotangents]), strict=True))
    return None, [found.get(name) for name in program.inputs]
