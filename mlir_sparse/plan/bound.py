"""How many entries a loop nest can insert, from those of its operands."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from mlir_sparse.notation import Access, Binary, BinaryOp, Expr, Literal, children
from mlir_sparse.plan.program import Generic

__all__ = ["least_entries", "most_entries"]

# How many tuples of coordinates a node has entries at, and which variables they are of.
_Tuples = tuple[int, frozenset[str]]


def most_entries(step: Generic, entries: Mapping[str, int], extents: Mapping[str, int]) -> int:
    """Returns a number that the entries of a sparse result do not exceed.

    A product has at most the entries of each factor, repeated along the variables that the
    factor does not have; a sum those of all its operands (Kjolstad et al. 2017, section 5.1).

    Args:
        step: the loop nest.
        entries: the stored entries of each sparse operand.
        extents: how far each index variable runs.
    """
    tuples, variables = _tuples(step.payload, entries, extents)
    own = frozenset(index.name for index in step.target.indices)
    return min(tuples * _volume(own - variables, extents), _volume(own, extents))


def least_entries(step: Generic, entries: Mapping[str, int], extents: Mapping[str, int]) -> int:
    """Returns a number that the entries of a sparse result reach at least; 0 where that is not known.

    A product of factors without a variable in common has an entry for each choice of theirs.

    Args:
        step: the loop nest.
        entries: the stored entries of each sparse operand.
        extents: how far each index variable runs.
    """
    if step.reductions:
        return 0
    return _apart(step.payload, entries, extents)[0]


def _apart(node: Expr, entries: Mapping[str, int], extents: Mapping[str, int]) -> _Tuples:
    match node:
        case Literal() | Access():
            return _tuples(node, entries, extents)
        case Binary(BinaryOp.MUL):
            (left, names), (right, others) = (_apart(child, entries, extents) for child in children(node))
            return (0 if names & others else left * right), names | others
        case _:
            return 0, _tuples(node, entries, extents)[1]


def _tuples(node: Expr, entries: Mapping[str, int], extents: Mapping[str, int]) -> _Tuples:
    match node:
        case Literal():
            return 1, frozenset()
        case Access(tensor):
            variables = frozenset(index.name for index in node.indices)
            return entries.get(tensor, _volume(variables, extents)), variables
        case _:
            found = [_tuples(child, entries, extents) for child in children(node)]
            variables = frozenset[str]().union(*(names for _, names in found))
            counts = [count * _volume(variables - names, extents) for count, names in found]
            meets = isinstance(node, Binary) and node.op in (BinaryOp.MUL, BinaryOp.DIV)
            return (min(counts) if meets else sum(counts)), variables


def _volume(variables: Iterable[str], extents: Mapping[str, int]) -> int:
    return math.prod(extents[name] for name in variables)
