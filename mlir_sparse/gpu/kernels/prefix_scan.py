"""Where the entries of each owner begin: the sums of all counts before its own, by two kernels for any number of them.

Each warp takes a part of the counts. The first kernel adds up each part; in the second a warp adds up the sums of all
parts before its own, which are a few hundred, and goes through its part with what it has so far. Nothing waits for
another block.
"""

from __future__ import annotations

from mlir_sparse._mlir import ir
from mlir_sparse.gpu.kernel_writer import WARP, KernelText
from mlir_sparse.gpu.kernels import combine_partials
from mlir_sparse.gpu.kernels.strided_loops import strided
from mlir_sparse.gpu.sparsified_function import SparsifiedFunction
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.regions import blocks_of
from mlir_sparse.program.launch_values import Launch, Work
from mlir_sparse.program.nest_facts import ThreadedNest

__all__ = ["write_scan"]

_COUNTS, _SUMS, _BEGINS = range(3)  # the function's arguments
_WARPS = 8  # of a block
_BITS = (16, 8, 4, 2, 1)  # of a lane's number


def write_scan(
    function: ir.Operation, nest: ThreadedNest, kernels: ir.Block
) -> tuple[SparsifiedFunction, tuple[Launch, Launch]]:
    """Writes both kernels.

    Args:
        function: its arguments are counts; room for the sum of each part, and after them that of all; and room for
            the sum of the counts before each, and after them that of all.
        nest: what the plan knows of it.
        kernels: the block of the `gpu.module`.

    Returns:
        the function as launches take it, and the launches.
    """
    (block,) = blocks_of(function)
    arguments = tuple(block.arguments)
    symbol = ir.StringAttr(function.attributes["sym_name"]).value
    launches = []
    for which, writer, outputs in (("sums", _sums, (_SUMS,)), ("begins", _begins, (_SUMS, _BEGINS))):
        source = SparsifiedFunction(
            function, symbol, arguments, None, (), marked=False, outputs=outputs, known=nest.arguments, apart=True
        )
        with ir.InsertionPoint(kernels):
            kernel = KernelText(source, f"{nest.scans}_{which}")
        with kernel.body:
            writer(kernel)
        kernel.finish()
        grid = Work((source.known[_SUMS].sizes[0],), _WARPS), Work(), Work()
        launches.append(Launch(kernel.name, grid, (WARP, _WARPS, 1), kernel.parameters))
    return source, (launches[0], launches[1])


class _Parts:
    """The parts of the counts, one for each place of the sums but the last."""

    def __init__(self, kernel: KernelText) -> None:
        one, lanes = build.constant(1), build.constant(WARP)
        self.count = kernel.extent(_COUNTS, 0)
        sums = kernel.extent(_SUMS, 0)
        self.number = build.subtract(sums, one)
        steps = build.operation("arith.ceildivui", sums.type, self.count, build.multiply(self.number, lanes))
        self.length = build.multiply(steps, lanes)
        row, warps = kernel.identity("thread_id", "y"), kernel.identity("block_dim", "y")
        self.first = build.add(build.multiply(kernel.identity("block_id", "x"), warps), row)
        self.step = build.multiply(kernel.identity("grid_dim", "x"), warps)
        self.lane = kernel.lane()

    def bounds(self, part: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Returns where a part begins and ends."""
        begin = build.minimum(build.multiply(part, self.length), self.count)
        return begin, build.minimum(build.add(begin, self.length), self.count)


def _sums(kernel: KernelText) -> None:
    parts, counts, sums = _Parts(kernel), kernel.buffer(_COUNTS), kernel.buffer(_SUMS)

    def body(part: ir.Value) -> list[ir.Value]:
        begin, end = parts.bounds(part)
        whole = _summed(build.add(begin, parts.lane), end, counts)
        build.branch(_is_first(parts.lane), lambda: build.store(whole, sums, part))
        return []

    strided(parts.first, parts.number, parts.step, (), body)


def _begins(kernel: KernelText) -> None:
    parts = _Parts(kernel)
    counts, sums, begins = (kernel.buffer(number) for number in (_COUNTS, _SUMS, _BEGINS))
    lanes = build.constant(WARP)

    def body(part: ir.Value) -> list[ir.Value]:
        begin, end = parts.bounds(part)
        before = _summed(parts.lane, part, sums)

        def iteration(base: ir.Value, so_far: ir.Value) -> list[ir.Value]:
            at = build.add(base, parts.lane)
            there = build.compare("ult", at, end)
            # Lanes stay together: those beyond the end take nothing.
            found = build.load(counts, build.select(there, at, base))
            own = build.select(there, found, build.constant(0))
            ahead, whole = _before(own, parts.lane)
            build.branch(there, lambda: _put(build.add(so_far, ahead), begins, at))
            return [build.add(so_far, whole)]

        (after,) = strided(begin, end, lanes, [before], iteration)
        following = build.add(part, build.constant(1))
        last = build.compare("eq", following, parts.number)

        def ends() -> None:
            _put(after, begins, parts.count)
            build.store(after, sums, parts.number)

        build.branch(build.conjunction([last, _is_first(parts.lane)]), ends)
        return []

    strided(parts.first, parts.number, parts.step, (), body)


def _summed(first: ir.Value, end: ir.Value, buffer: ir.Value) -> ir.Value:
    """Returns the sum of a buffer's elements up to an end; each lane begins at its own, and all get it."""

    def more(at: ir.Value, so_far: ir.Value) -> list[ir.Value]:
        return [build.add(so_far, build.load(buffer, at))]

    (own,) = strided(first, end, build.constant(WARP), [build.constant(0)], more)
    return combine_partials.over_lanes("sum", own, _BITS)


def _before(own: ir.Value, lane: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Returns the sum of the values of all lanes before this one, and that of all."""
    ahead, whole = build.constant(0), own
    for bit in reversed(_BITS):
        other = combine_partials.of_neighbour(whole, bit)
        above = build.compare("ne", build.bits_of("andi", lane, build.constant(bit)), build.constant(0))
        ahead = build.select(above, build.add(ahead, other), ahead)
        whole = build.add(whole, other)
    return ahead, whole


def _put(value: ir.Value, buffer: ir.Value, at: ir.Value) -> None:
    build.store(build.cut(value, build.element_of(buffer)), buffer, at)


def _is_first(lane: ir.Value) -> ir.Value:
    return build.compare("eq", lane, build.constant(0))
