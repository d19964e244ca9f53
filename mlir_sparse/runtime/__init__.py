"""Runs programs: compiled functions on level storage.

`operand_check` converts a call's operands, `run_steps` runs the steps of a program, and `function_call` calls one
compiled function: `call_arguments` has the calling convention, `sparse_result_buffers` allocates sparse results.
`fast_paths` has calls of operands that need no conversion. `symbolic_numeric` runs the two phases apart. Machine code
comes from `jit`, `disk_cache` or `saved_kernels`. `device/` launches GPU programs.
"""

from typing import TYPE_CHECKING

from mlir_sparse.process.first_use import at_first_use
from mlir_sparse.runtime.call_arguments import operand_of, type_id
from mlir_sparse.runtime.disk_cache import cache_folder, cache_state, fetch, sources_changed, store
from mlir_sparse.runtime.fast_paths import Direct
from mlir_sparse.runtime.function_call import FunctionCall
from mlir_sparse.runtime.linked_program import link_program
from mlir_sparse.runtime.machine_code import LoadedLibrary, LoadedObject, Machine, NoCode, kept_machine
from mlir_sparse.runtime.package_sources import portable_stamp
from mlir_sparse.runtime.run_steps import Executable, LinkedStep
from mlir_sparse.runtime.sparse_result_buffers import SparseResultLayout
from mlir_sparse.runtime.thread_limit import get_num_threads, set_num_threads, within

if TYPE_CHECKING:
    from mlir_sparse.runtime.jit import CompiledModule, assembly, llvm_ir
    from mlir_sparse.runtime.saved_kernels import SAVED, SavedCode, machine_of, read_archive, write_archive
    from mlir_sparse.runtime.sent_code import SentCode, fetch_sent, keep_sent, to_send
    from mlir_sparse.runtime.symbolic_numeric import assemble, compute
else:
    __getattr__ = at_first_use(
        __name__,
        {
            "jit": ("CompiledModule", "assembly", "llvm_ir"),
            "saved_kernels": ("SAVED", "SavedCode", "machine_of", "read_archive", "write_archive"),
            "sent_code": ("SentCode", "fetch_sent", "keep_sent", "to_send"),
            "symbolic_numeric": ("assemble", "compute"),
        },
    )

__all__ = [
    "SAVED",
    "CompiledModule",
    "Direct",
    "Executable",
    "FunctionCall",
    "LinkedStep",
    "LoadedLibrary",
    "LoadedObject",
    "Machine",
    "NoCode",
    "SavedCode",
    "SentCode",
    "SparseResultLayout",
    "assemble",
    "assembly",
    "cache_folder",
    "cache_state",
    "compute",
    "fetch",
    "fetch_sent",
    "get_num_threads",
    "keep_sent",
    "kept_machine",
    "link_program",
    "llvm_ir",
    "machine_of",
    "operand_of",
    "portable_stamp",
    "read_archive",
    "set_num_threads",
    "sources_changed",
    "store",
    "to_send",
    "type_id",
    "within",
    "write_archive",
]
