"""Shapes of what statements assign, from those of what they read."""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse.errors import ExtentError
from mlir_sparse.notation import Access, Assignment, IndexVar, shifted_gather_of
from mlir_sparse.notation.adjoint import AdjointStep
from mlir_sparse.spec.extents import known_extents

__all__ = ["Shape", "extents_of", "shapes_of_steps"]

Shape = tuple[int, ...]


def shapes_of_steps(steps: Sequence[AdjointStep], given: dict[str, Shape]) -> dict[str, Shape]:
    """Returns the shapes of operands and results.

    Args:
        steps: the statements, in order.
        given: the shapes of operands. Integers may stand for unknown ones, as PyTorch's do while it traces.
    """
    shapes = dict(given)
    for step in steps:
        if step.like:
            shapes[step.target] = shapes[step.like]
            continue
        extents = extents_of(step.core, shapes)
        for index in step.core.target.indices:
            if index not in extents:
                raise ExtentError(
                    f"expected index {index} to have an extent, but got no operand whose axis it runs over "
                    f"in {step.core}: multiply by an array of ones over {index}"
                )
        shapes[step.target] = tuple(extents[index] for index in step.core.target.indices)
    return shapes


def extents_of(statement: Assignment, shapes: dict[str, Shape]) -> dict[IndexVar, int]:
    """Returns the extents of a statement's variables that shapes determine; a range's end is its variable's."""
    given = {clause.variable: clause.high.constant for clause in statement.ranges}
    accesses: list[tuple[Access, Shape]] = []
    for access in (*statement.reads, statement.target):
        ranged = any(isinstance(subscript, IndexVar) and subscript in given for subscript in access.subscripts)
        places = shifted_gather_of(access.tensor)
        tensor = access.tensor if places is None else places.tensor
        if tensor in shapes and not ranged:
            accesses.append((access, shapes[tensor]))
    return known_extents(statement, accesses, given)
