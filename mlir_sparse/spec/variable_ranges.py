"""The range of each index variable of a statement, by the rules of tensor comprehensions.

Ranges are the largest with all reads in bounds, found in rounds (Vasilache et al. 2018, section 3.2). Each round takes
the subscripts with one variable of unknown range, and intersects the ranges that they allow for it. In `x(2*i + k) *
w(k)` the first round gives k the range of w, and the second gives i the range that remains of x.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NoReturn

from mlir_sparse.errors import ExtentError
from mlir_sparse.notation import (
    Access,
    AffineSubscript,
    Assignment,
    IndexVar,
    Subscript,
    has_affine_target,
    is_index_vector,
    reads,
)
from mlir_sparse.spec.check_types import check_rank
from mlir_sparse.spec.extents import clause_inside

__all__ = ["Ranges", "check_inside_target", "extent_of", "find_ranges", "infer_ranges", "terms_of"]

Shape = tuple[int, ...]
Ranges = dict[IndexVar, tuple[int, int]]
"""The first value of each variable, and the one after its last."""

_Axes = list[tuple[Access, int, Subscript, int]]


def infer_ranges(
    assignment: Assignment, shapes: Mapping[str, Shape], target: Shape | None, *, strict: bool = False
) -> Ranges:
    """Returns the range of each index variable of a statement.

    Args:
        assignment: a statement without names of sizes.
        shapes: the shape of each tensor that it reads, or names in `exists`.
        target: the shape of the target, if it is known; it decides for variables that no read determines.
        strict: whether variables without a clause start at 0 and tensors must agree on their extents; else the ranges
            that the reads allow are intersected.

    Raises:
        ExtentError: for a variable with no range, or several; for a range out of a tensor's bounds, with figures.
    """
    ranges, unresolved = _found(assignment, shapes, target, strict)
    if unresolved:
        _refuse_ambiguous(assignment, list(_axes(assignment, shapes)), unresolved)
    return ranges


def find_ranges(
    assignment: Assignment, shapes: Mapping[str, Shape], target: Shape | None, *, strict: bool = False
) -> Ranges | None:
    """Returns the result of `infer_ranges`, or None if some variable has no range."""
    ranges, unresolved = _found(assignment, shapes, target, strict)
    return None if unresolved else ranges


def _found(
    assignment: Assignment, shapes: Mapping[str, Shape], target: Shape | None, strict: bool
) -> tuple[Ranges, dict[IndexVar, None]]:
    axes = list(_axes(assignment, shapes))
    if target is None and has_affine_target(assignment):
        target = shapes.get(assignment.target.tensor)
    if target is not None:
        check_rank(assignment, assignment.target, target)
    ranges: Ranges = {r.variable: (r.low.constant, max(r.low.constant, r.high.constant)) for r in assignment.ranges}
    unresolved = dict.fromkeys(variable for variable in assignment.indices if variable not in ranges)
    floor = set(assignment.indices if strict else assignment.target.indices)
    _check_clauses(assignment, axes)
    if strict:
        _check_agreement(assignment, axes, ranges)
    while unresolved:
        found = _round(axes, ranges, unresolved)
        if not found and target is not None:
            found = _round(list(_axes_of(assignment.target, target)), ranges, unresolved)
        if not found:
            return ranges, unresolved
        for variable, (low, high) in found.items():
            if variable in floor:
                low = 0 if strict else max(0, low)
                if high <= low:  # an empty range starts at 0 like others
                    low = high = 0
            ranges[variable] = (low, max(low, high))
            del unresolved[variable]
    if target is not None:
        axes += _axes_of(assignment.target, target)
    _check_inside(assignment, axes, ranges)
    return ranges, {}


def _axes(assignment: Assignment, shapes: Mapping[str, Shape]) -> Iterator[tuple[Access, int, Subscript, int]]:
    read = list(reads(assignment.value))
    # An affine target holds what the reads determine, wherever it ends: it does not bound their variables.
    if assignment.op.reads_target and not has_affine_target(assignment):
        read.insert(0, assignment.target)
    for access in dict.fromkeys((*read, *assignment.exists)):
        if is_index_vector(access.tensor):  # it is as long as its variable's range
            continue
        # The target has no shape yet if this statement determines it.
        if access.tensor in shapes or access.tensor != assignment.target.tensor:
            check_rank(assignment, access, shapes[access.tensor])
            yield from _axes_of(access, shapes[access.tensor])


def _axes_of(access: Access, shape: Shape) -> Iterator[tuple[Access, int, Subscript, int]]:
    for axis, (subscript, size) in enumerate(zip(access.subscripts, shape, strict=True)):
        yield access, axis, subscript, size


def terms_of(subscript: object) -> tuple[tuple[tuple[int, IndexVar], ...], int] | None:
    """Returns a subscript as a sum; None for an access, which does not bound variables."""
    match subscript:
        case IndexVar():
            return ((1, subscript),), 0
        case AffineSubscript(terms, constant):
            return terms, constant
        case _:
            return None


def extent_of(subscript: Subscript, ranges: Ranges) -> int:
    """Returns the extent of an axis that ends where a subscript of its target does."""
    terms, constant = terms_of(subscript) or ((), 0)
    if any(ranges[variable][0] >= ranges[variable][1] for _, variable in terms):
        return ranges[subscript][1] if isinstance(subscript, IndexVar) else max(0, constant)
    return max(0, _bounds(terms, constant, ranges)[1] + 1)


def check_inside_target(assignment: Assignment, ranges: Ranges, shape: Shape) -> None:
    """Raises ExtentError for a subscript of the target that does not stay in its shape."""
    _check_inside(assignment, list(_axes_of(assignment.target, shape)), ranges)


def _bounds(
    terms: tuple[tuple[int, IndexVar], ...], constant: int, ranges: Mapping[IndexVar, tuple[int, int]]
) -> tuple[int, int]:
    """Returns the least and greatest value of a sum; a variable with an empty range counts with its first value."""
    low = high = constant
    for factor, variable in terms:
        first, end = ranges[variable]
        ends = (factor * first, factor * max(first, end - 1))
        low, high = low + min(ends), high + max(ends)
    return low, high


def _round(axes: _Axes, ranges: Ranges, unresolved: Mapping[IndexVar, None]) -> Ranges:
    found: Ranges = {}
    for _, _, subscript, size in axes:
        terms, constant = terms_of(subscript) or ((), 0)
        unknown = [(factor, variable) for factor, variable in terms if variable in unresolved]
        if len(unknown) != 1:
            continue
        factor, variable = unknown[0]
        low, high = _bounds(tuple(term for term in terms if term[1] != variable), constant, ranges)
        first, last = (-low, size - 1 - high) if factor > 0 else (high - size + 1, low)
        allowed = -(-first // abs(factor)), last // abs(factor) + 1
        known = found.get(variable, allowed)
        found[variable] = max(known[0], allowed[0]), min(known[1], allowed[1])
    return found


def _check_agreement(assignment: Assignment, axes: _Axes, ranges: Ranges) -> None:
    first: dict[IndexVar, tuple[Access, int, int]] = {}
    for access, axis, subscript, size in axes:
        if not isinstance(subscript, IndexVar) or subscript in ranges:
            continue
        other, other_axis, known = first.setdefault(subscript, (access, axis, size))
        if known != size:
            raise ExtentError(
                f"expected index {subscript} to range over one extent, but got {known} (axis {other_axis} of "
                f"{other.tensor}) and {size} (axis {axis} of {access.tensor}); give it a range by "
                f"`where {subscript} in 0:{min(known, size)}`",
                source=assignment.source,
                span=subscript.span,
            )


def _refuse_ambiguous(assignment: Assignment, axes: _Axes, unresolved: Mapping[IndexVar, None]) -> NoReturn:
    variable = next(iter(unresolved))
    places = [(str(access), subscript) for access, _, subscript, _ in axes if variable in _variables(subscript)]
    others = dict.fromkeys(str(v) for _, s in places for v in _variables(s) if v in unresolved and v != variable)
    where = f"only {' and '.join(dict.fromkeys(text for text, _ in places))}" if places else "no tensor that has it"
    joined = f", where {' and '.join(others)} could be anything too" if others else ""
    raise ExtentError(
        f"expected a range for index {variable}, but got {where}{joined}: "
        f"say where {variable} runs, as in `where {variable} in 0:2`",
        source=assignment.source,
        span=variable.span,
    )


def _variables(subscript: Subscript) -> tuple[IndexVar, ...]:
    return tuple(variable for _, variable in (terms_of(subscript) or ((), 0))[0])


def _check_clauses(assignment: Assignment, axes: _Axes) -> None:
    """Refuses ranges of clauses that leave an axis for every value of the other variables."""
    lengths = {r.variable: r.high.constant - r.low.constant for r in assignment.ranges}
    for access, axis, subscript, size in axes:
        terms = [(factor, v) for factor, v in (terms_of(subscript) or ((), 0))[0] if v in lengths]
        reach = sum(abs(factor) * (lengths[variable] - 1) for factor, variable in terms) + 1
        if terms and reach > size and all(lengths[variable] for _, variable in terms):
            clauses = ", ".join(str(r) for r in assignment.ranges if r.variable in _variables(subscript))
            raise ExtentError(
                f"expected `{clauses}` to fit in axis {axis} of {access.tensor}, which has {size} elements, "
                f"but got {subscript} to reach over {reach}",
                source=assignment.source,
                span=next(r.span for r in assignment.ranges if r.variable in _variables(subscript)),
            )


def _check_inside(assignment: Assignment, axes: _Axes, ranges: Ranges) -> None:
    for access, axis, subscript, size in axes:
        found = terms_of(subscript)
        # If some range is empty, a subscript has no values.
        if found is None or any(ranges[variable][0] >= ranges[variable][1] for _, variable in found[0]):
            continue
        low, high = _bounds(*found, ranges)
        if low < 0 or high >= size:
            inside = f"within 0 to {size - 1}" if size else "nowhere, as there are no elements,"
            raise ExtentError(
                f"expected subscript {subscript} of {access.tensor} to stay {inside} (axis {axis}), "
                f"but got {low} to {high}{clause_inside(assignment, *found, size, ranges)}",
                source=assignment.source,
                span=subscript.span,
            )
