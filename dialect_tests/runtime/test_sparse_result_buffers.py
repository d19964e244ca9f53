"""Sparse results: laid out exactly, in memory that is reserved, refused or given back."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.crossing import crossed
from dialect_tests.oracle import evaluate as oracle
from mlir_sparse import _native
from mlir_sparse.runtime import sparse_result_buffers

Array = np.ndarray[Any, Any]

MATRIX_RESULTS = ("CSR", "CSC", "DCSR", "DCSC", "COO", "(i, j) -> (j : compressed(nonunique), i : singleton(soa))")
MATRIX_KERNELS = (
    "C(i,j) = A(i,j) + B(i,j)",
    "C(i,j) = A(i,j) - 2 * B(i,j)",
    "C(i,j) = A(i,j) * B(i,j)",
    "C(i,j) = A(i,j) + B(i,j) + A(i,j) * B(i,j)",
    "C(i,j) = A(i,k) * B(k,j)",
    "C(i,j) = A(i,j) * A(i,k) * B(k,j)",
    "C(i,j) = A(j,i)",
)
CUBE_RESULTS = (
    "(i, j, k) -> (i : compressed, j : compressed, k : compressed)",
    "(i, j, k) -> (k : compressed, i : compressed, j : compressed)",
    "(i, j, k) -> (j : compressed, k : compressed, i : compressed)",
    "(i, j, k) -> (i : dense, j : dense, k : compressed)",
    "(i, j, k) -> (i : dense, j : compressed, k : compressed)",
    "COO",
)
CUBE_KERNELS = ("C(i,j,k) = A(i,j,k) + B(i,j,k)", "C(i,j,k) = A(i,j,l) * B(k,l,i)", "C(i,j,k) = A(i,j,k) * x(k)")


def scattered(shape: tuple[int, ...], seed: int, share: float = 0.2) -> Array:
    """Returns whole numbers, most of them zero, some rows and columns empty: sums of them are exact."""
    random = np.random.default_rng(seed)
    values = random.integers(-4, 5, shape).astype(np.float64)
    values[random.random(shape) >= share] = 0
    if shape[0] > 3:
        values[1:3] = 0
    return values


def checked(result: ms.SparseTensor) -> Array:
    """Returns a result as an array, once its storage has passed the checks of foreign storage."""
    storage = result.storage
    again = ms.SparseTensor.from_levels(
        result.encoding, result.shape, storage.positions, storage.coordinates, storage.values
    )
    return again.to_numpy()


def compared(text: str, out: str, operands: dict[str, Array], stored: dict[str, str]) -> ms.SparseTensor:
    """Computes a kernel into sparse storage, and checks its storage and its numbers."""
    tensors = {name: ms.tensor(value, stored[name]) if name in stored else value for name, value in operands.items()}
    result = ms.evaluate(text, out=out, tensors=tensors)
    np.testing.assert_array_equal(checked(result), oracle(ms.parse(text), operands))
    return result


@pytest.mark.parametrize("out", MATRIX_RESULTS)
@pytest.mark.parametrize("text", MATRIX_KERNELS)
def test_matrices_in_every_storage_that_loops_insert_into(text: str, out: str) -> None:
    stored = ("CSR", "DCSR", "COO")[(MATRIX_KERNELS.index(text) + MATRIX_RESULTS.index(out)) % 3]
    for size in (1, 9):
        operands = {"A": scattered((size, size), 1), "B": scattered((size, size), 2)}
        operands = {name: value for name, value in operands.items() if f"{name}(" in text}
        compared(text, out, operands, dict.fromkeys(operands, stored))


@pytest.mark.parametrize("out", CUBE_RESULTS)
@pytest.mark.parametrize("text", CUBE_KERNELS)
def test_tensors_of_three_dimensions_in_every_order_of_levels(text: str, out: str) -> None:
    operands = {"A": scattered((5, 5, 5), 1), "B": scattered((5, 5, 5), 2), "x": np.arange(5.0)}
    operands = {name: value for name, value in operands.items() if f"{name}(" in text}
    stored = {name: "CSF" for name in operands if name != "x"}
    compared(text, out, operands, stored)


MASKS = (
    "C(i,j) = M(i,j) * (A(i,k) * B(k,j))",
    "C(i,j) = A(i,k) * M(i,j) * B(k,j) * x(j)",
    "C(i,j) = M(i,j) * A(i,k) * B(k,l) * B(l,j)",
)


@crossed(stored=["CSR", "DCSR", "COO"], text=MASKS, out=["CSR", "DCSR", "COO"])
def test_masked_products_look_rows_of_the_mask_up(text: str, stored: str, out: str) -> None:
    operands = {name: scattered((9, 9), seed, 0.4) for seed, name in enumerate("MAB")} | {"x": np.arange(9.0)}
    operands = {name: value for name, value in operands.items() if f"{name}(" in text}
    compared(text, out, operands, {name: stored for name in operands if name != "x"})


def test_triangles_are_counted() -> None:
    """A grid whose squares have one diagonal each has two triangles a square."""
    side = 15
    number = np.arange(side * side).reshape(side, side)
    edges = [(number[1:], number[:-1]), (number[:, 1:], number[:, :-1]), (number[1:, 1:], number[:-1, :-1])]
    lower = np.concatenate([np.stack([high.ravel(), low.ravel()]) for high, low in edges], axis=1)
    graph = ms.tensor((lower, np.ones(lower.shape[1])), "CSR", shape=(side * side, side * side))
    kernel = ms.compile("C(i,j) = L(i,j) * (L(i,k) * L(k,j))", L=graph)
    assert "scattered: the entries of L(i,j) along j" in kernel.explain()
    assert kernel(graph).storage.values.sum() == 2 * (side - 1) ** 2


def test_sparse_vectors() -> None:
    operands = {"A": scattered((9, 9), 1), "x": scattered((9,), 2, 0.5)}
    vector = "(i) -> (i : compressed)"
    compared("y(j) = x(i) * A(i,j)", vector, operands, {"A": "CSR", "x": vector})
    compared("y(i) = x(i) + x(i) * x(i)", vector, {"x": operands["x"]}, {"x": vector})


@pytest.mark.parametrize("dtype", ["i8", "i32", "f32", "f64", "c64", "c128"])
def test_rows_are_gathered_in_every_kind_of_element_type(dtype: str) -> None:
    kind = {"i8": np.int8, "i32": np.int32, "f32": np.float32, "f64": np.float64, "c64": np.complex64}.get(
        dtype, complex
    )
    a, b = (scattered((8, 8), seed).astype(kind) for seed in (1, 2))
    result = ms.evaluate("C(i,j) = A(i,k) * B(k,j)", A=ms.tensor(a), B=ms.tensor(b), out="CSR")
    assert result.dtype == kind
    np.testing.assert_array_equal(checked(result), a @ b)


@pytest.mark.parametrize("columns", [63, 64, 65, 4095, 4097, 262_145, 600_000])
def test_rows_of_any_length_come_out_in_order(columns: int) -> None:
    """The tree of bits has a word for 64 columns, one for 4096, and one for 262144."""
    random = np.random.default_rng(columns)
    columns_of = np.unique(np.concatenate([random.integers(0, columns, 200), [0, columns - 1]]))
    rows = random.integers(0, 50, columns_of.size)
    b = ms.tensor((np.stack([rows, columns_of]), np.ones(columns_of.size)), "CSR", shape=(50, columns))
    a = ms.tensor(np.ones((3, 50)))
    result = ms.evaluate("C(i,j) = A(i,k) * B(k,j)", A=a, B=b, out="CSR")
    assert result.storage.positions[1].tolist() == [0, *(columns_of.size * n for n in (1, 2, 3))]
    np.testing.assert_array_equal(result.storage.coordinates[1], np.tile(columns_of, 3))
    np.testing.assert_array_equal(result.storage.values, 1.0)


@pytest.mark.parametrize("out", MATRIX_RESULTS)
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 4), (4, 1)])
def test_empty_and_thin_results(out: str, shape: tuple[int, int]) -> None:
    a, b = np.zeros(shape), np.ones(shape)
    for left, right in ((a, a), (a, b), (b, b)):
        compared("C(i,j) = A(i,j) + B(i,j)", out, {"A": left, "B": right}, {"A": "CSR", "B": "CSR"})
        compared("C(i,j) = A(i,k) * B(j,k)", out, {"A": left, "B": right}, {"A": "CSR", "B": "CSR"})


def test_explicit_zeros_stay() -> None:
    a = ms.SparseTensor.from_levels("CSR", (2, 2), [None, [0, 1, 2]], [None, [0, 1]], [0.0, 1.0])
    assert ms.evaluate("C(i,j) = A(i,j) + A(i,j)", A=a).nse == 2
    assert ms.evaluate("C(i,j) = A(i,k) * B(k,j)", A=a, B=a, out="CSR").nse == 2


def test_rows_that_sparse_loops_leave_out_are_empty() -> None:
    dense = np.zeros((1000, 7))
    dense[[3, 500, 998]] = 1
    result = ms.evaluate("C(i,j) = 2 * A(i,j)", A=ms.tensor(dense, "DCSR"), out="CSR")
    np.testing.assert_array_equal(checked(result), 2 * dense)


# -- memory -------------------------------------------------------------------------------------------------


def test_more_entries_than_were_foreseen_are_counted_and_laid_out_again() -> None:
    """Loops with too little room write nothing beyond it, and say how much they need."""
    kernel, dense = ms.compile("C(i,j) = A(i,j) + B(i,j)", A="f64[?,?] CSR", B="f64[?,?] CSR"), scattered((20, 20), 3)
    a = ms.tensor(dense)
    kernel(a, a)
    (build,) = kernel._builds.values()
    (stage,) = build.executable.steps
    for most in (0, 1, a.nse - 1, a.nse, 400):
        buffers = sparse_result_buffers.assemble(stage.launcher, stage.buffers, (a, a), (20, 20), (0, most), 0)
        assert [len(buffer) for buffer in buffers] == [21, a.nse, a.nse]
        np.testing.assert_array_equal(buffers[1], a.storage.coordinates[1])
        np.testing.assert_array_equal(buffers[2], 2 * a.storage.values)


def test_outer_products_that_cannot_fit_are_refused_at_once() -> None:
    n = 1 << 40
    vector = ms.encoding("(i) -> (i : compressed)", pos_width=64, crd_width=64)
    x = ms.tensor((np.arange(1_000_000)[None] * 7, np.ones(1_000_000)), vector, shape=(n,))
    kernel = ms.compile("C(i,j) = x(i) * y(j)", x=x, y=x, out="DCSR")
    with pytest.raises(
        ms.TooLargeError, match=r"expected a result .* to fit in .*, but got .* of 1000000000000 entries"
    ):
        kernel(x, x)
    small = ms.tensor(np.ones(3), vector)
    assert kernel(small, small).nse == 9


@pytest.mark.parametrize("out", ["CSR", "DCSR", "COO"])
def test_loops_stop_where_the_result_is_too_large(monkeypatch: pytest.MonkeyPatch, out: str) -> None:
    a = ms.tensor(np.ones((40, 40)), "DCSR" if out == "DCSR" else "CSR")
    kernel = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=a, B=a, out=out)
    both = ms.compile("C(i,j) = A(i,j) + B(i,j)", A=a, B=a, out=out)
    monkeypatch.setattr(sparse_result_buffers, "_SMALL", 0)
    monkeypatch.setattr(sparse_result_buffers, "available_bytes", lambda: 40 * 20 * 20)
    for called in (kernel, both):
        with pytest.raises(ms.TooLargeError, match="expected a result of sizes"):
            called(a, a)
    monkeypatch.undo()
    np.testing.assert_array_equal(kernel(a, a).to_numpy(), np.full((40, 40), 40.0))


def test_a_process_with_little_memory_counts_first() -> None:
    """Where as many addresses as the bound wants are not to be had, the entries are counted before they are stored."""
    code = """
import resource, numpy as np, mlir_sparse as ms
n = 200_000
diagonal = ms.tensor((np.stack([np.arange(n)] * 2), np.full(n, 3.0)), "CSR", shape=(n, n))
product = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=diagonal, B=diagonal, out="CSR")
product(diagonal, diagonal)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), -1))
result = product(diagonal, diagonal)
assert result.nse == n and (result.storage.values == 9).all()
print("right")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "right\n", done.stderr


def test_room_that_is_not_used_goes_back() -> None:
    array = _native.reserve(1 << 24, np.dtype(np.float64))
    array[:10] = 7
    shorter = _native.trim(array, 10)
    assert shorter.tolist() == [7.0] * 10
    with pytest.raises(ValueError, match="from reserve"):
        _native.trim(np.zeros(3), 1)
    with pytest.raises(MemoryError):
        _native.reserve(1 << 62, np.dtype(np.float64))


def test_threads_assemble_and_compute_at_once() -> None:
    text = "C(i,j) = A(i,k) * B(k,j)"
    inputs = [scattered((40, 40), seed) for seed in range(8)]
    kernel = ms.compile(text, A="f64[?,?] CSR", B="f64[?,?] CSR", out="CSR")
    wrong: list[int] = []

    def work(number: int) -> None:
        dense = inputs[number]
        a = ms.tensor(dense)
        structure = kernel.assemble(a, a)
        for _ in range(20):
            same = kernel(a, a).to_numpy(), kernel.compute(a, a, out=structure).to_numpy()
            if not all(np.array_equal(result, dense @ dense) for result in same):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
