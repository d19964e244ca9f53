"""Programs as one operator of PyTorch, `mlir_sparse::program`, which autograd and `torch.compile` see as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

from mlir_sparse.errors import OperandError
from mlir_sparse.gradients import DifferentiableProgram
from mlir_sparse.tensor.borders.foreign_arrays import torch_array
from mlir_sparse.tensor.borders.torch_sparse import import_torch, strided_tensor

__all__ = ["numbered", "program_function", "program_operator", "registered", "traced_key"]

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
        return _results(torch, key, operands)

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


def _results(torch: Any, key: str, operands: Sequence[Any]) -> list[Any]:
    program = _program(key)
    arrays = [torch_array(operand.detach().contiguous()) for operand in operands]
    return [strided_tensor(torch, array) for array in program(arrays)]


def torch_dtype(torch: Any, program: DifferentiableProgram, name: str) -> Any:
    """Returns the element type of a result, as PyTorch's."""
    return getattr(torch, program.dtype_of(name).numpy_name)


def _keep(ctx: Any, inputs: tuple[str, list[Any]], output: list[Any]) -> None:
    key, operands = inputs
    ctx.program = _program(key)
    ctx.save_for_backward(*operands)


def _backward(torch: Any, operator: Any, ctx: Any, grads: list[Any]) -> tuple[None, list[Any]]:
    apply = partial(_applied, operator)
    return None, _derivatives(torch, apply, ctx.program, ctx.saved_tensors, ctx.needs_input_grad[1], grads)


def _applied(operator: Any, key: str, *operands: Any) -> Any:
    return operator(key, list(operands))


def _derivatives(
    torch: Any, apply: Any, program: DifferentiableProgram, operands: Any, needs: Any, grads: Any
) -> list[Any]:
    """Returns the derivative of each operand that needs one, given those of the results; None for other operands."""
    needed = [name for name, wanted in zip(program.inputs, needs, strict=True) if wanted]
    adjoint, given = program.adjoint(needed)
    if adjoint is None:  # the results are constant nearly everywhere
        return [None] * len(operands)
    cotangents = _filled(torch, program, operands, grads)
    found = dict(zip(given, apply(registered(adjoint), *operands, *cotangents), strict=True))
    return [found.get(name) for name in program.inputs]


def _filled(torch: Any, program: DifferentiableProgram, operands: Any, grads: Any) -> list[Any]:
    """Returns derivatives by results, zeros in place of None."""
    missing = any(grad is None for grad in grads)
    sizes = program.result_shapes([tuple(one.shape) for one in operands]) if missing else [()] * len(grads)
    return [
        torch.zeros(size, dtype=torch_dtype(torch, program, name)) if grad is None else grad
        for grad, size, name in zip(grads, sizes, program.outputs.values(), strict=True)
    ]


def _tangents(torch: Any, apply: Any, program: DifferentiableProgram, operands: Any, given: Any) -> tuple[Any, ...]:
    """Returns the tangents of results, given those of operands: forward mode.

    The adjoint is linear in the derivatives of the results, and its own adjoint by these takes tangents to tangents.
    """
    moved = [name for name, tangent in zip(program.inputs, given, strict=True) if tangent is not None]
    zeros = _filled(torch, program, operands, [None] * len(program.outputs))
    adjoint, names = program.adjoint(moved)
    if adjoint is None:
        return tuple(zeros)
    wanted = adjoint.inputs[len(operands) :]
    forward, found = adjoint.adjoint(list(wanted))
    if forward is None:
        return tuple(zeros)
    tangents = dict(zip(program.inputs, given, strict=True))
    results = apply(registered(forward), *operands, *zeros, *[tangents[name] for name in names])
    by_result = dict(zip(found, results, strict=True))
    return tuple(by_result.get(name, zero) for name, zero in zip(wanted, zeros, strict=True))


@cache
def program_function() -> Any:
    """Returns the operator as a function of autograd, for calls outside of graphs: `apply(key, *operands)`.

    PyTorch gives its own operators reverse mode alone, zeros in forward mode, and no batches. This has all of them, so
    that `torch.func` may take kernels.
    """
    torch, operator = import_torch(), program_operator()
    plain = (torch.Tensor, torch.nn.Parameter)  # others stand for tensors, and the operator knows them

    class ProgramFunction(torch.autograd.Function):  # type: ignore[misc, name-defined]
        """A program."""

        @staticmethod
        def forward(key: str, *operands: Any) -> tuple[Any, ...]:
            if all(type(one) in plain and one.device.type == "cpu" for one in operands):
                return tuple(_results(torch, key, operands))
            return tuple(operator(key, list(operands)))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.program = _program(inputs[0])
            ctx.save_for_backward(*inputs[1:])
            ctx.save_for_forward(*inputs[1:])
            ctx.set_materialize_grads(False)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
            needs = ctx.needs_input_grad[1:]
            return None, *_derivatives(torch, ProgramFunction.apply, ctx.program, ctx.saved_tensors, needs, grads)

        @staticmethod
        def jvp(ctx: Any, _: Any, *tangents: Any) -> tuple[Any, ...]:
            return _tangents(torch, ProgramFunction.apply, ctx.program, ctx.saved_tensors, tangents)

        @staticmethod
        def vmap(info: Any, in_dims: Any, key: str, *operands: Any) -> Any:
            def part(at: int) -> list[Any]:
                pairs = zip(operands, in_dims[1:], strict=True)
                return [one if dim is None else one.select(dim, at) for one, dim in pairs]

            found = [ProgramFunction.apply(key, *part(at)) for at in range(info.batch_size)]
            results = tuple(map(torch.stack, zip(*found, strict=True)))
            return results, (0,) * len(results)

    return ProgramFunction
