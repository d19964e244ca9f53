"""Affine expressions as integer combinations of dimensions and of digits of them.

A *digit* is `(u floordiv low) mod (high / low)` for a linear `u`: one level of the
blocks of a dimension stores it. The level maps of storage formats are combinations of
dimensions and digits. On these, equality, inverses and bounds are exact linear algebra.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias, assert_never

from mlir_sparse.affine.affine_expr import AffineBinary, AffineExpr, AffineOp, Constant, Dim, Symbol
from mlir_sparse.classes import dataclass

__all__ = ["Atom", "Digit", "Form", "cuts_of", "digits_of", "form_of", "forms_of", "split"]


@dataclass(frozen=True, slots=True)
class Digit:
    """`(base floordiv low) mod (high // low)`; without the `mod` where high is None.

    Args:
        base: the dividend, linear over dimensions.
        low: the block size below the digit.
        high: the block size above it, a multiple of low, or None for the outermost digit.
    """

    base: Form
    low: int
    high: int | None


Atom: TypeAlias = Dim | Digit


@dataclass(frozen=True, slots=True)
class Form:
    """A sum of atoms times integers, and a constant, in a normal form: equal sums compare equal."""

    terms: tuple[tuple[Atom, int], ...] = ()
    constant: int = 0

    @classmethod
    def of(cls, terms: Iterable[tuple[Atom, int]], constant: int = 0) -> Form:
        """Returns the sum of terms; like terms are added up.

        >>> Form.of([(Dim(1), 2), (Dim(0), 1), (Dim(1), -2)])
        Form(terms=((Dim(position=0), 1),), constant=0)
        """
        total: dict[Atom, int] = {}
        for atom, factor in terms:
            total[atom] = total.get(atom, 0) + factor
        kept = [(atom, factor) for atom, factor in total.items() if factor]
        return cls(tuple(sorted(kept, key=lambda term: repr(term[0]))), constant)

    @property
    def is_linear(self) -> bool:
        """Returns whether the sum has no digits."""
        return all(isinstance(atom, Dim) for atom, _ in self.terms)

    def plus(self, other: Form) -> Form:
        """Returns the sum of both."""
        return Form.of((*self.terms, *other.terms), self.constant + other.constant)

    def times(self, factor: int) -> Form:
        """Returns the sum, each term times a factor."""
        return Form.of(((atom, value * factor) for atom, value in self.terms), self.constant * factor)


def forms_of(exprs: Sequence[AffineExpr], dims: Sequence[Form] | None = None) -> list[Form] | None:
    """Returns the forms of several expressions, or None if one has none; see `form_of`."""
    forms = [form_of(expr, dims) for expr in exprs]
    found = [form for form in forms if form is not None]
    return found if len(found) == len(forms) else None


def form_of(expr: AffineExpr, dims: Sequence[Form] | None = None) -> Form | None:
    """Returns an expression as a combination of dimensions and digits, or None where that is impossible.

    Args:
        expr: the expression.
        dims: a form to substitute for each dimension; the dimension itself when absent.

    >>> from mlir_sparse.affine.simplify import floordiv, mod
    >>> form_of(mod(floordiv(Dim(0), Constant(2)), Constant(4))).terms
    ((Digit(base=Form(terms=((Dim(position=0), 1),), constant=0), low=2, high=8), 1),)
    """
    match expr:
        case Dim(position):
            return Form(((expr, 1),)) if dims is None else dims[position]
        case Symbol():
            return None
        case Constant(value):
            return Form((), value)
        case AffineBinary(op, left, right):
            a, b = form_of(left, dims), form_of(right, dims)
            return None if a is None or b is None else _combined(op, a, b)
        case _:
            assert_never(expr)


def _combined(op: AffineOp, left: Form, right: Form) -> Form | None:
    if op is AffineOp.ADD:
        return left.plus(right)
    if right.terms:
        return None
    value = right.constant
    if op is AffineOp.MUL:
        return left.times(value)
    if value <= 0:
        return None
    if op is AffineOp.CEILDIV:
        return _quotient(left.plus(Form((), value - 1)), value)
    return _quotient(left, value) if op is AffineOp.FLOORDIV else _remainder(left, value)


def _quotient(form: Form, divisor: int) -> Form | None:
    whole, rest = _divided(form, divisor)
    if (value := _constant_quotient(rest, divisor)) is not None:
        return whole.plus(Form((), value))
    digit = _only_digit(rest)
    if rest.is_linear:
        return whole.plus(Form(((Digit(rest, divisor, None), 1),)))
    if digit is None or (digit.high is not None and digit.high // digit.low % divisor):
        return None
    return whole.plus(Form(((Digit(digit.base, digit.low * divisor, digit.high), 1),)))


def _remainder(form: Form, divisor: int) -> Form | None:
    _, rest = _divided(form, divisor)
    if (value := _constant_quotient(rest, divisor)) is not None:
        return rest.plus(Form((), -value * divisor))
    digit = _only_digit(rest)
    if rest.is_linear:
        return Form(((Digit(rest, 1, divisor), 1),))
    if digit is None or (digit.high is not None and digit.high // digit.low % divisor):
        return None
    return Form(((Digit(digit.base, digit.low, digit.low * divisor), 1),))


def _divided(form: Form, divisor: int) -> tuple[Form, Form]:
    """Returns the quotient of the terms that the divisor divides, and the other terms with the constant."""
    whole = [(atom, factor // divisor) for atom, factor in form.terms if factor % divisor == 0]
    rest = [(atom, factor) for atom, factor in form.terms if factor % divisor]
    return Form.of(whole), Form.of(rest, form.constant)


def _only_digit(form: Form) -> Digit | None:
    match form:
        case Form(((Digit() as digit, 1),), 0):
            return digit
        case _:
            return None


def _constant_quotient(form: Form, divisor: int) -> int | None:
    """Returns the quotient where it does not depend on the dimensions."""
    low = high = form.constant
    for atom, factor in form.terms:
        if isinstance(atom, Dim) or atom.high is None:
            return None
        reach = (atom.high // atom.low - 1) * factor
        low, high = low + min(0, reach), high + max(0, reach)
    return low // divisor if low // divisor == high // divisor else None


def cuts_of(forms: Iterable[Form]) -> dict[Form, tuple[int, ...]] | None:
    """Returns for each base the block sizes that bound its digits, ascending from 1.

    None where two sizes of one base do not divide each other: such digits overlap.
    """
    cuts: dict[Form, set[int]] = {}
    for form in forms:
        for atom, _ in form.terms:
            if isinstance(atom, Digit):
                cuts.setdefault(atom.base, {1}).update({atom.low, atom.high or 1})
    ordered = {base: tuple(sorted(sizes)) for base, sizes in cuts.items()}
    nested = all(b % a == 0 for sizes in ordered.values() for a, b in pairwise(sizes))
    return ordered if nested else None


def digits_of(base: Form, sizes: Sequence[int]) -> list[tuple[Atom, int]]:
    """Returns the finest digits of a base with their weights: the weighted sum is the base."""
    highs = [*sizes[1:], None]
    return [(Digit(base, low, high), low) for low, high in zip(sizes, highs, strict=True)]


def split(form: Form, cuts: Mapping[Form, Sequence[int]]) -> Form:
    """Returns the form written in the finest digits."""
    terms: list[tuple[Atom, int]] = []
    for atom, factor in form.terms:
        if isinstance(atom, Dim):
            terms.append((atom, factor))
            continue
        low, high = atom.low, atom.high
        inside = [s for s in cuts[atom.base] if s >= low and (high is None or s < high)]
        tops = [*inside[1:], high]
        terms += [(Digit(atom.base, a, b), factor * (a // low)) for a, b in zip(inside, tops, strict=True)]
    return Form.of(terms, form.constant)
