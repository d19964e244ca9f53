"""Loops in chunks: where the last whole one ends, a loop over those, and what is left behind them, masked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.emit_vectors import mask_of
from mlir_sparse.loops.model import ForLoop

__all__ = ["loop_over_chunks", "masked_rest", "whole_end"]


def whole_end(lower: ir.Value, upper: ir.Value, size: int) -> ir.Value:
    """Writes where the last whole chunk between two places ends."""
    rest = build.operation("arith.remui", upper.type, build.subtract(upper, lower), build.constant(size))
    return build.subtract(upper, rest)


def loop_over_chunks(loop: ForLoop, size: int, chunk: Callable[[ir.Value], None]) -> None:
    """Writes a loop over whole chunks before one over entries, which is left with those behind them.

    Args:
        loop: a loop with step 1 and no results.
        size: the entries of a chunk.
        chunk: writes what is done for a chunk, given its first entry.
    """
    lower, upper = loop.bounds
    with ir.InsertionPoint(loop.op):
        end = whole_end(lower, upper, size)
        build.loop(end, (), chunk, lower, size)
    loop.set_lower(end)


def masked_rest(
    at: ir.Value,
    upper: ir.Value,
    lanes: int,
    carried: Sequence[ir.Value],
    iteration: Callable[[ir.Value], Sequence[ir.Value]],
    masked: Callable[[ir.Value, int], ir.Value] = mask_of,
) -> list[ir.Value]:
    """Writes what is done for fewer elements than a vector has, if there are any.

    Args:
        at: the first of them.
        upper: where they end.
        lanes: of the vectors.
        carried: the vectors before it.
        iteration: makes new ones of them, given the mask of the elements that there are.
        masked: makes that mask, given how many there are.

    Returns:
        the vectors after it.
    """
    left = build.subtract(upper, at)

    def some() -> list[ir.Value]:
        mask = masked(left, lanes)
        # Zeros in place of what there is not, times what is not finite, are no zeros.
        return [build.select(mask, now, so_far) for now, so_far in zip(iteration(mask), carried, strict=True)]

    kinds = [value.type for value in carried]
    return build.branch(build.compare("ult", at, upper), some, lambda: carried, kinds)
