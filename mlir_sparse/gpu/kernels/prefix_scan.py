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
from mlir_sparse.loops import ir_words
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
    arguments = tuple(function.regions[0].blocks[0].arguments)
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
        one, lanes = ir_words.constant(1), ir_words.constant(WARP)
        self.count = kernel.extent(_COUNTS, 0)
        sums = kernel.extent(_SUMS, 0)
        self.number = ir_words.operation("arith.subi", sums.type, sums, one)
        turns = ir_words.operation("arith.ceildivui", sums.type, self.count, ir_words.multiply(self.number, lanes))
        self.length = ir_words.multiply(turns, lanes)
        row, warps = kernel.identity("thread_id", "y"), kernel.identity("block_dim", "y")
        self.first = ir_words.add(ir_words.multiply(kernel.identity("block_id", "x"), warps), row)
        self.step = ir_words.multiply(kernel.identity("grid_dim", "x"), warps)
        self.lane = kernel.lane()

    def bounds(self, part: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Returns where a part begins and ends."""
        begin = ir_words.minimum(ir_words.multiply(part, self.length), self.count)
        return begin, ir_words.minimum(ir_words.add(begin, self.length), self.count)


def _sums(kernel: KernelText) -> None:
    parts, counts, sums = _Parts(kernel), kernel.buffer(_COUNTS), kernel.buffer(_SUMS)

    def body(part: ir.Value) -> list[ir.Value]:
        begin, end = parts.bounds(part)
        whole = _summed(ir_words.add(begin, parts.lane), end, counts)
        ir_words.branch(_is_first(parts.lane), lambda: ir_words.store(whole, sums, part))
        return []

    strided(parts.first, parts.number, parts.step, (), body)


def _begins(kernel: KernelText) -> None:
    parts = _Parts(kernel)
    counts, sums, begins = (kernel.buffer(number) for number in (_COUNTS, _SUMS, _BEGINS))
    lanes = ir_words.constant(WARP)

    def body(part: ir.Value) -> list[ir.Value]:
        begin, end = parts.bounds(part)
        before = _summed(parts.lane, part, sums)

        def turn(base: ir.Value, so_far: ir.Value) -> list[ir.Value]:
            at = ir_words.add(base, parts.lane)
            there = ir_words.compare("ult", at, end)
            # Lanes stay together: those beyond the end take nothing.
            found = ir_words.load(counts, ir_words.operation("arith.select", at.type, there, at, base))
            own = ir_words.operation("arith.select", at.type, there, found, ir_words.constant(0))
            ahead, whole = _before(own, parts.lane)
            ir_words.branch(there, lambda: _put(ir_words.add(so_far, ahead), begins, at))
            return [ir_words.add(so_far, whole)]

        (after,) = strided(begin, end, lanes, [before], turn)
        following = ir_words.add(part, ir_words.constant(1))
        last = ir_words.compare("eq", following, parts.number)

        def ends() -> None:
            _put(after, begins, parts.count)
            ir_words.store(after, sums, parts.number)

        ir_words.branch(ir_words.conjunction([last, _is_first(parts.lane)]), ends)
        return []

    strided(parts.first, parts.number, parts.step, (), body)


def _summed(first: ir.Value, end: ir.Value, buffer: ir.Value) -> ir.Value:
    """Returns the sum of a buffer's elements up to an end; each lane begins at its own, and all get it."""

    def more(at: ir.Value, so_far: ir.Value) -> list[ir.Value]:
        return [ir_words.add(so_far, ir_words.load(buffer, at))]

    (own,) = strided(first, end, ir_words.constant(WARP), [ir_words.constant(0)], more)
    return combine_partials.over_lanes("sum", own, _BITS)


def _before(own: ir.Value, lane: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Returns the sum of the values of all lanes before this one, and that of all."""
    ahead, whole = ir_words.constant(0), own
    for bit in reversed(_BITS):
        other = combine_partials.of_neighbour(whole, bit)
        above = ir_words.compare("ne", ir_words.bits_of("andi", lane, ir_words.constant(bit)), ir_words.constant(0))
        ahead = ir_words.operation("arith.select", own.type, above, ir_words.add(ahead, other), ahead)
        whole = ir_words.add(whole, other)
    return ahead, whole


def _put(value: ir.Value, buffer: ir.Value, at: ir.Value) -> None:
    ir_words.store(ir_words.cut(value, ir_words.element_of(buffer)), buffer, at)


def _is_first(lane: ir.Value) -> ir.Value:
    return ir_words.compare("eq", lane, ir_words.constant(0))
