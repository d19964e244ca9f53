"""Complex numbers in vectors: products, sums and conjugates of all extents, storages, signs and kinds of vectors."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from dialect_tests.strategy_remarks import MASKED, NARROW, SPMM, SPMV, said_by

EXTENTS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 65, 131)
PLAIN = (("bits", 128), ("masks", False), ("fma", False))
DTYPES = ("c64", "c128")
pytestmark = pytest.mark.usefixtures("one_thread_and_two")


def numbers(shape: Any, dtype: str, seed: int = 0) -> Any:
    """Returns complex integers, whose products and sums are exact."""
    rng = np.random.default_rng(seed)
    return (rng.integers(-9, 10, shape) + 1j * rng.integers(-9, 10, shape)).astype(ms.DType(dtype).numpy)


def matrix(dtype: str, rows: int = 24, columns: int = 18, density: float = 0.3) -> Any:
    there = np.random.default_rng(3).random((rows, columns)) < density
    return np.where(there, numbers((rows, columns), dtype, 1), 0).astype(ms.DType(dtype).numpy)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("stored", ["CSR", "CSC", "DCSR", "COO", "ELL", "BSR(2, 3)", "BSR(4, 6)"])
def test_products_with_matrices_of_all_extents(stored: str, dtype: str) -> None:
    full = matrix(dtype)
    A = ms.tensor(full, "CSR").convert(stored)
    product = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=A.type, B=f"{dtype}[?,?]")
    rest = ms.compile("C(i,j) = D(i,j) - A(i,k) * B(k,j)", A=A.type, B=f"{dtype}[?,?]", D=f"{dtype}[?,?]")
    for columns in EXTENTS:
        B, D = numbers((18, columns), dtype, columns), numbers((24, columns), dtype, 5)
        np.testing.assert_array_equal(product(A, B), full @ B)
        np.testing.assert_array_equal(rest(A=A, B=B, D=D), D - full @ B)


@pytest.mark.parametrize("options", [MASKED, NARROW, PLAIN])
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_kinds_of_vectors(dtype: str, options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("mlir_sparse.pipeline.sparsifier_passes"), "vector_options", lambda: options)
    monkeypatch.setenv("MLIR_SPARSE_CACHE", "off")
    full = matrix(dtype)
    A = ms.tensor(full, "CSR")
    product = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=A.type, B=f"{dtype}[?,?]")
    assert "vector.load" in product.ir("sparsified")
    for columns in EXTENTS:
        B = numbers((18, columns), dtype, columns)
        np.testing.assert_array_equal(product(A, B), full @ B)
    x = numbers(18, dtype)
    np.testing.assert_array_equal(ms.compile(SPMV, A=A, x=x)(A, x), full @ x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("schedule", ["tile=8", "tile=24", "tile=64", "tile=3", "tile=0"])
def test_schedules_change_no_number(schedule: str, dtype: str) -> None:
    full = matrix(dtype)
    kernel = ms.compile(SPMM, A=ms.tensor(full, "CSR").type, B=f"{dtype}[?,?]", schedule=schedule)
    for columns in EXTENTS:
        B = numbers((18, columns), dtype, columns)
        np.testing.assert_array_equal(kernel(ms.tensor(full, "CSR"), B), full @ B)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C(i,j) = A(i,k) * conj(B(k,j))", lambda A, B, D: A @ B.conj()),
        ("C(i,j) = conj(A(i,k)) * B(k,j)", lambda A, B, D: A.conj() @ B),
        ("C(i,j) = -A(i,k) * B(k,j)", lambda A, B, D: -A @ B),
        ("C(i,j) = A(i,k) * B(k,j) * B(k,j)", lambda A, B, D: A @ (B * B)),
        ("C(i,j) = A(i,k) * (B(k,j) + 1)", lambda A, B, D: A @ (B + 1)),
        ("C(i,j) = A(i,k) * B(k,j) * D(i,j)", lambda A, B, D: (A @ B) * D),
        ("C(i,j) = A(i,k) * B(k,j) + D(i,j)", lambda A, B, D: A @ B + D),
        ("C(i,j) = D(i,j) + 2 * A(i,k) * B(k,j)", lambda A, B, D: D + 2 * A @ B),
        ("C(i,j) = A(i,k) * B(k,j) / D(i,j)", lambda A, B, D: (A @ B) / D),
        ("C(i,j) = A(i,k) * B(k,j) - A(i,k) * D(k,j)", lambda A, B, D: A @ B - A @ D[:18]),
    ],
)
def test_other_summands(text: str, expected: Any, dtype: str) -> None:
    full = matrix(dtype)
    A = ms.tensor(full, "CSR")
    for columns in (1, 3, 8, 17, 70):
        B, D = numbers((18, columns), dtype, 7), numbers((18 if "D(k" in text else 24, columns), dtype, 8)
        D[D == 0] = 1
        found = ms.evaluate(text, A=A, B=B, **({"D": D} if "D(" in text else {}))
        np.testing.assert_allclose(found, expected(full, B, D), rtol=1e-5 if dtype == "c64" else 1e-13)


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors_times_matrices(dtype: str) -> None:
    rng = np.random.default_rng(4)
    T = np.where(rng.random((6, 7, 8)) < 0.3, numbers((6, 7, 8), dtype), 0).astype(ms.DType(dtype).numpy)
    B = ms.tensor(T, "CSF")
    for columns in EXTENTS[1:]:
        C, D = numbers((7, columns), dtype, 1), numbers((8, columns), dtype, 2)
        found = ms.evaluate("A(i,j) = B(i,k,l) * C(k,j) * D(l,j)", B=B, C=C, D=D)
        np.testing.assert_array_equal(found, np.einsum("ikl,kj,lj->ij", T, C, D))
        found = ms.evaluate("A(i,j,k) = B(i,j,l) * D(l,k)", B=B, D=D)
        np.testing.assert_array_equal(found, T @ D)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", EXTENTS)
def test_a_result_is_added_to_in_place(columns: int, dtype: str) -> None:
    full, B, C = matrix(dtype), numbers((18, columns), dtype, 1), numbers((24, columns), dtype, 2)
    before = C.copy()
    ms.evaluate("C(i,j) += A(i,k) * B(k,j)", A=ms.tensor(full, "CSR"), B=B, C=C, out=C)
    np.testing.assert_array_equal(C, before + full @ B)


@pytest.mark.parametrize("dtype", DTYPES)
def test_operands_of_any_order_and_stride(dtype: str) -> None:
    full = matrix(dtype)
    A, wide = ms.tensor(full, "CSR"), numbers((36, 66), dtype)
    for B in (wide[::2, ::2], wide[:18, ::-1], np.asfortranarray(wide[:18]), wide[5:23, 3:20], wide.T[:18, :36]):
        np.testing.assert_array_equal(ms.evaluate(SPMM, A=A, B=B), full @ B)
    fixed = wide[:18]
    fixed.flags.writeable = False
    np.testing.assert_array_equal(ms.compile(SPMM, A=A.type, B=f"{dtype}[18,66]")(A, fixed), full @ fixed)
    x = wide[::2, 3]
    np.testing.assert_array_equal(ms.evaluate(SPMV, A=A, x=x), full @ x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "lengths", [[], [0], [1], [7], [8], [9, 0, 0], [0, 3, 5], [16, 1, 17, 40, 0, 64], [1] * 50, list(range(33))]
)
def test_rows_of_all_lengths(lengths: list[int], dtype: str) -> None:
    rng = np.random.default_rng(0)
    full = np.zeros((len(lengths), 64), ms.DType(dtype).numpy)
    for row, length in enumerate(lengths):
        full[row, rng.choice(64, length, replace=False)] = 1
    full *= numbers(full.shape, dtype)
    A, x, b = ms.tensor(full, "CSR"), numbers(64, dtype, 1), numbers(len(lengths), dtype, 2)
    for text, expected in (
        (SPMV, full @ x),
        ("y(i) = b(i) - A(i,j) * x(j)", b - full @ x),
        ("y(i) = conj(A(i,j)) * x(j)", full.conj() @ x),
        ("y(i) = A(i,j) * A(i,j) * x(j)", (full * full) @ x),
        ("y(i) = (A(i,j) - x(j)) * A(i,j)", ((full - x) * full).sum(1)),
        ("y(i) = A(i,j)", full.sum(1)),
        ("y(i) = alpha * A(i,j) * x(j) + b(i)", 2j * (full @ x) + b),
    ):
        given = {"x": x, "b": b, "alpha": np.array(2j, x.dtype)}
        found = ms.evaluate(text, A=A, **{name: given[name] for name in given if name in text})
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_of_any_numbers_are_off_by_rounding_alone(dtype: str) -> None:
    rng, kind = np.random.default_rng(5), ms.DType(dtype).numpy
    A = scipy.sparse.random_array((300, 200), density=0.2, rng=rng, format="csr", dtype=kind)
    B = (rng.normal(size=(200, 37)) + 1j * rng.normal(size=(200, 37))).astype(kind)
    most = 80 * np.finfo(kind).eps * (abs(A.astype(np.complex128)) @ abs(B.astype(np.complex128)))
    exact = A.astype(np.complex128) @ B.astype(np.complex128)
    assert np.all(abs(ms.evaluate(SPMM, A=ms.tensor(A), B=B) - exact) <= most)
    x = np.ascontiguousarray(B[:, 3])
    assert np.all(abs(ms.evaluate(SPMV, A=ms.tensor(A), x=x) - exact[:, 3]) <= most[:, 3])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("special", [np.nan, np.inf, complex(0, np.inf), complex(np.inf, -np.inf), complex(np.nan, 1)])
def test_what_is_not_finite_is_where_it_belongs(special: complex, dtype: str) -> None:
    """Both parts of a number are what products and sums of parts are, and no other number sees it."""
    kind = ms.DType(dtype).numpy
    full, B = matrix(dtype), numbers((18, 21), dtype)
    B[4, 6] = special
    A = scipy.sparse.csr_array(full)
    expected = np.zeros((24, 21), kind)
    with np.errstate(invalid="ignore"):
        for row in range(24):
            for place in range(A.indptr[row], A.indptr[row + 1]):
                expected[row] += A.data[place] * B[A.indices[place]]
    found = ms.evaluate(SPMM, A=ms.tensor(A), B=B)
    np.testing.assert_array_equal(found.real, expected.real)
    np.testing.assert_array_equal(found.imag, expected.imag)
    x = np.ascontiguousarray(B[:, 6])
    found = ms.evaluate(SPMV, A=ms.tensor(A), x=x)
    np.testing.assert_array_equal(found.real, expected[:, 6].real)
    np.testing.assert_array_equal(found.imag, expected[:, 6].imag)


@pytest.mark.parametrize("dtype", DTYPES)
def test_zeros_have_the_signs_of_sums(dtype: str) -> None:
    kind = ms.DType(dtype).numpy
    signs = np.array([complex(a, b) for a in (0.0, -0.0, 2.0) for b in (0.0, -0.0, -2.0)], kind)
    A = ms.SparseTensor.from_levels(
        "CSR", (9, 1), [None, np.arange(10, dtype=np.int32)], [None, np.zeros(9, np.int32)], signs
    )
    B, start = np.ascontiguousarray(signs[None]), np.repeat(signs[:, None], 9, 1)
    empty = ms.SparseTensor.from_levels(
        "CSR", (9, 1), [None, np.zeros(10, np.int32)], [None, np.zeros(0, np.int32)], np.zeros(0, kind)
    )
    for C in (start, -start, np.zeros((9, 9), kind)):
        for stored, product in ((A, signs[:, None] * B), (empty, None)):
            found = C.copy()
            ms.evaluate("C(i,j) += A(i,k) * B(k,j)", A=stored, B=B, C=found, out=found)
            expected = C if product is None else C + product
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(np.signbit(found.real), np.signbit(expected.real))
            np.testing.assert_array_equal(np.signbit(found.imag), np.signbit(expected.imag))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", [SPMM, "C(i,j) = A(i,k) * conj(B(k,j))", "C(i,j) = A(i,k) * B(k,j) * B(k,j)"])
def test_it_says_that_rows_of_complex_numbers_stay_in_registers(text: str, dtype: str) -> None:
    assert said_by("register-tile", text, dtype=dtype, A="CSR", B="") == ["applied to j"]


def test_it_says_that_rows_of_complex_numbers_are_summed_by_vectors() -> None:
    for dtype in DTYPES:
        assert said_by("sum-rows", SPMV, dtype=dtype, A="CSR", x="") == ["applied to j"]


def test_it_says_what_of_complex_numbers_vectors_do_not_do() -> None:
    said = said_by("register-tile", "C(i,j) = A(i,k) * exp(B(k,j))", dtype="c64", A="CSR", B="")
    assert said == ["j: vectors of rows have no complex.exp of c64"]
    said = said_by("sum-rows", "y(i) = sqrt(A(i,j)) * x(j)", dtype="c64", A="CSR", x="")
    assert said == ["j: vectors of entries have no complex.sqrt of c64"]
