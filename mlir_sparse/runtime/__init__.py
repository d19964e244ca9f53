"""Compiled modules and level storage to level storage."""

from mlir_sparse.runtime.abi import operand_of, type_id
from mlir_sparse.runtime.ahead import LoadedModule, read_archive, write_archive
from mlir_sparse.runtime.calls import Call, SparseCall
from mlir_sparse.runtime.executable import Convert, Executable, Extent, Pick, Position, Stage, View
from mlir_sparse.runtime.jit import CompiledModule, assembly, llvm_ir
from mlir_sparse.runtime.recompute import assemble, compute
from mlir_sparse.runtime.results import Buffers

__all__ = [
    "Buffers",
    "Call",
    "CompiledModule",
    "Convert",
    "Executable",
    "Extent",
    "LoadedModule",
    "Pick",
    "Position",
    "SparseCall",
    "Stage",
    "View",
    "assemble",
    "assembly",
    "compute",
    "llvm_ir",
    "operand_of",
    "read_archive",
    "type_id",
    "write_archive",
]
