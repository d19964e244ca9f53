"""Compiled modules and level storage to level storage."""

from mlir_sparse.runtime.call_arguments import operand_of, type_id
from mlir_sparse.runtime.disk_cache import cache_folder, cache_state, fetch, sources_changed, store
from mlir_sparse.runtime.function_call import Call, Direct
from mlir_sparse.runtime.function_cuts import Cut, StoredCut
from mlir_sparse.runtime.jit import CompiledModule, assembly, llvm_ir
from mlir_sparse.runtime.linked_program import Argument, Loops, Recipe, Step
from mlir_sparse.runtime.machine_code import LoadedLibrary, LoadedObject, Machine
from mlir_sparse.runtime.result_buffers import Buffers
from mlir_sparse.runtime.result_capacity import Entries
from mlir_sparse.runtime.run_steps import Convert, Executable, Extent, Fibres, Pick, Position, Rows, Stage, View
from mlir_sparse.runtime.saved_kernels import SAVED, machine_of, read_archive, write_archive
from mlir_sparse.runtime.step_codec import read_recipe, write_recipe
from mlir_sparse.runtime.symbolic_numeric import assemble, compute
from mlir_sparse.runtime.thread_limit import get_num_threads, set_num_threads, within

__all__ = [
    "SAVED",
    "Argument",
    "Buffers",
    "Call",
    "CompiledModule",
    "Convert",
    "Cut",
    "Direct",
    "Entries",
    "Executable",
    "Extent",
    "Fibres",
    "LoadedLibrary",
    "LoadedObject",
    "Loops",
    "Machine",
    "Pick",
    "Position",
    "Recipe",
    "Rows",
    "Stage",
    "Step",
    "StoredCut",
    "View",
    "assemble",
    "assembly",
    "cache_folder",
    "cache_state",
    "compute",
    "fetch",
    "get_num_threads",
    "llvm_ir",
    "machine_of",
    "operand_of",
    "read_archive",
    "read_recipe",
    "set_num_threads",
    "sources_changed",
    "store",
    "type_id",
    "within",
    "write_archive",
    "write_recipe",
]
