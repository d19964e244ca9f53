"""Casts in notation: every type to every other, storage of every kind, sums of what is cast, gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests import oracle
from dialect_tests.crossing import crossed

TYPES = ["bool", "i8", "i32", "i64", "u8", "u64", "f16", "bf16", "f32", "f64"]


@crossed(source=TYPES, target=[*TYPES, "c64", "c128"], storage=["dense", "CSR", "CSC", "COO", "BSR(2, 2)", "ELL"])
def test_elements_have_the_type_and_the_value(source: str, target: str, storage: str) -> None:
    kind = ms.DType(source).numpy
    D = np.array([[0, 1.5, 0, 100.25], [3, 0, 2, 0], [0, 0, 0, 7]]).astype(kind)
    A = D if storage == "dense" else ms.tensor(D, storage)
    for text in (f"B(i,j) = {target}(A(i,j))", f"y(i) = {target}(A(i,j)) * 2", f"y(j) = sum(i : {target}(2 * A(i,j)))"):
        found = ms.evaluate(text, A=A)
        oracle.assert_close(
            found.to_numpy() if isinstance(found, ms.SparseTensor) else found, oracle.evaluate(text, {"A": D})
        )


def test_what_integers_do_not_hold_is_their_least() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 127.9, 128.0, -128.9, -0.0, -1.0])
    for dtype in (np.float64, np.float32):
        found = ms.evaluate("y(i) = i8(x(i))", x=x.astype(dtype))
        assert found.tolist() == [-128, -128, -128, -128, -128, 127, -128, -128, 0, -1]
    assert ms.evaluate("y(i) = u8(x(i))", x=x).tolist() == [0, 0, 0, 0, 0, 127, 128, 0, 0, 0]
    edges = np.array([2.0**63, -(2.0**63), 2.0**64, 2.0**53 + 2])
    assert ms.evaluate("y(i) = i64(x(i))", x=edges).tolist() == [-(2**63), -(2**63), -(2**63), 2**53 + 2]
    assert ms.evaluate("y(i) = u64(x(i))", x=edges).tolist() == [2**63, 0, 0, 2**53 + 2]


def test_other_names_and_indices() -> None:
    assert str(ms.parse("y(i) = float32(x(i)) + int8(2 * i)")) == "y(i) = f32(x(i)) + i8(2 * i)"
    single = np.ones((3, 4), np.float32)
    assert ms.evaluate("y(i) = A(i,j) * f32(j)", A=ms.tensor(single)).dtype == np.float32
    comprehension = "def f(float(N) x) -> (y) { y(i) = double(x(i)) + half(x(i)) }"
    assert ms.evaluate(comprehension, x=np.ones(2, np.float32)).tolist() == [2.0, 2.0]


def test_derivatives() -> None:
    assert str(ms.adjoint("y(i) = f32(x(i)) * z(i)", "x")) == "dx(i) = dy(i) * z(i)"
    with pytest.raises(ms.UnsupportedError, match="got i32, but it gives integers"):
        ms.adjoint("y(i) = i32(x(i))", "x")


def test_complex_numbers_are_taken_apart_first() -> None:
    z: Any = np.ones(2, np.complex128)
    with pytest.raises(ms.UnsupportedError, match="expected a function that complex numbers have, but got f32 of c128"):
        ms.evaluate("y(i) = f32(z(i))", z=z)
    assert ms.evaluate("y(i) = c64(z(i))", z=z).dtype == np.complex64
