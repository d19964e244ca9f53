"""Sub-interpreters are refused at once; the main one goes on."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
{before}
try:
    import _interpreters as interpreters
    create = lambda: interpreters.create("legacy")
except ImportError:
    import _xxsubinterpreters as interpreters
    create = lambda: interpreters.create()

other = create()
interpreters.run_string(other, f'''
import sys
sys.path[:] = {{sys.path!r}}
try:
    import mlir_sparse
except ImportError as error:
    print(error, flush=True)
''')
import numpy as np
import mlir_sparse as ms
print(ms.evaluate("y(i) = 2 * x(i)", x=np.ones(2)))
"""


@pytest.mark.parametrize("before", ["", "import mlir_sparse"])
def test_a_sub_interpreter_is_refused(before: str) -> None:
    program = PROGRAM.format(before=before)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=100)
    assert done.stdout.startswith("expected the main interpreter of a process to import mlir_sparse"), done.stderr
    assert done.stdout.endswith("[2. 2.]\n"), done.stderr
