"""Inverses of affine maps: inferred by linear algebra, or proved by substitution.

A map from dimensions to levels is a system of linear equations between levels, dimensions and digits
(`mlir_sparse.affine.integer_form`). One more equation a base closes it: a base is the weighted sum of its digits. Its
solution for the dimensions inverts permutations, unimodular maps, blockings nested to any depth, and combinations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from mlir_sparse.affine.affine_expr import AffineExpr, Constant, Dim
from mlir_sparse.affine.integer_form import Atom, Form, cuts_of, digits_of, form_of, forms_of, split
from mlir_sparse.affine.simplify import add, mul

__all__ = ["infer_inverse", "is_inverse"]

if TYPE_CHECKING:
    from fractions import Fraction

_Row: TypeAlias = "list[Fraction]"


def infer_inverse(num_dims: int, results: tuple[AffineExpr, ...]) -> tuple[AffineExpr, ...] | str:
    """Returns each dimension as a sum of a map's results times integers, or the reason why there is no such sum.

    >>> from mlir_sparse.affine.simplify import subtract
    >>> [str(e) for e in infer_inverse(2, (subtract(Dim(1), Dim(0)), Dim(0)))]
    ['d1', 'd0 + d1']
    >>> infer_inverse(2, (Dim(0), Dim(0)))
    'expected levels that each say something new, but d0 follows from the others'
    """
    dims = [expr.position for expr in results if isinstance(expr, Dim)]
    if len(dims) == len(results) and sorted(dims) == list(range(num_dims)):  # a permutation, as most are
        return tuple(Dim(dims.index(dim)) for dim in range(num_dims))
    forms = forms_of(results)
    if forms is None:
        return "expected levels that are sums of dimensions, d floordiv c and d mod c with c > 0"
    cuts = cuts_of(forms)
    if cuts is None:
        return "expected block sizes of one dimension that divide each other"
    # Unknowns: digits first, dimensions last. Elimination then leaves one row for each dimension alone.
    unknowns: list[Atom] = [digit for base, sizes in cuts.items() for digit, _ in digits_of(base, sizes)]
    unknowns += [Dim(d) for d in range(num_dims)]
    rows = [_row(split(form, cuts), unknowns, level, len(results)) for level, form in enumerate(forms)]
    for base, sizes in cuts.items():
        relation = Form.of(digits_of(base, sizes)).plus(base.times(-1))
        rows.append(_row(relation, unknowns, None, len(results)))
    return _solve(rows, len(unknowns), num_dims, results)


def _row(form: Form, unknowns: Sequence[Atom], level: int | None, num_levels: int) -> _Row:
    """Returns `form = level` as factors of the unknowns, of the levels, and the constant on the right."""
    from fractions import Fraction  # with decimal numbers, which an import of this package need not load

    factors = dict(form.terms)
    right = [Fraction(int(other == level)) for other in range(num_levels)]
    return [*(Fraction(factors.get(atom, 0)) for atom in unknowns), *right, Fraction(-form.constant)]


def _solve(
    rows: list[_Row], unknowns: int, num_dims: int, results: Sequence[AffineExpr]
) -> tuple[AffineExpr, ...] | str:
    pivots = _eliminate(rows, unknowns)
    if len(pivots) < len(rows):
        left = next(row for at, row in enumerate(rows) if at not in pivots.values())
        implied = max(level for level in range(len(results)) if left[unknowns + level])
        return f"expected levels that each say something new, but {results[implied]} follows from the others"
    inverse: list[AffineExpr] = []
    for dim in range(num_dims):
        column = unknowns - num_dims + dim
        row = rows[pivots[column]] if column in pivots else None
        if row is None or any(row[c] for c in range(unknowns) if c != column):
            return f"expected levels that determine d{dim}"
        factors = row[unknowns:]
        if any(f.denominator != 1 for f in factors):
            return f"expected a unimodular map, but d{dim} is a fraction of the levels"
        inverse.append(_sum([int(f) for f in factors]))
    return tuple(inverse)


def _eliminate(rows: list[_Row], columns: int) -> dict[int, int]:
    """Brings rows to reduced echelon form in place; returns the row of each pivot column."""
    pivots: dict[int, int] = {}
    for column in range(columns):
        at = next((r for r in range(len(pivots), len(rows)) if rows[r][column]), None)
        if at is None:
            continue
        top = len(pivots)
        rows[top], rows[at] = rows[at], rows[top]
        rows[top] = [value / rows[top][column] for value in rows[top]]
        for r, row in enumerate(rows):
            if r != top and (factor := row[column]):
                rows[r] = [value - factor * pivot for value, pivot in zip(row, rows[top], strict=True)]
        pivots[column] = top
    return pivots


def _sum(factors: Sequence[int]) -> AffineExpr:
    """Returns the levels times factors plus the last factor; positive terms come first."""
    *levels, constant = factors
    total: AffineExpr = Constant(0)
    for level, factor in sorted(enumerate(levels), key=lambda item: item[1] < 0):
        if factor:
            total = add(total, mul(Dim(level), Constant(factor)))
    return add(total, Constant(constant))


def is_inverse(dim_results: Sequence[AffineExpr], lvl_results: Sequence[AffineExpr]) -> bool:
    """Returns whether one map provably inverts another, for all integers.

    Args:
        dim_results: the map from dimensions to levels.
        lvl_results: the map from levels to dimensions.

    >>> from mlir_sparse.affine.simplify import floordiv, mod
    >>> there = (floordiv(Dim(0), Constant(4)), mod(Dim(0), Constant(4)))
    >>> is_inverse(there, (add(mul(Dim(0), Constant(4)), Dim(1)),))
    True
    """
    forms = forms_of(dim_results)
    if forms is None:
        return False
    back = [form_of(expr, forms) for expr in lvl_results]
    return all(form is not None and _is_dim(form, dim) for dim, form in enumerate(back))


def _is_dim(form: Form, dim: int) -> bool:
    """Returns whether a form equals a dimension after its digits are added up."""
    cuts = cuts_of([form])
    if cuts is None:
        return False
    form = split(form, cuts)
    for base, sizes in cuts.items():
        digits = digits_of(base, sizes)
        outermost, size = digits[-1]
        factor = dict(form.terms).get(outermost, 0)
        if factor % size == 0:  # the outermost digit is the base less the others
            form = form.plus(base.plus(Form.of(digits).times(-1)).times(factor // size))
    return form == Form(((Dim(dim), 1),))
