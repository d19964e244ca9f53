"""Functions beside the same ones in a wider type, over all magnitudes, near their zeros and near branch points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

ml_dtypes = pytest.importorskip("ml_dtypes")

_COUNT = 3000
_WIDER = {"float32": np.float64, "float64": np.longdouble, "complex64": np.complex128, "complex128": np.clongdouble}
_NO_WIDER = np.finfo(np.longdouble).eps == np.finfo(np.float64).eps
_NUMPY = {name: f"arc{name[1:]}" for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")}
REAL = (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan sqrt cbrt sinh cosh tanh asin acos atan asinh acosh atanh square"
)
COMPLEX = "exp exp2 expm1 log log2 log10 log1p sin cos tan sqrt sinh cosh tanh asin acos atan asinh acosh atanh square"

NOT_ZERO_AT_ZERO = {"exp", "exp2", "log", "log2", "log10", "cos", "cosh", "acos", "acosh"}


def _wider(dtype: Any) -> Any:
    found = _WIDER.get(str(np.dtype(dtype)), np.float64)
    if _NO_WIDER and found in (np.longdouble, np.clongdouble):
        pytest.skip("long double is f64 on this machine: nothing to compare with")
    return found


def _spread(random: np.random.Generator, low: float, high: float) -> np.ndarray:
    return 10 ** random.uniform(low, high, _COUNT) * random.choice([-1, 1], _COUNT)


def _wanted(name: str, x: np.ndarray) -> Any:
    if name == "log1p" and x.dtype.kind == "c":  # NumPy's own adds one first
        real, imaginary = x.real, x.imag
        away, near = np.log(np.hypot(1 + real, imaginary)), np.log1p(real * (2 + real) + imaginary**2) / 2
        return np.where(real < -0.5, away, near) + 1j * np.arctan2(imaginary, 1 + real)
    return getattr(np, _NUMPY.get(name, name))(x)


def _ulps(found: np.ndarray, wanted: np.ndarray, limits: Any) -> float:
    """Returns the largest distance relative to the wanted number, in eps, of numbers that have all digits."""
    in_range = (np.abs(wanted) < float(limits.max)) & (np.abs(wanted) > float(limits.tiny))
    apart = np.abs(found[in_range].astype(wanted.dtype) - wanted[in_range]) / np.abs(wanted[in_range])
    assert not np.isnan(apart).any()
    return float(apart.max(initial=0)) / float(limits.eps)


def _assert_accurate(names: str, points: list[np.ndarray], kind: Any, most: float) -> None:
    limits, wider = ml_dtypes.finfo(kind), _wider(kind)
    for ends in points:
        x = ends.astype(kind)
        for name in names.split():
            with np.errstate(all="ignore"):
                wanted = _wanted(name, x.astype(wider))
            found = np.asarray(ms.evaluate(f"y(i) = {name}(x(i))", x=x))
            assert _ulps(found, wanted, limits) < most, name


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_functions_of_real_numbers_are_accurate(dtype: str) -> None:
    random = np.random.default_rng(7)
    points = [_spread(random, -4, 1.5), 1 + _spread(random, -15, -1), -1 + _spread(random, -15, -1)]
    _assert_accurate(REAL, points, np.dtype(getattr(ml_dtypes, dtype, dtype)), 4)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_functions_of_complex_numbers_are_accurate(dtype: str) -> None:
    random = np.random.default_rng(8)
    small = [_spread(random, -12, -3) for _ in range(4)]
    points = [
        _spread(random, -12, 1.3) + 1j * _spread(random, -12, 1.3),
        _spread(random, -12, 1.3) + 0j,
        1j * _spread(random, -12, 1.3),
        *(branch + small[0] + 1j * small[1] for branch in (1, -1, 1j, -1j)),
        np.exp(1j * random.uniform(-4, 4, _COUNT)) * (1 + small[2]),
    ]
    _assert_accurate(COMPLEX, points, np.dtype(dtype), 16)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_powers_of_complex_numbers_are_accurate(dtype: str) -> None:
    limits, wider, random = np.finfo(dtype), _wider(dtype), np.random.default_rng(9)
    for ends in (_spread(random, -3, 1) + 1j * _spread(random, -3, 1), 1 + 1e-4 * _spread(random, -3, 0) * (1 + 1j)):
        z = ends.astype(dtype)
        for exponents in (np.full(_COUNT, 3.0), _spread(random, 1, 1.5) + 0j, _spread(random, -2, 1) * (1 - 0.5j)):
            e = exponents.astype(dtype)
            wanted = np.power(z.astype(wider), e.astype(wider))
            found = np.asarray(ms.evaluate("y(i) = z(i) ** e(i)", z=z, e=e))
            of_argument = float(1 + np.abs(e * np.log(z)).max())  # its rounding counts as often
            assert _ulps(found, wanted, limits) < 4 * of_argument
    zeros, exponents = np.zeros(5, dtype), np.array([2 + 1j, 3, 0, -1, 1j], dtype)
    with np.errstate(all="ignore"):
        wanted = np.power(zeros, exponents)
    np.testing.assert_array_equal(ms.evaluate("y(i) = z(i) ** e(i)", z=zeros, e=exponents), wanted)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_functions_at_infinities_and_zeros(dtype: str) -> None:
    far = 1e30 if dtype == "complex64" else 1e200
    z = np.array([far, -far, far * 1j, -far * 1j, 0, complex(-0.0, -0.0), 1, -1, 1j], dtype)
    for name in ("sin", "cos", "sinh", "cosh", "tan", "tanh", "log", "log1p", "atan", "atanh"):
        with np.errstate(all="ignore"):
            wanted = _wanted(name, z) if name != "log1p" else np.log1p(z)
        found = np.asarray(ms.evaluate(f"y(i) = {name}(z(i))", z=z))
        settled = ~np.isnan(wanted)
        np.testing.assert_allclose(found[settled], wanted[settled], rtol=1e-5, err_msg=name)


@pytest.mark.parametrize("dtype", ["complex64", "float16", "bfloat16"])
@pytest.mark.parametrize("storage", ["CSR", "COO"])
def test_functions_lower_beside_entries_and_of_entries(storage: str, dtype: str) -> None:
    random, kind = np.random.default_rng(10), np.dtype(getattr(ml_dtypes, dtype, dtype))
    turn = 1 + 0.5j if kind.kind == "c" else 1
    dense = (np.where(random.random((5, 6)) < 0.5, random.uniform(0.1, 0.8, (5, 6)), 0) * turn).astype(kind)
    x = (random.uniform(0.1, 0.8, 6) * turn).astype(kind)
    A, wide, v = ms.tensor(dense, storage), dense.astype(_wider(kind)), x.astype(_wider(kind))
    for name in COMPLEX.split():
        if name == "acosh" and kind.kind != "c":
            continue  # of numbers below one it is NaN
        cases = {
            f"y(i) = A(i,j) * {name}(x(j))": wide @ _wanted(name, v),
            f"y(i) = A(i,j) * (x(j) - {name}(x(j)))": wide @ (v - _wanted(name, v)),
        }
        if name not in NOT_ZERO_AT_ZERO:
            cases[f"y(i) = {name}(A(i,j)) * x(j)"] = _wanted(name, wide) @ v
        for text, wanted in cases.items():
            found = np.asarray(ms.evaluate(text, A=A, x=x)).astype(wide.dtype)
            np.testing.assert_allclose(found, wanted, rtol=40 * float(ml_dtypes.finfo(kind).eps), err_msg=text)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_angles_of_entries_that_are_not_there(dtype: str) -> None:
    dense, where = np.array([[1, 0, 0, 2]], dtype), np.array([[1, 0, 2, 3]], dtype)
    A, B = ms.tensor(dense, "CSR"), ms.tensor(where, "CSR")
    cases = {"angle(A(i,j))": np.angle(dense)}
    if np.dtype(dtype).kind == "c":
        cases["angle(exp(A(i,j)) - 1)"] = np.angle(np.exp(dense) - 1)
        cases["imag(acosh(1 + A(i,j)))"] = np.arccosh(1 + dense).imag
        cases["imag(log1p(A(i,j)))"] = np.log1p(dense).imag
        cases["imag(log(A(i,j)))"] = np.zeros(dense.shape)
        cases["imag(atan(A(i,j)))"] = np.zeros(dense.shape)
    else:
        cases["atan2(A(i,j), 0)"] = np.arctan2(dense, 0)
        cases["atan2(0, A(i,j))"] = np.arctan2(0, dense)
        cases["atan2(A(i,j), 2 * A(i,j))"] = np.arctan2(dense, 2 * dense)
    for text, wanted in cases.items():
        found = ms.evaluate(f"C(i,j) = where(B(i,j) != 0, {text}, 0)", A=A, B=B).to_numpy()
        np.testing.assert_allclose(found, np.where(where != 0, wanted, 0), rtol=2e-3, err_msg=text)


def test_angles_of_constant_zeros_and_beside_entries() -> None:
    x, z, dense = np.array([0.0, -0.0, 1, 0]), np.array([-0.0, 0, 2, 0]), np.array([[1.0, 0, 2, 0], [0, 3, 0, 4]])
    for y_part, x_part in ((0.0, 0.0), (0.0, -0.0), (-0.0, 0.0), (-0.0, -0.0)):
        found = ms.evaluate(f"y(i) = x(i) + atan2({y_part}, {x_part})", x=x)
        np.testing.assert_allclose(found, x + np.arctan2(y_part, x_part))
    A = ms.tensor(dense, "CSR")
    found = ms.evaluate("y(i) = A(i,j) * (atan2(x(j), z(j)) - 1)", A=A, x=x, z=z)
    np.testing.assert_allclose(found, dense @ (np.arctan2(x, z) - 1))
