"""What the tasks of a statement's pieces run, and the kernels that they share, as values of a graph."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from typing import Any

from mlir_sparse._native import __version__
from mlir_sparse.compile.compiled_kernel import CompiledKernel
from mlir_sparse.compile.statement_pieces import StatementPieces, combined, compile_ahead
from mlir_sparse.dask.array_chunks import with_type
from mlir_sparse.errors import UnsupportedError

__all__ = ["PieceKernel", "SumKernel", "added_divisions", "computed_piece", "joined_pieces"]


class SumKernel:
    """The kernel that adds results, as a value of the graph."""

    def __init__(self, kernel: CompiledKernel) -> None:
        """Takes the kernel."""
        self.kernel = kernel

    def __dask_tokenize__(self) -> Any:
        return repr(self.kernel)

    def __reduce__(self) -> Any:
        compile_ahead(self.kernel)
        return SumKernel, (self.kernel,)


def added_divisions(total: SumKernel, results: Sequence[Any]) -> Any:
    """Returns the result of a piece whose part is divided, given those of the divisions."""
    return combined(total.kernel, results)


class PieceKernel:
    """The kernels of a statement's pieces, as a value of the graph: each worker gets them once."""

    def __init__(self, pieces: StatementPieces) -> None:
        """Takes the kernels."""
        self.pieces = pieces
        self._encodings = {name: kind.encoding for name, kind in pieces.types}

    def called(self, operands: Mapping[str, Any]) -> Any:
        """Returns the result of a piece."""
        alike = {name: with_type(part, self._encodings.get(name), name) for name, part in operands.items()}
        return self.pieces.kernel(**alike)

    def __dask_tokenize__(self) -> Any:
        return str(self.pieces.cuts), repr(self.pieces.kernel)

    def __reduce__(self) -> Any:
        self.pieces.compile_ahead()  # here, rather than by each worker
        return _kernel_here, (__version__, self.pieces)


def _kernel_here(version: str, pieces: StatementPieces) -> PieceKernel:
    """Returns what a worker computes pieces with, before its first task.

    Raises:
        UnsupportedError: on a worker with another version of this package.
    """
    if version != __version__:
        raise UnsupportedError(
            f"expected mlir_sparse {version}, as where the statement was made, but got {__version__} on the worker "
            f"{platform.node()} (process {os.getpid()}): install one version on all of them"
        )
    return PieceKernel(pieces)


def computed_piece(kernel: PieceKernel, names: Sequence[str], operands: Sequence[Any]) -> Any:
    """Returns the result of a piece, given its operands and their names."""
    return kernel.called(dict(zip(names, operands, strict=True)))


def joined_pieces(kernel: PieceKernel, number: int, results: Sequence[Any]) -> Any:
    """Returns what a cut has divided, given the results of its pieces in order."""
    return kernel.pieces.joined(list(results), number)
