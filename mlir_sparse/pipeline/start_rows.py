"""Starts what rows accumulate from a zero where they have fewer entries than their level is long.

The sparsifier starts each row from the identity: what rows leave out it does not see.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.accumulations import accumulation_of
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.operation_index import Nest, Seen

__all__ = ["start_rows"]


def start_rows(seen: Seen, options: Mapping[str, str]) -> bool:
    """Starts the rows of functions whose plan says so.

    Args:
        seen: a module after bufferization; rewritten in place.
        options: those of the pass: none.

    Returns:
        whether it changed anything.

    Raises:
        ValueError: for a function that does not accumulate rows: zeros would be missing from its result.
    """
    found = [(nest, nest.facts.zeros) for nest in seen.nests(options)]
    for nest, zeros in found:
        if zeros is not None:
            _start(nest, *zeros)
    return any(zeros is not None for _, zeros in found)


def _start(nest: Nest, sizes: int, level: int) -> None:
    loop = _loop_over_entries(nest)
    (start,) = loop.starts
    with ir.InsertionPoint(loop.op):
        place, described = ir.DenseI64ArrayAttr.get([0, level]), nest.arguments[sizes]
        size = build.operation("llvm.extractvalue", build.word_type(), described, position=place)
        entries = build.subtract(loop.upper, loop.lower)
        fewer = build.compare("ult", entries, build.cut(size, build.index_type()))
        element = start.type
        number = ir.FloatAttr.get(element, 0.0) if build.is_float(element) else ir.IntegerAttr.get(element, 0)
        zero = build.operation("arith.constant", element, value=number)
        loop.set_start(0, build.select(fewer, zero, start))


def _loop_over_entries(nest: Nest) -> ForLoop:
    """Returns the only loop over the entries of a row."""
    loops = [loop for loop in nest.innermost_loops if loop.is_over_entries and len(loop.starts) == 1]
    if len(loops) == 1 and loops[0].step == 1:
        (loop,) = loops
        triple = loop.carried[0], loop.starts[0], loop.ends[0]
        if accumulation_of(*triple) is not None:
            return loop
    raise ValueError(f"expected one loop that accumulates the entries of rows, but got {len(loops)}")
