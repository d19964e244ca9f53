"""Options of LLVM, in the process that compiles."""

from __future__ import annotations

import subprocess

from dialect_tests.processes import python_of_forks

PROGRAM = """
from mlir_sparse._mlir import QUICK, set_options
from mlir_sparse.pipeline.run_passes import run_here

CODED = '''
llvm.func @f(%x: i64) -> i64 { llvm.return %x : i64 }
llvm.func @_mlir_ciface_f(%x: i64) -> i64 attributes {llvm.emit_c_interface} {
  %r = llvm.call @f(%x) : (i64) -> i64
  llvm.return %r : i64
}
'''
done = {set_options(options) for options in (("-no-such-option", *QUICK), QUICK, ())}
assert len(done) == 1, "whether options can be set does not depend on them"
outcome = run_here(CODED, "builtin.module()", functions=("f",))
assert outcome.module.startswith(b"\\x7fELF"), outcome.diagnostics
"""


def test_options_that_llvm_does_not_know_and_options_set_twice_do_no_harm() -> None:
    done = subprocess.run([python_of_forks(), "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
