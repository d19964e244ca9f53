"""Errors of libraries that read a stranger's file, as errors of this package."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from mlir_sparse.errors import FileFormatError, SparseError, TooLargeError
from mlir_sparse.text.shortened import shortened

__all__ = ["refusing"]


@contextmanager
def refusing(path: str | os.PathLike[str], rule: str) -> Iterator[None]:
    """Turns any exception of the block, which reads a file, into a FileFormatError that states the rule.

    Broken bytes make libraries raise anything, so only errors of this package and of the operating system pass as
    they are.

    Raises:
        FileFormatError: for a file with other contents.
        TooLargeError: for a file that needs more memory than there is.
    """
    try:
        yield
    except (SparseError, OSError):
        raise
    except MemoryError as error:
        raise TooLargeError(f"expected {rule} that fits in memory in {os.fspath(path)}, but got more") from error
    except Exception as error:
        got = shortened(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
        raise FileFormatError(f"expected {rule} in {os.fspath(path)}, but got {got}") from error
