"""Classes of operations that are imported without the module of their dialect."""

from __future__ import annotations

import subprocess
import sys

from mlir_sparse._mlir import bindings_name

_PROGRAM = """
import importlib, sys
import numpy as np
import mlir_sparse as ms
from mlir_sparse._mlir import bindings, mlir_context, parse_module

own = bindings().name + ".dialects.linalg"
kernel = ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]")
assert "linalg.fill" in kernel.ir()
assert own not in sys.modules, "linalg was imported"

# Users who import the module have all of it, and its classes are those of operations.
linalg = importlib.import_module(own)
assert sys.modules[own] is linalg
assert callable(linalg.matmul)
with mlir_context() as context:
    module = parse_module(kernel.ir())
    function = module.body.operations[0]
    found = [one for one in function.regions[0].blocks[0].operations if one.operation.name.startswith("linalg.")]
    assert [type(one) for one in found] == [linalg.FillOp, linalg.GenericOp], found
print(*kernel(A=ms.tensor(np.eye(3), "CSR"), x=np.arange(3.0)))
"""


def test_users_have_the_whole_module_when_they_import_it() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["0.0", "1.0", "2.0"], done.stderr[-2000:]


def test_it_is_the_same_where_the_module_was_imported_before() -> None:
    before = f"import {bindings_name()}.dialects.linalg as linalg\n"
    program = before + _PROGRAM.replace('assert own not in sys.modules, "linalg was imported"', "")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["0.0", "1.0", "2.0"], done.stderr[-2000:]
