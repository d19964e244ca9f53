"""The warning of dense results that are far larger than their operands, with sparse storage to use instead."""

from __future__ import annotations

import os
import sys
import warnings
from functools import lru_cache

from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import DenseResultWarning
from mlir_sparse.notation import Access, Apply, Assignment, Fold, walk, with_explicit_sums
from mlir_sparse.spec.result_storage import tailed
from mlir_sparse.spec.zeros import vanishes

__all__ = ["MOST_TIMES", "SMALL", "storage_instead", "warn_of_dense"]

MOST_TIMES = 64
"""A dense result of more than this many times the operands' bytes causes a warning."""
SMALL = 1 << 16
"""A dense result of no more bytes causes no warning."""

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


@lru_cache(maxsize=256)  # each call needs it whose result is so large
def storage_instead(assignment: Assignment, inputs: tuple[tuple[str, TensorType], ...]) -> str:
    """Returns sparse storage for a result that is inferred to be dense; empty if no zeros could be left out.

    >>> from mlir_sparse.notation import parse
    >>> csr, dense = TensorType.parse("f64[?,?] CSR"), TensorType.parse("f64[?,?]")
    >>> storage_instead(parse("C(i,r) = A(i,j) * B(j,r)"), (("A", csr), ("B", dense)))
    '(i, r) -> (i : compressed, r : dense)'
    >>> storage_instead(parse("C(i,r) = A(i,r) + B(i,r)"), (("A", csr), ("B", dense)))
    ''
    """
    value, types = with_explicit_sums(assignment).value, dict(inputs)
    if assignment.op.reads_target or isinstance(value, Apply | Fold):
        return ""
    read = [node for node in walk(value) if isinstance(node, Access)]
    kinds = ((access, types[access.tensor].encoding) for access in read)
    sparse = [access for access, encoding in kinds if encoding is not None and not encoding.is_dense]
    met = {index for access in sparse for index in access.indices}
    above = tuple(index for index in assignment.target.indices if index in met)
    if not above or not vanishes(value, {access.tensor for access in sparse}):
        return ""
    return tailed(assignment.target, above).map_text()


def warn_of_dense(size: int, operands: int, assignment: Assignment, inputs: tuple[tuple[str, TensorType], ...]) -> None:
    """Warns of a dense result that could be sparse, is far larger than its operands, and not small by itself.

    Args:
        size: its bytes.
        operands: the operands' bytes.
        assignment: the statement.
        inputs: the types of the operands.
    """
    if size <= max(SMALL, MOST_TIMES * operands):
        return
    instead = storage_instead(assignment, inputs)
    if not instead:
        return
    text = (
        f"the dense result of {assignment} has {size:,} bytes, {size // max(operands, 1):,} times its operands: "
        f'ask for sparse storage with out="{instead}", or for out="dense" to keep it'
    )
    warnings.warn(text, DenseResultWarning, stacklevel=_levels_up())


def _levels_up() -> int:
    """Returns the stack level, above `warn_of_dense`, of the first caller outside this package."""
    frame, levels = sys._getframe(1), 1
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(_PACKAGE):
        frame, levels = frame.f_back, levels + 1
    return levels
