"""Where the user stands is none of the compiler's business: folders, files and variables that stand in its way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dialect_tests.processes import python_of_forks
from mlir_sparse._mlir.provider import bindings_name

pytestmark = pytest.mark.usefixtures("new_compilers")
# Modules that the compiler's process imports, and that users have files called like.
NAMES = ("resource", "platform", "numpy", "pickle", "json", "struct", "ml_dtypes", "llvmlite", "torch_mlir", "mlir")
STARTED = ("sitecustomize", "usercustomize")

EVALUATE = """
import numpy as np
import mlir_sparse as ms
A = ms.tensor(np.array([[0.0, 2.0], [3.0, 0.0]]), "CSR")
{before}
print(ms.evaluate("y(i) = {factor} * A(i,j) * x(j)", A=A, x=np.array([1.0, 10.0])))
"""


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder with files called as modules are, each of which leaves a file `ran-NAME` and fails."""
    folder = tmp_path / "hostile"
    package = folder / "mlir_sparse"
    package.mkdir(parents=True)
    for path, name in [
        *((folder / f"{name}.py", name) for name in (*NAMES, *STARTED)),
        (package / "__init__.py", "mlir_sparse"),
    ]:
        path.write_text(f"open({str(tmp_path / f'ran-{name}')!r}, 'w')\nraise ImportError('a file of the user')\n")
    return folder


def run(
    script: Path, program: str, cwd: Path, *, starts: bool = True, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs a user's program, whose compiler starts anew; where nothing `starts` with it, in a fork."""
    script.parent.mkdir(exist_ok=True)
    script.write_text(program)
    return subprocess.run(
        [sys.executable if starts else python_of_forks(), str(script)],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def program(factor: int, before: str = "") -> str:
    return EVALUATE.format(before=before, factor=factor)


def ran(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.parent.glob("ran-*"))


def test_files_of_the_current_folder_are_not_run(hostile: Path, tmp_path: Path) -> None:
    done = run(tmp_path / "elsewhere" / "user.py", program(3), hostile)
    assert (done.stdout, ran(hostile)) == ("[60.  9.]\n", []), done.stderr


def test_nor_are_they_where_the_path_has_them(hostile: Path, tmp_path: Path) -> None:
    before = """
import os, sys
sys.path[:0] = ['', '.', os.getcwd()]
os.environ['PYTHONPATH'] = os.pathsep + os.getcwd()
"""
    for name in ("torch_mlir", "mlir"):  # which this process itself imports late, and finds where the path says
        (hostile / f"{name}.py").unlink()
    done = run(tmp_path / "elsewhere" / "user.py", program(5, before), hostile)
    assert (done.stdout, ran(hostile)) == ("[100.  15.]\n", []), done.stderr


def test_nor_are_those_beside_the_script(hostile: Path, tmp_path: Path) -> None:
    """What this process has imported by itself is taken from there, as Python says; the compiler takes nothing."""
    late = ["numpy", "platform", "pickle", "json", "struct", "torch_mlir", "mlir", "ml_dtypes"]
    aside = {name: (hostile / f"{name}.py").read_text() for name in late}
    for name in late:
        (hostile / f"{name}.py").unlink()
    (hostile / "mlir_sparse").rename(hostile / "later")
    early = f"""
from pathlib import Path
import ml_dtypes, os, {bindings_name()}.ir
for name, text in {aside!r}.items():
    Path({str(hostile)!r}, name + ".py").write_text(text)
os.rename({str(hostile / "later")!r}, {str(hostile / "mlir_sparse")!r})
"""
    done = run(hostile / "user.py", program(7, early), tmp_path)
    assert (done.stdout, ran(hostile)) == ("[140.  21.]\n", []), done.stderr


def test_a_current_folder_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = run(tmp_path / "user.py", program(9, "import os; os.rmdir(os.getcwd())"), gone, starts=False)
    assert done.stdout == "[180.  27.]\n", done.stderr


def test_variables_that_python_starts_by(tmp_path: Path) -> None:
    variables = {"PYTHONSAFEPATH": "1", "PYTHONWARNINGS": "error", "PYTHONOPTIMIZE": "2", "PYTHONINSPECT": "1"}
    before = f"import os; os.environ.update({variables!r})"
    done = run(tmp_path / "user.py", program(11, before), tmp_path, starts=False)
    assert done.stdout == "[220.  33.]\n", done.stderr


def test_a_program_that_python_is_embedded_in_is_not_started_again(tmp_path: Path) -> None:
    """Such as `uwsgi`, whose path is then what Python calls its executable."""
    marks = tmp_path / "ran-uwsgi"
    embedding = tmp_path / "uwsgi"
    embedding.write_text(f"#!/bin/sh\ntouch {marks}\n")
    embedding.chmod(0o755)
    before = f"import sys; sys.executable = {str(embedding)!r}"
    done = run(tmp_path / "user.py", program(13, before), tmp_path, starts=False)
    assert (done.stdout, marks.exists()) == ("[260.  39.]\n", False), done.stderr
    alone = f"{before}; sys.exec_prefix = sys.base_exec_prefix = '/nowhere'"
    refused = run(tmp_path / "user.py", program(13, alone), tmp_path, starts=False)
    assert "SettingError: expected a Python interpreter to run the compiler with" in refused.stderr
    assert "set MLIR_SPARSE_PYTHON to the path of a python3" in refused.stderr
    found = run(tmp_path / "user.py", program(13, alone), tmp_path, starts=False, MLIR_SPARSE_PYTHON=sys.executable)
    assert found.stdout == "[260.  39.]\n", found.stderr


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("echo this is cpython-38 >&2; exit 93", "expected the Python of this process to run the compiler with, but "),
        ("exit 0", "the compiler ended with status 0:  (before it answered; "),
    ],
)
def test_an_interpreter_that_cannot_be_the_compilers(tmp_path: Path, answer: str, message: str) -> None:
    other = tmp_path / "python"
    other.write_text(f"#!/bin/sh\n{answer}\n")
    other.chmod(0o755)
    done = run(tmp_path / "user.py", program(15), tmp_path, starts=False, MLIR_SPARSE_PYTHON=str(other))
    assert message in done.stderr
    assert str(other) in done.stderr or "set MLIR_SPARSE_PYTHON to one of the same version" in done.stderr


def test_no_such_interpreter(tmp_path: Path) -> None:
    done = run(tmp_path / "user.py", program(17), tmp_path, starts=False, MLIR_SPARSE_PYTHON="/no/such/python")
    assert (
        "SettingError: expected a Python interpreter in the environment variable MLIR_SPARSE_PYTHON, "
        "but got '/no/such/python'"
    ) in done.stderr


def test_a_file_called_like_the_bindings_is_named(tmp_path: Path) -> None:
    script = tmp_path / "user.py"
    (tmp_path / "torch_mlir.py").write_text("")
    done = run(script, program(13), tmp_path, MLIR_SPARSE_CACHE="off", MLIR_SPARSE_BINDINGS="torch_mlir")
    assert f"but got no module `ir` in {tmp_path / 'torch_mlir.py'}, " in done.stderr
    assert "BindingsError" in done.stderr


USES = """
x = np.ones(2)
kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x)
kernel.ir("asm")
ms.tune(kernel, A, x, budget=0.02)
ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x, schedule="tuned")(A, x)
ms.tune(kernel, A, x, budget=0.02)
"""


def test_encodings_of_the_locale_do_not_matter(tmp_path: Path) -> None:
    """Python warns of each file and each program whose text would be read by the user's locale."""
    command = [sys.executable, "-X", "warn_default_encoding", "-W", "error", "-c", program(15, USES)]
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "MLIR_SPARSE_CACHE": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout == "[300.  45.]\n", done.stderr


def test_without_streams(tmp_path: Path) -> None:
    """A program without a console has None for its streams."""
    leave = f"open({str(tmp_path / 'done')!r}, 'w').write('done')"
    before = "import sys; sys.stdin = sys.stdout = sys.stderr = None\n" + USES + leave
    done = run(
        tmp_path / "user.py", program(17, before), tmp_path, starts=False, MLIR_SPARSE_CACHE=str(tmp_path / "cache")
    )
    assert (tmp_path / "done").exists(), done.stderr
