"""Programs that are forks end, and are ended, as processes of their own; compilers that are keep their answers."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from served import Programs

import mlir_sparse as ms
from dialect_tests.processes import python_of_forks
from mlir_sparse import pipeline
from mlir_sparse.pipeline import Pass, Pipeline, compiler_process
from mlir_sparse.pipeline.process_messages import PassOutcome

MODULE = b"func.func @f(%x: tensor<?xf64>) -> tensor<?xf64> { return %x : tensor<?xf64> }"
UNKNOWN = Pipeline((Pass("no-such-pass", "a test"),))


def run(code: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([python_of_forks(), "-c", code, *arguments], capture_output=True, text=True, **options)


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        ("", 0, ""),
        ("raise SystemExit(3)", 3, ""),
        ("raise SystemExit('no')", 1, "no\n"),
        ("1 / 0", 1, "ZeroDivisionError: division by zero\n"),
        ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL, ""),
        ("import ctypes; ctypes.string_at(0)", -signal.SIGSEGV, ""),
    ],
)
def test_programs_end_as_they_do(code: str, status: int, said: str) -> None:
    done = run(code)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.endswith(said)


def test_programs_have_what_they_are_given(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("NAME = 'beside'")
    code = "import os, sys, beside; print(os.getcwd(), sys.argv, os.environ['GIVEN'], sys.stdin.read(), beside.NAME)"
    done = run(code, "-a", "b c", input="text", cwd=tmp_path, env={"GIVEN": "ö", "PATH": os.environ["PATH"]})
    assert (done.stdout, done.stderr) == (f"{tmp_path} ['-c', '-a', 'b c'] ö text beside\n", "")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are listed in Linux's /proc")
def test_a_program_ends_with_its_client() -> None:
    command = [python_of_forks(), "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(100)"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as client:
        assert client.stdout is not None
        program = int(client.stdout.readline())
        client.kill()
    until = time.monotonic() + 100
    while Path(f"/proc/{program}").exists():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_equal_requests_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    programs = Programs(keeps=True)
    try:
        monkeypatch.setenv("MLIR_SPARSE_PYTHON", programs.python())
        assert b"func.func @f" in pipeline.compile_module(MODULE, Pipeline(()), kernel="", as_text=True)
        (answer,) = programs.answers.iterdir()
        answer.write_bytes(pickle.dumps(PassOutcome(b"kept")))
        assert pipeline.compile_module(MODULE, Pipeline(()), kernel="", as_text=True) == b"kept"
        assert pipeline.compile_module(MODULE, Pipeline(()), kernel="") != b"kept"
        for _ in range(2):
            with pytest.raises(ms.CompileError, match="no-such-pass"):
                pipeline.compile_module(MODULE, UNKNOWN, kernel="")
    finally:
        programs.end()
        compiler_process._discard()
