"""How lit finds and runs the FileCheck tests of this folder.

Substitutions and features are those of any suite (`mlir_sparse.testing.lit`), with the command line of this checkout;
`filecheck-py` is always PyPI's. `lit --param processes=1` starts Python anew for each command.
"""

import atexit
import os
import shlex
import sys
from pathlib import Path

import lit.formats

from mlir_sparse.process.installed_programs import find_program
from mlir_sparse.testing import lit as suite

root = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(root / "scripts"))

from served import Programs  # noqa: E402

config.name = "mlir_sparse"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "Output"]
config.test_source_root = str(root / "lit")
config.test_exec_root = str(root / ".build" / "lit")

# What a test may see of the caller's environment.
for name in ("MLIR_SPARSE_BINDINGS", "CUDA_VISIBLE_DEVICES", "HOME", "LD_LIBRARY_PATH", "MLIR_SPARSE_RECORD_CHECKS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# What an earlier run compiled must not make this one pass.
config.environment["MLIR_SPARSE_CACHE"] = "off"
# Plans are the same on every machine that tests run on.
config.environment["MLIR_SPARSE_MACHINE"] = "amd-epyc-family-25"


def command(name: str) -> str:
    """Finds a program, or leaves the name for the failing test to show."""
    return find_program(name) or name


programs = {"filecheck": command("filecheck"), "mlir-sparse": command("mlir-sparse"), "python": sys.executable}
if not lit_config.params.get("processes"):
    # A server runs a child a command, and a compiler, which has Python and the package loaded: a third of the time.
    server = Programs()
    atexit.register(server.end)
    programs = {name: shlex.join(server.command(name)) for name in programs}
    config.environment["MLIR_SPARSE_PYTHON"] = server.python()
config.substitutions += suite.substitutions(programs)
config.available_features.update(suite.features())
