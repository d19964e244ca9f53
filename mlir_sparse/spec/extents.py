"""The extent of every index variable, from the shapes of the tensors at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlir_sparse.errors import ExtentError
from mlir_sparse.notation import Access, AffineSubscript, Assignment, IndexVar, reads

__all__ = ["check_inside", "clause_inside", "infer_extents", "known_extents", "subscript_bounds"]

Shape = tuple[int, ...]


def infer_extents(
    assignment: Assignment,
    shapes: Mapping[str, Shape],
    out: Shape | None,
    given: Mapping[IndexVar, int] | None = None,
) -> dict[IndexVar, int]:
    """Returns the extent of each index variable.

    A variable that is a subscript by itself runs over that axis. A variable in sums only (`x(i + k)`) gets the greatest
    extent that the axis allows, for which the other variables of the sum must be known.

    Args:
        assignment: the statement.
        shapes: the shape of each input.
        out: the shape of the output, if one was passed.
        given: extents that are already known; for plain subscripts they agree with the shapes.

    Raises:
        ExtentError: for two extents of one variable, an axis too short for its subscript, or a variable without extent.
    """
    accesses = [(node, shapes[node.tensor]) for node in reads(assignment.value)]
    if assignment.op.reads_target:
        accesses.insert(0, (assignment.target, shapes[assignment.target.tensor]))
    if out is not None:
        accesses.append((assignment.target, out))
    extents = known_extents(assignment, accesses, given or {})
    _check_all_known(assignment, extents)
    check_inside(assignment, accesses, extents)
    return extents


def known_extents(
    assignment: Assignment, accesses: list[tuple[Access, Shape]], given: Mapping[IndexVar, int]
) -> dict[IndexVar, int]:
    """Returns the extents of the index variables that accesses of some shapes determine.

    Raises:
        ExtentError: for two extents of one variable.
    """
    extents = {**_plain_extents(assignment, accesses), **given}
    _affine_extents(accesses, extents)
    return extents


def subscript_bounds(subscript: AffineSubscript, extents: Mapping[IndexVar, int]) -> tuple[int, int] | None:
    """Returns the least and greatest value of a subscript; None if a loop is empty."""
    low = high = subscript.constant
    for coefficient, variable in subscript.terms:
        extent = extents[variable]
        if extent == 0:
            return None
        low += min(0, coefficient * (extent - 1))
        high += max(0, coefficient * (extent - 1))
    return low, high


def _plain_extents(assignment: Assignment, accesses: list[tuple[Access, Shape]]) -> dict[IndexVar, int]:
    extents: dict[IndexVar, int] = {}
    origin: dict[IndexVar, tuple[Access, int]] = {}
    for access, shape in accesses:
        for axis, (subscript, size) in enumerate(zip(access.subscripts, shape, strict=True)):
            if not isinstance(subscript, IndexVar):
                continue
            known = extents.setdefault(subscript, size)
            first, first_axis = origin.setdefault(subscript, (access, axis))
            if known != size:
                raise ExtentError(
                    f"expected index {subscript} to range over one extent, but got {known} "
                    f"(axis {first_axis} of {first.tensor}) and {size} (axis {axis} of {access.tensor}) "
                    f"in {assignment}",
                    source=assignment.source,
                    span=subscript.span,
                )
    return extents


def _affine_extents(accesses: list[tuple[Access, Shape]], extents: dict[IndexVar, int]) -> None:
    """Solves each sum that has one unknown with a positive coefficient, until nothing changes."""
    bounds: dict[IndexVar, int] = {}
    for access, shape in accesses:
        for subscript, size in zip(access.subscripts, shape, strict=True):
            if not isinstance(subscript, AffineSubscript):
                continue
            unknown = [(c, v) for c, v in subscript.terms if v not in extents]
            if len(unknown) != 1 or unknown[0][0] < 0:
                continue
            coefficient, variable = unknown[0]
            known = AffineSubscript(tuple(t for t in subscript.terms if t[1] != variable), subscript.constant)
            highest = subscript_bounds(known, extents)
            slack = size - 1 - (highest[1] if highest else 0)
            bound = max(0, slack // coefficient + 1)
            bounds[variable] = min(bound, bounds.get(variable, bound))
    if bounds:
        extents.update(bounds)
        _affine_extents(accesses, extents)


def _check_all_known(assignment: Assignment, extents: Mapping[IndexVar, int]) -> None:
    for variable in assignment.indices:
        if variable not in extents:
            raise ExtentError(
                f"expected index {variable} to have an extent, but got no tensor whose axis it runs over "
                f"in {assignment}: pass out= with the shape you want, or say where {variable} runs, as in "
                f"`where {variable} in 0:2`",
                source=assignment.source,
                span=variable.span,
            )


def check_inside(
    assignment: Assignment,
    accesses: list[tuple[Access, Shape]],
    extents: Mapping[IndexVar, int],
    *,
    ranged: bool = True,
) -> None:
    """Raises unless all subscripts stay within the shapes.

    Args:
        assignment: the statement.
        accesses: each access to a tensor, with the tensor's shape.
        extents: the extent of each index variable.
        ranged: whether the text may say where variables run, as definitions may not.

    Raises:
        ExtentError: for one that does not, with figures.
    """
    # With an extent of 0 no element is accessed.
    if any(extents[variable] == 0 for variable in assignment.indices):
        return
    for access, shape in accesses:
        for axis, (subscript, size) in enumerate(zip(access.subscripts, shape, strict=True)):
            if not isinstance(subscript, AffineSubscript):
                continue
            bounds = subscript_bounds(subscript, extents)
            if bounds is not None and (bounds[0] < 0 or bounds[1] >= size):
                whole = {variable: (0, extents[variable]) for _, variable in subscript.terms}
                found = clause_inside(assignment, subscript.terms, subscript.constant, size, whole)
                clause = found if ranged else ""
                raise ExtentError(
                    f"expected subscript {subscript} of {access.tensor} to stay within 0 to {size - 1} (axis {axis}), "
                    f"but got {bounds[0]} to {bounds[1]}{clause}",
                    source=assignment.source,
                    span=subscript.span,
                )


def clause_inside(
    assignment: Assignment,
    terms: Sequence[tuple[int, IndexVar]],
    constant: int,
    size: int,
    ranges: Mapping[IndexVar, tuple[int, int]],
) -> str:
    """Returns which clause keeps a sum of index variables inside of an axis, as the end of a message; "" for none.

    >>> from mlir_sparse.notation import IndexVar, parse
    >>> i = IndexVar("i")
    >>> clause_inside(parse("y(i) = x(3 - 2*i)"), [(-2, i)], 3, 9, {i: (0, 9)})
    ': say where i runs, as in `where i in 0:2`'
    >>> clause_inside(parse("y(i) = x(2*i - 3)"), [(2, i)], -3, 9, {i: (0, 9)})  # as it stands, y(0) would be left out
    ': write i + 2 in place of i, and say where i runs, as in `where i in 0:4`'
    """
    if len(terms) != 1:
        names = " and ".join(str(variable) for _, variable in terms)
        return f": say where {names} run, as in `where {terms[0][1]} in 0:2`" if terms else ""
    ((coefficient, variable),) = terms
    ends = (-constant, size - 1 - constant)
    first, last = ends if coefficient > 0 else (-ends[1], -ends[0])
    low = max(ranges[variable][0], -(-first // abs(coefficient)))
    high = min(ranges[variable][1], last // abs(coefficient) + 1)
    if low >= high:
        return ""
    if low == 0 or variable not in assignment.target.indices:
        return f": say where {variable} runs, as in `where {variable} in {low}:{high}`"
    # A result begins with its first element, so that its variables do.
    return (
        f": write {variable} + {low} in place of {variable}, and say where {variable} runs, as in "
        f"`where {variable} in 0:{high - low}`"
    )
