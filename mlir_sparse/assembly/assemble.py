"""The pass over a module: functions with a sparse result become functions that fill buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.assembly.entry_writer import Computing, Laying, Writer
from mlir_sparse.assembly.insert_short_rows import counting, find_gathered_row
from mlir_sparse.assembly.result_arguments import append_arguments
from mlir_sparse.assembly.result_chain import Carrier, Chain, find_chain
from mlir_sparse.assembly.row_workspace import Workspace
from mlir_sparse.assembly.shared_structure import store_at_entries
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.emit_copies import replace
from mlir_sparse.loops.facts_in_ir import facts_of
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.remarks import Remarks
from mlir_sparse.loops.value_origins import result_maker
from mlir_sparse.strategies.arrange_merges import arrange_merges
from mlir_sparse.strategies.lookup_rows import look_up_rows

__all__ = ["MODES", "assemble_sparse_results", "own_buffers", "turns_of"]

# What a function does with its result: lays it out, or computes values into a structure that is given.
MODES: Mapping[str, type[Writer]] = {"assemble": Laying, "compute": Computing}


def assemble_sparse_results(seen: Seen, options: Mapping[str, str]) -> bool:
    """Rewrites the functions of a sparsified module that have a sparse result.

    Args:
        seen: the module, in place.
        options: `mode`, one of MODES.

    Returns:
        whether it may have changed anything.

    Raises:
        ValueError: for a result that is not made by insertion.
    """
    for op in seen.module.body.operations:
        if op.operation.name != "func.func":
            continue
        chain = find_chain(op.operation)
        if chain is None:
            own_buffers(op.operation)
        elif facts_of(op.operation).sampled:
            store_at_entries(op.operation, chain, returned=True)
        else:
            _rewrite(op.operation, chain, MODES[options["mode"]], seen.remarks)
    return True


def own_buffers(function: ir.Operation) -> None:
    """Says of the tensors that the sparsifier read back from buffers that nothing else shares them.

    It wrote to the buffers of arguments, which the caller keeps apart; the passes that turn tensors
    into memory take no tensor of which that is not said.
    """

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "bufferization.to_tensor":
            op.attributes["restrict"] = op.attributes["writable"] = ir.UnitAttr.get()
        return ir.WalkResult.ADVANCE

    function.walk(visit)


def _rewrite(function: ir.Operation, found: Chain, mode: type[Writer], remarks: Remarks) -> None:
    block = function.regions[0].blocks[0]
    with ir.InsertionPoint.at_block_begin(block):
        kind = ir.RankedTensorType(found.start.type)
        result = append_arguments(block, kind, gathers=bool(found.expands), scatters=facts_of(function).scatters)
        writer = mode(result)
    if result.places is not None:
        look_up_rows(function, result.places, remarks)
    sometimes = arrange_merges(function, remarks)
    chain = find_chain(function)
    assert chain is not None
    closes = turns_of(chain)
    for op in chain.sizes:
        _replace_size(op, result.sizes)
    start = result_maker(chain.start)
    chain.start.replace_all_uses_with(writer.start)
    for value in chain.values:
        if value != chain.start:
            value.set_type(build.index_type())
    for op in chain.inserts:
        with ir.InsertionPoint(op):
            value, count, *at = op.operands
            holds = next((condition for insert, condition in sometimes if insert == op), None)
            replace(op, [writer.insert(count, value, at, holds)])
    for op in chain.compresses:
        with ir.InsertionPoint(op):
            replace(op, [_compressed(op, writer)])
    for op in chain.expands:
        _replace_workspace(op, Workspace(result.workspace), ordered=mode is Laying)
    for level, carrier, coordinates in closes:
        with ir.InsertionPoint(carrier.end):
            writer.close(level, coordinates, carrier.entry, carrier.end.operands[carrier.place])
    for level, carrier, _ in closes:
        if level == 0 and mode is Laying:
            _stop(carrier, result.limit)
    gaps = any(level < result.depth and not carrier.covers for level, carrier, _ in closes)
    _finish(function, chain, writer, gaps)
    start.erase()
    _unmark(function)


def _compressed(op: ir.Operation, writer: Writer) -> ir.Value:
    """Writes a row that was gathered; returns the number of entries after it."""
    _, _, _, touched, count, *coordinates = op.operands
    row = find_gathered_row(op) if writer.inserts_in_order else None
    if row is None:
        return writer.compress(count, touched, coordinates)

    def gather() -> list[ir.Value]:
        loops = row.outer.clone(ir.InsertionPoint.current)
        return [writer.compress(count, loops.results[0], coordinates)]

    short = row.is_short(count, writer.result)
    after = build.branch(short, lambda: [row.insert(count, writer.result)], gather, [build.index_type()])[0]
    op.operands[3] = build.constant(0)  # the loops there were have no use then
    row.outer.erase()
    return after


def turns_of(chain: Chain) -> list[tuple[int, Carrier, Sequence[ir.Value]]]:
    """Returns each loop over a level above the last, with that level and the coordinates there.

    Raises:
        ValueError: where a loop does not stay at one coordinate of its level.
    """
    found: dict[ir.Value, tuple[int, Carrier, Sequence[ir.Value]]] = {}
    for op in (*chain.inserts, *chain.compresses):
        inserts = op.name == "tensor.insert"
        coordinates = list(op.operands)[2 if inserts else 5 :]
        above = coordinates[:-1] if inserts else coordinates
        for level, carrier in enumerate(chain.around(op)[: len(above)]):
            here = above[: level + 1]
            known = found.setdefault(carrier.entry, (level, carrier, here))
            if known[0] != level or list(known[2]) != here:
                raise ValueError(f"expected one coordinate of level {level} in each turn of its loop, but got two")
    return list(found.values())


def _stop(carrier: Carrier, limit: ir.Value) -> None:
    """Lets an outermost loop do nothing more once there are more entries than can be of use."""
    if carrier.op.name == "scf.while":
        *_, condition = carrier.op.regions[0].blocks[0].operations
        condition = condition.operation
        passed = carrier.op.regions[0].blocks[0].arguments[carrier.place]
        with ir.InsertionPoint(condition):
            goes_on = build.compare("ule", passed, limit)
            condition.operands[0] = build.bits_of("andi", condition.operands[0], goes_on)
        return
    body = carrier.op.regions[0].blocks[0]
    inside = [op.operation for op in body.operations][:-1]
    kept = list(body.arguments)[1:]
    with ir.InsertionPoint(carrier.end):
        yielded = list(carrier.end.operands)
        goes_on = build.compare("ule", carrier.entry, limit)
        kinds = [value.type for value in yielded]
        results = build.branch(goes_on, lambda: yielded, lambda: kept, kinds)
    *_, end = result_maker(results[0]).regions[0].blocks[0].operations
    for op in inside:
        op.move_before(end.operation)
    for at, value in enumerate(results):
        carrier.end.operands[at] = value


def _replace_size(op: ir.Operation, sizes: Sequence[ir.Value]) -> None:
    """Reads a size of the result, of a level or of a dimension that is one, from the control."""
    level = result_maker(op.operands[1])
    if level.name != "arith.constant":
        raise ValueError(f"expected a constant level, but got {level.name}")
    replace(op, [sizes[ir.IntegerAttr(level.attributes["value"]).value]])


def _replace_workspace(op: ir.Operation, workspace: Workspace, *, ordered: bool) -> None:
    """Reads and writes the workspace instead of the buffers of `sparse_tensor.expand`."""
    values, filled, added, count = op.results
    users = [use.owner.operation for use in filled.uses]
    idle = [ordered and user.name == "memref.load" and _only_counts(user) for user in users]
    for user, is_idle in zip(users, idle, strict=True):
        with ir.InsertionPoint(user):
            if is_idle:
                replace(user, [build.integer(0, user.results[0].type)])
            elif user.name == "memref.load":
                replace(user, [workspace.has(user.operands[1])])
            elif user.name == "memref.store":
                workspace.mark(user.operands[2], ordered=ordered)
                user.erase()
            else:
                raise ValueError(f"expected loads and stores of a workspace, but got {user.name}")
    for use in list(added.uses):
        use.owner.operation.erase()
    values.replace_all_uses_with(workspace.values)
    with ir.InsertionPoint(op):
        count.replace_all_uses_with(build.constant(0))
    op.erase()


def _only_counts(load: ir.Operation) -> bool:
    """Returns whether only the branch hangs on a flag that marks entries which had none, and counts them.

    Where entries are taken in the order of their bits, they need not be counted, and marks may be set again.
    """
    users = [use.owner.operation for use in load.results[0].uses]
    branches = [use.owner.operation for user in users if user.results for use in user.results[0].uses]
    return all(user.name == "arith.cmpi" for user in users) and all(map(counting, branches))


def _finish(function: ir.Operation, chain: Chain, writer: Writer, gaps: bool) -> None:
    """Ends the function with the number of entries instead of a tensor."""
    for op in chain.ends:
        if op.name != "func.return":
            op.results[0].replace_all_uses_with(op.operands[0])
    block = function.regions[0].blocks[0]
    *_, last = block.operations
    with ir.InsertionPoint(last):
        writer.finish(last.operation.operands[0], gaps=gaps)
        ir.Operation.create("func.return")
    last.operation.erase()
    for op in chain.ends:
        if op.name != "func.return":
            op.erase()
    kinds = [argument.type for argument in block.arguments]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(kinds, []))


def _unmark(function: ir.Operation) -> None:
    """Takes the mark off the loops that the vectoriser goes by: it would take a count of entries for a sum."""

    def visit(op: ir.Operation) -> ir.WalkResult:
        if "Emitted from" in op.attributes:
            del op.attributes["Emitted from"]
        return ir.WalkResult.ADVANCE

    function.walk(visit)
