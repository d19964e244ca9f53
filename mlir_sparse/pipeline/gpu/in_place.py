"""The pass that writes sparse results into the structure of an operand: values only, each where its entry is.

No thread can append to a result that others append to. Where the result has the entries of one operand, nothing has
to be appended: the position of an entry is that of the operand's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlir_sparse._mlir import bindings
from mlir_sparse.pipeline.assembly import code
from mlir_sparse.pipeline.assembly.chain import Chain, find_chain
from mlir_sparse.pipeline.assembly.rewrite import own_buffers

__all__ = ["share_structure"]


def share_structure(module: Any, options: Mapping[str, str]) -> None:
    """Rewrites the functions of a sparsified module that have a sparse result: its values become the last argument.

    Args:
        module: the module, in place.
        options: none.

    Raises:
        ValueError: for a result that has entries where no operand has.
    """
    for op in module.body.operations:
        if op.operation.name != "func.func":
            continue
        chain = find_chain(op.operation)
        if chain is None:
            own_buffers(op.operation)
        else:
            _rewrite(op.operation, chain)


def _rewrite(function: Any, chain: Chain) -> None:
    ir = bindings().ir
    if chain.expands or chain.compresses or len(chain.inserts) != 1:
        raise ValueError("expected one insertion, at entries of one operand")
    block = function.regions[0].blocks[0]
    start = chain.start.owner
    element = ir.RankedTensorType(chain.start.type).element_type
    kind = ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], element)
    values = block.add_argument(kind, ir.Location.unknown())
    _store(chain.inserts[0], chain, values)
    for op in chain.sizes:
        level = bindings().ir.IntegerAttr(op.operands[1].owner.attributes["value"]).value
        op.results[0].replace_all_uses_with(start.operands[level])
        op.erase()
    with ir.InsertionPoint.at_block_begin(block):
        nothing = code.constant(0)
    chain.start.replace_all_uses_with(nothing)
    for value in chain.values:
        if value != chain.start:
            value.set_type(code.index_type())
    insert = chain.inserts[0]
    insert.results[0].replace_all_uses_with(insert.operands[1])
    insert.erase()
    _finish(function, chain)
    start.erase()


def _store(insert: Any, chain: Chain, values: Any) -> None:
    """Stores what is inserted at the position of the operand's entry."""
    ir = bindings().ir
    around = chain.around(insert)
    if not around or around[-1].op.name != "scf.for":
        raise ValueError("expected a loop over the entries of one operand around an insertion")
    entry = around[-1].op.regions[0].blocks[0].arguments[0]
    before = insert
    while before.parent.operation != around[-1].op:
        before = before.parent.operation
        # Inserted where a sum has terms; one without is 0, which the structure has room for.
        if before.name != "scf.if" or insert.operands[0].owner.name not in ("scf.for", "arith.constant"):
            raise ValueError(f"expected an insertion at every entry, but got one in {before.name}")
    with ir.InsertionPoint(before):
        code.store(insert.operands[0], values, entry)


def _finish(function: Any, chain: Chain) -> None:
    """Ends the function without a result."""
    ir = bindings().ir
    for op in chain.ends:
        if op.name != "func.return":
            op.results[0].replace_all_uses_with(op.operands[0])
    block = function.regions[0].blocks[0]
    *_, last = block.operations
    with ir.InsertionPoint(last):
        ir.Operation.create("func.return")
    last.operation.erase()
    for op in chain.ends:
        if op.name != "func.return":
            op.erase()
    kinds = [argument.type for argument in block.arguments]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(kinds, []))
