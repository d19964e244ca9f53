"""The thread of a sparse result through its loops: from the empty tensor to the one returned.

The sparsifier passes the tensor that it inserts into from operation to operation,
through every loop and branch, as a value. Each of these values is found here, with
the loops that carry them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops.emit_copies import replace
from mlir_sparse.loops.model import ForLoop, Loop, WhileLoop, loop_of
from mlir_sparse.loops.model_accesses import Compress, Expand, Insert
from mlir_sparse.loops.regions import blocks_of, operations_of
from mlir_sparse.loops.value_origins import constant_of, maker, parent_of

__all__ = ["Carrier", "Chain", "end_function", "find_chain"]


@dataclass(frozen=True, slots=True)
class Carrier:
    """A loop that the result goes through.

    Args:
        loop: the loop.
        entry: the result as an iteration gets it.
        number: which of the values that an iteration yields is the result.
    """

    loop: Loop
    entry: ir.Value
    number: int

    @property
    def exit(self) -> ir.Value:
        """Returns the result as an iteration yields it."""
        return self.loop.ends[self.number]

    @property
    def covers(self) -> bool:
        """Returns whether the loop counts from zero: a dense level, each of whose coordinates is met."""
        return isinstance(self.loop, ForLoop) and self.loop.is_over_level


@dataclass(slots=True)
class Chain:
    """A sparse result on its way.

    Args:
        start: the empty tensor.
        values: every value that is the result at some time.
        carriers: the loops that it goes through.
        inserts: the insertions of single entries.
        expands: where rows get a workspace.
        compresses: where rows leave it.
        sizes: reads of its sizes.
        ends: the operations after the last insertion, in order.
    """

    start: ir.Value
    values: list[ir.Value] = field(default_factory=list)
    carriers: list[Carrier] = field(default_factory=list)
    inserts: list[Insert] = field(default_factory=list)
    expands: list[Expand] = field(default_factory=list)
    compresses: list[Compress] = field(default_factory=list)
    sizes: list[ir.Operation] = field(default_factory=list)
    ends: list[ir.Operation] = field(default_factory=list)

    def around(self, op: ir.Operation) -> list[Carrier]:
        """Returns the loops around an operation that carry the result, outermost first."""
        found: list[Carrier] = []
        parent = op.parent
        while parent is not None and parent.name != "func.func":
            found += [carrier for carrier in self.carriers if carrier.loop.op == parent]
            parent = parent.parent
        return found[::-1]

    def replace_sizes(self, sizes: Sequence[ir.Value]) -> None:
        """Puts values in place of the sizes that are read of levels, or of dimensions that are levels.

        Raises:
            ValueError: for a level that code computes.
        """
        for op in self.sizes:
            _, level = op.operands
            number = constant_of(level)
            if number is None:
                raise ValueError(f"expected a constant level, but got {maker(level)}")
            replace(op, [sizes[number]])


def find_chain(function: ir.Operation) -> Chain | None:
    """Returns the thread of a function's sparse result; None where it has no such result.

    Raises:
        ValueError: where the result goes through an operation that insertion does not know.
    """
    blocks = blocks_of(function)
    if not blocks:
        return None  # a declaration
    operations = operations_of(blocks[0])
    results = [operand for operand in operations[-1].operands if isinstance(operand.type, ir.RankedTensorType)]
    if not any(ir.RankedTensorType(result.type).encoding is not None for result in results):
        return None
    starts = [op for op in operations if op.name == "bufferization.alloc_tensor"]
    starts = [op for op in starts if ir.RankedTensorType(op.results[0].type).encoding is not None]
    if len(starts) != 1:
        raise ValueError(f"expected one empty sparse tensor in a function with a sparse result, but got {len(starts)}")
    chain = Chain(starts[0].results[0])
    pending, met = [chain.start], set["ir.Value"]()
    while pending:
        value = pending.pop()
        if value in met:
            continue
        met.add(value)
        chain.values.append(value)
        for use in value.uses:
            pending += _after(chain, use.owner.operation, use.operand_number)
    return chain


def _after(chain: Chain, op: ir.Operation, place: int) -> Sequence[ir.Value]:
    """Returns the values that the result becomes in an operation."""
    match loop_of(op):
        case ForLoop() as loop:
            number = place - len(loop.limits)
            return [loop.carried[number], loop.results[number]]
        case WhileLoop() as loop:
            return [loop.tested[place]]
        case None:
            return _after_other(chain, op, place)


def _after_other(chain: Chain, op: ir.Operation, place: int) -> Sequence[ir.Value]:
    match op.name:
        case "scf.condition":
            loop, passed = WhileLoop(parent_of(op)), place - 1
            return [loop.carried[passed], loop.results[passed]]
        case "scf.yield":
            return _yielded(chain, op, place)
        case "tensor.insert":
            chain.inserts.append(Insert(op))
            return [op.results[0]]
        case "sparse_tensor.compress":
            chain.compresses.append(Compress(op))
            return [op.results[0]]
        case "sparse_tensor.expand":
            chain.expands.append(Expand(op))
            return []
        case "sparse_tensor.lvl" | "tensor.dim":
            chain.sizes.append(op)
            return []
        case "sparse_tensor.load" | "sparse_tensor.reinterpret_map" | "tensor.cast":
            chain.ends.append(op)
            return [op.results[0]]
        case "func.return":
            chain.ends.append(op)
            return []
        case name:
            raise ValueError(f"expected insertions, loops and branches around a sparse result, but got {name}")


def _yielded(chain: Chain, op: ir.Operation, place: int) -> Sequence[ir.Value]:
    parent = parent_of(op)
    match loop_of(parent):
        case ForLoop() as loop:
            chain.carriers.append(Carrier(loop, loop.carried[place], place))
            return [loop.results[place]]
        case WhileLoop() as loop:
            # An iteration takes what the test passes on, in an order of its own.
            tested = loop.tested[place]
            chain.carriers.append(Carrier(loop, loop.carried[loop.passed.index(tested)], place))
            return [tested]
        case None:
            if parent.name != "scf.if":
                raise ValueError(
                    f"expected insertions, loops and branches around a sparse result, but got {parent.name}"
                )
            return [parent.results[place]]


def end_function(
    function: ir.Operation, chain: Chain, results: Callable[[ir.Value], Sequence[ir.Value]] = lambda _: ()
) -> None:
    """Ends a function without the tensor that it returned.

    Args:
        function: in place.
        chain: the tensor's way, of which nothing is left but its end.
        results: given what stands for the tensor at its end, writes what else is to be done, and returns what the
            function returns instead; nothing by default.
    """
    after = [op for op in chain.ends if op.name != "func.return"]
    for op in after:
        op.results[0].replace_all_uses_with(*op.operands)
    (block,) = blocks_of(function)
    last = operations_of(block)[-1]
    with ir.InsertionPoint(last):
        returned = list(results(*last.operands))
        ir.Operation.create("func.return", operands=returned)
    for op in (last, *after):
        op.erase()
    kinds = [argument.type for argument in block.arguments]
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get(kinds, [value.type for value in returned])
    )
