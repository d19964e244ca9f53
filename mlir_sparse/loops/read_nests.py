"""Reads which form each loop of sparsified code has, of those that the sparsifier is known to write.

Strategies recognise loops of these forms alone. A compiler that writes others would cost speed without a word: each
loop that has none of them gets a remark.
"""

from __future__ import annotations

from mlir_sparse.loops.model import loop_of
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.regions import LOOPS
from mlir_sparse.loops.remarks import Missed

__all__ = ["remark_unread_loops"]

# What remarks call this.
_READ_LOOPS = "read-loops"


def remark_unread_loops(seen: Seen) -> None:
    """Says of each loop that has no known form that no strategy reads it, if somebody asks.

    Args:
        seen: a module as the sparsifier made it.
    """
    loops = [loop for name in sorted(LOOPS) for loop in seen.whole.named(name)] if seen.remarks.wanted else []
    for loop in loops:
        read = loop_of(loop)
        if read is None or read.form is None:
            why = f"the compiler in use writes it as an {loop.name} that no strategy reads"
            seen.remarks.of(loop, Missed(why), _READ_LOOPS)
