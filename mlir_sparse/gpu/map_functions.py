"""The pass over a module: loops become kernels, and functions of the host that launch them."""

from __future__ import annotations

from collections.abc import Mapping as Options
from dataclasses import replace

from mlir_sparse._mlir import ir
from mlir_sparse.gpu.host_launches import KERNELS, KernelLaunch, write_case
from mlir_sparse.gpu.kernel_writer import KernelText
from mlir_sparse.gpu.kernels.flattened_entries import FlattenedEntries
from mlir_sparse.gpu.kernels.prefix_scan import write_scan
from mlir_sparse.gpu.kernels.register_accumulators import HELD
from mlir_sparse.gpu.kernels.two_phase_loops import SCANS
from mlir_sparse.gpu.kernels.widen_half import widen
from mlir_sparse.gpu.sparsified_function import SparsifiedFunction, constant_of, inside, read_source
from mlir_sparse.gpu.unmapped import UnmappedError
from mlir_sparse.gpu.write_loops import Emitter, Mapping
from mlir_sparse.loops.origins import parent_of

__all__ = ["MAPPINGS", "map_loops"]

MAPPINGS = "mappings"  # the attribute of a function: a dictionary for each way to give its loops to threads
_NO_WORK = "fixed 1"
# Blocks that a multiprocessor takes at a time, of kernels of which a thread has several loads on their way: it has 64
# registers where it reads up to so many bytes of rows, and up to 128 else. Without a bound an assembler aims at fewer
# registers, and waits for each load before it makes the next.
_BLOCKS, _FEWER_BLOCKS, _FEW_BYTES = 4, 2, 16
_FILL_THREADS = (256, (32, 8))  # a block of a vector's fill, and of a matrix's


def map_loops(module: ir.Module, options: Options[str, str]) -> None:
    """Rewrites a module of functions over buffers: a `gpu.module`, and for each mapping a function that launches.

    Args:
        module: the module, in place; each function says how its loops are mapped in an attribute.
        options: none.

    Raises:
        UnmappedError: for loops that cannot be mapped so.
    """
    functions = [op.operation for op in module.body.operations if op.operation.name == "func.func"]
    module.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
    with ir.InsertionPoint.at_block_begin(module.body):
        holder = ir.Operation.create("gpu.module", regions=1, attributes={"sym_name": ir.StringAttr.get(KERNELS)})
    kernels = holder.regions[0].blocks.append()
    for function in functions:
        if SCANS in function.attributes:
            _map_scan(function, kernels)
        else:
            _map(function, kernels)
        function.erase()


def _map_scan(function: ir.Operation, kernels: ir.Block) -> None:
    name: str = ir.StringAttr(function.attributes[SCANS]).value
    source, launches = write_scan(function, name, kernels)
    with ir.InsertionPoint(function):
        write_case(source, f"{source.name}_all", launches)


def _map(function: ir.Operation, kernels: ir.Block) -> None:
    widen(function)
    source = read_source(function)
    written: dict[tuple[object, ...], KernelLaunch] = {}
    for attribute in ir.ArrayAttr(function.attributes[MAPPINGS]):
        fields = ir.DictAttr(attribute)
        mapping, threads = _mapping(fields), _threads(fields)
        folded = _depth(source) < len(mapping.roles)
        if folded:
            mapping, threads = _plain(mapping, _depth(source))
        fresh = not folded and source.fill is not None and _is_fresh(source, mapping)
        launches = []
        if source.fill is not None and not fresh:
            launches.append(written.setdefault(("fill",), _fill(source, source.fill, kernels, written)))
        key = (mapping.roles, mapping.lanes, mapping.chunk, mapping.tile, mapping.adjacent, mapping.atomic)
        if key not in written:
            written[key] = _kernel(source, kernels, mapping, fresh, threads)
        launches.append(_resized(written[key], threads, mapping.tile))
        with ir.InsertionPoint(function):
            write_case(source, f"{source.name}_{mapping.name}", launches)


def _mapping(fields: ir.DictAttr) -> Mapping:

    def text(name: str) -> str:
        value: str = ir.StringAttr(fields[name]).value
        return value

    roles = tuple(ir.StringAttr(role).value for role in ir.ArrayAttr(fields["roles"]))
    numbers = ("lanes", "chunk", "tile", "adjacent")
    lanes, chunk, tile, adjacent = (ir.IntegerAttr(fields[name]).value for name in numbers)
    atomic = ir.BoolAttr(fields["atomic"]).value
    return Mapping(text("name"), text("kernel"), roles, lanes, chunk, tile, adjacent, atomic, text("combine"))


def _threads(fields: ir.DictAttr) -> tuple[int, int]:
    across, down = ir.DenseI64ArrayAttr(fields["threads"])
    return across, down


def _depth(source: SparsifiedFunction) -> int:
    """Returns how many loops there are, one in another."""
    ops, depth = list(source.main), 0
    while loops := [op for op in ops if source.is_spine(op)]:
        ops, depth = [op.operation for op in loops[0].regions[-1].blocks[0].operations], depth + 1
    return depth


def _plain(mapping: Mapping, depth: int) -> tuple[Mapping, tuple[int, int]]:
    """Returns how loops are mapped some of which had nothing to do, as where terms are 0 whatever the operands."""
    roles = ("rows", *["run"] * (depth - 1)) if depth else ()
    plain = replace(mapping, kernel="folded", roles=roles, lanes=1, chunk=1, tile=1, adjacent=1, atomic=False)
    return plain, (1, _FILL_THREADS[0] if depth else 1)


def _is_fresh(source: SparsifiedFunction, mapping: Mapping) -> bool:
    """Returns whether each element is stored once: at the index of every loop around, all of which run from 0."""
    if mapping.atomic or "entries" in mapping.roles or not all(one.whole for one in source.located.values()):
        return False
    stores = [inner for op in source.main for inner in inside(op) if inner.name == "memref.store"]
    stores = [store for store in stores if source.alias_of(store.operands[1]) is not None]
    held = [_loop_at(source, depth) for depth, role in enumerate(mapping.roles) if role == HELD]
    return all(_covers(source, store, held) for store in stores)


def _covers(source: SparsifiedFunction, store: ir.Operation, held: list[ir.Operation]) -> bool:
    indices, op = set(list(store.operands)[2:]), parent_of(store)
    while op.name != "func.func":
        if op in held:  # what it adds up is stored behind it
            op = parent_of(op)
            continue
        if op.name != "scf.for" or not source.is_spine(op) or constant_of(op.operands[0]) != 0:
            return False
        index = op.regions[0].blocks[0].arguments[0]
        if index not in indices or _is_inside(op.operands[1], source):
            return False
        indices.discard(index)
        op = parent_of(op)
    return not indices


def _is_inside(value: ir.Value, source: SparsifiedFunction) -> bool:
    """Returns whether a value is computed in the loops."""
    return any(value in list(op.results) for outer in source.main for op in inside(outer))


def _resized(launch: KernelLaunch, threads: tuple[int, int], tile: int) -> KernelLaunch:
    """Returns a launch of the same kernel in blocks of another shape."""
    (rows, _), (columns, _), layers = launch.grid
    across = threads[0] * tile if columns != _NO_WORK else 1
    grid = ((rows, threads[1] if rows != _NO_WORK else 1), (columns, across), layers)
    return KernelLaunch(launch.kernel, grid, (*threads, 1), launch.parameters)


def _fill(
    source: SparsifiedFunction,
    fill: ir.Operation,
    kernels: ir.Block,
    written: Options[tuple[object, ...], KernelLaunch],
) -> KernelLaunch:
    """Writes the kernel that sets the result to what an accumulation starts from."""
    if ("fill",) in written:
        return written["fill",]
    depth = sum(1 for op in inside(fill) if op.name == "scf.for")
    roles = ("rows", "columns")[:depth] if depth < 3 else ("rows", *["layers"], *["run"] * (depth - 3), "columns")
    mapping = Mapping("fill", "fill", roles, 1, 1, 1, 1, atomic=False, combine="sum")
    threads = (1, _FILL_THREADS[0]) if depth < 2 else _FILL_THREADS[1]
    filling = SparsifiedFunction(
        source.function,
        source.name,
        source.arguments,
        None,
        (fill,),
        marked=False,
        outputs=source.outputs,
        guards={},
        located={},
    )
    return _kernel(filling, kernels, mapping, False, threads if depth else (1, 1))


def _kernel(
    source: SparsifiedFunction, kernels: ir.Block, mapping: Mapping, fresh: bool, threads: tuple[int, int]
) -> KernelLaunch:
    """Writes a kernel; returns its launch."""
    with ir.InsertionPoint(kernels):
        adjacent = _adjacent(source, mapping)
        kernel = KernelText(source, f"{source.name}_{mapping.kernel}", adjacent, mapping.adjacent)
    if adjacent:
        read = sum(kernel.bytes_of(number) for number in adjacent.difference(source.outputs)) * mapping.tile
        kernel.bound(threads[0] * threads[1], _BLOCKS if read <= _FEW_BYTES else _FEWER_BLOCKS)
    with kernel.body:
        emitter = Emitter(kernel, mapping, fresh=fresh)
        if mapping.role(0) == "entries":
            rows = FlattenedEntries(emitter).write()
        else:
            emitter.block(source.main, 0)
            rows = _work(source, mapping, "rows")
    kernel.finish()
    grid = (
        (rows, 1),
        (_work(source, mapping, "columns"), 1),
        (_work(source, mapping, "layers"), 1),
    )
    return _resized(KernelLaunch(kernel.name, grid, (*threads, 1), tuple(kernel.parameters)), threads, mapping.tile)


def _adjacent(source: SparsifiedFunction, mapping: Mapping) -> frozenset[int]:
    """Returns the arguments of which a thread takes adjacent elements: those whose last index is the column."""
    if mapping.adjacent == 1:
        return frozenset()
    (column,) = _loop_at(source, mapping.roles.index("columns")).regions[0].blocks[0].arguments
    ops = [op for outer in source.main for op in inside(outer) if op.name in ("memref.load", "memref.store")]
    found = set()
    for op in ops:
        memref, *indices = list(op.operands)[op.name == "memref.store" :]
        alias = source.alias_of(memref)
        if alias is not None and indices and indices[-1] == column:
            found.add(alias.argument)
    return frozenset(found)


def _work(source: SparsifiedFunction, mapping: Mapping, role: str) -> str:
    """Returns how many turns the loop of a role has, as the host says it."""
    if role not in mapping.roles:
        return _NO_WORK
    depth = mapping.roles.index(role)
    loop = _loop_at(source, depth)
    return source.size_of(loop.operands[1])


def _loop_at(source: SparsifiedFunction, depth: int) -> ir.Operation:
    ops = list(source.main)
    for _ in range(depth + 1):
        loops = [op for op in ops if source.is_spine(op)]
        if not loops:
            raise UnmappedError(f"expected {depth + 1} loops, one in another, but got fewer")
        ops = [op.operation for op in loops[0].regions[-1].blocks[0].operations]
    return loops[0]
