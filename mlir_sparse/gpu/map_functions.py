"""The pass over a module: loops become kernels, and functions of the host that launch them."""

from __future__ import annotations

from collections.abc import Mapping as Options
from dataclasses import replace

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.gpu.host_launches import KERNELS, write_case
from mlir_sparse.gpu.kernel_writer import KernelText
from mlir_sparse.gpu.kernels.prefix_scan import write_scan
from mlir_sparse.gpu.kernels.register_accumulators import ACCUMULATED
from mlir_sparse.gpu.kernels.widen_half import widen
from mlir_sparse.gpu.loop_roles import nest_writer, role_of
from mlir_sparse.gpu.sparsified_function import SparsifiedFunction, accesses_in, read_source, stores_in
from mlir_sparse.gpu.unmapped_error import UnmappedError
from mlir_sparse.gpu.write_loops import Emitter
from mlir_sparse.loops.effects import MemoryAccess
from mlir_sparse.loops.facts_in_ir import facts_of
from mlir_sparse.loops.model import ForLoop, Loop
from mlir_sparse.loops.regions import operations_of, walk
from mlir_sparse.loops.value_origins import parent_of
from mlir_sparse.program.launch_values import Launch, Work
from mlir_sparse.program.nest_facts import CoordinateSearch, ThreadedNest
from mlir_sparse.program.size_values import Fixed
from mlir_sparse.program.thread_mapping import ThreadMapping

__all__ = ["map_loops"]

# Blocks that a multiprocessor takes at a time, of kernels of which a thread has several loads on their way: it has 64
# registers where it reads up to so many bytes of rows, and up to 128 else. Without a bound an assembler aims at fewer
# registers, and waits for each load before it makes the next.
_BLOCKS, _FEWER_BLOCKS, _FEW_BYTES = 4, 2, 16
_FILL_THREADS = (256, (32, 8))  # a block of a vector's fill, and of a matrix's


def map_loops(module: ir.Module, options: Options[str, str]) -> None:
    """Rewrites a module of functions over buffers: a `gpu.module`, and for each mapping a function that launches.

    Args:
        module: the module, in place; the facts of each function say how its loops are mapped.
        options: none.

    Raises:
        UnmappedError: for loops that cannot be mapped so.
    """
    functions = [op for op in operations_of(module.body) if op.name == "func.func"]
    module.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
    with ir.InsertionPoint.at_block_begin(module.body):
        holder = ir.Operation.create("gpu.module", regions=1, attributes={"sym_name": ir.StringAttr.get(KERNELS)})
    kernels = holder.regions[0].blocks.append()
    for function in functions:
        nest = facts_of(function).threads
        if nest is None:
            raise UnmappedError("expected loops that the plan gave to threads, but got others")
        if nest.scans:
            source, launches = write_scan(function, nest, kernels)
            with ir.InsertionPoint(function):
                write_case(source, f"{source.name}_all", launches, kernels)
        else:
            _map(function, nest, kernels)
        function.erase()


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A kernel that was written.

    Args:
        text: the kernel.
        work: the iterations that its grid is as large as, along x, y and z, and how many a thread makes together.
    """

    text: KernelText
    work: tuple[Work, Work, Work]

    def launch(self, mapping: ThreadMapping) -> Launch:
        """Returns its launch in blocks of the shape that a mapping says."""
        across, down = mapping.threads
        threads = down, across * mapping.tile, 1
        x, y, z = (
            replace(work, per_block=work.per_block * number) if work.counts else work
            for work, number in zip(self.work, threads, strict=True)
        )
        return Launch(self.text.name, (x, y, z), (across, down, 1), self.text.parameters)


def _map(function: ir.Operation, nest: ThreadedNest, kernels: ir.Block) -> None:
    widen(function)
    source = read_source(function, nest)
    depth = len(_spine(source))
    filling: Launch | None = None
    written: dict[ThreadMapping, _Kernel] = {}
    for given in nest.mappings:
        folded = depth < len(given.roles)
        mapping = _plain(given, depth) if folded else given
        fresh = not folded and source.fill is not None and _is_fresh(source, mapping)
        launches = []
        if source.fill is not None and not fresh:
            filling = filling or _fill(source, source.fill, kernels)
            launches.append(filling)
        # Mappings that differ in the shape of blocks only share a kernel.
        key = replace(mapping, name="", kernel="", threads=(0, 0), tests=(), needs=())
        if key not in written:
            written[key] = _kernel(source, kernels, mapping, nest.combine, fresh)
        launches.append(written[key].launch(mapping))
        with ir.InsertionPoint(function):
            write_case(source, f"{source.name}_{mapping.name}", launches, kernels)


def _spine(source: SparsifiedFunction) -> list[Loop]:
    """Returns the loops of a nest, one in another; of those side by side the first."""
    found: list[Loop] = []
    loops = source.spines_in(source.main)
    while loops:
        found.append(loops[0])
        loops = source.spines_in(loops[0].body)
    return found


def _plain(mapping: ThreadMapping, depth: int) -> ThreadMapping:
    """Returns how loops are mapped some of which had nothing to do, as where terms are 0 whatever the operands."""
    roles = ("rows", *["serial"] * (depth - 1)) if depth else ()
    threads = (1, _FILL_THREADS[0] if depth else 1)
    return ThreadMapping(mapping.name, roles, threads, kernel="folded")


def _is_fresh(source: SparsifiedFunction, mapping: ThreadMapping) -> bool:
    """Returns whether each element is stored once: at the index of every loop around, all of which run from 0."""
    searches = (one.search for one in source.known if isinstance(one.search, CoordinateSearch))
    if mapping.atomic or nest_writer(mapping.role(0)) is not None or not all(search.whole for search in searches):
        return False
    stores = [store for store in stores_in(source.main) if source.alias_of(store.buffer) is not None]
    accumulated = [loop.op for loop, role in zip(_spine(source), mapping.roles, strict=False) if role == ACCUMULATED]
    return all(_covers(source, store, accumulated) for store in stores)


def _covers(source: SparsifiedFunction, store: MemoryAccess, accumulated: list[ir.Operation]) -> bool:
    indices, op = set(store.at), parent_of(store.op)
    while op.name != "func.func":
        if op not in accumulated:  # what those add up is stored behind them
            loop = source.spine_of(op)
            if not isinstance(loop, ForLoop) or not loop.is_over_level:
                return False
            if loop.index not in indices or _is_inside(loop.upper, source):
                return False
            indices.discard(loop.index)
        op = parent_of(op)
    return not indices


def _is_inside(value: ir.Value, source: SparsifiedFunction) -> bool:
    """Returns whether a value is computed in the loops."""
    return any(value in list(op.results) for outer in source.main for op in walk(outer))


def _fill(source: SparsifiedFunction, fill: ir.Operation, kernels: ir.Block) -> Launch:
    """Writes the kernel that sets the result to what an accumulation starts from."""
    depth = sum(1 for op in walk(fill) if op.name == "scf.for")
    roles = ("rows", "columns")[:depth] if depth < 3 else ("rows", *["layers"], *["serial"] * (depth - 3), "columns")
    threads = (1, _FILL_THREADS[0] if depth else 1) if depth < 2 else _FILL_THREADS[1]
    mapping = ThreadMapping("fill", roles, threads)
    plain = tuple(replace(one, guards=(), search=None) for one in source.known)
    filling = replace(source, fill=None, main=(fill,), marked=False, known=plain, apart=False)
    return _kernel(filling, kernels, mapping, "sum", fresh=False).launch(mapping)


def _kernel(
    source: SparsifiedFunction, kernels: ir.Block, mapping: ThreadMapping, combine: str, fresh: bool
) -> _Kernel:
    """Writes a kernel."""
    with ir.InsertionPoint(kernels):
        adjacent = _adjacent(source, mapping)
        name = mapping.kernel or mapping.name
        kernel = KernelText(source, f"{source.name}_{name}", adjacent, mapping.adjacent)
    if adjacent:
        read = sum(kernel.bytes_of(number) for number in adjacent.difference(source.outputs)) * mapping.tile
        across, down = mapping.threads
        kernel.bound(across * down, _BLOCKS if read <= _FEW_BYTES else _FEWER_BLOCKS)
    with kernel.body:
        emitter = Emitter(kernel, mapping, combine, fresh=fresh)
        write = nest_writer(mapping.role(0))
        if write is None:
            emitter.block(source.main, 0)
        rows = _work(source, mapping, "x") if write is None else write(emitter)
    kernel.finish()
    return _Kernel(kernel, (rows, _work(source, mapping, "y"), _work(source, mapping, "z")))


def _adjacent(source: SparsifiedFunction, mapping: ThreadMapping) -> frozenset[int]:
    """Returns the arguments of which a thread takes adjacent elements: those whose last index is the column."""
    if mapping.adjacent == 1:
        return frozenset()
    (column,) = _spine(source)[mapping.roles.index("columns")].block.arguments
    found = set()
    for access in accesses_in(source.main):
        alias = source.alias_of(access.buffer)
        if alias is not None and access.at[-1:] == (column,):
            found.add(alias.argument)
    return frozenset(found)


def _work(source: SparsifiedFunction, mapping: ThreadMapping, axis: str) -> Work:
    """Returns how many iterations the loop has whose blocks are along an axis of the grid."""
    for loop, name in zip(_spine(source), mapping.roles, strict=False):
        if isinstance(loop, ForLoop) and nest_writer(name) is None and role_of(name).grid == axis:
            count = source.size_of(loop.upper)
            return Work() if count == Fixed(1) else Work((count,))
    return Work()
