"""The work of a loop nest, estimated from storage only.

A plan has no data, so each index of unknown extent counts as EXTENT, and each compressed level below the first as
FANOUT entries: the shape of a sparse matrix with a few entries a row. The figures only serve comparisons of plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import assert_never

from mlir_sparse.encoding import TensorType
from mlir_sparse.encoding.levels.level_functions import Iteration
from mlir_sparse.notation import (
    Access,
    Apply,
    Binary,
    BinaryOp,
    Call,
    Expr,
    Fold,
    IndexVar,
    Literal,
    Negate,
    Reduce,
    accesses_of,
    walk,
)
from mlir_sparse.plan.order.storage_choice import is_sparse
from mlir_sparse.spec import vanishes

__all__ = [
    "CONVERSION",
    "conversion_cost",
    "entries",
    "meeting_lengths",
    "meetings_in",
    "nest_cost",
    "steps_in",
    "trip_counts",
]

EXTENT = 1000.0
FANOUT = 10.0
# The cost of sorting an entry into other storage, relative to visiting it once in a kernel.
CONVERSION = 4.0

Types = Mapping[str, TensorType]


@lru_cache(maxsize=512)
def entries(kind: TensorType) -> float:
    """Returns the estimated number of stored entries of a tensor."""
    total = 1.0
    for axis in range(kind.rank):
        total *= _steps(kind, axis)
    return total


def conversion_cost(kind: TensorType) -> float:
    """Returns the estimated work of changing a tensor's storage."""
    return CONVERSION * entries(kind)


def nest_cost(order: tuple[IndexVar, ...], payload: Expr, types: Types) -> float:
    """Returns the estimated number of loop steps of a payload under a loop order, over all depths of the nest."""
    return steps_in(order, trip_counts(order, payload, types))


def trip_counts(variables: Iterable[IndexVar], payload: Expr, types: Types) -> dict[IndexVar, float]:
    """Returns the number of iterations of each variable for one iteration of those outside it, in any order."""
    extents = _extents(payload, types)
    found = {variable: _count(payload, variable, types) for variable in variables}
    return {v: extents.get(v, EXTENT) if count is None else count for v, count in found.items()}


def steps_in(order: tuple[IndexVar, ...], counts: Mapping[IndexVar, float]) -> float:
    """Returns the number of loop steps of a loop order, over all depths of the nest."""
    total, steps = 0.0, 1.0
    for variable in order:
        steps *= counts[variable]
        total += steps
    return total


def meeting_lengths(variables: Iterable[IndexVar], payload: Expr, types: Types) -> dict[IndexVar, float]:
    """Returns, for each variable, how many coordinates of lists one walk over it meets, whatever loops are around."""
    return {variable: _met(payload, variable, types) for variable in variables}


def meetings_in(
    order: tuple[IndexVar, ...], counts: Mapping[IndexVar, float], lengths: Mapping[IndexVar, float]
) -> float:
    """Returns how many coordinates the loops of an order meet in lists that they go over together.

    Args:
        order: the loops, outermost first.
        counts: the number of iterations of each for one of those around it.
        lengths: the `meeting_lengths` of the loops.
    """
    total, steps = 0.0, 1.0
    for variable in order:
        total += steps * lengths[variable]
        steps *= counts[variable]
    return total


def _extents(payload: Expr, types: Types) -> dict[IndexVar, float]:
    found: dict[IndexVar, float] = {}
    for node in walk(payload):
        if isinstance(node, Access):
            for subscript, size in zip(node.subscripts, types[node.tensor].shape, strict=True):
                if isinstance(subscript, IndexVar) and size is not None:
                    found[subscript] = float(size)
    return found


def _count(node: Expr, variable: IndexVar, types: Types) -> float | None:
    """Returns the iterations of a variable in a node for one iteration of all outer ones; None if not used."""
    match node:
        case Access(tensor, subscripts):
            if variable not in subscripts:
                return None
            return _steps(types[tensor], subscripts.index(variable))
        case Literal():
            return None
        case Negate(operand):
            return _count(operand, variable, types)
        case Reduce(_, _, body) | Fold(_, _, body):
            return _count(body, variable, types)
        case Apply(operator, arguments) if operator.intersects:
            found = [c for c in (_count(argument, variable, types) for argument in arguments) if c is not None]
            return min(found, default=None)
        case Apply(_, arguments):
            return _united(list(arguments), variable, types)
        case Binary(BinaryOp.MUL | BinaryOp.DIV, left, right):
            found = [c for c in (_count(left, variable, types), _count(right, variable, types)) if c is not None]
            return min(found, default=None)
        case Binary(BinaryOp.ADD | BinaryOp.SUB, left, right):
            return _united([left, right], variable, types)
        case Binary() | Call():
            return _chosen(node, variable, types)
        case _:
            assert_never(node)


def _chosen(node: Expr, variable: IndexVar, types: Types) -> float | None:
    """Counts the values where a comparison, a choice or a function is not zero, whatever it is made of."""
    reads = [access for access in accesses_of(node) if variable in access.subscripts]
    sparse = [access for access in reads if is_sparse(types[access.tensor])]
    needed = [access for access in sparse if vanishes(node, [access])]
    if needed:
        return min(_steps(types[a.tensor], a.subscripts.index(variable)) for a in needed)
    return _united(list(sparse if sparse and vanishes(node, sparse) else reads), variable, types)


def _united(nodes: list[Expr], variable: IndexVar, types: Types) -> float | None:
    found = [c for c in (_count(node, variable, types) for node in nodes) if c is not None]
    return sum(found) if found else None


def _met(payload: Expr, variable: IndexVar, types: Types) -> float:
    """Returns the sum of the lists of a variable that products have two of or more; 0 where none has."""
    most = 0.0
    for node in walk(payload):
        if isinstance(node, Binary) and node.op is BinaryOp.MUL:
            lists = [access for access in _factors(node) if _lists(access, variable, types)]
            if len(lists) > 1:
                most = max(most, sum(_steps(types[one.tensor], one.subscripts.index(variable)) for one in lists))
    return most


def _factors(node: Expr) -> list[Access]:
    if isinstance(node, Binary) and node.op is BinaryOp.MUL:
        return [*_factors(node.left), *_factors(node.right)]
    return [node] if isinstance(node, Access) else []


def _lists(access: Access, variable: IndexVar, types: Types) -> bool:
    """Returns whether a tensor lists the coordinates of a variable."""
    encoding = types[access.tensor].encoding
    if encoding is None or variable not in access.subscripts or not encoding.is_permutation:
        return False
    level = encoding.level_order.index(access.subscripts.index(variable))
    return encoding.levels[level].type.functions.iteration is Iteration.POSITION


# Cached: each order of the loops needs it for each loop.
@lru_cache(maxsize=512)
def _steps(kind: TensorType, axis: int) -> float:
    size = kind.shape[axis]
    extent = EXTENT if size is None else float(size)
    if kind.encoding is None or not kind.encoding.is_permutation:
        return extent if kind.encoding is None or axis == 0 else min(extent, FANOUT)
    level = kind.encoding.level_order.index(axis)
    counts = kind.encoding.levels[level].type.functions.iteration is Iteration.VALUE
    return extent if counts or level == 0 else min(extent, FANOUT)
