"""Compiled modules and level storage to level storage."""

from mlir_sparse.runtime.abi import operand_of, type_id
from mlir_sparse.runtime.ahead import SAVED, machine_of, read_archive, write_archive
from mlir_sparse.runtime.cache import cache_folder, cache_state, fetch, sources_changed, store
from mlir_sparse.runtime.calls import Call, Direct
from mlir_sparse.runtime.codec import read_recipe, write_recipe
from mlir_sparse.runtime.cut import Cut, StoredCut
from mlir_sparse.runtime.entries import Entries
from mlir_sparse.runtime.executable import Convert, Executable, Extent, Fibres, Pick, Position, Rows, Stage, View
from mlir_sparse.runtime.jit import CompiledModule, assembly, llvm_ir
from mlir_sparse.runtime.machine import LoadedLibrary, LoadedObject, Machine
from mlir_sparse.runtime.recipe import Argument, Loops, Recipe, Step
from mlir_sparse.runtime.recompute import assemble, compute
from mlir_sparse.runtime.results import Buffers
from mlir_sparse.runtime.threads import get_num_threads, set_num_threads, within

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
