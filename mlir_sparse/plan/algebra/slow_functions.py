"""Functions that take longer than sums and products, which estimates count."""

from __future__ import annotations

from mlir_sparse.notation import Access, Call, Expr, Literal, walk
from mlir_sparse.plan.algebra.normal_form import Factor, Opaque, Sum

__all__ = ["slow_functions"]

# Functions that vectors compute as fast as sums.
_FAST = frozenset(("abs", "fmax", "fmin", "max", "min", "square", "stored", "where"))


def slow_functions(factor: Factor) -> int:
    """Returns how many functions a factor computes that take more than an instruction or two.

    >>> from mlir_sparse.notation import parse
    >>> slow_functions(Opaque(parse("y = exp(x(i)) + abs(log(x(i)))").value))
    2
    """
    return sum(_is_slow(node) for body in _bodies(factor) for node in walk(body))


def _is_slow(node: Expr) -> bool:
    match node:
        case Call("pow", (_, Literal(2 | 3 | -1 | 0.5))):
            return False
        case Call(function):
            return function not in _FAST
        case _:
            return False


def _bodies(factor: Factor) -> list[Expr]:
    match factor:
        case Access():
            return []
        case Opaque(body):
            return [body]
        case Sum(terms):
            return [body for term in terms for each in term.factors for body in _bodies(each)]
