"""What reading bytes of a stranger raises, as errors of this package."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from mlir_sparse.errors import FileFormatError, SparseError, TooLargeError
from mlir_sparse.text.shortened import shortened

__all__ = ["refusing"]


@contextmanager
def refusing(path: str | os.PathLike[str], rule: str) -> Iterator[None]:
    """Raises whatever libraries raise that read a file as an error that says so.

    Bytes can be wrong in more ways than a library names, so that nothing is let through but errors of
    this package and of the operating system.

    Args:
        path: the file.
        rule: what is expected to be in it.

    Raises:
        FileFormatError: for what is none of it.
        TooLargeError: where it asked for more memory than there is.
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
