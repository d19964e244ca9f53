"""Sparse results with the structure of an operand: values only, each stored where the operand has its entry.

Nothing has to be appended where the result has the entries of one operand: the position of an
entry is that of the operand's. So chunks of the loops, and threads of a GPU, write side by side.
"""

from __future__ import annotations

from mlir_sparse._mlir import ir
from mlir_sparse.assembly.result_chain import Chain, end_function
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.emit_copies import replace
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.model_accesses import Insert
from mlir_sparse.loops.regions import blocks_of
from mlir_sparse.loops.value_origins import made_by, parent_of, result_maker

__all__ = ["store_at_entries"]


def store_at_entries(function: ir.Operation, chain: Chain, *, returned: bool) -> None:
    """Rewrites a function with a sparse result: its values become the last argument.

    Args:
        function: after sparsification, in place.
        chain: its result.
        returned: whether the function returns them as well, as those with a dense result do.

    Raises:
        ValueError: for a result that has entries where no operand has.
    """
    if chain.expands or chain.compresses or len(chain.inserts) != 1:
        raise ValueError("expected one insertion, at entries of one operand")
    (block,), (insert,) = blocks_of(function), chain.inserts
    start = result_maker(chain.start)
    element = ir.RankedTensorType(chain.start.type).element_type
    kind = ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], element)
    values = block.add_argument(kind, ir.Location.unknown())
    _store(insert, chain, values)
    chain.replace_sizes(list(start.operands))
    with ir.InsertionPoint.at_block_begin(block):
        nothing = build.constant(0)
    chain.start.replace_all_uses_with(nothing)
    for value in chain.values:
        if value != chain.start:
            value.set_type(build.index_type())
    replace(insert.op, [insert.tensor])
    end_function(function, chain, lambda _: [values] if returned else [])
    start.erase()


def _store(insert: Insert, chain: Chain, values: ir.Value) -> None:
    """Stores what is inserted at the position of the operand's entry."""
    around = chain.around(insert.op)
    entries = around[-1].loop if around else None
    if not isinstance(entries, ForLoop):
        raise ValueError("expected a loop over the entries of one operand around an insertion")
    before = insert.op
    while parent_of(before) != entries.op:
        before = parent_of(before)
        # Inserted where a sum has terms; one without is 0, for which the structure has an entry.
        if before.name != "scf.if" or made_by(insert.value, "scf.for", "arith.constant") is None:
            raise ValueError(f"expected an insertion at every entry, but got one in {before.name}")
    with ir.InsertionPoint(before):
        build.store(insert.value, values, entries.index)
