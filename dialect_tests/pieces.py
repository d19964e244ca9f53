"""How work is cut among threads, for a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import mlir_sparse as ms
from mlir_sparse import _native

__all__ = ["pieces_of"]


@contextmanager
def pieces_of(entries: int, threads: int | None = None) -> Iterator[None]:
    """Lets kernels be cut into pieces of so many entries.

    Args:
        entries: the least work of a piece.
        threads: how many threads the process may take; as many as otherwise when absent.
    """
    work, most = _native.piece_work(), ms.get_num_threads()
    _native.set_piece_work(entries)
    try:
        if threads is not None:
            ms.set_num_threads(threads)
        yield
    finally:
        _native.set_piece_work(work)
        if threads is not None:
            ms.set_num_threads(most)
