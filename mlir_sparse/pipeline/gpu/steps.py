"""Loops with steps, as threads make them: each begins at its own place, and goes on by the number of threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mlir_sparse._mlir import bindings
from mlir_sparse.pipeline.assembly import code

__all__ = ["strided"]


def strided(lower: Any, upper: Any, step: Any, start: Sequence[Any], body: Callable[..., Sequence[Any]]) -> list[Any]:
    """Writes an `scf.for` with a step; the body takes the index and the carried values, and returns those."""
    ir = bindings().ir
    kinds = [value.type for value in start]
    op = ir.Operation.create("scf.for", results=kinds, operands=[lower, upper, step, *start], regions=1)
    block = op.regions[0].blocks.append(code.index_type(), *kinds, arg_locs=[ir.Location.unknown()] * (len(kinds) + 1))
    with ir.InsertionPoint(block):
        ir.Operation.create("scf.yield", operands=list(body(*block.arguments)))
    return list(op.results)
