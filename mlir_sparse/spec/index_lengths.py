"""The lengths of the vectors of positions that stand for index variables as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mlir_sparse.errors import ExtentError
from mlir_sparse.notation import Assignment, IndexVar, Literal, index_vectors, is_index_vector, reads, substitute
from mlir_sparse.spec.check_types import check_rank
from mlir_sparse.spec.extents import check_inside, known_extents
from mlir_sparse.spec.variable_ranges import infer_ranges

__all__ = ["index_ends", "index_lengths"]

Shape = tuple[int, ...]


def index_lengths(assignment: Assignment, shapes: Mapping[str, Shape], target: Shape | None) -> dict[str, int]:
    """Returns the length of each vector of positions by name: the end of its variable's range.

    Args:
        assignment: the statement.
        shapes: the shape of each tensor of the user's that it reads.
        target: the shape of the result, if it is known.

    Raises:
        RankError: for a tensor with another number of subscripts.
        ExtentError: for a variable that no tensor and no range gives an extent, and for two extents of one.

    >>> from mlir_sparse.notation import parse
    >>> index_lengths(parse("y(i) = A(i,j) * j"), {"A": (2, 3)}, None)
    {'j.index': 3}
    """
    vectors = index_vectors(assignment)
    ends = index_ends(assignment, shapes, target)
    for variable in vectors.values():
        if variable not in ends:
            raise ExtentError(
                f"expected index {variable} to have an extent, but got no tensor whose axis it runs over in "
                f"{assignment}: say where it runs, as in `where {variable} in 0:5`",
                source=assignment.source,
                span=next(a.span for a in assignment.reads if vectors.get(a.tensor) == variable),
            )
    return {name: ends[variable] for name, variable in vectors.items()}


def index_ends(assignment: Assignment, shapes: Mapping[str, Shape], target: Shape | None) -> Mapping[IndexVar, int]:
    """Returns where the range of each index variable ends: its extent, where it begins at 0.

    Args:
        assignment: the statement; vectors of positions among what it reads may have any extents.
        shapes: the shape of each other tensor that it reads.
        target: the shape of the result, if it is known.

    Raises:
        RankError: for a tensor with another number of subscripts.
        ExtentError: for a variable of several extents, and for a subscript beyond its axis.

    >>> from mlir_sparse.notation import parse
    >>> i, k = IndexVar("i"), IndexVar("k")
    >>> ends = index_ends(parse("y(i) = x(i + k) * w(k)"), {"x": (9,), "w": (3,)}, None)
    >>> ends[i], ends[k]
    (7, 3)
    """
    if not assignment.ranges and not assignment.exists:
        accesses = [(node, shapes[node.tensor]) for node in reads(assignment.value) if not is_index_vector(node.tensor)]
        if assignment.op.reads_target:
            accesses.insert(0, (assignment.target, shapes[assignment.target.tensor]))
        if target is not None and len(target) == len(assignment.target.subscripts):
            accesses.append((assignment.target, target))
        for access, shape in accesses:
            check_rank(assignment, access, shape)
        found = known_extents(assignment, accesses, {})
        if found.keys() >= set(assignment.indices):
            check_inside(assignment, accesses, found)
        return found
    vectors = {access: Literal(0) for access in assignment.reads if is_index_vector(access.tensor)}
    others = replace(assignment, value=substitute(assignment.value, dict(vectors)))
    # A variable that is read as a value only has the range of its clause.
    used = set(others.indices)
    clauses = {one.variable: one.high.constant for one in assignment.ranges}
    others = replace(others, ranges=tuple(one for one in others.ranges if one.variable in used))
    ranges = infer_ranges(others, shapes, target, strict=True)
    return {**clauses, **{variable: high for variable, (_, high) in ranges.items()}}
