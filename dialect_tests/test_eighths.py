"""Real numbers of 8 bits: stored, computed in f32, rounded once as ml_dtypes rounds."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.as_array import as_array
from dialect_tests.crossing import crossed

Array = np.ndarray[Any, Any]
TYPES = {"f8e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn), "f8e5m2": np.dtype(ml_dtypes.float8_e5m2)}
STORAGES = ["dense", "CSR", "CSC", "COO", "DCSR", "BSR(2, 2)", "ELL", "DIA", "UnorderedCOO", "NonuniqueCOO"]


def _wide(values: Any) -> Array:
    return np.asarray(as_array(values)).astype(np.float32)


def _agree(found: Any, expected: Array) -> None:
    """Checks types, shapes and bits, but for those of what is no number."""
    found = as_array(found)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_array_equal(_wide(found), _wide(expected))
    finite = ~np.isnan(_wide(expected))
    bits = f"u{expected.itemsize}"
    np.testing.assert_array_equal(found.view(bits)[finite], expected.view(bits)[finite])


def _matrix(kind: np.dtype[Any], rows: int = 6, columns: int = 7) -> Array:
    rng = np.random.default_rng(0)
    return np.where(rng.random((rows, columns)) < 0.5, 3 * rng.normal(size=(rows, columns)), 0).astype(kind)


@pytest.mark.parametrize("name", TYPES)
def test_all_numbers_and_their_sums_are_those_of_ml_dtypes(name: str) -> None:
    """Native code reads all 256 numbers, and rounds each sum of two: duplicates are added up."""
    kind = TYPES[name]
    every = np.arange(256, dtype=np.uint8).view(kind)
    np.testing.assert_array_equal(_wide(ms.evaluate("y(i) = f32(x(i))", x=every)), _wide(every))
    a, b = (one.ravel() for one in np.meshgrid(every, every))
    twice = np.tile(np.arange(a.size), 2)[None]
    summed = ms.tensor((twice, np.concatenate([a, b])), "SparseVector", shape=a.shape)
    with np.errstate(all="ignore"):
        expected = (_wide(a) + _wide(b)).astype(kind)
    np.testing.assert_array_equal(_wide(summed), _wide(expected))


@crossed(name=list(TYPES), storage=STORAGES)
def test_results_are_rounded_once(name: str, storage: str) -> None:
    kind = TYPES[name]
    D = _matrix(kind)
    x = np.linspace(-3, 3, 7).astype(kind)
    A, F, f = D if storage == "dense" else ms.tensor(D, storage), _wide(D), _wide(x)
    with np.errstate(all="ignore"):
        cases: dict[str, Array] = {
            "y(i) = A(i,j) * x(j)": (F @ f).astype(kind),
            "B(i,j) = 0.3 * A(i,j)": (np.float32(0.3) * F).astype(kind),
            "B(i,j) = A(i,j) * A(i,j) * A(i,j) * A(i,j)": (F * F * F * F).astype(kind),
            "B(i,j) = exp(A(i,j))": np.exp(F).astype(kind),
            "C(i,j) = A(i,k) * A(j,k)": (F @ F.T).astype(kind),
            "y(i) = A(i,j) * A(k,j) * x(j)": ((F * f) @ F.sum(0)).astype(kind),
            "y(i) = max(j : A(i,j) * 1.3)": (F * np.float32(1.3)).max(1).astype(kind),
            "B(i,j) = A(i,j) > 1.2": np.float32(1.2) < F,
            "s = A(i,j)": F.sum(dtype=np.float64).astype(np.float32).astype(kind),
            "y(i) = argmax(j : A(i,j))": F.argmax(1),
        }
    for text, expected in cases.items():
        given = {"A": A} | ({"x": x} if "x(j)" in text else {})
        found = ms.evaluate(text, tensors=given)
        if kind != expected.dtype:
            np.testing.assert_array_equal(as_array(found), expected)
        elif "exp" in text or "k" in text:  # f32 may differ in its last bit
            np.testing.assert_allclose(_wide(found), _wide(expected), rtol=2.0**-2)
        else:
            _agree(found, expected)
    whether = ms.evaluate("y(i) and= x(i) > 0", x=x, y=np.ones(7, kind))  # truth values from a target of numbers
    np.testing.assert_array_equal(whether, f > 0)
    out = np.ones(6, kind)
    assert ms.evaluate("y(i) += A(i,j) * x(j)", A=A, x=x, y=out, out=out) is out
    _agree(out, (1 + F @ f).astype(kind))


@pytest.mark.parametrize("name", TYPES)
def test_kernels(name: str, tmp_path: Path) -> None:
    kind = TYPES[name]
    D, x = _matrix(kind), np.linspace(-3, 3, 7).astype(kind)
    A, expected = ms.tensor(D, "CSR"), (_wide(D) @ _wide(x)).astype(kind)
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=f"{name}[?,?] CSR", x=f"{name}[?]")
    assert str(kernel.output) == f"{name}[?]"
    assert "is stored, and computed in f32" in kernel.explain()
    kernel.save(tmp_path / "kernel.msk")
    for made in (kernel, pickle.loads(pickle.dumps(kernel)), ms.load(tmp_path / "kernel.msk")):
        for _ in range(2):
            _agree(made(A, x), expected)
    square = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=A, B=A.T)
    _agree(square.compute(A, A.T, out=square.assemble(A, A.T)), as_array(square(A, A.T)))
    mixed = {"float16": "float32", "float32": "float32", "int8": str(kind), "complex64": "complex64"}
    for other, common in mixed.items():
        assert str(ms.evaluate("y(i) = x(i) * z(i)", x=x, z=np.ones(7, other)).dtype) == common
    found = ms.evaluate("c(i + j) +=! a(i) * b(j)", a=x, b=x)
    np.testing.assert_allclose(_wide(found), np.convolve(_wide(x), _wide(x)), rtol=2.0**-2, atol=0.5)
    # Values between statements are kept in f32.
    text = f"def f({name}(N) x) -> (z) {{ y(i) = 0.3 * x(i) z(i) = y(i) * y(i) }}"
    _agree(ms.evaluate(text, x=x), ((np.float32(0.3) * _wide(x)) ** 2).astype(kind))
    text = "def f(float(N) x) -> (y, z) { y(i) = 2 * x(i) z(i) = y(i) * y(i) }"
    with pytest.raises(ms.DTypeError, match="expected x of f32, as declared"):
        ms.evaluate(text, x=x)


@pytest.mark.parametrize("name", TYPES)
def test_tensors(name: str, tmp_path: Path) -> None:
    kind = TYPES[name]
    D = _matrix(kind)
    A = ms.tensor(D)
    assert ms.DType.of(kind).name == ms.DType.of(ms.DType.of(kind).mlir).name == name
    for storage in ("CSC", "COO", "BSR(2, 2)", "DIA", "ELL"):
        _agree(A.convert(storage), D)
    _agree(ms.tensor(_wide(D)).astype(kind), D)
    _agree(A.astype("f32"), _wide(D))
    _agree(pickle.loads(pickle.dumps(A)), D)
    assert (A.max().shape, A.sum().shape, (A + A).dtype, (A @ A.T).dtype) == ((), (), kind, kind)
    _agree(np.concatenate([A, A]), np.concatenate([D, D]))
    _agree(A[1:3], D[1:3])
    ms.write(tmp_path / "a.npz", A)
    _agree(ms.read(tmp_path / "a.npz"), D)
    ms.write(tmp_path / "a.tns", A)
    _agree(ms.read(tmp_path / "a.tns", shape=D.shape, dtype=name), D)
    large = np.random.default_rng(0).normal(size=300_000).astype(kind)
    _agree(ms.evaluate("y(i) = x(i) * x(i)", x=large), (_wide(large) ** 2).astype(kind))
    with np.errstate(all="ignore"):
        empty = np.full(2, -np.inf, np.float32).astype(kind)
    np.testing.assert_array_equal(_wide(ms.evaluate("y(i) = max(j : A(i,j))", A=np.zeros((2, 0), kind))), _wide(empty))


@pytest.mark.parametrize("name", TYPES)
def test_refusals(name: str) -> None:
    A = ms.tensor(_matrix(TYPES[name]))
    with pytest.raises(ms.UnsupportedError, match=rf"GPU's kernels compute in, but got {name}, .* A.astype\('f32'\)"):
        ms.compile("y(i) = A(i,j)", A=A, target="cuda:sm_90").ir("ptx")
    with pytest.raises(ms.NotationSyntaxError, match=f"{name} is stored alone: cast to f32, and convert the result"):
        ms.evaluate(f"y(i) = {name}(x(i))", x=np.ones(2))
    with pytest.raises(ms.DTypeError, match="SciPy has"):
        A.to_scipy()
