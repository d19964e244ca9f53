"""Unsigned integers against NumPy near the ends of their ranges: every operation that reads bits by their sign."""

from __future__ import annotations

import operator
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import mlir_sparse as ms
from dialect_tests.as_array import as_array
from dialect_tests.pieces import pieces_of

Array = np.ndarray[Any, Any]

BITS = (8, 16, 32, 64)
COMPARED = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
OF_ONE = {
    "abs": np.abs,
    "sign": np.sign,
    "square": np.square,
    "invert": np.invert,
    "relu": np.positive,
    "signbit": lambda x: x < 0,
    "-": np.negative,
}
OF_TWO = {
    "max": np.maximum,
    "min": np.minimum,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "floor_divide": np.floor_divide,
    "remainder": np.remainder,
    "fmod": np.fmod,
    "left_shift": np.left_shift,
    "right_shift": np.right_shift,
    "pow": np.power,
}
OTHERS = ("i1", "i2", "i4", "i8", "u1", "u8", "f2", "f4", "f8", "c8", "?")


def ends(bits: int) -> Array:
    """Returns the integers at which signs, widths and halves turn over."""
    top = 2**bits - 1
    values = {0, 1, 2, 7, 127, 128, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, top // 2, top // 2 + 1, top - 1}
    return np.array(sorted(v for v in {*values, top} if v <= top), f"u{bits // 8}")


def pairs(bits: int) -> tuple[Array, Array]:
    values = ends(bits)
    return np.repeat(values[:, None], len(values), 1), np.repeat(values[None, :], len(values), 0)


def held(array: Array, stored: str) -> Any:
    return array if stored == "dense" else ms.tensor(array, stored)


def check(text: str, expected: Array, **operands: Any) -> None:
    found = ms.evaluate(text, tensors=operands, out="dense")
    assert found.dtype == expected.dtype, text
    assert np.array_equal(found, expected), (text, found, expected)


@pytest.mark.parametrize("stored", ["dense", "CSR"])
@pytest.mark.parametrize("bits", BITS)
def test_operations_read_all_bits_as_a_number(bits: int, stored: str) -> None:
    a, b = pairs(bits)
    A, B = held(a, stored), held(b, stored)
    with np.errstate(all="ignore"):
        for name, function in OF_ONE.items():
            check(f"C(i,j) = {name}(A(i,j))", np.asarray(function(a)), A=A)
        for name, binary in OF_TWO.items():
            check(f"C(i,j) = {name}(A(i,j), B(i,j))", binary(a, b), A=A, B=B)
    for op, compared in COMPARED.items():
        check(f"C(i,j) = A(i,j) {op} B(i,j)", compared(a, b), A=A, B=B)
        for number in (0, 1, -1, 127, 128, 1000, 2**63, 2**64 - 1):
            check(f"C(i,j) = A(i,j) {op} {number}", compared(a, number), A=A)


@pytest.mark.parametrize("stored", ["CSR", "CSC", "dense"])
@pytest.mark.parametrize("bits", BITS)
def test_reductions(bits: int, stored: str) -> None:
    a, _ = pairs(bits)
    a = np.tile(a, (2, 5)) if stored == "dense" else a
    A, dtype = held(a, stored), a.dtype
    for op, function in (("max", np.max), ("min", np.min)):
        check(f"y(i) = {op}(j : A(i,j))", function(a, axis=1), A=A)
        check(f"y(j) = {op}(i : A(i,j))", function(a, axis=0), A=A)
        check(f"s = {op}(i, j : A(i,j))", np.asarray(function(a)), A=A)
    check("y(i) = argmax(j : A(i,j))", np.argmax(a, axis=1), A=A)
    check("y(i) = A(i,j)", a.sum(axis=1, dtype=dtype), A=A)
    check("y(i) = prod(j : A(i,j))", a.prod(axis=1, dtype=dtype), A=A)
    nothing = ms.tensor(np.zeros((3, 0), dtype))
    check("y(i) = max(j : A(i,j))", np.zeros(3, dtype), A=nothing)
    check("y(i) = min(j : A(i,j))", np.full(3, np.iinfo(dtype).max, dtype), A=nothing)


@pytest.mark.parametrize("bits", BITS)
def test_named_semirings_start_from_the_ends_of_the_range(bits: int) -> None:
    a, _ = pairs(bits)
    dtype, small = a.dtype, a % 5
    x = small[0]
    for name, reduce, join in (("max_min", np.max, np.minimum), ("min_max", np.min, np.maximum)):
        products = join(small, x[None, :])
        products = np.where(small == 0, np.iinfo(dtype).max if reduce is np.min else 0, products)  # not stored
        found = ms.evaluate("y(i) = A(i,j) * x(j)", A=ms.tensor(small, "CSR"), x=x, semiring=name)
        assert found.dtype == dtype
        assert np.array_equal(found, reduce(products, axis=1)), name


@pytest.mark.parametrize(("other", "bits"), [(o, BITS[(n + m) % 4]) for n, o in enumerate(OTHERS) for m in (0, 2)])
def test_mixed_types_are_promoted_as_numpy_does(other: str, bits: int) -> None:
    a, b = pairs(bits)
    with np.errstate(all="ignore"):
        w = (b % 3).astype(other)
        w = w if other[0] in "u?" else w - w.dtype.type(1)
        for stored in ("dense", "CSR"):
            for op, function in (("+", operator.add), ("*", operator.mul)):
                check(f"C(i,j) = A(i,j) {op} W(i,j)", function(a, w), A=held(a, stored), W=w)
            if w.dtype.kind != "c":
                check("C(i,j) = A(i,j) > W(i,j)", a > w, A=held(a, stored), W=w)


@pytest.mark.parametrize("stored", ["dense", "CSR"])
def test_u64_and_integers_with_a_sign_are_compared_as_integers(stored: str) -> None:
    u = np.array([[2**63, 2**63 - 1, 0, 1], [2**64 - 1, 5, 0, 2**53 + 1]], np.uint64)
    s = np.array([[2**63 - 1, 2**63 - 1, -1, 0], [-1, 5, -(2**63), 2**53]], np.int64)
    for op, function in COMPARED.items():
        for a, b in ((u, s), (s, u)):
            A, B = held(a, stored), held(b, stored)
            check(f"C(i,j) = A(i,j) {op} B(i,j)", function(a, b), A=A, B=B)
            check(f"C(i,j) = A(i,j) * A(i,j) {op} B(i,j)", function(a * a, b), A=A, B=B)
            check(f"y(i) = sum(j : A(i,j)) {op} b(i)", function(a.sum(1), b[:, 0]), A=A, b=b[:, 0].copy())


@pytest.mark.parametrize("bits", BITS)
def test_numpys_functions_and_operators(bits: int) -> None:
    rng = np.random.default_rng(bits)
    dtype, top = np.dtype(f"u{bits // 8}"), 2**bits - 1
    d = np.where(rng.random((7, 9)) < 0.4, rng.integers(0, top, (7, 9), dtype, endpoint=True), 0).astype(dtype)
    d[0, 0], d[1, 1] = top, top // 2 + 1
    A = ms.tensor(d, "CSR")
    for name in ("add", "sub", "mul", "and_", "or_", "xor", "matmul"):
        function = getattr(operator, name)
        other = (A.T, d.T) if name == "matmul" else (A, d)
        found = as_array(function(A, other[0]))
        assert (found.dtype, found.tolist()) == (dtype, function(d, other[1]).tolist()), name
    for name in ("sum", "prod", "max", "min", "any", "argmax"):
        for axis in (None, 0, 1):
            found, expected = as_array(getattr(np, name)(A, axis=axis)), getattr(np, name)(d, axis=axis)
            assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist()), name
    for name in ("mean", "std", "var"):
        found, expected = as_array(getattr(np, name)(A, axis=1)), getattr(np, name)(d, axis=1)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert np.array_equal(as_array(np.einsum("ij,kj->ik", A, A)), d @ d.T)
    assert np.array_equal(ms.lazy(A).mean(axis=1).compute().argsort(), d.mean(axis=1).argsort())
    assert np.array_equal(as_array((ms.lazy(A) * 2 + ms.lazy(A)).compute()), d * 2 + d)
    with pytest.raises(ms.OperandError, match="out of bounds"):
        A * -1


@pytest.mark.parametrize("bits", BITS)
def test_borders_and_files(bits: int, tmp_path: Path) -> None:
    dtype, top = np.dtype(f"u{bits // 8}"), 2**bits - 1
    values = np.array([top, 3, top // 2 + 1], dtype)
    given = sp.coo_array((values, ([0, 0, 2], [1, 1, 0])), shape=(3, 3))  # the first two are summed, and wrap
    A = ms.tensor(given)
    assert A.dtype == dtype
    assert A.to_numpy().tolist() == [[0, 2, 0], [0, 0, 0], [top // 2 + 1, 0, 0]]
    assert np.array_equal(A.to_scipy().toarray(), given.toarray())
    assert pickle.loads(pickle.dumps(A)).to_numpy().dtype == dtype
    ms.write(tmp_path / "a.npz", A)
    assert ms.read(tmp_path / "a.npz").to_numpy().tolist() == A.to_numpy().tolist()
    ms.write(tmp_path / "a.mtx", A)
    assert ms.read(tmp_path / "a.mtx").to_numpy().tolist() == A.to_numpy().tolist()
    assert f"{top // 2 + 1}" in str(A)
    for stored in ("CSC", "COO", "DCSR", "ELL", "DIA", "BSR(3, 3)"):
        assert np.array_equal(A.convert(stored).to_numpy(), A.to_numpy())


def test_types_as_text_and_saved_kernels(tmp_path: Path) -> None:
    for bits in BITS:
        a, _ = pairs(bits)
        kernel = ms.compile("y(i) = max(j : A(i,j))", A=f"u{bits}[?,?] CSR")
        assert np.array_equal(kernel(ms.tensor(a, "CSR")), a.max(axis=1))
        assert "arith.maxui" in kernel.ir("linalg")
        kernel.save(tmp_path / "max.msk")
        loaded = ms.load(tmp_path / "max.msk")(ms.tensor(a, "CSR"))
        assert (loaded.dtype, loaded.tolist()) == (a.dtype, a.max(axis=1).tolist())
        with pytest.raises(ms.DTypeError, match=f"expected u{bits} for A, but got i{bits}"):
            kernel(ms.tensor(a.view(f"i{bits // 8}"), "CSR"))
    assert ms.compile("y(i) = A(i,j) * x(j)", A="ui8[?,?] CSR", x="ui8[?]").spec.output.dtype.name == "u8"


def test_long_rows_on_threads_and_in_vectors() -> None:
    rng = np.random.default_rng(3)
    for bits in BITS:
        dtype = np.dtype(f"u{bits // 8}")
        d = np.where(rng.random((40, 3000)) < 0.3, rng.integers(0, 2**bits - 1, (40, 3000), dtype, endpoint=True), 0)
        d = d.astype(dtype)
        A = ms.tensor(d, "CSR")
        for text, expected in (
            ("y(i) = max(j : A(i,j))", d.max(axis=1)),
            ("y(j) = max(i : A(i,j))", d.max(axis=0)),
            ("y(j) = A(i,j)", d.sum(axis=0, dtype=dtype)),
            ("s = max(i, j : A(i,j))", np.asarray(d.max())),
            ("s = min(i, j : A(i,j))", np.asarray(d.min())),
        ):
            for threads in (1, 2):
                with pieces_of(100, threads):
                    found = ms.evaluate(text, A=A)
                assert np.array_equal(found, expected), (text, bits, threads)


@pytest.mark.parametrize("bits", BITS)
def test_places_to_gather_from(bits: int) -> None:
    x, A = np.arange(300.0), ms.tensor(np.eye(300), "CSR")
    dtype, far = np.dtype(f"u{bits // 8}"), 200
    places = np.array([4, 0, far], dtype)
    assert ms.evaluate("y(i) = x(I(i))", x=x, I=places).tolist() == [4, 0, far]
    assert ms.evaluate("C(i,j) = A(I(i),j)", A=A, I=places).to_coo()[0][1].tolist() == [4, 0, far]
    assert A[places].to_coo()[0][1].tolist() == [4, 0, far]
    for short in (places, np.array([1, 2**bits - 1, 0], dtype)):
        wrong = int(short.max())
        for _ in range(3):  # the first call, and calls like it
            with pytest.raises(ms.CoordinatesError, match=rf"I to hold positions of x, 0 to 4 .* but got {wrong} at"):
                ms.evaluate("y(i) = x(I(i))", x=x[:5], I=short)


@pytest.mark.parametrize("bits", BITS)
def test_streams_and_task_graphs(bits: int, tmp_path: Path) -> None:
    da, msd = pytest.importorskip("dask.array"), pytest.importorskip("mlir_sparse.dask")
    rng, top = np.random.default_rng(bits), 2**bits - 1
    dtype = np.dtype(f"u{bits // 8}")
    d = np.where(rng.random((40, 30)) < 0.3, rng.integers(top // 2 - 2, top, (40, 30), dtype, endpoint=True), 0)
    d = d.astype(dtype)
    ms.write(tmp_path / "a.npz", ms.tensor(d, "CSR"))
    for text, expected in (
        ("y(i) = max(j : A(i,j))", d.max(axis=1)),
        ("y(j) = max(i : A(i,j))", d.max(axis=0)),
        ("y(j) = A(i,j)", d.sum(axis=0, dtype=dtype)),
    ):
        found = ms.stream(text, A=ms.source(tmp_path / "a.npz"), memory="16KiB")
        assert (found.dtype, found.tolist()) == (dtype, expected.tolist())
        found = msd.evaluate(text, A=da.from_array(d, chunks=(13, 11))).compute()
        assert (found.dtype, np.asarray(found).tolist()) == (dtype, expected.tolist())
    with pytest.raises(ms.DTypeError, match=f"in floating point to differentiate by it, but got u{bits}"):
        ms.adjoint("y(i) = A(i,j) * x(j)", ["A"], A=f"u{bits}[?,?] CSR", x=f"u{bits}[?]")
