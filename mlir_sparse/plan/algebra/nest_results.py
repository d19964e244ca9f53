"""What the result of a loop nest is to loops that read it."""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse.plan.algebra.copied_operands import with_copies
from mlir_sparse.plan.algebra.estimates import EntrySet
from mlir_sparse.plan.algebra.loop_times import NestTime
from mlir_sparse.plan.algebra.nest_loops import order_left

__all__ = ["result_of"]


def result_of(operands: Sequence[EntrySet], kept: int, nest: NestTime) -> EntrySet:
    """Returns the result of a loop nest as an operand of another.

    Args:
        operands: the operands of the nest.
        kept: the variables of its result.
        nest: what it takes.
    """
    operands = with_copies(operands, nest.copied)
    inherits = [one for one in operands if one.sparse and one.variables == kept]
    # Entries are those of an operand that has all variables, and so are their degrees.
    largest, squares = (inherits[0].largest, inherits[0].squares) if inherits else _degrees(operands, kept, nest)
    sparse = [one for one in operands if one.sparse] if nest.sparse else []
    order = order_left(sparse, kept) if sparse else None
    # Arrays beside it change its values, not where it has entries.
    pattern = sparse[0].pattern if inherits and len(sparse) == 1 else None
    return EntrySet(kept, nest.entries, nest.sparse, largest, squares, order, nest.most, pattern=pattern)


def _degrees(operands: Sequence[EntrySet], kept: int, nest: NestTime) -> tuple[dict[int, float], dict[int, float]]:
    """Returns the degrees of a result whose operands leave some of their entries, or have each at several places."""
    largest, squares = dict[int, float](), dict[int, float]()
    if not nest.sparse:
        return largest, squares
    for one in operands:
        if one.sparse and one.entries and one.squares and not one.variables & ~kept:
            often = nest.entries / one.entries
            for variable, number in one.squares.items():
                # Of entries that are left by chance, a share of the pairs and of themselves.
                known = often**2 * number + max(0.0, 1 - often) * nest.entries
                squares[variable] = max(squares.get(variable, 0.0), known)
                most = min(nest.entries, max(1.0, one.largest[variable] * often))
                largest[variable] = max(largest.get(variable, 1.0), most)
    return largest, squares
