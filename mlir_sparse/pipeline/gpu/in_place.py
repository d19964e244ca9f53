"""The pass that writes sparse results into the structure of an operand: values only, each where its entry is.

No thread can append to a result that others append to. Where the result has the entries of one operand, nothing has
to be appended: the position of an entry is that of the operand's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlir_sparse.pipeline.assembly.chain import find_chain
from mlir_sparse.pipeline.assembly.rewrite import own_buffers
from mlir_sparse.pipeline.assembly.sharing import store_at_entries

__all__ = ["share_structure"]


def share_structure(module: Any, options: Mapping[str, str]) -> None:
    """Rewrites the functions of a sparsified module that have a sparse result: its values become the last argument.

    Args:
        module: the module, in place.
        options: none.

    Raises:
        ValueError: for a result that has entries where no operand has.
    """
    for op in module.body.operations:
        if op.operation.name != "func.func":
            continue
        chain = find_chain(op.operation)
        if chain is None:
            own_buffers(op.operation)
        else:
            store_at_entries(op.operation, chain, returned=False)
