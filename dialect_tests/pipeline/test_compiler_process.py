"""The compiler may die, hang or refuse: the caller gets one error that says how to see it again, and goes on."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.interrupts import seconds_to_interrupt
from dialect_tests.processes import python_of_forks
from dialect_tests.stopped_compiler import compiler_that_never_answers
from mlir_sparse import pipeline
from mlir_sparse.pipeline import Pass, Pipeline, compiler_process, reproducer

pytestmark = pytest.mark.usefixtures("new_compilers")
GOOD = b"""
func.func @f(%x: tensor<?xf64>) -> tensor<?xf64> {
  return %x : tensor<?xf64>
}
"""
# A reduction that does not accumulate: a segmentation fault in the sparsifier.
CRASHING = b"""
#CSR = #sparse_tensor.encoding<{map = (i, j) -> (i : dense, j : compressed)}>
#maps = {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>,
         affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
func.func @f(%A: tensor<8x12xf64, #CSR>, %x: tensor<12xf64>, %b: tensor<8xf64>, %y: tensor<8xf64>) -> tensor<8xf64> {
  %r = linalg.generic #maps ins(%A, %x, %b : tensor<8x12xf64, #CSR>, tensor<12xf64>, tensor<8xf64>)
      outs(%y : tensor<8xf64>) {
  ^bb0(%a0: f64, %a1: f64, %a2: f64, %o: f64):
    %m = arith.mulf %a0, %a1 : f64
    %s = arith.subf %a2, %m : f64
    linalg.yield %s : f64
  } -> tensor<8xf64>
  return %r : tensor<8xf64>
}
"""
# A maximum into a dense vector, which the sparsifier cannot lower.
REFUSED = b"""
#CSR = #sparse_tensor.encoding<{map = (i, j) -> (i : dense, j : compressed)}>
#maps = {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
         iterator_types = ["parallel", "reduction"]}
func.func @f(%A: tensor<?x?xf64, #CSR>, %y: tensor<?xf64>) -> tensor<?xf64> {
  %r = linalg.generic #maps ins(%A : tensor<?x?xf64, #CSR>) outs(%y : tensor<?xf64>) {
  ^bb0(%a0: f64, %o: f64):
    %s = arith.maximumf %o, %a0 : f64
    linalg.yield %s : f64
  } -> tensor<?xf64>
  return %r : tensor<?xf64>
}
"""


# A function, and its C interface, that machine code is made of.
CODED = b"""
llvm.func @f(%x: i64) -> i64 { llvm.return %x : i64 }
llvm.func @_mlir_ciface_f(%x: i64) -> i64 attributes {llvm.emit_c_interface} {
  %r = llvm.call @f(%x) : (i64) -> i64
  llvm.return %r : i64
}
"""


def works() -> bool:
    """Returns whether the compiler serves the next request."""
    code = pipeline.compile_module(GOOD, Pipeline((Pass("canonicalize", "a test"),)), kernel="", as_text=True)
    return b"func.func @f" in code


def reproduce(error: ms.CompileError) -> subprocess.CompletedProcess[str]:
    """Runs the command that an error names."""
    command = re.search(r"reproduce: python (-P -m mlir_sparse\.pipeline \S+)", str(error))
    assert command is not None, str(error)
    root = Path(ms.__file__).parent.parent
    return subprocess.run(
        [python_of_forks(), *command[1].split()], capture_output=True, text=True, check=False, cwd=root
    )


def test_machine_code_is_made_by_the_compiler_too() -> None:
    code = pipeline.compile_module(CODED, Pipeline(()), kernel="", functions=("f",))
    assert code.startswith(b"\x7fELF")
    assert b"\0_mlir__mlir_ciface_f\0" in code


def test_what_the_caller_does_meanwhile() -> None:
    compiler_process._discard()
    done: list[bool] = []
    for expected in (0, 1, 2):  # a new compiler may still load its sources
        pipeline.compile_module(GOOD, Pipeline(()), kernel="", meanwhile=lambda: done.append(True))
        assert len(done) == expected


@pytest.mark.parametrize(
    ("module", "functions"),
    [
        (CODED, ("g",)),
        (CODED.replace(b"@f(%x: i64) -> i64 { llvm.return %x : i64 }", b"@f(i64) -> i64"), ("f",)),
        (GOOD, ("f",)),
    ],
    ids=["no such function", "a call of what is not there", "not lowered"],
)
def test_modules_without_machine_code(module: bytes, functions: tuple[str, ...]) -> None:
    with pytest.raises(ms.CompileError, match=r"expected machine code of|ExecutionEngine") as caught:
        pipeline.compile_module(module, Pipeline(()), kernel="", functions=functions)
    assert caught.value.reproducer is not None
    assert f"// functions: {functions[0]}\n" in Path(caught.value.reproducer).read_text()
    assert works()


def test_reproducers_make_machine_code() -> None:
    """So that they also show what becomes of the compiler there; the module is printed first."""
    path = reproducer.write_reproducer(CODED, "builtin.module()", "", ("f",))
    command = [python_of_forks(), "-m", "mlir_sparse.pipeline", path]
    run = subprocess.run(command, capture_output=True, text=True)
    assert (run.returncode, "llvm.func @f" in run.stdout) == (0, True)


def test_a_crash_is_an_exception_with_a_reproducer_that_crashes() -> None:
    with pytest.raises(ms.CompilerCrash) as caught:
        pipeline.compile_module(CRASHING, pipeline.sparsifier(), kernel="y(i) = b(i) - A(i,j) * x(j)")
    error = caught.value
    assert "expected MLIR to lower the kernel, but the compiler was killed by SIGSEGV" in error.message
    assert "kernel: y(i) = b(i) - A(i,j) * x(j)" in str(error)
    assert error.pipeline == str(pipeline.sparsifier())
    assert error.reproducer is not None
    text = Path(error.reproducer).read_text()
    assert "// kernel: y(i) = b(i) - A(i,j) * x(j)" in text
    assert f"// pipeline: {pipeline.sparsifier()}" in text
    assert "arith.subf" in text
    assert reproduce(error).returncode == -signal.SIGSEGV
    assert works()


def test_reproducers_lie_in_one_folder_that_does_not_grow_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLIR_SPARSE_CACHE", str(tmp_path / "kept"))
    paths = [Path(reproducer.write_reproducer(CODED, "builtin.module()", f"kernel {n}") or "") for n in range(40)]
    assert {path.parent for path in paths} == {tmp_path / "kept" / "reproducers"}
    assert paths[0].parent.stat().st_mode & 0o77 == 0
    assert [path.exists() for path in paths] == [False] * 8 + [True] * 32
    monkeypatch.setattr(reproducer, "_MOST_BYTES", 2 * paths[-1].stat().st_size)
    newest = reproducer.write_reproducer(CODED, "builtin.module()", "kernel 40")
    assert {str(path) for path in paths[0].parent.iterdir()} == {newest, str(paths[-1])}


def test_a_reproducer_that_cannot_be_written_hides_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that is off, then one below a file, and no temporary folder either."""
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    monkeypatch.setenv("MLIR_SPARSE_CACHE", "off")
    found = Path(reproducer.write_reproducer(CODED, "builtin.module()", "k") or "")
    assert found.parent == tmp_path / f"mlir_sparse-{os.geteuid()}" / "reproducers"
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setenv("MLIR_SPARSE_CACHE", str(blocked))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(blocked))
    with pytest.raises(ms.CompileError, match="no-such-pass") as caught:
        pipeline.compile_module(GOOD, Pipeline((Pass("no-such-pass", "a test"),)), kernel="k")
    assert caught.value.reproducer is None


def test_a_refusal_carries_each_diagnostic_once() -> None:
    with pytest.raises(ms.CompileError) as caught:
        pipeline.compile_module(REFUSED, pipeline.sparsifier().then(pipeline.cpu()), kernel="y(i) max= A(i,j)")
    error = caught.value
    assert type(error) is ms.CompileError
    said = [line for line in error.message.splitlines()[1:] if "note:" not in line]
    assert said
    assert len(said) == len(set(said))
    again = reproduce(error)
    assert again.returncode == 1
    assert again.stdout == ""
    for line in said:
        assert again.stderr.count(line) == 1
    assert works()


def test_diagnostics_go_to_the_exception_only(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ms.CompileError):
        pipeline.compile_module(REFUSED, pipeline.sparsifier().then(pipeline.cpu()), kernel="")
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err == ""


def test_a_reproducer_that_compiles_prints_the_result(tmp_path: Path) -> None:
    path = tmp_path / "good.mlir"
    path.write_text(f"// pipeline: builtin.module(canonicalize)\n{GOOD.decode()}")
    run = [python_of_forks(), "-m", "mlir_sparse.pipeline"]
    done = subprocess.run([*run, str(path)], capture_output=True, text=True, check=True)
    assert "func.func @f" in done.stdout
    piped = subprocess.run([*run, "-"], input=path.read_text(), capture_output=True, text=True, check=True)
    assert piped.stdout == done.stdout


def test_a_file_without_a_pipeline_is_no_reproducer(tmp_path: Path) -> None:
    path = tmp_path / "bare.mlir"
    path.write_bytes(GOOD)
    run = [python_of_forks(), "-m", "mlir_sparse.pipeline"]
    done = subprocess.run([*run, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "expected a line `// pipeline: ...`" in done.stderr
    assert subprocess.run(run, capture_output=True, check=False).returncode != 0


def test_an_unknown_pass_is_a_compile_error() -> None:
    with pytest.raises(ms.CompileError, match="no-such-pass"):
        pipeline.compile_module(GOOD, Pipeline((Pass("no-such-pass", "a test"),)), kernel="")
    assert works()


def test_a_compiler_that_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIR_SPARSE_COMPILE_TIMEOUT", "0.05")
    with (
        compiler_that_never_answers(),
        pytest.raises(
            ms.CompilerCrash, match=r"ran past 0.05 s \(MLIR_SPARSE_COMPILE_TIMEOUT sets the limit\)"
        ) as caught,
    ):
        pipeline.compile_module(GOOD, pipeline.sparsifier(), kernel="k")
    assert caught.value.reproducer is not None
    monkeypatch.delenv("MLIR_SPARSE_COMPILE_TIMEOUT")
    assert works()


def test_a_compiler_killed_from_outside_is_replaced() -> None:
    assert works()
    worker = compiler_process._worker
    assert worker is not None
    os.kill(worker.process.pid, signal.SIGKILL)
    worker.process.wait()
    assert works()


@pytest.mark.parametrize("after", [0.002, 0.01, 0.03])
def test_an_interrupt_arrives_while_a_kernel_is_compiled_and_the_next_one_works(after: float) -> None:
    assert works()
    numbers = itertools.count()

    def compile_another() -> None:
        ms.compile(f"y(i) = {next(numbers)} * A(i,j)", A="f64[?,?] CSR").ir("asm")

    assert seconds_to_interrupt(compile_another, after) < 5
    assert works()
    np.testing.assert_array_equal(ms.evaluate("y(i) = 0.5 * A(i,j)", A=ms.tensor(np.eye(3))), [0.5] * 3)


@pytest.mark.parametrize("after", [0.03, 0.12])
def test_an_interrupt_while_the_bindings_load_leaves_them_usable(after: float) -> None:
    """In a new process, which has loaded none of them; half a module could not be loaded again."""
    program = f"""
import numpy as np
import mlir_sparse as ms
from dialect_tests.interrupts import seconds_to_interrupt
seconds_to_interrupt(lambda: ms.compile("y(i) = 2 * A(i,j)", A="f64[?,?] CSR").ir("asm"), {after})
print(ms.evaluate("y(i) = 3 * A(i,j)", A=ms.tensor(np.eye(2), "CSR")))
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
    assert (found.returncode, found.stdout) == (0, "[3. 3.]\n"), found.stderr


def test_a_compiler_out_of_memory_is_an_exception() -> None:
    """In a process of its own: the limit is read when the compiler starts."""
    program = """
import mlir_sparse as ms
try:
    ms.evaluate("y(i) = x(i) * x(i)", x=[1.0])
except ms.CompilerCrash as error:
    print("crash:", error.message)
"""
    environment = {**os.environ, "MLIR_SPARSE_COMPILE_MEMORY": str(16 << 20)}
    done = subprocess.run(
        [python_of_forks(), "-c", program], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("crash: expected MLIR to lower the kernel, but the compiler ")


def test_a_crash_leaves_other_threads_alone() -> None:
    crashed: list[bool] = []

    def crash() -> None:
        with pytest.raises(ms.CompilerCrash):
            pipeline.compile_module(CRASHING, pipeline.sparsifier(), kernel="")
        crashed.append(True)

    threads = [threading.Thread(target=crash) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert all(works() for _ in range(3))
    for thread in threads:
        thread.join()
    assert crashed == [True, True]


def test_no_process_stays_behind() -> None:
    program = """
import mlir_sparse as ms
from mlir_sparse.pipeline import compiler_process
ms.evaluate("y(i) = x(i) * x(i)", x=[1.0])
print(compiler_process._worker.process.pid)
"""
    done = subprocess.run([python_of_forks(), "-c", program], capture_output=True, text=True, check=True, timeout=120)
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


def test_importing_starts_nothing() -> None:
    program = (
        "import sys, mlir_sparse; from mlir_sparse.pipeline import compiler_process; print(compiler_process._worker)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "None\n"


def test_the_compiler_goes_on_after_an_error_of_a_kernel() -> None:
    a = ms.tensor(np.eye(3))
    with pytest.raises(ms.SparseError):
        ms.evaluate("y(i) = max(j : A(i,j))", A=ms.tensor(np.eye(3) * 1j))
    np.testing.assert_array_equal(ms.evaluate("y(i) = max(j : A(i,j))", A=a), np.ones(3))
