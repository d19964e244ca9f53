"""Sums of f16 and bf16: right to a few of their last bits for thousands of terms, in every kernel that sums.

The expected numbers are sums of the operands in f64. Terms are positive, so that errors are of rounding alone.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import mlir_sparse as ms

Array = np.ndarray[Any, Any]

BF16 = np.dtype(ml_dtypes.bfloat16)
F16 = np.dtype(np.float16)
LONG = 3600

# Half a last bit for the one rounding, and what a sum of thousands is off in f32.
_ALLOWED = {BF16: 2.0**-8 * 1.01, F16: 2.0**-11 * 1.2}

# Text, shapes of the operands with a long axis, their storage, the storage of the result.
CASES: dict[str, tuple[str, dict[str, tuple[tuple[int, ...], str | None]], str | None]] = {
    "SpMV": ("y(i) = A(i,j) * x(j)", {"A": ((5, LONG), "CSR"), "x": ((LONG,), None)}, None),
    "SpMV of COO": ("y(i) = A(i,j) * x(j)", {"A": ((5, LONG), "COO"), "x": ((LONG,), None)}, None),
    "SpMV of blocks": ("y(i) = A(i,j) * x(j)", {"A": ((6, LONG), "BSR"), "x": ((LONG,), None)}, None),
    "SpMV of diagonals": ("y(i) = A(i,j) * x(j)", {"A": ((5, LONG), "DIA"), "x": ((LONG,), None)}, None),
    "transposed SpMV": ("y(j) = A(i,j) * x(i)", {"A": ((LONG, 5), "CSR"), "x": ((LONG,), None)}, None),
    "SpMM": ("C(i,k) = A(i,j) * X(j,k)", {"A": ((5, LONG), "CSR"), "X": ((LONG, 20), None)}, None),
    "SpMM of columns": ("C(i,k) = A(i,j) * X(j,k)", {"A": ((5, LONG), "CSC"), "X": ((LONG, 8), None)}, None),
    "SDDMM": (
        "C(i,j) = S(i,j) * X(i,k) * Y(k,j)",
        {"S": ((5, 7), "CSR"), "X": ((5, LONG), None), "Y": ((LONG, 7), None)},
        "CSR",
    ),
    "SpGEMM": ("C(i,k) = A(i,j) * B(j,k)", {"A": ((5, LONG), "CSR"), "B": ((LONG, 6), "CSR")}, "CSR"),
    "SpGEMM into COO": ("C(i,k) = A(i,j) * B(j,k)", {"A": ((5, LONG), "CSR"), "B": ((LONG, 6), "CSR")}, "COO"),
    "SpGEMM into columns": ("C(i,k) = A(i,j) * B(j,k)", {"A": ((5, LONG), "CSR"), "B": ((LONG, 6), "CSR")}, "CSC"),
    "SpGEMM into an array": ("C(i,k) = A(i,j) * B(j,k)", {"A": ((5, LONG), "CSR"), "B": ((LONG, 6), "CSR")}, "dense"),
    "MTTKRP": (
        "D(i,r) = T(i,j,k) * B(j,r) * C(k,r)",
        {"T": ((4, 60, 60), "CSF"), "B": ((60, 6), None), "C": ((60, 6), None)},
        None,
    ),
    "TTM": ("C(i,j,l) = T(i,j,k) * M(k,l)", {"T": ((3, 4, LONG), "CSF"), "M": ((LONG, 5), None)}, "CSF"),
    "scalar": ("s = A(i,j) * x(j)", {"A": ((4, LONG), "CSR"), "x": ((LONG,), None)}, None),
    "sum of rows": ("y(i) = sum(j : A(i,j))", {"A": ((4, LONG), "CSR")}, None),
    "addends": (
        "y(i) = A(i,j) * x(j) + b(i)",
        {"A": ((4, LONG), "CSR"), "x": ((LONG,), None), "b": ((4,), None)},
        None,
    ),
    "mean": ("y(i) = sum(j : A(i,j)) / 3600", {"A": ((4, LONG), "CSR")}, None),
    "a sum of dense operands": ("y(i) = X(i,j) * x(j)", {"X": ((4, LONG), None), "x": ((LONG,), None)}, None),
}


def _operands(shapes: dict[str, tuple[tuple[int, ...], str | None]], dtype: Any) -> tuple[dict[str, Array], Any]:
    rng = np.random.default_rng(7)
    arrays, passed = {}, {}
    for name, (shape, storage) in shapes.items():
        array = (rng.random(shape) / 16 + 0.125).astype(dtype)
        if storage is not None and storage not in ("BSR", "DIA") and array.size > 100:
            array = array * (rng.random(shape) < 0.9).astype(dtype)
        arrays[name] = array
        passed[name] = array if storage is None else ms.tensor(array, storage)
    return arrays, passed


def _expected(text: str, arrays: dict[str, Array]) -> Array:
    wide = {name: array.astype(np.float64) for name, array in arrays.items()}
    if text.startswith("y(i) = sum"):
        return wide["A"].sum(axis=1) / (LONG if "/" in text else 1)
    target, _, value = text.partition(" = ")
    product, *added = value.split(" + ")
    factors = [factor.rstrip(")").split("(") for factor in product.split(" * ")]
    letters = [indices.replace(",", "") for _, indices in factors]
    kept = target.partition("(")[2].rstrip(")").replace(",", "")
    found = np.einsum(f"{','.join(letters)}->{kept}", *(wide[name] for name, _ in factors), optimize=True)
    return np.asarray(found + wide["b"] if added else found)


def _check(found: Any, expected: Array, dtype: Any) -> None:
    array = found.to_numpy() if isinstance(found, ms.SparseTensor) else np.asarray(found)
    assert array.dtype == dtype
    np.testing.assert_allclose(array.astype(np.float64), expected, rtol=_ALLOWED[dtype])


@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_sums_are_rounded_once(name: str, dtype: Any) -> None:
    text, shapes, out = CASES[name]
    arrays, passed = _operands(shapes, dtype)
    kernel = ms.compile(text, tensors=passed, out=out)
    expected = _expected(text, arrays)
    _check(kernel(**passed), expected, dtype)
    for limited in (kernel.within(2, deterministic=False), kernel.within(2, deterministic=True)):
        _check(limited(**passed), expected, dtype)
    if out in (None, "dense"):
        room = np.empty(expected.shape, dtype)
        assert kernel(**passed, out=room) is room
        _check(room, expected, dtype)
    else:
        structure = kernel.assemble(**passed)
        _check(kernel.compute(**passed, out=structure), expected, dtype)


@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_a_sum_onto_what_is_there_is_rounded_once(dtype: Any) -> None:
    arrays, passed = _operands({"A": ((4, LONG), "CSR"), "x": ((LONG,), None), "y": ((4,), None)}, dtype)
    wide = {name: array.astype(np.float64) for name, array in arrays.items()}
    found = ms.evaluate("y(i) += A(i,j) * x(j)", **passed)
    _check(found, wide["y"] + wide["A"] @ wide["x"], dtype)


@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
@pytest.mark.parametrize("out", ["CSR", "dense"])
def test_semirings_that_add_are_rounded_once(out: str, dtype: Any) -> None:
    arrays, passed = _operands({"A": ((5, LONG), "CSR"), "B": ((LONG, 6), "CSR")}, dtype)
    wide = {name: array.astype(np.float64) for name, array in arrays.items()}
    found = ms.evaluate("C(i,k) = A(i,j) * B(j,k)", **passed, out=out, semiring="plus_times")
    _check(found, wide["A"] @ wide["B"], dtype)


@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_a_product_is_rounded_once(dtype: Any) -> None:
    x = np.tile(np.array([1.5, 0.6875, 0.984375], dtype), 100)
    found = ms.evaluate("s = prod(i : x(i))", x=x)
    _check(found, np.prod(x.astype(np.float64)), dtype)


@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_a_sum_inside_a_comparison_is_not_rounded(dtype: Any) -> None:
    A = ms.tensor(np.ones((2, LONG), dtype), "CSR")
    np.testing.assert_array_equal(ms.evaluate("y(i) = sum(j : A(i,j)) == 3600", A=A), [1, 1])


@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_sums_of_a_narrow_operand_next_to_a_wide_one_are_wide(dtype: Any) -> None:
    A = ms.tensor(np.ones((2, 3601), dtype), "CSR")
    b = np.ones(2, np.float32)
    np.testing.assert_array_equal(ms.evaluate("y(i) = sum(j : A(i,j)) * b(i)", A=A, b=b), [3601, 3601])


@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_elements_that_are_gathered_keep_their_type(dtype: Any) -> None:
    arrays, passed = _operands({"A": ((4, LONG), "CSR"), "x": ((LONG,), None)}, dtype)
    place = np.arange(LONG)[::-1].copy()
    found = ms.evaluate("y(i) = sum(j : A(i,j) * x(p(j)))", **passed, p=place)
    _check(found, arrays["A"].astype(np.float64) @ arrays["x"].astype(np.float64)[::-1], dtype)


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_a_result_whose_encoding_names_a_value_has_it(name: str) -> None:
    dtype = BF16 if name == "bf16" else F16
    one = ms.tensor(np.eye(3, dtype=dtype), "CSR")
    kept = f"#sparse_tensor.encoding<{{ map = (i, j) -> (i : dense, j : compressed), explicitVal = 1.0 : {name} }}>"
    found = ms.evaluate("C(i,k) = A(i,j) * B(j,k)", A=one, B=one, out=kept)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.to_numpy().astype(float), np.eye(3))


@pytest.mark.filterwarnings("error")
def test_a_sum_beyond_the_greatest_number_is_infinite() -> None:
    A = ms.tensor(np.full((2, 4), 60000, F16), "CSR")
    found = ms.evaluate("C(i,k) = A(i,j) * B(j,k)", A=A, B=ms.tensor(np.ones((4, 2), F16), "CSR"))
    np.testing.assert_array_equal(found.to_numpy(), np.full((2, 2), np.inf))


@pytest.mark.parametrize("text", ["C(i,j) = A(i,j) + B(i,j)", "m(i) = max(j : A(i,j))"])
def test_what_does_not_add_up_stays_as_it_is(text: str) -> None:
    A = ms.tensor(np.eye(3, dtype=BF16), "CSR")
    passed = {"A": A, "B": A} if "B" in text else {"A": A}
    assert "f32" not in ms.compile(text, tensors=passed).ir("plan")


def test_explain_says_so() -> None:
    A = ms.tensor(np.eye(3, dtype=BF16), "CSR")
    vector = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=np.ones(3, BF16))
    assert "because: sums of bf16 are made in f32, and rounded once" in vector.explain()
    matrix = ms.compile("C(i,k) = A(i,j) * B(j,k)", A=A, B=A, out="COO")
    assert "sums of bf16 are made in f32, and rounded once" in matrix.explain()
