"""Functions that take longer than sums and products, which estimates count."""

from __future__ import annotations

from mlir_sparse.notation import Access, Call, Expr, Literal, walk
from mlir_sparse.plan.algebra.normal_form import Factor, Opaque, Sum

__all__ = ["slow_functions"]

# Functions that vectors compute as fast as sums, and those that they compute at all: others are called for each number.
_FAST = frozenset(("abs", "fmax", "fmin", "max", "min", "sqrt", "square", "stored", "where"))
_IN_VECTORS = frozenset(("exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "pow", "tanh"))


def slow_functions(factor: Factor) -> tuple[int, int]:
    """Returns how many functions a factor computes that take more than an instruction or two.

    Returns:
        those that vectors compute, and those that are called for each number.

    >>> from mlir_sparse.notation import parse
    >>> slow_functions(Opaque(parse("y = exp(x(i)) + abs(log(x(i))) * sin(x(i))").value))
    (2, 1)
    """
    slow = [
        node.function for body in _bodies(factor) for node in walk(body) if isinstance(node, Call) and _is_slow(node)
    ]
    in_vectors = sum(function in _IN_VECTORS for function in slow)
    return in_vectors, len(slow) - in_vectors


def _is_slow(node: Call) -> bool:
    match node:
        case Call("pow", (_, Literal(2 | 3 | -1 | 0.5))):
            return False
        case _:
            return node.function not in _FAST


def _bodies(factor: Factor) -> list[Expr]:
    match factor:
        case Access():
            return []
        case Opaque(body):
            return [body]
        case Sum(terms):
            return [body for term in terms for each in term.factors for body in _bodies(each)]
