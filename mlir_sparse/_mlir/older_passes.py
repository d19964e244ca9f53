"""Passes that older bindings lack, and those of theirs that do as much."""

from __future__ import annotations

import re
from functools import cache
from typing import Protocol

from mlir_sparse._mlir import ir
from mlir_sparse._mlir.provider import bindings

__all__ = ["PassManager", "is_registered", "pass_manager"]

# LLVM 22 and before erase what has no use where they look for common subexpressions.
_STANDS_FOR = {"trivial-dce": "cse"}


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
