"""Children of processes that compile, as gunicorn's, multiprocessing's and PyTorch's loaders make them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dialect_tests.crossing import is_whole

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are POSIX's")
signals_compilers = pytest.mark.usefixtures("new_compilers")

# What children do: a kernel that nobody compiled before, on a matrix above the size that threads are worth.
COMMON = """
import mlir_sparse as ms  # before all else, so that what others do at forks is newer
import os, signal, sys, threading, time
import numpy as np
from mlir_sparse.pipeline import compiler_process

SIZE = 600
dense = np.arange(SIZE * SIZE, dtype=np.float64).reshape(SIZE, SIZE) % 7
A, x = ms.tensor(dense, "CSR"), np.arange(SIZE) % 5.0
ms.set_num_threads(2)

def compute(factor):
    y = ms.evaluate(f"y(i) = {factor} * A(i,j) * x(j)", A=A, x=x)
    assert np.array_equal(y, factor * (dense @ x)), factor

def child(work, seconds=100):
    '''Forks, and returns the child's id; what takes longer than `seconds` there ends by a signal.'''
    pid = os.fork()
    if pid:
        return pid
    signal.alarm(seconds)
    try:
        work()
    except BaseException:
        import traceback
        traceback.print_exc()
        os._exit(1)
    os._exit(0)

def wait(*pids):
    statuses = [os.waitpid(pid, 0)[1] for pid in pids]
    assert statuses == [0] * len(pids), statuses
"""


def run(program: str, folder: Path, timeout: float = 200) -> str:
    path = folder / "program.py"
    path.write_text(COMMON + program)
    environment = {**os.environ, "MLIR_SPARSE_CACHE": "off"}
    done = subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        env=environment,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_children_forked_while_threads_compile(tmp_path: Path) -> None:
    """At moments of all kinds: while modules are built, sent, compiled and received, and the compiler started."""
    run(
        """
stop = threading.Event()
numbers = iter(range(2, 10_000))
kernel = ms.compile("y(i) = 1 * A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]")

def busy():
    while not stop.is_set():
        compute(next(numbers))
        kernel.within(1, False)._builds.clear()
        kernel(A, x)

threads = [threading.Thread(target=busy) for _ in range(2)]
for thread in threads:
    thread.start()
pids = []
for number in range(6):
    time.sleep(0.013 * number)
    pids.append(child(lambda: (compute(20_000 + number), kernel(A, x), compute(30_000 + number))))
stop.set()
wait(*pids)
for thread in threads:
    thread.join()
compute(50_000)
""",
        tmp_path,
    )


def test_a_logger_asked_for_by_a_thread_that_no_fork_may_meet(tmp_path: Path) -> None:
    """As MLIR's bindings do as they are imported; logging's own lock is taken by each fork too."""
    run(
        """
import logging
from mlir_sparse.process.forks import no_fork

entered = threading.Event()

def importing():
    with no_fork():
        entered.set()
        time.sleep(0.3)  # until the fork waits for us
        logging.getLogger("anything")

thread = threading.Thread(target=importing, daemon=True)
thread.start()
entered.wait()
wait(child(lambda: compute(2), seconds=60))
thread.join()
""",
        tmp_path,
        timeout=60,
    )


@signals_compilers
def test_a_kernel_that_another_thread_compiles_at_the_fork(tmp_path: Path) -> None:
    """The compiler is stopped meanwhile, so that the fork surely finds all locks of a compilation taken."""
    run(
        """
compute(2)
worker = compiler_process._worker.process
kernel = ms.compile("y(i) = 3 * A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]")
os.kill(worker.pid, signal.SIGSTOP)
thread = threading.Thread(target=kernel, args=(A, x))
thread.start()
while not (kernel._lock.locked() and compiler_process._lock.locked()):
    time.sleep(0.001)
time.sleep(0.05)

def work():
    assert np.array_equal(kernel(A, x), 3 * (dense @ x))  # the same kernel
    ms.compile("y(i) = 5 * A(i,j)", A="f64[?,?] CSR").ir("asm")
    compute(4)
    assert compiler_process._worker.process.pid != worker.pid

pid = child(work)
wait(pid)
os.kill(worker.pid, signal.SIGCONT)
thread.join()
compute(6)
assert compiler_process._worker.process.pid == worker.pid, "the child let the parent's compiler live"
""",
        tmp_path,
    )


@signals_compilers
def test_unrelated_kernels_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """Not while they are planned and lowered: only for their turn with the compiler."""
    run(
        """
compute(2)
os.kill(compiler_process._worker.process.pid, signal.SIGSTOP)
thread = threading.Thread(target=compute, args=(3,))
thread.start()
while not compiler_process._lock.locked():
    time.sleep(0.001)
asked = threading.Event()

def compile_module(module, *rest, **options):
    if "7 *" in options["kernel"]:
        asked.set()
    return compiler_process.compile_module(module, *rest, **options)

ms.pipeline.compile_module = compile_module
other = threading.Thread(target=compute, args=(7,))
other.start()
assert asked.wait(60), "a kernel waited for another that is compiled, before there was anything to compile"
os.kill(compiler_process._worker.process.pid, signal.SIGCONT)
thread.join()
other.join()
""",
        tmp_path,
    )


def test_forks_after_and_before_kernels_were_compiled(tmp_path: Path) -> None:
    """As gunicorn does with --preload, and without; grandchildren too, and forks by a thread."""
    run(
        """
wait(child(lambda: compute(2)))  # nothing was compiled here yet
compute(3)
compiler = compiler_process._worker.process
pids = [child(lambda: (compute(3), compute(4), wait(child(lambda: (compute(4), compute(5)))))) for _ in range(2)]
thread = threading.Thread(target=lambda: wait(child(lambda: compute(6))))
thread.start()
thread.join()
wait(*pids)
assert compiler.poll() is None
compute(7)
""",
        tmp_path,
    )


@signals_compilers
def test_a_child_ends_as_it_likes_and_the_parents_compiler_lives_on(tmp_path: Path) -> None:
    """Also by `sys.exit`, which runs what was registered to run at the end; and no compiler is left behind."""
    out = run(
        """
compute(2)
compiler = compiler_process._worker.process
pid = os.fork()
if pid == 0:
    signal.alarm(60)
    compute(3)
    print(compiler_process._worker.process.pid, flush=True)
    sys.exit(0)
wait(pid)
silent = os.fork()
if silent == 0:
    signal.alarm(60)
    sys.exit(0)
wait(silent)
assert compiler.poll() is None
compute(4)
assert compiler_process._worker.process is compiler
print(compiler.pid)
""",
        tmp_path,
    )
    for pid in map(int, out.split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@signals_compilers
def test_a_parent_that_is_killed_takes_its_compiler_along(tmp_path: Path) -> None:
    """Although a child lives on, which has inherited the pipe that the compiler reads from."""
    run(
        """
read, write = os.pipe()

def parent():
    compute(2)
    lasting = os.fork()
    if lasting == 0:
        time.sleep(60)
        os._exit(0)
    os.write(write, f"{compiler_process._worker.process.pid} {lasting}".encode())
    os.kill(os.getpid(), signal.SIGKILL)

pid = child(parent)
os.waitpid(pid, 0)
compiler, lasting = map(int, os.read(read, 100).split())

def lives():
    try:
        with open(f"/proc/{compiler}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

until = time.monotonic() + 30
while lives() and time.monotonic() < until:
    time.sleep(0.01)
gone = not lives()
os.kill(lasting, signal.SIGKILL)
assert gone, "the compiler waits for requests of a process that is no more"
""",
        tmp_path,
    )


# What a server of forks starts, it starts as `spawn` does.
@pytest.mark.parametrize("method", ["fork", "forkserver", *["spawn"] * is_whole()])
def test_multiprocessing(method: str, tmp_path: Path) -> None:
    """Pools of daemons, as PyTorch's loaders of data are; kernels and tensors travel by pickle."""
    run(
        f"""
def task(given):
    kernel, tensor, factor = given
    compute(factor)
    return kernel(tensor, x)

def main():
    import multiprocessing
    kernel = ms.compile("y(i) = 11 * A(i,j) * x(j)", A=A, x=x)
    kernel(A, x)
    context = multiprocessing.get_context({method!r})
    with context.Pool(2) as pool:
        found = pool.map_async(task, [(kernel, A, 100 + n) for n in range(2)]).get(100)
    assert all(np.array_equal(y, 11 * (dense @ x)) for y in found)

if __name__ == "__main__":
    main()
""",
        tmp_path,
    )


def test_children_have_all_threads_of_blas_though_a_call_lowers_them(tmp_path: Path) -> None:
    """The call is another thread's, which the child has not: nobody would raise them again there."""
    run(
        """
from mlir_sparse.runtime import blas_threads

controls = blas_threads._controls()
if controls is None:
    sys.exit()
controls.set(2)
lowered, forked = threading.Event(), threading.Event()

def call():
    with blas_threads.on_one_thread():
        lowered.set()
        forked.wait()

def work():
    assert controls.get() == 2, controls.get()
    assert np.array_equal(np.ones((300, 300)) @ np.ones((300, 300)), np.full((300, 300), 300.0))
    with blas_threads.on_one_thread():
        assert controls.get() == 1
    assert controls.get() == 2, controls.get()

thread = threading.Thread(target=call)
thread.start()
lowered.wait()
pid = child(work)
forked.set()
thread.join()
wait(pid)
assert controls.get() == 2, controls.get()

def fork_inside():
    with blas_threads.on_one_thread():
        pid = os.fork()
    return pid

pid = fork_inside()
if not pid:
    os._exit(controls.get() != 2)
wait(pid)
assert controls.get() == 2, controls.get()
""",
        tmp_path,
    )
