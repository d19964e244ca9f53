"""Compiled modules and level storage to level storage."""

from mlir_sparse.runtime.abi import buffer_dtypes, operand_of, type_id
from mlir_sparse.runtime.ahead import LoadedModule, read_archive, write_archive
from mlir_sparse.runtime.executable import Call, Convert, Executable, Extent, Stage, View, finish_sparse
from mlir_sparse.runtime.jit import CompiledModule, assembly, llvm_ir

__all__ = [
    "Call",
    "CompiledModule",
    "Convert",
    "Executable",
    "Extent",
    "LoadedModule",
    "Stage",
    "View",
    "assembly",
    "buffer_dtypes",
    "finish_sparse",
    "llvm_ir",
    "operand_of",
    "read_archive",
    "type_id",
    "write_archive",
]
