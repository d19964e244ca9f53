"""Sparse results with the structure of an operand: values only, each stored where the operand has its entry.

Nothing has to be appended where the result has the entries of one operand: the position of an
entry is that of the operand's. So chunks of the loops, and threads of a GPU, write side by side.
"""

from __future__ import annotations

from mlir_sparse._mlir import ir
from mlir_sparse.assembly.result_chain import Chain
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.value_origins import parent_of, result_maker

__all__ = ["finish", "store_at_entries"]


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
    block = function.regions[0].blocks[0]
    start = result_maker(chain.start)
    element = ir.RankedTensorType(chain.start.type).element_type
    kind = ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], element)
    values = block.add_argument(kind, ir.Location.unknown())
    _store(chain.inserts[0], chain, values)
    for op in chain.sizes:
        level = ir.IntegerAttr(result_maker(op.operands[1]).attributes["value"]).value
        op.results[0].replace_all_uses_with(start.operands[level])
        op.erase()
    with ir.InsertionPoint.at_block_begin(block):
        nothing = build.constant(0)
    chain.start.replace_all_uses_with(nothing)
    for value in chain.values:
        if value != chain.start:
            value.set_type(build.index_type())
    insert = chain.inserts[0]
    insert.results[0].replace_all_uses_with(insert.operands[1])
    insert.erase()
    finish(function, chain, [values] if returned else [])
    start.erase()


def _store(insert: ir.Operation, chain: Chain, values: ir.Value) -> None:
    """Stores what is inserted at the position of the operand's entry."""
    around = chain.around(insert)
    if not around or around[-1].op.name != "scf.for":
        raise ValueError("expected a loop over the entries of one operand around an insertion")
    entry = around[-1].op.regions[0].blocks[0].arguments[0]
    before = insert
    while parent_of(before) != around[-1].op:
        before = parent_of(before)
        # Inserted where a sum has terms; one without is 0, which the structure has room for.
        if before.name != "scf.if" or result_maker(insert.operands[0]).name not in ("scf.for", "arith.constant"):
            raise ValueError(f"expected an insertion at every entry, but got one in {before.name}")
    with ir.InsertionPoint(before):
        build.store(insert.operands[0], values, entry)


def finish(function: ir.Operation, chain: Chain, results: list[ir.Value]) -> None:
    """Ends a function without the tensor that it returned.

    Args:
        function: in place.
        chain: the tensor's way, of which nothing is left but its end.
        results: what the function returns instead.
    """
    for op in chain.ends:
        if op.name != "func.return":
            op.results[0].replace_all_uses_with(op.operands[0])
    block = function.regions[0].blocks[0]
    *_, last = block.operations
    with ir.InsertionPoint(last):
        ir.Operation.create("func.return", operands=results)
    last.operation.erase()
    for op in chain.ends:
        if op.name != "func.return":
            op.erase()
    kinds = [argument.type for argument in block.arguments]
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get(kinds, [value.type for value in results])
    )
