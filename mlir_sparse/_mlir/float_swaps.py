"""Atomic updates of floating-point numbers, which bindings of LLVM 22 lower to instructions that LLVM has not.

Their `memref.generic_atomic_rmw` compares and swaps the numbers themselves; `llvm.cmpxchg` takes integers. Newer ones
swap the bits as an integer, which is done here for the older.
"""

from __future__ import annotations

from functools import cache

from mlir_sparse._mlir import ir
from mlir_sparse._mlir.older_passes import pass_manager

__all__ = ["swap_bits"]

_SWAP = "llvm.cmpxchg"
_ORDERINGS = ("success_ordering", "failure_ordering")
_LOWERING = ("convert-to-llvm", "convert-gpu-to-nvvm", "finalize-memref-to-llvm")
_UPDATE = """func.func @f(%m: memref<f64>) {
  %0 = memref.generic_atomic_rmw %m[] : memref<f64> {
  ^bb0(%x: f64):
    memref.atomic_yield %x : f64
  }
  return
}"""


def swap_bits(module: ir.Module, pipeline: str) -> None:
    """Makes swaps of floating-point numbers those of integers of their width, after a pass that lowered them.

    Args:
        module: a module of the current Context, in place.
        pipeline: the passes that it has been run through.
    """
    if not any(name in pipeline for name in _LOWERING) or not _swaps_numbers():
        return
    for op in _swaps_of_numbers(module):
        _rewrite(op)


def _swaps_of_numbers(module: ir.Module) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def see(op: ir.Operation) -> ir.WalkResult:
        if op.name == _SWAP and isinstance(op.operands[1].type, ir.FloatType):
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(see)
    return found


def _rewrite(op: ir.Operation) -> None:
    address, expected, value = op.operands
    number = expected.type
    assert isinstance(number, ir.FloatType)
    bits = ir.IntegerType.get_signless(number.width)
    pair = ir.Type.parse(f"!llvm.struct<({bits}, i1)>")
    attributes = {name: op.attributes[name] for name in _ORDERINGS}
    with ir.InsertionPoint(op), op.location:
        operands = [address, *(_cast(one, bits) for one in (expected, value))]
        swapped = ir.Operation.create(_SWAP, results=[pair], operands=operands, attributes=attributes).result
    for use in list(op.results[0].uses):
        part = use.owner  # `llvm.extractvalue`, all that the lowering writes
        place = ir.DenseI64ArrayAttr(part.attributes["position"])
        with ir.InsertionPoint(part.operation), part.location:
            kind = ir.IntegerType.get_signless(1) if list(place) == [1] else bits
            taken = ir.Operation.create(
                "llvm.extractvalue", results=[kind], operands=[swapped], attributes={"position": place}
            ).result
            part.results[0].replace_all_uses_with(taken if list(place) == [1] else _cast(taken, number))
        part.operation.erase()
    op.erase()


def _cast(value: ir.Value, kind: ir.Type) -> ir.Value:
    return ir.Operation.create("llvm.bitcast", results=[kind], operands=[value]).result


@cache
def _swaps_numbers() -> bool:
    """Returns whether the bindings lower updates of numbers to swaps of them."""
    with ir.Context():
        module = ir.Module.parse(_UPDATE)
        manager = pass_manager("builtin.module(convert-to-llvm)")
        manager.enable_verifier(False)
        manager.run(module.operation)
        return bool(_swaps_of_numbers(module))
