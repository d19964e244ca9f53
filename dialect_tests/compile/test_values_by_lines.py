"""Sums over a target's variables whose values are computed by lines, beside the same all at once and NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse import _native
from mlir_sparse.compile.comprehension import comprehension_run, values_by_lines

Array = np.ndarray[Any, Any]

STATEMENTS = [
    "c(i + j) +=! a(i) * b(j)",
    "c(j + i) +=! b(j) * a(i)",
    "c(i + 2*j) +=! a(i) * b(j)",
    "c(3*i + 2*j + 1) +=! a(i) + b(j)",
    "c(40 - i + j) +=! a(i) * b(j)",
    "c(i + k, j) +=! A(i,j) * a(k)",
    "c(i + k, j + l) +=! A(i,j) * A(k,l)",
    "c(i + j) +=! sum(k : A(i,k) * B(k,j))",
    "c(i + j) +=! a(i) * b(j) * i",
    "c(i + j) +=! j * a(i) + i * b(j)",
    "c(i + j) +=! a(i + 3) * b(j) where i in 0:6",
    "c(i + j) +=! i < j ? a(i) : b(j)",
    "c(i + j) +=! A(i,j) * A(i,j)",
    "c(i + j) +=! sqrt(abs(A(i,j))) - 2",
    "c(i + j) +=! b(p(i)) * b(j)",
    "c(i + j + k) +=! a(i) * b(j) * a(k)",
]


def operands(text: str, seed: int = 0) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    known = {
        "a": draw.integers(-4, 5, 9).astype(float),
        "b": draw.integers(-4, 5, 11).astype(float),
        "A": draw.integers(-4, 5, (9, 11)).astype(float),
        "B": draw.integers(-4, 5, (11, 9)).astype(float),
        "p": draw.integers(0, 11, 9),
    }
    return {name: one for name, one in known.items() if f"{name}(" in text.partition("=!")[2]}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Has some 40 values computed at once, and tells what came of each attempt."""
    tried: list[Any] = []

    def told(*arguments: Any) -> Any:
        tried.append(values_by_lines.sum_by_lines(*arguments))
        return tried[-1]

    monkeypatch.setattr(values_by_lines, "_MOST", 320)
    monkeypatch.setattr(comprehension_run, "sum_by_lines", told)
    return tried


@pytest.mark.parametrize("text", STATEMENTS)
def test_lines_add_up_to_what_all_values_do(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = operands(text)
    whole = ms.evaluate(text, **given)
    for most in (1, 100, 320, 1000):
        monkeypatch.setattr(values_by_lines, "_MOST", most)
        np.testing.assert_array_equal(ms.evaluate(text, **given), whole)
        out = np.full(tuple(extent + 2 for extent in whole.shape), np.nan)
        ms.evaluate(text, **given, out=out)
        np.testing.assert_array_equal(out[tuple(map(slice, whole.shape))], whole)
        assert out.sum() == whole.sum()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i1", "u2", "i4", "u8", "bool"])
def test_element_types(dtype: str, few: list[Any]) -> None:
    draw = np.random.default_rng(1)
    a, b = (draw.integers(0, 3, size).astype(dtype) for size in (40, 60))
    text = "c(i + j) +=! a(i) * b(j)"
    found = ms.evaluate(text, a=a, b=b)
    wide = np.convolve(a.astype(complex), b.astype(complex))
    wanted = wide != 0 if dtype == "bool" else wide if dtype.startswith("c") else wide.real.astype("i8")
    np.testing.assert_array_equal(found, wanted.astype(dtype))
    assert found.dtype == dtype
    assert len(few) == 1
    assert few[0] is not None


def test_present_values_and_values_again(few: list[Any]) -> None:
    draw = np.random.default_rng(2)
    a, b, c = draw.random(30), draw.random(50), draw.random(90)
    expected = c.copy()
    expected[:79] += np.convolve(a, b)
    np.testing.assert_allclose(ms.evaluate("c(i + j) += a(i) * b(j)", a=a, b=b, c=c), expected)
    assert few[-1] is not None
    out = c.copy()
    assert ms.evaluate("c(i + j) += a(i) * b(j)", a=a, b=b, c=out, out=out) is out
    np.testing.assert_allclose(out, expected)
    again = (  # what is reached starts from zero
        "def f(double(N) e, double(I) a, double(J) b) -> (c) { c(k) = e(k); c(i + j) +=! a(i) * b(j) }"
    )
    expected = np.r_[np.convolve(a, b), c[79:]]
    np.testing.assert_allclose(ms.evaluate(again, a=a, b=b, e=c), expected)
    assert few[-1] is None
    kernel = ms.compile("c(i + j) +=! a(i) * b(j)", a=a, b=b)
    for seed in range(3):  # other values, and other extents
        x, y = np.random.default_rng(seed).random(20 + seed), np.random.default_rng(seed).random(70)
        np.testing.assert_allclose(kernel(a=x, b=y), np.convolve(x, y))


@pytest.mark.parametrize("op", ["max", "min", "*"])
def test_other_reductions_take_all_values_at_once(op: str, few: list[Any]) -> None:
    a, b = np.random.default_rng(3).random(30) + 1, np.random.default_rng(4).random(50) + 1
    found = ms.evaluate(f"c(i + j) {op}=! a(i) * b(j)", a=a, b=b)
    combined = {"max": np.maximum, "min": np.minimum, "*": np.multiply}[op]
    expected = np.full(79, {"max": -np.inf, "min": np.inf, "*": 1.0}[op])
    for at, one in enumerate(a):
        expected[at : at + 50] = combined(expected[at : at + 50], one * b)
    np.testing.assert_allclose(found, expected)
    assert few == [None]


def test_nan_and_infinities_stay_where_they_are(few: list[Any]) -> None:
    a, b = np.ones(40), np.ones(60)
    a[5], b[7] = np.inf, np.nan
    with np.errstate(invalid="ignore"):
        found = ms.evaluate("c(i + j) +=! a(i) * b(j)", a=a, b=b)
    assert np.isnan(found[7:47]).all()
    assert np.isinf(found[[5, 6, 47, 50]]).all()
    assert np.isfinite(found[[0, 4, 65, 98]]).all()
    assert few[0] is not None


@pytest.mark.parametrize("storage", ["CSR", "COO", "CSC"])
def test_sparse_operands(storage: str, few: list[Any]) -> None:
    dense = operands("=! A(")["A"] * (np.random.default_rng(5).random((9, 11)) < 0.4)
    A = ms.tensor(dense, storage)
    b = np.arange(20.0)
    for text in ("c(i + j) +=! A(i,j)", "c(k + i, j) +=! A(i,j) * b(k)", "c(i + k, j) +=! A(i,j) * b(k)"):
        given: dict[str, Any] = {"A": A} if "b(" not in text else {"A": A, "b": b}
        found = ms.evaluate(text, **given)
        np.testing.assert_array_equal(found, ms.evaluate(text, **{**given, "A": dense}))
    assert len(few) > 3


def test_ranges_and_empty_vectors(few: list[Any]) -> None:
    a, b = np.arange(50.0), np.arange(60.0)
    found = ms.evaluate("c(i + j) +=! a(i) * b(j) where i in 10:45, j in 3:58", a=a, b=b)
    expected = np.zeros(102)
    expected[13:] = np.convolve(a[10:45], b[3:58])[: 102 - 13]
    np.testing.assert_allclose(found, expected)
    assert few[-1] is not None
    assert ms.evaluate("c(i + j) +=! a(i) * b(j)", a=a[:0], b=b).sum() == 0


def test_the_result_does_not_depend_on_threads(few: list[Any]) -> None:
    a, b = np.random.default_rng(6).random(500), np.random.default_rng(7).random(700)
    found = []
    for threads in (1, 2, 3):
        ms.set_num_threads(threads)
        found.append(ms.evaluate("c(i + j) +=! a(i) * b(j)", a=a, b=b))
    ms.set_num_threads(None)
    for one in found[1:]:
        np.testing.assert_array_equal(one, found[0])
    np.testing.assert_allclose(found[0], np.convolve(a, b))


@pytest.mark.parametrize("name", ["sum float64", "sum int8", "prod complex64", "max float32"])
def test_values_are_combined_at_places_of_any_distance(name: str) -> None:
    kind, dtype = name.split()
    ufunc = {"sum": np.add, "prod": np.multiply, "max": np.maximum}[kind]
    draw = np.random.default_rng(8)
    values = draw.integers(1, 3, (4, 5, 3)).astype(dtype)
    for strides in ((1, 1, 1), (5, 3, 1), (1, 2, 4), (3, -1, 2), (0, 3, 1), (2, 0, 1)):
        memory = draw.integers(0, 5, 64).astype(dtype)
        expected = memory.copy()
        for at in np.ndindex(values.shape):
            place = 20 + sum(stride * one for stride, one in zip(strides, at, strict=True))
            expected[place] = ufunc(expected[place], values[at])
        places = np.lib.stride_tricks.as_strided(memory[20:], values.shape, [s * memory.itemsize for s in strides])
        _native.combine_places(name, places, np.asfortranarray(values) if strides[0] == 3 else values)
        np.testing.assert_array_equal(memory, expected)
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    for wrong in (fixed, np.zeros(4), np.zeros((3, 1)), np.zeros(3, "f2")):
        with pytest.raises(ValueError, match="expected an operator"):
            _native.combine_places("sum float64", wrong, np.ones(3))
    with pytest.raises(ValueError, match="expected an operator"):
        _native.combine_places("sum words", np.zeros(3), np.ones(3))
