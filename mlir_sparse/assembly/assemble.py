"""The pass over a module: functions with a sparse result become functions that fill buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.assembly.append_rows import append_row
from mlir_sparse.assembly.entry_writer import Computing, Laying, Writer
from mlir_sparse.assembly.insert_short_rows import counting, find_gathered_row
from mlir_sparse.assembly.result_arguments import append_arguments
from mlir_sparse.assembly.result_chain import Carrier, Chain, end_function, find_chain
from mlir_sparse.assembly.row_workspace import Workspace
from mlir_sparse.assembly.shared_structure import store_at_entries
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import access_of
from mlir_sparse.loops.emit_copies import move_here, replace
from mlir_sparse.loops.facts_in_ir import facts_of
from mlir_sparse.loops.model import EMITTED, WhileLoop
from mlir_sparse.loops.model_accesses import Compress, Expand
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.regions import blocks_of, operations_of, operations_within
from mlir_sparse.loops.remarks import Remarks
from mlir_sparse.loops.value_origins import result_maker
from mlir_sparse.strategies.arrange_merges import arrange_merges
from mlir_sparse.strategies.lookup_rows import look_up_rows

__all__ = ["MODES", "assemble_sparse_results", "loops_to_close", "own_buffers"]

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
    for function in operations_of(seen.module.body):
        if function.name != "func.func":
            continue
        chain = find_chain(function)
        if chain is None:
            own_buffers(function)
        elif facts_of(function).sampled:
            store_at_entries(function, chain, returned=True)
        else:
            _rewrite(function, chain, MODES[options["mode"]], seen.remarks)
    return True


def own_buffers(function: ir.Operation) -> None:
    """Says of the tensors that the sparsifier read back from buffers that nothing else shares them.

    It wrote to the buffers of arguments, which the caller keeps apart; the passes that turn tensors
    into memory take no tensor of which that is not said.
    """
    for op in operations_within(function):
        if op.name == "bufferization.to_tensor":
            op.attributes["restrict"] = op.attributes["writable"] = ir.UnitAttr.get()


def _rewrite(function: ir.Operation, found: Chain, mode: type[Writer], remarks: Remarks) -> None:
    (block,) = blocks_of(function)
    with ir.InsertionPoint.at_block_begin(block):
        kind = ir.RankedTensorType(found.start.type)
        result = append_arguments(block, kind, gathers=bool(found.expands), scatters=facts_of(function).scatters)
        writer = mode(result)
    if result.places is not None:
        look_up_rows(function, result.places, [expand.values for expand in found.expands], remarks)
    sometimes = arrange_merges(function, remarks)
    chain = find_chain(function)
    assert chain is not None
    closes = loops_to_close(chain)
    chain.replace_sizes(result.sizes)
    start = result_maker(chain.start)
    chain.start.replace_all_uses_with(writer.start)
    for value in chain.values:
        if value != chain.start:
            value.set_type(build.index_type())
    for insert in chain.inserts:
        with ir.InsertionPoint(insert.op):
            holds = next((condition for op, condition in sometimes if op == insert.op), None)
            replace(insert.op, [writer.insert(insert.tensor, insert.value, insert.coordinates, holds)])
    for compress in chain.compresses:
        with ir.InsertionPoint(compress.op):
            replace(compress.op, [_compressed(compress, writer)])
    for expand in chain.expands:
        _replace_workspace(expand, Workspace(result.workspace), ordered=mode is Laying)
    for level, carrier, coordinates in closes:
        with ir.InsertionPoint(carrier.loop.end):
            writer.close(level, coordinates, carrier.entry, carrier.exit)
    for level, carrier, _ in closes:
        if level == 0 and mode is Laying:
            _stop(carrier, result.limit)
    gaps = any(level < result.depth and not carrier.covers for level, carrier, _ in closes)

    def finished(count: ir.Value) -> Sequence[ir.Value]:
        writer.finish(count, gaps=gaps)
        return ()

    end_function(function, chain, finished)
    start.erase()
    _unmark(function)


def _compressed(compress: Compress, writer: Writer) -> ir.Value:
    """Writes a row that was gathered; returns the number of entries after it."""
    count, touched, coordinates = compress.tensor, compress.count, compress.coordinates
    row = find_gathered_row(compress) if writer.inserts_in_order else None
    if row is None:
        return writer.compress(count, touched, coordinates)

    def gather() -> list[ir.Value]:
        loops = row.outer.op.clone(ir.InsertionPoint.current)
        return [writer.compress(count, loops.results[0], coordinates)]

    result = writer.result

    def place() -> list[ir.Value]:
        return [append_row(row, count, result) if result.unordered else row.insert(count, result)]

    fits = row.is_spread(count, result) if result.unordered else row.is_short(count, result)
    after = build.branch(fits, place, gather, [build.index_type()])[0]
    compress.set_count(build.constant(0))  # the loops there were have no use then
    row.outer.op.erase()
    return after


def loops_to_close(chain: Chain) -> list[tuple[int, Carrier, Sequence[ir.Value]]]:
    """Returns each loop over a level above the last, with that level and the coordinates there.

    Raises:
        ValueError: where a loop does not stay at one coordinate of its level.
    """
    found: dict[ir.Value, tuple[int, Carrier, Sequence[ir.Value]]] = {}
    above = [(insert.op, insert.coordinates[:-1]) for insert in chain.inserts]
    above += [(compress.op, compress.coordinates) for compress in chain.compresses]
    for op, coordinates in above:
        for level, carrier in enumerate(chain.around(op)[: len(coordinates)]):
            here = coordinates[: level + 1]
            known = found.setdefault(carrier.entry, (level, carrier, here))
            if known[0] != level or list(known[2]) != here:
                raise ValueError(f"expected one coordinate of level {level} in each iteration of its loop, but got two")
    return list(found.values())


def _stop(carrier: Carrier, limit: ir.Value) -> None:
    """Lets an outermost loop do nothing more once there are more entries than can be of use."""
    loop = carrier.loop
    if isinstance(loop, WhileLoop):
        with ir.InsertionPoint(loop.test_end):
            goes_on = build.compare("ule", loop.tested[carrier.number], limit)
            loop.set_condition(build.bits_of("andi", loop.condition, goes_on))
        return
    body, ends = loop.body, loop.ends

    def iteration() -> Sequence[ir.Value]:
        move_here(body)
        return ends

    with ir.InsertionPoint(loop.end):
        goes_on = build.compare("ule", carrier.entry, limit)
        results = build.branch(goes_on, iteration, lambda: loop.carried, [value.type for value in ends])
    for number, value in enumerate(results):
        loop.set_end(number, value)


def _replace_workspace(expand: Expand, workspace: Workspace, *, ordered: bool) -> None:
    """Reads and writes the workspace instead of the buffers of `sparse_tensor.expand`."""
    users = [use.owner.operation for use in expand.filled.uses]
    idle = [ordered and user.name == "memref.load" and _only_counts(user) for user in users]
    for user, is_idle in zip(users, idle, strict=True):
        access = access_of(user)
        if access is None:
            raise ValueError(f"expected loads and stores of a workspace, but got {user.name}")
        with ir.InsertionPoint(user):
            if is_idle:
                replace(user, [build.integer(0, user.results[0].type)])
            elif access.value is None:
                replace(user, [workspace.has(*access.at)])
            else:
                workspace.mark(*access.at, ordered=ordered)
                user.erase()
    for use in list(expand.added.uses):
        use.owner.operation.erase()
    expand.values.replace_all_uses_with(workspace.values)
    with ir.InsertionPoint(expand.op):
        expand.count.replace_all_uses_with(build.constant(0))
    expand.op.erase()


def _only_counts(load: ir.Operation) -> bool:
    """Returns whether only the branch hangs on a flag that marks entries which had none, and counts them.

    Where entries are taken in the order of their bits, they need not be counted, and marks may be set again.
    """
    users = [use.owner.operation for use in load.results[0].uses]
    branches = [use.owner.operation for user in users if user.results for use in user.results[0].uses]
    return all(user.name == "arith.cmpi" for user in users) and all(map(counting, branches))


def _unmark(function: ir.Operation) -> None:
    """Takes the mark off the loops that the vectoriser goes by: it would take a count of entries for a sum."""
    for op in operations_within(function):
        if EMITTED in op.attributes:
            del op.attributes[EMITTED]
