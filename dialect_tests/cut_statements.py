"""Statements computed in the pieces of a cut, on operands at hand."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import mlir_sparse as ms
from mlir_sparse.compile.statement_pieces import compile_pieces
from mlir_sparse.notation.laws import PLUS_TIMES
from mlir_sparse.notation.linear_subscript import as_affine
from mlir_sparse.plan.composed_cuts import ComposedCut
from mlir_sparse.plan.statement_cuts import StatementCut
from mlir_sparse.spec import index_ends, subscript_bounds

__all__ = ["computed_in_pieces", "extent_of", "type_of"]


def computed_in_pieces(
    statement: ms.Assignment,
    cut: StatementCut,
    operands: Mapping[str, Any],
    bounds: Sequence[int],
    out: str | None = None,
    ring: Any = PLUS_TIMES,
    **options: Any,
) -> Any:
    """Returns what pieces with these bounds make of a statement; pieces with neighbours are left out where empty."""
    types = {name: type_of(value) for name, value in operands.items()}
    compiled = compile_pieces(ComposedCut((cut,)), types, out, ring, **options)
    extents = index_ends(statement, {name: np.shape(operands[name]) for name in statement.inputs}, None)
    whole, results = {name: operands[cut.operand(name)] for name in cut.whole}, []
    for low, high in itertools.pairwise(sorted(set(bounds)) if cut.halos else bounds):
        parts = {}
        for name, axis in cut.parts.items():
            begin, end = cut.part(name, low, high, extents)
            value = operands[cut.operand(name)]
            assert end <= value.shape[axis]
            parts[name] = value[(slice(None),) * axis + (slice(begin, end),)]
        results.append(compiled.kernel(**parts, **whole))
    return compiled.joined(results)


def type_of(value: Any) -> ms.TensorType:
    """Returns the type of an operand."""
    if isinstance(value, ms.SparseTensor):
        return value.type
    return ms.TensorType(ms.DType.of(np.asarray(value).dtype), (None,) * np.ndim(value))


def extent_of(subscript: Any, extents: Mapping[str, int]) -> int:
    """Returns the least extent of an axis at a subscript, given those of the index variables."""
    bounds = subscript_bounds(as_affine(subscript), {ms.IndexVar(name): extent for name, extent in extents.items()})
    assert bounds is not None
    return bounds[1] + 1
