"""Operands of a call, by position and by name, for kernels of every target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlir_sparse.errors import OperandError
from mlir_sparse.notation import Assignment
from mlir_sparse.spec.check_types import check_names
from mlir_sparse.text.identifiers import by_name

__all__ = ["bind", "bind_parameters", "in_order"]


def bind(assignment: Assignment, operands: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the operands of a call by name.

    Raises:
        OperandError: for too many operands, or a repeated one.
        UnknownTensorError: for a tensor without an operand, or an operand without a tensor.
    """
    bound = bind_parameters(assignment.inputs, operands, named)
    check_names(assignment, tuple(bound), called=True)
    return bound


def bind_parameters(parameters: tuple[str, ...], operands: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    """Returns operands, given by position and by name, by name; some may be missing.

    Raises:
        OperandError: for too many operands, or a repeated one.
    """
    if len(operands) > len(parameters):
        raise OperandError(f"expected {len(parameters)} operands ({', '.join(parameters)}), but got {len(operands)}")
    bound = dict(zip(parameters, operands, strict=False))
    for name, value in by_name(named).items():
        if name in bound:
            raise OperandError(f"expected {name} once, but got it by position and by name")
        bound[name] = value
    return bound


def in_order(
    parameters: tuple[str, ...], operands: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[Any, ...] | None:
    """Returns the operands of a call by position; None unless there is one for each parameter.

    >>> in_order(("A", "x"), (1,), {"x": 2}), in_order(("A", "x"), (1,), {"A": 2})
    ((1, 2), None)
    """
    if len(operands) + len(named) != len(parameters):
        return None
    try:
        return (*operands, *[named[name] for name in parameters[len(operands) :]])
    except KeyError:
        return None
