"""The pass that writes sparse results without appending: no thread can append to a result that others append to.

Where the result has the entries of one operand, the position of an entry is that of the operand's, and values are all
that is written. Any other result is written in two phases, of which the first counts.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse._mlir import ir
from mlir_sparse.assembly.assemble import own_buffers
from mlir_sparse.assembly.result_chain import find_chain
from mlir_sparse.assembly.shared_structure import store_at_entries
from mlir_sparse.gpu.kernels.two_phase_loops import count_and_fill
from mlir_sparse.loops.facts_in_ir import facts_of

__all__ = ["share_structure"]


def share_structure(module: ir.Module, options: Mapping[str, str]) -> None:
    """Rewrites the functions of a sparsified module that have a sparse result: its buffers become the last arguments.

    Args:
        module: the module, in place.
        options: none.

    Raises:
        ValueError: for a result that has entries where no operand has, and is not made in the order of the loops.
    """
    for op in list(module.body.operations):
        if op.operation.name != "func.func":
            continue
        chain = find_chain(op.operation)
        if chain is None:
            own_buffers(op.operation)
        elif (nest := facts_of(op.operation).threads) is not None and nest.two_phase is not None:
            count_and_fill(op.operation, nest, nest.two_phase)
        else:
            store_at_entries(op.operation, chain, returned=False)
