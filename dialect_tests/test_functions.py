"""Every function of the notation on every element type that has it, dense and sparse, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests import oracle
from dialect_tests.crossing import is_whole
from dialect_tests.generated import DTYPES
from mlir_sparse.notation import FUNCTIONS, Function

Array = np.ndarray[Any, Any]

# What NaN, infinities, zeros of either sign and the edges of domains give.
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.5, 3.0, 7.25, np.inf, -np.inf, np.nan)
PLAIN = (0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.5, 3.0, 0.25, -7.25)
# Where the inverse functions of complex numbers are cut, signs of zeros decide; infinities have no angle to speak of.
COMPLEX = tuple(complex(a, b) for a in (0.0, 0.5, -0.5, 1.5, -2.0) for b in (0.25, -0.75, 1.5))


def arguments(function: Function, dtype: np.dtype[Any]) -> list[Array]:
    """Returns values for each argument: every pair of the interesting ones."""
    if dtype.kind == "u":
        greatest = np.iinfo(dtype).max
        values = np.array([0, 1, 2, 5, 7, 31, 64, 127, 128, greatest // 2 + 2, greatest - 1, greatest], dtype)
    elif dtype.kind == "i":
        least = np.iinfo(dtype).min
        values = np.array([0, 1, -1, 2, -3, 5, 7, 31, 64, 127, -128, least], dtype)
        if function.name == "pow":
            values = np.array([0, 1, 2, 3, -2], dtype)
    elif dtype.kind == "c":
        values = np.array(COMPLEX, dtype)
    else:
        values = np.array(SPECIAL if dtype.itemsize > 2 else PLAIN).astype(dtype)
    grid = np.meshgrid(*[values] * min(function.arity, 2), indexing="ij")
    found = [g.ravel() for g in grid]
    if function.name == "pow" and dtype.kind == "i":
        found[1] = np.abs(found[1])
    return [*found, *found[: max(0, function.arity - 2)]]


def call_of(function: Function) -> str:
    return f"y(i) = {function.name}({', '.join(f'{name}(i)' for name in 'abc'[: function.arity])})"


def cases() -> list[tuple[Function, np.dtype[Any]]]:
    """Returns every function with each kind of number that it takes, the widths of a kind in turn."""
    found = []
    for number, function in enumerate(FUNCTIONS.values()):
        for kind in function.kinds:
            widths = [dtype for dtype in DTYPES if oracle.kind_of(dtype) == kind]
            found += [(function, dtype) for dtype in (widths if is_whole() else [widths[number % len(widths)]])]
    return found


@pytest.mark.parametrize(("function", "dtype"), cases(), ids=lambda value: getattr(value, "name", str(value)))
def test_functions_are_numpys(function: Function, dtype: np.dtype[Any]) -> None:
    given = dict(zip("abc", arguments(function, dtype), strict=False))
    result = ms.evaluate(call_of(function), tensors=given)
    expected = oracle.evaluate(call_of(function), given)
    finite = np.abs(expected.astype(complex)) < 1e4
    oracle.assert_close(result[finite], expected[finite], terms=8)
    small = oracle.tolerance(dtype, 2) or 1e-15
    np.testing.assert_allclose(result.astype(complex), expected.astype(complex), rtol=0.02, atol=small)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda function: function.name)
def test_functions_of_sparse_operands(function: Function) -> None:
    whole = "f" not in function.kinds
    a = np.array([[0, 2, 0, 1], [0, 0, -3, 0], [1, 0, 0, 0]], np.int64 if whole else np.float64)
    b = np.array([[3, 1, 0, 0], [0, 0, 2, 0], [0, 0, 0, 5]], a.dtype)
    names = "AB"[: function.arity] + "A" * (function.arity - 2)
    text = f"C(i,j) = {function.name}({', '.join(f'{name}(i,j)' for name in names)})"
    data = {name: array for name, array in {"A": a, "B": b}.items() if name in names}
    result = ms.evaluate(text, tensors={name: ms.tensor(array, "CSR") for name, array in data.items()})
    assert isinstance(result, ms.SparseTensor) == bool(function.zero_preserving)
    found = result.to_numpy() if isinstance(result, ms.SparseTensor) else result
    expected = oracle.evaluate(text, data)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert found.dtype == expected.dtype


@pytest.mark.parametrize(
    "function", [known for known in FUNCTIONS.values() if known.arity > 1], ids=lambda function: function.name
)
@pytest.mark.parametrize("text", ["y(i) = sum(j : A(i,j) * {})", "C(i,j) = A(i,j) * {}"], ids=["summed", "sparse"])
def test_functions_of_a_sparse_operand_and_an_array(function: Function, text: str) -> None:
    whole = "f" not in function.kinds
    a = np.array([[0, 2, 0, 1], [0, 0, -3, 0], [1, 0, 0, 0]], np.int64 if whole else np.float64)
    x = np.array([3, 1, 2, 5], a.dtype)
    text = text.format(f"{function.name}({', '.join(['A(i,j)', 'x(j)', 'x(j)'][: function.arity])})")
    found = ms.evaluate(text, A=ms.tensor(a, "CSR"), x=x)
    found = found.to_numpy() if isinstance(found, ms.SparseTensor) else found
    np.testing.assert_allclose(found, oracle.evaluate(text, {"A": a, "x": x}), rtol=1e-14)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda function: function.name)
def test_types_without_the_function_are_refused(function: Function) -> None:
    for kind, dtype in (("i", np.int32), ("f", np.float32), ("c", np.complex64)):
        if kind not in function.kinds:
            given = dict.fromkeys("abc"[: function.arity], np.ones(2, dtype))
            with pytest.raises(
                ms.UnsupportedError, match=f"1:8: expected a function that .* have, but got {function.name} of"
            ):
                ms.evaluate(call_of(function), tensors=given)


def test_functions_of_integers_keep_their_type_in_real_expressions() -> None:
    a, b = np.array([7, -7, 5]), np.array([2, 2, 0])
    assert ms.evaluate("y(i) = floor_divide(a(i), b(i)) + 0.5", a=a, b=b).tolist() == [3.5, -3.5, 0.5]
    assert ms.evaluate("y(i) = bitwise_and(a(i), 3) * 0.5", a=a).tolist() == [1.5, 0.5, 0.5]
    assert ms.evaluate("y(i) = a(i) / b(i)", a=a, b=b).tolist() == [3.5, -3.5, np.inf]


def test_parts_of_complex_numbers_are_real() -> None:
    z = np.array([3 + 4j, -1j, 0], np.complex64)
    for text, function in (("abs", np.abs), ("real", np.real), ("imag", np.imag), ("angle", np.angle)):
        result = ms.evaluate(f"y(i) = {text}(z(i))", z=z)
        assert result.dtype == np.float32
        np.testing.assert_allclose(result, function(z), rtol=1e-6)
    assert ms.evaluate("y(i) = max(real(z(i)), 0)", z=z).tolist() == [3, 0, 0]
    Z = ms.tensor(np.diag(z), "CSR")
    assert ms.evaluate("s = sum(i, j : real(conj(Z(i,j)) * Z(i,j)))", Z=Z) == 26


@pytest.mark.parametrize("storage", ["CSR", "CSC", "COO", "DIA", "BSR(2, 2)", "RowBlocked"])
def test_products_with_functions_of_arrays_are_subtracted(storage: str) -> None:
    D, x, b = np.arange(1.0, 16).reshape(3, 5), np.linspace(1, 2, 5), np.arange(3.0)
    for text, expected in (
        ("y(i) = b(i) - A(i,j) * exp(x(j))", b - D @ np.exp(x)),
        ("y(i) = b(i) - log(x(j)) * A(i,j) / 2", b - D @ np.log(x) / 2),
        ("y(i) = b(i) + A(i,j) * (1 - 2 * log(x(j)))", b + D @ (1 - 2 * np.log(x))),
        ("y(i) = b(i) - sum(j : 2 * (1 + cos(x(j))) * A(i,j))", b - D @ (2 * (1 + np.cos(x)))),
    ):
        found = ms.evaluate(text, A=ms.tensor(D, storage), x=x, b=b)
        np.testing.assert_allclose(found, expected, rtol=1e-13, err_msg=text)
