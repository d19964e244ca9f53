"""Kernels of tensors in types that are stored alone, such as f8e4m3fn: in f32, between conversions of what is stored.

MLIR refuses them in sparse tensors, and computes nothing in them. So operands are converted to f32 first, the whole
kernel is one of f32, and its result is rounded once, at its end, as ml_dtypes rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Access, Assignment, Expr, Subscript, children, rebuild
from mlir_sparse.plan.plan_steps import Program
from mlir_sparse.program import Conversion
from mlir_sparse.spec import KernelSpec
from mlir_sparse.text.identifiers import generated_name

__all__ = ["between_conversions", "stores_alone"]

_ROLE = "computed"


def stores_alone(spec: KernelSpec) -> bool:
    """Returns whether some tensor of a kernel is of a type that nothing is computed in."""
    return spec.output.dtype.is_storage or any(kind.dtype.is_storage for _, kind in spec.inputs)


def between_conversions(spec: KernelSpec, plan: Callable[[KernelSpec], Program], loops_only: bool) -> Program:
    """Returns the plan of a kernel of such types.

    Args:
        spec: the kernel.
        plan: plans one of types that are computed in.
        loops_only: whether it has loop nests alone, as for a GPU.

    Raises:
        UnsupportedError: for loop nests alone.
    """
    if loops_only:
        found = (spec.output, *(kind for _, kind in spec.inputs))
        stored = next(kind.dtype for kind in found if kind.dtype.is_storage)
        raise UnsupportedError(
            f"expected element types that a GPU's kernels compute in, but got {stored}, which is stored alone: convert "
            f"to f32, as in A.astype('f32'), or use target='cpu'"
        )
    types = dict(spec.inputs)
    names = {name: generated_name(name, _ROLE) for name, kind in types.items() if kind.dtype.is_storage}
    target = spec.assignment.target
    result, rounds = target.tensor, spec.output.dtype.is_storage
    if result in types:
        result = generated_name(result, "result")
    if rounds:
        names.setdefault(target.tensor, generated_name(target.tensor, _ROLE))
    computed = plan(
        KernelSpec(
            _renamed(spec.assignment, names),
            tuple((names.get(name, name), _computed(kind)) for name, kind in spec.inputs),
            _computed(spec.output),
        )
    )
    first = tuple(
        Conversion(names[name], name, _computed(kind), False, f"{kind.dtype} is stored, and computed in {_in(kind)}")
        for name, kind in types.items()
        if kind.dtype.is_storage
    )
    kinds = {name: kind for name, kind in types.items() if name in names} | dict(computed.types)
    if not rounds:
        return replace(computed, spec=spec, types=tuple(kinds.items()), steps=(*first, *computed.steps))
    kinds[result] = replace(spec.output, shape=kinds[computed.result].shape)
    last = Conversion(result, computed.result, kinds[result], False, f"{_in(spec.output)} is rounded once")
    steps = (*first, *computed.steps, last)
    return replace(computed, spec=spec, types=tuple(kinds.items()), steps=steps, result=result)


def _in(kind: TensorType) -> str:
    return kind.dtype.accumulated_in.name


def _computed(kind: TensorType) -> TensorType:
    """Returns a type as it is computed in, without explicit values of the stored one."""
    if not kind.dtype.is_storage:
        return kind
    encoding = kind.encoding
    plain = None if encoding is None else replace(encoding, explicit_val=None, implicit_val=None)
    return TensorType(kind.dtype.accumulated_in, kind.shape, plain)


def _renamed(assignment: Assignment, names: Mapping[str, str]) -> Assignment:
    """Returns a statement that reads and assigns tensors by other names."""
    target = _access(assignment.target, names)
    exists = tuple(_access(access, names) for access in assignment.exists)
    return replace(assignment, target=target, value=_expression(assignment.value, names), exists=exists)


def _expression(node: Expr, names: Mapping[str, str]) -> Expr:
    if isinstance(node, Access):
        return _access(node, names)
    return rebuild(node, tuple(_expression(child, names) for child in children(node)))


def _access(access: Access, names: Mapping[str, str]) -> Access:
    subscripts: tuple[Subscript, ...] = tuple(
        _access(one, names) if isinstance(one, Access) else one for one in access.subscripts
    )
    return replace(access, tensor=names.get(access.tensor, access.tensor), subscripts=subscripts)
