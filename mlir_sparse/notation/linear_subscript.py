"""Arithmetic on subscripts: sums and multiples of index variables and of unknown sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mlir_sparse.notation.ast import AffineSubscript, IndexVar
from mlir_sparse.text.source_text import Span

__all__ = ["LARGEST_INTEGER", "add", "as_affine", "as_subscript", "bind", "multiply", "scale", "symbols_of"]

# What the 64-bit `index` type of the compiled loops can hold.
LARGEST_INTEGER = 2**63 - 1

# A coefficient, the sizes and parameters that multiply it, and a variable or None.
_Product = tuple[int, tuple[str, ...], IndexVar | None]


def as_affine(subscript: IndexVar | AffineSubscript | int) -> AffineSubscript:
    """Returns a variable or an integer as a sum of terms."""
    match subscript:
        case AffineSubscript():
            return subscript
        case IndexVar():
            return AffineSubscript(((1, subscript),), 0, subscript.span)
        case _:
            return AffineSubscript((), subscript)


def as_subscript(affine: AffineSubscript, span: Span | None = None) -> IndexVar | AffineSubscript:
    """Returns the variable if the sum is just one, else the sum.

    >>> i = IndexVar("i")
    >>> as_subscript(add(as_affine(i), as_affine(0)))
    IndexVar(name='i')
    """
    match affine:
        case AffineSubscript(((1, variable),), 0, symbolic=()):
            return IndexVar(variable.name, span or variable.span)
        case _:
            return AffineSubscript(affine.terms, affine.constant, span or affine.span, affine.symbolic)


def add(left: AffineSubscript, right: AffineSubscript) -> AffineSubscript:
    """Returns the sum; like terms are added, and variables keep their order.

    >>> i, k = IndexVar("i"), IndexVar("k")
    >>> print(add(scale(as_affine(i), 2), as_affine(k)))
    2*i + k
    """
    return _sum((*_products(left), *_products(right)))


def scale(affine: AffineSubscript, factor: int) -> AffineSubscript:
    """Returns the multiple by an integer."""
    return _sum((factor * coefficient, names, variable) for coefficient, names, variable in _products(affine))


def multiply(left: AffineSubscript, right: AffineSubscript) -> AffineSubscript | None:
    """Returns the product, or None where both have variables.

    >>> i, size = IndexVar("i"), AffineSubscript((), 0, symbolic=((1, ("N",), None),))
    >>> print(multiply(size, as_affine(i)))
    N*i
    """
    products: list[_Product] = []
    for a, first, variable in _products(left):
        for b, second, other in _products(right):
            if variable is not None and other is not None:
                return None
            products.append((a * b, tuple(sorted(first + second)), other if variable is None else variable))
    return _sum(products)


def symbols_of(affine: AffineSubscript) -> tuple[str, ...]:
    """Returns the sizes and parameters in a subscript."""
    return tuple(dict.fromkeys(name for _, names, _ in affine.symbolic for name in names))


def bind(subscript: IndexVar | AffineSubscript, values: Mapping[str, int]) -> IndexVar | AffineSubscript:
    """Returns a subscript with numbers for all of its sizes and parameters.

    >>> print(bind(AffineSubscript((), -1, symbolic=((2, ("N",), None),)), {"N": 5}))
    9
    """
    if isinstance(subscript, IndexVar) or not subscript.symbolic:
        return subscript
    products: list[_Product] = []
    for coefficient, names, variable in _products(subscript):
        for name in names:
            coefficient *= values[name]
        products.append((coefficient, (), variable))
    return as_subscript(_sum(products), subscript.span)


def _products(affine: AffineSubscript) -> tuple[_Product, ...]:
    plain = tuple((coefficient, (), variable) for coefficient, variable in affine.terms)
    return (*affine.symbolic, *plain, (affine.constant, (), None))


def _sum(products: Iterable[_Product]) -> AffineSubscript:
    coefficients: dict[tuple[tuple[str, ...], IndexVar | None], int] = {}
    for coefficient, names, variable in products:
        coefficients[names, variable] = coefficients.get((names, variable), 0) + coefficient
    constant = coefficients.pop(((), None), 0)
    found = [(coefficient, names, variable) for (names, variable), coefficient in coefficients.items() if coefficient]
    terms = tuple((coefficient, variable) for coefficient, names, variable in found if not names and variable)
    return AffineSubscript(terms, constant, symbolic=tuple(product for product in found if product[1]))
