"""The thread of a sparse result through its loops: from the empty tensor to the one returned.

The sparsifier passes the tensor that it inserts into from operation to operation,
through every loop and branch, as a value. Each of these values is found here, with
the loops that carry them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mlir_sparse._mlir import ir
from mlir_sparse.loops.value_origins import is_constant, parent_of

__all__ = ["Carrier", "Chain", "find_chain"]


@dataclass(frozen=True, slots=True)
class Carrier:
    """A loop that the result goes through.

    Args:
        op: the `scf.for` or `scf.while`.
        entry: the result as the body gets it.
        end: the terminator of the body.
        place: which operand of the terminator hands the result on.
    """

    op: ir.Operation
    entry: ir.Value
    end: ir.Operation
    place: int

    @property
    def covers(self) -> bool:
        """Returns whether the loop counts from zero: a dense level, each of whose coordinates is met."""
        if self.op.name != "scf.for":
            return False
        return is_constant(self.op.operands[0], 0)


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
    inserts: list[ir.Operation] = field(default_factory=list)
    expands: list[ir.Operation] = field(default_factory=list)
    compresses: list[ir.Operation] = field(default_factory=list)
    sizes: list[ir.Operation] = field(default_factory=list)
    ends: list[ir.Operation] = field(default_factory=list)

    def around(self, op: ir.Operation) -> list[Carrier]:
        """Returns the loops around an operation that carry the result, outermost first."""
        found: list[Carrier] = []
        parent = op.parent
        while parent is not None and parent.name != "func.func":
            found += [carrier for carrier in self.carriers if carrier.op == parent]
            parent = parent.parent
        return found[::-1]


def find_chain(function: ir.Operation) -> Chain | None:
    """Returns the thread of a function's sparse result; None where it has no such result.

    Raises:
        ValueError: where the result goes through an operation that insertion does not know.
    """
    if not list(function.regions[0].blocks):
        return None  # a declaration
    block = function.regions[0].blocks[0]
    *_, last = block.operations
    results = [operand for operand in last.operation.operands if isinstance(operand.type, ir.RankedTensorType)]
    if not any(ir.RankedTensorType(result.type).encoding is not None for result in results):
        return None
    starts = [op.operation for op in block.operations if op.operation.name == "bufferization.alloc_tensor"]
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
    match op.name:
        case "scf.for":
            return [op.regions[0].blocks[0].arguments[place - 2], op.results[place - 3]]
        case "scf.while":
            return [op.regions[0].blocks[0].arguments[place]]
        case "scf.condition":
            parent = parent_of(op)
            return [parent.regions[1].blocks[0].arguments[place - 1], parent.results[place - 1]]
        case "scf.yield":
            return _yielded(chain, op, place)
        case "tensor.insert":
            chain.inserts.append(op)
            return [op.results[0]]
        case "sparse_tensor.compress":
            chain.compresses.append(op)
            return [op.results[0]]
        case "sparse_tensor.expand":
            chain.expands.append(op)
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
    match parent.name:
        case "scf.if":
            return [parent.results[place]]
        case "scf.for":
            entry = parent.regions[0].blocks[0].arguments[place + 1]
            chain.carriers.append(Carrier(parent, entry, op, place))
            return [parent.results[place]]
        case "scf.while":
            _carry_while(chain, parent, op, place)
            return [parent.regions[0].blocks[0].arguments[place]]
        case name:
            raise ValueError(f"expected insertions, loops and branches around a sparse result, but got {name}")


def _carry_while(chain: Chain, parent: ir.Operation, end: ir.Operation, place: int) -> None:
    """Adds a co-iterating loop; its body takes what the condition passes on, in an order of its own."""
    *_, condition = parent.regions[0].blocks[0].operations
    before = parent.regions[0].blocks[0].arguments[place]
    passed = list(condition.operation.operands)[1:].index(before)
    chain.carriers.append(Carrier(parent, parent.regions[1].blocks[0].arguments[passed], end, place))
