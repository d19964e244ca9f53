"""Who owns which memory: operands are not copied, results are owned and freed, and nothing leaks."""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import resource
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from dialect_tests.processes import python_of_forks
from mlir_sparse import _native

SPMV = "y(i) = A(i,j) * x(j)"
SPGEMM = "C(i,j) = A(i,k) * B(k,j)"


def address(array: np.ndarray[Any, Any]) -> int:
    return int(array.__array_interface__["data"][0])


def test_scipy_memory_reaches_the_kernel_without_a_copy() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.random_array((50, 60), density=0.1, format="csr", rng=np.random.default_rng(0))
    a = ms.tensor(matrix)
    pos, crd, values = a.storage.buffers()
    assert [address(pos), address(crd), address(values)] == [
        address(matrix.indptr),
        address(matrix.indices),
        address(matrix.data),
    ]
    # The kernel reads the very memory: a change of SciPy's values is seen by the next call.
    spmv, x = ms.compile(SPMV, A=a, x=np.ones(60)), np.arange(60.0)
    first = spmv(a, x)
    matrix.data *= 2
    np.testing.assert_array_equal(spmv(a, x), 2 * first)
    np.testing.assert_allclose(spmv(a, x), matrix @ x, rtol=1e-12)


def test_results_go_to_scipy_without_a_copy() -> None:
    pytest.importorskip("scipy.sparse")
    a = ms.tensor(np.eye(4))
    c = ms.evaluate(SPGEMM, A=a, B=a)
    matrix = c.to_scipy()
    assert address(matrix.data) == address(c.storage.values)
    assert address(matrix.indices) == address(c.storage.coordinates[1])
    assert address(matrix.indptr) == address(c.storage.positions[1])


def test_out_is_written_in_place() -> None:
    a, x = ms.tensor(np.eye(3)), np.arange(3.0)
    spmv = ms.compile(SPMV, A=a, x=x)
    out = np.zeros(3)
    where = address(out)
    for _ in range(3):
        assert spmv(a, x, out=out) is out
        assert address(out) == where
    np.testing.assert_array_equal(out, x)


def test_results_outlive_their_kernel_and_operands() -> None:
    a = ms.tensor(np.eye(40))
    text = "C(i,j) = 5 * A(i,k) * B(k,j)"
    kernel = ms.compile(text, A=a, B=a)
    c = kernel(a, a)
    values = c.storage.values
    operand = weakref.ref(a)
    del a, kernel, c
    gc.collect()
    assert operand() is None, "the kernel kept its operand"
    np.testing.assert_array_equal(values, np.full(40, 5.0))


def test_a_tensor_keeps_the_memory_it_was_made_of() -> None:
    values = np.array([2.0, 3.0])
    a = ms.SparseTensor.from_levels("CSR", (2, 2), [None, [0, 1, 2]], [None, [1, 0]], values)
    spmv = ms.compile(SPMV, A=a, x=np.ones(2))
    del values
    gc.collect()
    np.testing.assert_array_equal(spmv(a, np.ones(2)), [2.0, 3.0])


def test_results_do_not_share_memory() -> None:
    a = ms.tensor(np.eye(3))
    kernel = ms.compile(SPGEMM, A=a, B=a)
    first, second = kernel(a, a), kernel(a, a)
    first.storage.values[:] = 7.0
    np.testing.assert_array_equal(second.to_numpy(), np.eye(3))
    np.testing.assert_array_equal(a.to_numpy(), np.eye(3))


def test_a_copy_of_an_operand_is_no_alias() -> None:
    """`C = A` is a new tensor, even where the storage is the same."""
    a = ms.tensor(np.eye(3))
    c = ms.evaluate("C(i,j) = A(i,j)", A=a)
    c.storage.values[:] = 7.0
    np.testing.assert_array_equal(a.to_numpy(), np.eye(3))


# -- leaks --------------------------------------------------------------------------------------------------

Growth = tuple[int, int]


def grown(call: Callable[[], object], calls: int = 10_000, warm: int = 1_000) -> Growth:
    """Returns by how many bytes the process grew over many calls, and how many more buffers it owns."""
    for _ in range(warm):  # caches, arenas and thread-local pools fill up first
        call()
    gc.collect()
    before, owned = _resident(), _native.owned_buffers()
    for _ in range(calls):
        call()
    gc.collect()
    return _resident() - before, _native.owned_buffers() - owned


def _resident() -> int:
    try:
        ctypes.CDLL(None).malloc_trim(0)
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
    except (OSError, AttributeError):
        pytest.skip("resident memory is read from Linux's /proc")


FLAT = 5 << 20


def _pair(size: int = 60) -> tuple[ms.SparseTensor, ms.SparseTensor]:
    random = np.random.default_rng(0)
    dense = random.random((size, size)) * (random.random((size, size)) < 0.1)
    return ms.tensor(dense), ms.tensor(dense.T)


def test_ten_thousand_products_leak_nothing() -> None:
    a, b = _pair()
    kernel = ms.compile(SPGEMM, A=a, B=b)
    growth, buffers = grown(lambda: kernel(a, b))
    assert growth < FLAT
    assert buffers == 0


@pytest.mark.parametrize(
    ("text", "out"),
    [
        ("C(i,j) = A(i,j) + B(i,j)", "COO"),
        ("C(i,j) = A(i,j) + B(j,i)", "CSC"),
        ("C(i,j) = A(i,k) * B(k,j)", "DCSC"),
        ("C(i,j) = A(i,k) * B(k,j)", "dense"),
        ("y(i) = A(i,j) * (B(j,k) * x(k))", None),
    ],
)
def test_programs_of_several_steps_leak_nothing(text: str, out: str | None) -> None:
    a, b = _pair(100)  # so large that each result that were kept shows
    operands = {"A": a, "B": b} | ({"x": np.ones(100)} if "x" in text else {})
    kernel = ms.compile(text, out=out, tensors=operands)
    growth, buffers = grown(lambda: kernel(**operands), calls=700, warm=200)
    assert growth < FLAT
    assert buffers == 0


# What a call may hold at its peak, in units of its operands and its result: as the README says.
_PEAK = """
import gc, sys
import numpy as np
import scipy.sparse
import mlir_sparse as ms

def told(key):
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith(key))

def uniform(size, density):
    random = np.random.default_rng(0)
    return [scipy.sparse.random_array((size, size), density=density, format="csr", rng=random) for _ in "AB"]

def a_few_rows_of_nearly_everything(size, first):
    # The identity, a full row of B, and 60 rows of A that take it.
    diagonal, where = scipy.sparse.eye_array(size, format="csr"), np.full(60, size // 2)
    to = scipy.sparse.coo_array((np.ones(60), (np.arange(first, first + 60), where)), (size, size))
    full = scipy.sparse.coo_array((np.ones(size), (np.full(size, size // 2), np.arange(size))), (size, size))
    made = [diagonal + to.tocsr(), diagonal + full.tocsr()]
    return [scipy.sparse.csr_array((m.data, m.indices.astype("i4"), m.indptr.astype("i4")), m.shape) for m in made]

text, threads = sys.argv[1], int(sys.argv[2])
made = eval(sys.argv[3])
A, B = (ms.tensor(matrix, "CSR") for matrix in made)
kernel = ms.compile(text, A=A, B=B, out="CSR", threads=threads)
small = ms.tensor(scipy.sparse.eye_array(8, format="csr"))
kernel(small, small)
del made
gc.collect()
before = told("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
C = kernel(A, B)
inputs = A.nbytes + B.nbytes
print((inputs + told("VmHWM") - before) / (inputs + C.nbytes))
"""


@pytest.mark.parametrize(
    ("text", "made", "threads"),
    [
        *((SPGEMM, "uniform(30_000, 4e-4)", threads) for threads in (1, 2, 4)),
        *((SPGEMM, f"a_few_rows_of_nearly_everything(100_000, {first})", 2) for first in (0, 35_000, 99_900)),
        ("C(i,j) = A(i,j) + B(i,j)", "uniform(30_000, 1e-3)", 2),
    ],
)
def test_the_peak_of_a_call_is_near_its_operands_and_result(text: str, made: str, threads: int) -> None:
    """However late one thread is: what others have laid out meanwhile is bounded."""
    if not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("resident memory is read from Linux's /proc")
    command = [python_of_forks(), "-c", _PEAK, text, str(threads), made]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    assert float(found.stdout) < 1.5


def test_what_is_kept_for_results_to_come_is_bounded_and_reads_as_new() -> None:
    _native.drop_kept()
    byte = np.dtype(np.uint8)
    for size in (3 << 20, 200 << 20, 100 << 20):
        block = _native.reserve(size, byte)
        block[:] = 1
        del block
        assert _native.kept_bytes() <= 256 << 20
    assert _native.kept_bytes() >= 100 << 20
    cleared = _native.reserve(3 << 20, byte, zeroed=True)
    assert not cleared.any()
    part = _native.trim(_native.reserve(50 << 20, np.dtype(np.int64)), 1 << 20, 2 << 20)
    part[:] = 7
    assert part.size == 1 << 20
    few = _native.trim(_native.reserve(50 << 20, byte), 100, 60)
    assert few.size == 100
    _native.drop_kept()
    assert _native.kept_bytes() == 0
    assert (part == 7).all()


_FAR_RESERVED = """
import resource, sys
import numpy as np
from mlir_sparse import _native

limit = int(sys.argv[1])
if limit:
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
byte = np.dtype(np.uint8)


def used(length, begin=0):
    block = _native.trim(_native.reserve(3 << 30, byte), length, begin)
    block[:] = 1
    assert block.size == length
    del block
    return _native.kept_bytes() >> 20


print(used(64 << 20), used(70 << 20, 1 << 30), used(2 << 20))
_native.drop_kept()
if not limit:
    held = [_native.trim(_native.reserve(1 << 40, byte), 4 << 20) for _ in range(9)]  # all that blocks may have
    print(used(2 << 20), used(64 << 20))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count addresses as memory")
def test_pages_of_results_in_far_larger_reservations_are_kept() -> None:
    """But for small parts of them once blocks have many terabytes of addresses, and where addresses are limited."""
    if Path("/proc/sys/vm/overcommit_memory").read_text().strip() == "2":
        pytest.skip("the system counts addresses as memory")
    for limit, kept in ((0, "64 70 2\n0 64"), (16 << 30, "0 0 0")):
        command = [sys.executable, "-c", _FAR_RESERVED, str(limit)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.stdout.strip() == kept, done.stderr[-2000:]


def test_repeated_small_sparse_results_take_no_fresh_pages() -> None:
    """However much was reserved for them, and however much memory the system has left each time."""
    if sys.platform != "linux" or Path("/proc/sys/vm/overcommit_memory").read_text().strip() == "2":
        pytest.skip("counts page faults on Linux, where addresses are no memory")
    a = ms.tensor(scipy.sparse.eye_array(300_000, format="csr"))
    kernel = ms.compile(SPGEMM, A=a, B=a, threads=1)
    faults = []
    for _ in range(12):
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
        kernel(A=a, B=a)
        faults.append(resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before)
    assert sorted(faults[2:])[5] <= 1  # the system may take pages back at any time


def test_rows_without_entries_are_empty_in_memory_that_was_used_before() -> None:
    a = ms.SparseTensor.from_levels(
        "DCSR", (600_000, 9), [[0, 2], [0, 1, 2]], [[5, 599_990], [3, 4]], np.array([1.0, 2.0])
    )
    full = _native.reserve(5 << 20, np.dtype(np.uint8))
    full[:] = 255
    for threads in (1, 2):
        del full
        c = ms.evaluate("C(i,j) = A(i,j) + B(i,j)", A=a, B=a, out="CSR", threads=threads)
        wanted = np.zeros(600_001, int)
        wanted[6:] = 1
        wanted[599_991:] = 2
        np.testing.assert_array_equal(c.storage.positions[1], wanted)
        full = _native.reserve(5 << 20, np.dtype(np.uint8))
        full[:] = 255


def test_failed_calls_leak_nothing() -> None:
    a = ms.tensor(np.ones((20, 20)))
    narrow = ms.encoding("CSR", pos_width=8, crd_width=8)
    kernel = ms.compile(SPGEMM, A=a, B=a, out=narrow)

    def call() -> None:
        with pytest.raises(ms.WidthError):
            kernel(a, a)

    growth, buffers = grown(call, calls=1_500, warm=500)
    assert growth < FLAT
    assert buffers == 0


def test_a_leak_is_seen() -> None:
    """The measure itself: results that are kept must show, in bytes and in buffers."""
    a, b = _pair()
    kernel = ms.compile(SPGEMM, A=a, B=b)
    kept: list[object] = []
    growth, buffers = grown(lambda: kept.append(kernel(a, b)), calls=2_000, warm=100)
    assert growth > FLAT
    assert buffers == 3 * 2_000


def test_memory_that_no_buffer_owns_is_seen() -> None:
    kept: list[object] = []
    growth, buffers = grown(lambda: kept.append(bytearray(b"x" * 10_000)), calls=2_000, warm=100)
    assert growth > FLAT
    assert buffers == 0
