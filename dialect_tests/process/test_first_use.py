"""Names that are imported at their first use: an import loads little, and whoever asks first gets what others get."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import mlir_sparse as ms
from mlir_sparse.process.first_use import at_first_use


def printed(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


LOADED = "print(*sorted(name for name in __import__('sys').modules if name.startswith('mlir_sparse.')))"
RARE = (
    "mlir_sparse.affine.affine_parser",
    "mlir_sparse.affine.affine_printer",
    "mlir_sparse.arrays",
    "mlir_sparse.compile.comprehension.comprehension_kernel",
    "mlir_sparse.compile.comprehension.comprehension_operands",
    "mlir_sparse.compile.definitions.composed",
    "mlir_sparse.compile.definitions.defined_tensor",
    "mlir_sparse.compile.definitions.filled_operands",
    "mlir_sparse.compile.explain_build",
    "mlir_sparse.compile.kernel_html",
    "mlir_sparse.compile.tuning",
    "mlir_sparse.encoding.encoding_parser",
    "mlir_sparse.lazy.lazy_array",
    "mlir_sparse.loops",
    "mlir_sparse.notation.definition",
    "mlir_sparse.notation.einsum_strings",
    "mlir_sparse.notation.notation_printer",
    "mlir_sparse.pipeline.user_passes",
    "mlir_sparse.lower.generic_module",
    "mlir_sparse.plan.algebra.choose_rewriting",
    "mlir_sparse.plan.mapping",
    "mlir_sparse.plan.nests",
    "mlir_sparse._search",
    "mlir_sparse.plan.algebra.normal_form",
    "mlir_sparse.plan.planner",
    "mlir_sparse.runtime.blas_threads",
    "mlir_sparse.runtime.device.run_library_products",
    "mlir_sparse.runtime.gather_elements",
    "mlir_sparse.runtime.sent_code",
    "mlir_sparse.spec.composition_of",
    "mlir_sparse.runtime.take_lines",
    "mlir_sparse.runtime.whole_calls",
    "mlir_sparse.tensor.borders.foreign_parts",
    "mlir_sparse.tensor.borders.torch_sparse",
    "mlir_sparse.tensor.check_storage",
    "mlir_sparse.tensor.convert.coordinates_of",
    "mlir_sparse.tensor.convert.pack_levels",
    "mlir_sparse.tensor.convert.row_passes",
    "mlir_sparse.tensor.convert.through_rows",
    "mlir_sparse.tensor.files",
    "mlir_sparse.tensor.sketch_of",
    "mlir_sparse.tensor.storage_fault_messages",
)
# Of the standard library: each takes a millisecond or more, and few programs need it of us.
RARE_LIBRARIES = (
    *("_hashlib", "base64", "bz2", "decimal", "difflib", "fractions", "glob", "html", "lzma", "pathlib", "secrets"),
    *("shutil", "signal", "subprocess", "tempfile", "urllib"),
)


def test_an_import_loads_neither_plans_nor_interfaces() -> None:
    loaded = printed(f"import mlir_sparse\n{LOADED}").split()
    assert [name for name in loaded if name.startswith(RARE)] == []
    code = "import sys, numpy\nhere = set(sys.modules)\nimport mlir_sparse\nprint(*set(sys.modules) - here)"
    assert set(printed(code).split()) & set(RARE_LIBRARIES) == set()
    assert (
        printed("import sys, mlir_sparse\nprint('scipy' in sys.modules, 'torch_mlir' in sys.modules)") == "False False"
    )


def test_all_public_names_are_there() -> None:
    code = (
        "import mlir_sparse as ms\nprint(all(hasattr(ms, name) for name in ms.__all__), sorted(ms.__all__) == dir(ms))"
    )
    assert printed(code) == "True True"
    assert printed("from mlir_sparse import *\nprint(einsum.__name__, LazyArray.__name__, tune.__name__)") == (
        "einsum LazyArray tune"
    )


USES = {
    "ms.lazy(ms.tensor([[2.0]])).compute()": "<SparseTensor",
    "import_module('mlir_sparse.lazy.compute_together')": "<module",
    "ms.compute": "<function compute",
    "ms.LazyArray": "<class",
    "ms.tune": "<function tune",
}


@pytest.mark.parametrize("order", list(permutations(USES, 3))[::7], ids=str)
def test_names_are_functions_whatever_is_loaded_first(order: tuple[str, ...]) -> None:
    lines = "\n".join(f"print(repr({use})[:14])" for use in order)
    code = f"from importlib import import_module\nimport mlir_sparse as ms\n{lines}\nprint(ms.lazy, ms.compile)"
    *found, last = printed(code).splitlines()
    assert all(USES[use].startswith(text) or text.startswith(USES[use]) for use, text in zip(order, found, strict=True))
    assert last.startswith("<function lazy")
    assert "<function compile" in last


def test_operators_that_threads_ask_for_first() -> None:
    code = """
import threading
import numpy as np
import mlir_sparse as ms
A, found = ms.tensor(np.eye(3)), []
ready = threading.Barrier(8)
def work(number):
    ready.wait()
    found.append(float((A + A).sum()) if number % 2 else float((A @ np.ones(3)).sum() * 2))
threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(found == [6.0] * 8)
"""
    assert printed(code) == "True"


def test_operators_in_the_child_of_a_fork() -> None:
    code = """
import os
import numpy as np
import mlir_sparse as ms
A = ms.tensor(np.eye(3))
child = os.fork()
if child == 0:
    os._exit(0 if (A + A)[0, 0] == 2.0 and ms.einsum("ij->", A) == 3.0 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), (A * 3).sum())
"""
    assert printed(code) == "0 9.0"


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match="module 'mlir_sparse' has no attribute 'nothing'"):
        _: Any = ms.nothing  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        at_first_use("mlir_sparse", {"arrays": ("einsum",)})("read")
    assert not hasattr(ms, "__wrapped__")


def test_functions_that_are_imported_at_their_first_call() -> None:
    code = """
import sys, threading
from mlir_sparse.process.first_use import import_at_first_call
import_at_first_call(__name__, {"text.plain_words": ("missing",), "tensor.dense_entries": ("dense_of_listed",)})
first = dense_of_listed
print(first.__name__, "mlir_sparse.tensor.dense_entries" in sys.modules)
try:
    first()
except TypeError as error:
    print("dense_of_listed" in str(error))
print(dense_of_listed is sys.modules["mlir_sparse.tensor.dense_entries"].dense_of_listed)
import_at_first_call(__name__, {"process.interpreters": ("require_main_interpreter",)})
given, require_main_interpreter = require_main_interpreter, "another"
print(given(), require_main_interpreter)
try:
    missing()
except ModuleNotFoundError as error:
    print(error.name, missing.__name__)
"""
    assert printed(code).splitlines() == [
        *("dense_of_listed False", "True", "True", "None another", "mlir_sparse.text.plain_words missing")
    ]


def test_deferred_functions_exist() -> None:
    """Whatever waits for its first call is there, and is a function."""
    code = """
import importlib, pkgutil, types
import mlir_sparse
from mlir_sparse.process import first_use
waiting = []
plain = first_use.import_at_first_call
def seen(user, modules):
    waiting.extend((user, module, name) for module, names in modules.items() for name in names)
    plain(user, modules)
first_use.import_at_first_call = seen
import sys
for name in [name for name in sys.modules if name.startswith("mlir_sparse.") and name != first_use.__name__]:
    module = sys.modules[name]
    if "import_at_first_call" in vars(module):
        importlib.reload(module)
wrong = [one for one in waiting if not isinstance(
    getattr(importlib.import_module(f"mlir_sparse.{one[1]}"), one[2], None), types.FunctionType)]
print(len(waiting) > 20, wrong)
"""
    assert printed(code) == "True []"


SLOW = """
import os, signal, sys, tempfile, threading, time
from pathlib import Path
from mlir_sparse.process.first_use import at_first_use
from mlir_sparse.process.forks import importing, no_fork

folder = Path(tempfile.mkdtemp())
(folder / "slow").mkdir()
(folder / "slow" / "__init__.py").write_text("")
(folder / "slow" / "part.py").write_text("import time, builtins\\nbuiltins.begun.set()\\ntime.sleep(0.5)\\nname = 7\\n")
sys.path.insert(0, str(folder))
import builtins, slow
builtins.begun = threading.Event()
slow.__getattr__ = at_first_use("slow", {"part": ("name",)})
"""


def test_a_fork_waits_for_imports_of_other_threads() -> None:
    """Python's lock of a module that a thread is importing would stay closed in the child for good."""
    code = f"""{SLOW}
thread = threading.Thread(target=lambda: slow.name)
thread.start()
builtins.begun.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)
    os._exit(0 if slow.name == 7 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), slow.name)
"""
    assert printed(code) == "0 7"


def test_a_thread_that_imports_may_fork() -> None:
    code = f"""{SLOW}
signal.alarm(20)
with importing():
    with importing():
        child = os.fork()
        if child == 0:
            os._exit(slow.name)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert printed(code) == "7"


def test_forks_and_imports_of_many_threads() -> None:
    """Some import where no fork may interrupt them, some beside others; forks come from two threads."""
    code = f"""{SLOW}
signal.alarm(100)
until, failed = time.monotonic() + 3, []
def imports(inside):
    while time.monotonic() < until:
        if inside:
            with no_fork(), importing():
                time.sleep(0.001)
        else:
            with importing(), importing():
                time.sleep(0.001)
        time.sleep(0.01)
def forks():
    while time.monotonic() < until:
        child = os.fork()
        if child == 0:
            with importing(), no_fork():
                os._exit(0)
        failed.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
threads = [threading.Thread(target=imports, args=(number % 2,)) for number in range(4)]
threads += [threading.Thread(target=forks) for _ in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(failed) > 2, set(failed))
"""
    assert printed(code) == "True {0}"


def _late_imports(node: ast.AST, *, called: bool = False) -> Iterator[tuple[int, str]]:
    """Yields modules of the package that functions import where forks do not wait, and the lines."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.With) and any("importing()" in ast.unparse(item) for item in child.items):
            continue
        if isinstance(child, ast.ImportFrom) and called and child.module and child.module.startswith("mlir_sparse"):
            yield from (
                (child.lineno, name) for name in (child.module, *(f"{child.module}.{a.name}" for a in child.names))
            )
        yield from _late_imports(child, called=called or isinstance(child, ast.FunctionDef | ast.Lambda))


def test_forks_wait_for_all_imports_of_functions() -> None:
    """A child forked while another thread imports a module waits for it for good, as it did to print notation."""
    root = Path(ms.__file__).parent
    known = set(printed(f"import mlir_sparse; {LOADED}").split())
    modules = {".".join(path.relative_to(root.parent).with_suffix("").parts): path for path in root.rglob("*.py")}
    late = [
        f"{path.relative_to(root)}:{line}: {name}"
        for module, path in modules.items()
        # The command line and the compiler's process have no threads that fork.
        if not module.startswith("mlir_sparse.tools.") and module != "mlir_sparse.pipeline.worker"
        for line, name in _late_imports(ast.parse(path.read_text(encoding="utf-8")))
        if name in modules and name not in known
    ]
    assert not late, "\n".join(late)
