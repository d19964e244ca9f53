"""Passes that older bindings lack, and those of theirs that do as much; and what theirs do otherwise."""

from __future__ import annotations

import re
from functools import cache
from typing import Protocol

from mlir_sparse._mlir import ir
from mlir_sparse._mlir.provider import bindings

__all__ = ["PassManager", "is_registered", "keep_zero_signs", "pass_manager"]

# LLVM 22 and before erase what has no use where they look for common subexpressions.
_STANDS_FOR = {"trivial-dce": "cse"}
# LLVM 22 expands these into comparisons, to which zeros of both signs are equal; as instructions they are not.
_EXTREMA = {
    "arith.maximumf": "llvm.intr.maximum",
    "arith.minimumf": "llvm.intr.minimum",
    "arith.maxnumf": "llvm.intr.maxnum",
    "arith.minnumf": "llvm.intr.minnum",
}
_EXPANDING = "arith-expand"
_EXTREME = "func.func @f(%x: f64, %y: f64) -> f64 { %z = arith.maximumf %x, %y : f64  return %z : f64 }"


class PassManager(Protocol):
    """The interface of MLIR's PassManager."""

    def enable_verifier(self, enable: bool) -> None:
        """Sets whether modules are verified after each pass."""

    def run(self, operation: ir.Operation) -> None:
        """Runs the passes on an operation, in place."""


def pass_manager(pipeline: str) -> PassManager:
    """Returns the manager of a pipeline of MLIR's passes, in the current Context.

    Raises:
        ValueError: for a pass that the bindings do not know, and no other of theirs stands for.
    """
    for newer, older in _STANDS_FOR.items():
        if newer in pipeline and not is_registered(newer):
            pipeline = re.sub(rf"(?<![\w-]){newer}(?![\w-])", older, pipeline)
    found: PassManager = bindings().module("passmanager").PassManager.parse(pipeline)
    return found


@cache
def is_registered(name: str) -> bool:
    """Returns whether the bindings know a pass or a pipeline of this name; some Context must be entered."""
    parse = bindings().module("passmanager").PassManager.parse
    # A pass says by itself what it runs on; `any` takes every one.
    try:
        parse(f"any({name})")
    except (ValueError, ir.MLIRError):
        return False
    return True


def keep_zero_signs(module: ir.Module, pipeline: str) -> None:
    """Makes the larger and the smaller of two numbers instructions, before a pass that would lose signs of zeros.

    With bindings whose pass leaves them alone, nothing changes: they become the same instructions later.

    Args:
        module: a module of the current Context, in place.
        pipeline: the passes that it is to be run through.
    """
    if _EXPANDING not in pipeline or not _expands_extrema():
        return
    found: list[ir.Operation] = []

    def see(op: ir.Operation) -> ir.WalkResult:
        if op.operation.name in _EXTREMA:
            found.append(op.operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(see)
    for op in found:
        with ir.InsertionPoint(op), op.location:
            (kind,) = (result.type for result in op.results)
            made = ir.Operation.create(_EXTREMA[op.name], results=[kind], operands=list(op.operands))
        op.results[0].replace_all_uses_with(made.results[0])
        op.erase()


@cache
def _expands_extrema() -> bool:
    """Returns whether the pass makes comparisons of them."""
    with ir.Context():
        module = ir.Module.parse(_EXTREME)
        pass_manager(f"builtin.module(func.func({_EXPANDING}))").run(module.operation)
        return "arith.maximumf" not in str(module)
