"""Kernels under many threads, and under Ctrl-C: right results, and a process that goes on."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

Array = np.ndarray[Any, Any]

THREADS = 8
ROUNDS = 25


def random_matrix(rows: int, columns: int, seed: int) -> Array:
    random = np.random.default_rng(seed)
    values = random.integers(1, 5, (rows, columns)) * (random.random((rows, columns)) < 0.2)
    return np.asarray(values, np.float64)


A, B, X = random_matrix(60, 50, 0), random_matrix(50, 60, 1), np.arange(50.0)
# Text, storage of A and B and of the result, and what NumPy makes of it: dense and sparse results, a conversion and a
# temporary between loops, steps outside loops.
KERNELS: tuple[tuple[str, str, str, str | None, Array], ...] = (
    ("y(i) = A(i,j) * x(j)", "CSR", "CSR", None, A @ X),
    ("y(i) = 1 - A(i,j) * x(j)", "CSC", "CSR", "dense", 1 - A @ X),
    ("C(i,j) = A(i,k) * B(k,j)", "CSR", "CSR", "CSR", A @ B),
    ("C(i,j) = A(i,k) * B(k,j)", "CSC", "CSR", "BSR(2, 2)", A @ B),
    ("C(i,j) = A(i,j) + B(j,i)", "DCSR", "COO", "CSR", A + B.T),
    ("y(i) = A(i,j) * (B(j,k) * A(k,l) * x(l))", "CSR", "COO", "dense", A @ (B @ (A @ X))),
    ("C(i,j) = exp(A(i,j)) - 1", "CSR", "CSR", "CSR", np.expm1(A)),
    ("y(i) = max(j : A(i,j))", "COO", "CSR", "dense", A.max(1)),
)


def in_threads(work: Callable[[int], None]) -> None:
    """Runs work in THREADS threads that start at once; raises what one of them raises."""
    start = threading.Barrier(THREADS)
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            start.wait()
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def stored(kernel: tuple[str, str, str, str | None, Array]) -> dict[str, Any]:
    text, *storage = kernel[:3]
    whole = {"A": ms.tensor(A, storage[0]), "B": ms.tensor(B, storage[1]), "x": X}
    return {name: whole[name] for name in ms.parse(text).inputs}


def check(result: Any, expected: Array) -> None:
    found = result.to_numpy() if isinstance(result, ms.SparseTensor) else result
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_eight_threads_call_the_same_and_different_kernels() -> None:
    """All compile at once, each kernel in several threads; operands are shared, results are not."""
    operands = [stored(kernel) for kernel in KERNELS]
    compiled = [
        ms.compile(text, out=out, tensors=given) for (text, _, _, out, _), given in zip(KERNELS, operands, strict=True)
    ]

    def work(number: int) -> None:
        kept = []
        for turn in range(ROUNDS):
            at = (number + turn) % len(KERNELS)
            result = compiled[at](**operands[at])
            kept.append((result, KERNELS[at][-1]))
        for result, expected in kept:
            check(result, expected)

    in_threads(work)


def test_eight_threads_write_their_own_arrays() -> None:
    text, *_, expected = KERNELS[1]
    operands = stored(KERNELS[1])
    kernel = ms.compile(text, out="dense", tensors=operands)

    def work(_: int) -> None:
        out = np.empty(60)
        for _ in range(4 * ROUNDS):
            out[:] = np.nan
            assert kernel(**operands, out=out) is out
            np.testing.assert_array_equal(out, expected)

    in_threads(work)


def test_eight_threads_evaluate_and_fail() -> None:
    """A refusal in one thread is no one else's."""

    def work(number: int) -> None:
        for turn in range(3):
            at = (number + turn) % len(KERNELS)
            text, _, _, out, expected = KERNELS[at]
            if number % 2:
                with pytest.raises(ms.SparseError):
                    ms.evaluate(text, out=out, tensors=stored(KERNELS[at]) | {"A": np.zeros((2, 2, 2))})
            check(ms.evaluate(text, out=out, tensors=stored(KERNELS[at])), expected)

    in_threads(work)


INTERRUPTED = """
import os, signal, threading, time
import numpy as np
import mlir_sparse as ms

# What a shell starts in the background has it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

def interrupted(work, after):
    timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        work()
        while True:
            time.sleep(0.01)
    except KeyboardInterrupt:
        timer.join()

random = np.random.default_rng(0)
dense = random.integers(0, 3, (8, 8)) * 1.0
a, x = ms.tensor(dense), np.arange(8.0)
for number in range(12):
    def compile_and_run():
        return ms.evaluate(f"y(i) = {number + 2} * A(i,j) * x(j)", A=a, x=x)
    interrupted(compile_and_run, 0.008 * number)
    np.testing.assert_array_equal(compile_and_run(), (number + 2) * (dense @ x))

big = random.integers(0, 9, (400, 400)) * (random.random((400, 400)) < 0.3) * 1.0
b = ms.tensor(big)
square = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=b, B=b, out="COO")
square(b, b)
for number in range(8):
    interrupted(lambda: square(b, b), 0.004 * number)
    result = square(b, b)
    again = ms.SparseTensor.from_levels(
        result.encoding, result.shape, result.storage.positions, result.storage.coordinates, result.storage.values
    )
    np.testing.assert_array_equal(again.to_numpy(), big @ big)
print("went on")
"""


def test_an_interrupt_leaves_the_process_usable() -> None:
    """Ctrl-C at any moment of a compilation or a run; the next call compiles and runs as if nothing had been."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "went on\n"
    assert not done.stderr


BURSTS = """
import os, threading, time
import numpy as np
import mlir_sparse as ms

SIZE = 900
dense = np.arange(SIZE * SIZE, dtype=np.float64).reshape(SIZE, SIZE) % 7
A, x = ms.tensor(dense, "CSR"), np.arange(SIZE) % 5.0
expected = dense @ x
kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x)
ms.set_num_threads(3)

def bursts(number):
    out = np.empty(SIZE)
    for burst in range(6):
        for call in range(10):
            out[:] = np.nan
            kernel(A, x, out=out)
            assert np.array_equal(out, expected), (number, burst, call)
        time.sleep(0.001 * number)

def together(count):
    threads = [threading.Thread(target=bursts, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

together(1)
together(4)
if os.fork() == 0:
    together(2)
    os._exit(0)
assert os.wait()[1] == 0
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
together(2)
time.sleep(0.1)  # longer than threads spin for work
before = time.process_time()
time.sleep(0.5)
print("idle" if time.process_time() - before < 0.1 else "busy")
"""


def test_bursts_of_calls_with_pauses() -> None:
    """Threads that went to sleep or still spin, in several callers, a child and on one processor; idle ones sleep."""
    done = subprocess.run([sys.executable, "-c", BURSTS], capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "idle\n"
