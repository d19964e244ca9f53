"""Numbers below the least normal one: kept by every kernel, on processors that round to bf16 by themselves too."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import mlir_sparse as ms

BF16 = np.dtype(ml_dtypes.bfloat16)
STORAGES = ("CSR", "CSC", "COO", "DCSR", "ELL", "SlotELL", "BSR(4, 4)", "DIA", "dense")
KINDS = {
    "bf16": (BF16, np.uint16),
    "f16": (np.dtype(np.float16), np.uint16),
    "f32": (np.dtype(np.float32), np.uint32),
    "f64": (np.dtype(np.float64), np.uint64),
}


def subnormals(kind: str) -> np.ndarray[Any, Any]:
    """Returns 120 numbers without a normal one, of both signs."""
    dtype, bits = KINDS[kind]
    least = np.frombuffer(np.arange(1, 121, dtype=bits).tobytes(), dtype).copy()
    return np.where(np.arange(120) % 3 == 0, -least, least).astype(dtype)


def same(found: Any, wanted: Any) -> None:
    __tracebackhide__ = True
    found = found.to_numpy() if hasattr(found, "to_numpy") else found
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found.astype(np.float64), wanted.astype(np.float64))


@pytest.mark.parametrize("kind", KINDS)
def test_arrays(kind: str) -> None:
    a = subnormals(kind)
    one = np.ones(120, a.dtype)
    for text, operands, wanted in (
        ("y(i) = a(i) * b(i)", {"a": a, "b": one}, a),
        ("y(i) = a(i) + b(i)", {"a": a, "b": a}, a + a),
        ("y(i) = -a(i)", {"a": a}, -a),
        ("y(i) = a(i) - b(i)", {"a": a, "b": one * 0}, a),
        ("y(i) = a(i) / b(i)", {"a": a, "b": one}, a),
        ("y(i) = max(a(i), b(i))", {"a": a, "b": -a}, np.maximum(a, -a)),
        ("y(i) = abs(a(i))", {"a": a}, abs(a)),
    ):
        same(ms.evaluate(text, **operands), wanted)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_matrices(kind: str, storage: str) -> None:
    a = subnormals(kind)
    dense = np.diag(a)
    A = ms.tensor(dense, storage)
    one = np.ones(120, a.dtype)
    same(A @ one, a)
    same(A @ np.ones((120, 8), a.dtype), np.repeat(a[:, None], 8, axis=1))
    same(ms.evaluate("y(j) = A(i,j) * x(i)", A=A, x=one), a)
    same(A + A, dense + dense)
    same(A * one, dense)
    same(ms.evaluate("C(i,j) = A(i,j) * B(i,j)", A=A, B=np.ones_like(dense)), dense)
    same(ms.evaluate("y(i) = A(i,j)", A=A), a)


def test_every_number_in_bf16_is_rounded_as_ml_dtypes_does() -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(BF16)
    wide = every.astype(np.float32)
    with np.errstate(all="ignore"):
        for scale in (1.0, 0.75, 1.0078125, 3.0):
            found = ms.evaluate("y(i) = a(i) * b(i)", a=every, b=np.full(1 << 16, scale, BF16))
            wanted = (wide * np.float32(scale)).astype(BF16)
            nan = np.isnan(wanted.astype(np.float32))
            np.testing.assert_array_equal(np.isnan(found.astype(np.float32)), nan)
            np.testing.assert_array_equal(found.view(np.uint16)[~nan], wanted.view(np.uint16)[~nan])
