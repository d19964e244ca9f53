"""Checks that an assignment agrees with the types of its tensors."""

from __future__ import annotations

from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import ExtentError, RankError, UnknownTensorError
from mlir_sparse.notation import Access, Assignment, IndexVar, is_made_by_calls, shifted_gather_of, tensors_given
from mlir_sparse.notation.scalar_functions import function_hint
from mlir_sparse.spec.element_type_operations import check_element_types
from mlir_sparse.spec.kernel_spec import KernelSpec

__all__ = ["OWN_ARGUMENTS", "check_names", "check_rank", "check_spec", "how_to_pass", "shape_text"]

# Keyword arguments of compile and evaluate that are no tensors.
OWN_ARGUMENTS = frozenset(
    {"out", "tensors", "semiring", "target", "via", "schedule", "threads", "deterministic", "optimize"}
)


def how_to_pass(name: str, called: bool) -> str:
    """Returns a hint on how to pass a tensor's data.

    Args:
        name: the tensor.
        called: whether to a kernel, which has no `tensors=`, or to compile or evaluate.

    >>> how_to_pass("x", called=False), how_to_pass("out", called=True)
    ("pass x=... or tensors={'x': ...}", 'pass it by position, since out= is the result')
    """
    if called:
        return "pass it by position, since out= is the result" if name == "out" else f"pass {name}=..., or by position"
    if name in OWN_ARGUMENTS:
        return f"pass tensors={{'{name}': ...}}, since {name}= is no tensor"
    return f"pass {name}=... or tensors={{'{name}': ...}}"


def check_names(assignment: Assignment, given: tuple[str, ...], *, called: bool = False) -> None:
    """Raises unless the given tensors are those that the assignment reads.

    Args:
        assignment: what is computed.
        given: the names.
        called: whether they are a kernel's operands, or arguments of compile or evaluate.

    Raises:
        UnknownTensorError: with a caret below the tensor without data.
    """
    inputs, users = assignment.inputs, tensors_given(assignment)
    for read in inputs:
        gather = shifted_gather_of(read)
        name = read if gather is None or read in given else gather.tensor
        if name not in given:
            access = _access_of(assignment, read)
            # `sine(x(i))` parses as a gather from `sine`.
            hint = f"; as a function, {function_hint(name)}" if access.gathers else ""
            others = ", ".join(one for one in given if not is_made_by_calls(one))
            others = f"; given are {others}" if others else ""
            raise UnknownTensorError(
                f"expected data for tensor {name}, but got none{others}: {how_to_pass(name, called)}{hint}",
                source=assignment.source,
                span=access.span,
            )
    for name in given:
        if name not in inputs and name not in users:
            raise UnknownTensorError(f"expected a tensor of {assignment} ({', '.join(users)}), but got {name}")


def check_spec(spec: KernelSpec) -> None:
    """Raises unless ranks and static extents agree, and the element types have the operations.

    Raises:
        RankError: for an access whose number of subscripts is not the tensor's rank.
        ExtentError: for an index variable with two static extents.
        UnsupportedError: for an operation that the element type lacks.
    """
    assignment, types = spec.assignment, dict(spec.inputs)
    extents: dict[IndexVar, tuple[int, Access]] = {}
    for access in _accesses(assignment):
        kind = spec.output if access is assignment.target else types[access.tensor]
        check_rank(assignment, access, kind.shape)
        _check_extents(assignment, access, kind, extents)
    check_element_types(spec.explicit, {name: kind.dtype for name, kind in spec.inputs}, spec.output.dtype)


def _accesses(assignment: Assignment) -> list[Access]:
    return [assignment.target, *assignment.reads]


def _access_of(assignment: Assignment, name: str) -> Access:
    return next(access for access in reversed(_accesses(assignment)) if access.tensor == name)


def check_rank(assignment: Assignment, access: Access, shape: tuple[int | None, ...]) -> None:
    """Raises RankError unless an access has as many subscripts as its tensor has dimensions."""
    if len(access.subscripts) == len(shape):
        return
    raise RankError(
        f"expected {len(shape)} subscripts for {access.tensor} of shape {shape_text(shape)}, "
        f"but got {len(access.subscripts)} in {access}",
        source=assignment.source,
        span=access.span,
    )


def _check_extents(
    assignment: Assignment, access: Access, kind: TensorType, extents: dict[IndexVar, tuple[int, Access]]
) -> None:
    for axis, (subscript, size) in enumerate(zip(access.subscripts, kind.shape, strict=True)):
        if size is None or not isinstance(subscript, IndexVar):
            continue
        known, first = extents.setdefault(subscript, (size, access))
        if known != size:
            raise ExtentError(
                f"expected index {subscript} to range over one extent, but got {known} from {first} "
                f"and {size} from axis {axis} of {access}",
                source=assignment.source,
                span=subscript.span,
            )


def shape_text(shape: tuple[int | None, ...]) -> str:
    """Returns a shape as errors show it.

    >>> shape_text((3, None))
    '(3, ?)'
    """
    sizes = ", ".join("?" if size is None else str(size) for size in shape)
    return f"({sizes},)" if len(shape) == 1 else f"({sizes})"
