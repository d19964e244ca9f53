"""What the compiler's process loads before it answers, and when it is started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse._mlir import bindings_name
from mlir_sparse.pipeline import compiler_process
from mlir_sparse.pipeline.process_messages import PassOutcome, PassRequest, read_message, write_message
from mlir_sparse.process import compiler_interpreter

MODULE = b"llvm.func @_mlir_ciface_f() attributes {llvm.emit_c_interface} { llvm.return }"


@pytest.mark.parametrize("waits", [True, False])
def test_requests_before_and_after_it_is_ready(waits: bool) -> None:
    """One that is there before the process is ready is answered without the compilation that warms it up."""
    command = compiler_interpreter.command(sys.executable, bindings_name(), "mlir_sparse.pipeline.worker", 8 << 30)
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=compiler_interpreter.environment(bindings_name()),
        cwd="/",
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        for functions in ((), ("f",)) if waits else (("f",), ()):
            write_message(process.stdin, PassRequest(MODULE, "builtin.module()", functions=functions))
            answer = read_message(process.stdout)
            assert isinstance(answer, PassOutcome)
            assert answer.module
            assert answer.module.startswith(b"\x7fELF") == bool(functions)
        process.stdin.close()
    assert process.returncode == 0


def _loaded_modules() -> set[str]:
    """Returns what a compiler's process loads that is asked for nothing."""
    command = compiler_interpreter.command(sys.executable, bindings_name(), "mlir_sparse.pipeline.worker", 8 << 30)
    command[1:1] = ["-X", "importtime"]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env=compiler_interpreter.environment(bindings_name()),
        cwd="/",
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


def test_it_loads_rooms_and_no_public_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor NumPy, nor the bindings' classes for dialects that none of our passes writes."""
    monkeypatch.setenv("MLIR_SPARSE_CACHE", str(tmp_path))
    _loaded_modules()  # which probes the bindings, and keeps what it found
    loaded = _loaded_modules()
    assert {"mlir_sparse.pipeline.run_passes", "mlir_sparse.strategies"} <= loaded
    rooms = ("compile", "tensor", "arrays", "runtime", "encoding", "spec", "plan", "lower")
    assert [name for name in loaded if name.startswith(tuple(f"mlir_sparse.{room}" for room in rooms))] == []
    late = ("numpy.", *(f"{bindings_name()}.dialects.{dialect}" for dialect in ("linalg", "llvm", "_llvm")))
    assert [name for name in loaded if name.startswith(late)] == []


def started(code: str) -> bool:
    """Returns whether a program starts the compiler's process."""
    head = "import numpy as np\nimport mlir_sparse as ms\nfrom mlir_sparse.pipeline import compiler_process\n"
    tail = "\nprint(compiler_process._worker is not None)"
    done = subprocess.run([sys.executable, "-c", head + code + tail], capture_output=True, text=True, check=True)
    return {"True": True, "False": False}[done.stdout.strip()]


@pytest.mark.parametrize(
    ("code", "starts"),
    [
        ("ms.tensor(np.eye(3)).convert('CSC')", False),
        ("ms.compile('y(i) = A(i,j) * x(j)', A='f64[?,?] CSR', x='f64[?]')", False),
        ("ms.evaluate('C(i,j) = A(i,k) * B(k,j)', A=np.eye(99), B=np.eye(99))", False),
        ("ms.evaluate('y(i) = A(i,j) * x(j)', A=ms.tensor(np.eye(3)), x=np.ones(3))", True),
    ],
)
def test_no_process_for_programs_that_compile_nothing(code: str, starts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIR_SPARSE_CACHE", "off")
    assert started(code) == starts


def test_a_refused_statement_leaves_a_process_that_serves_the_next() -> None:
    A = ms.tensor(np.eye(3))
    for _ in range(2):
        with pytest.raises(ms.SparseError):
            ms.evaluate("y(i) = A(i,j) * x(k)", A=A, x=np.ones((2, 2)))
        assert ms.evaluate("y(i) = 3 * A(i,j) * x(j) + x(i)", A=A, x=np.ones(3)).tolist() == [4.0, 4.0, 4.0]
    assert compiler_process._worker is None or compiler_process._worker.process.poll() is None
