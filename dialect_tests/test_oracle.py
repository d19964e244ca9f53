"""The oracle against NumPy's einsum and numbers worked out by hand: nothing else checks it."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from dialect_tests.generated import DTYPES, KernelCase, dense_data, kernels
from dialect_tests.oracle import BF16, assert_close, evaluate, result_dtype, tolerance
from mlir_sparse.notation import parse

A = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
x = np.array([1.0, 10.0, 100.0])
b = np.array([5.0, 7.0])

EINSUMS = {
    "ij,j->i": "y(i) = A(i,j) * B(j)",
    "ij,i->j": "y(j) = A(i,j) * B(i)",
    "ik,kj->ij": "y(i,j) = A(i,k) * B(k,j)",
    "ij,ij->ij": "y(i,j) = A(i,j) * B(i,j)",
    "ij,ij->": "y = A(i,j) * B(i,j)",
    "ij,ji->": "y = A(i,j) * B(j,i)",
    "ijk,k->ij": "y(i,j) = A(i,j,k) * B(k)",
    "ijk,kl->ijl": "y(i,j,l) = A(i,j,k) * B(k,l)",
    "i,j->ji": "y(j,i) = A(i) * B(j)",
    "ii,i->i": "y(i) = A(i,i) * B(i)",
    ",ij->ij": "y(i,j) = A * B(i,j)",
    "ik,jk->ij": "y(i,j) = A(i,k) * B(j,k)",
}


@given(
    st.sampled_from(sorted(EINSUMS)),
    st.sampled_from([dtype for dtype in DTYPES if dtype not in (BF16, np.bool_)]),
    st.fixed_dictionaries({name: st.integers(0, 4) for name in "ijkl"}),
)
def test_products_are_einsums(subscripts: str, dtype: np.dtype[np.generic], extents: dict[str, int]) -> None:
    first, second = subscripts.split("->")[0].split(",")
    left = dense_data(tuple(extents[name] for name in first), dtype, 0.6, 1)
    right = dense_data(tuple(extents[name] for name in second), dtype, 0.6, 2)
    assert_close(evaluate(EINSUMS[subscripts], {"A": left, "B": right}), np.asarray(np.einsum(subscripts, left, right)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y(i) = A(i,j) * x(j)", [201, 30]),
        ("y(i) = b(i) - A(i,j) * x(j)", [-196, -23]),
        ("y(i) = b(i) + A(i,j)", [8, 10]),
        ("y(i) +=! b(i) + A(i,j)", [18, 24]),
        ("y(i) = 2 * b(i) / A(i,j)", [math.inf, math.inf]),
        ("y(i) = A(i,j) / b(i)", [3 / 5, 3 / 7]),
        ("y(j) = -A(i,j)", [-1, -3, -2]),
        ("y(j) = sum(i : A(i,j)) * x(j)", [1, 30, 200]),
        ("y(i) = max(j : A(i,j) - 2)", [0, 1]),
        ("y(i) = max(A(i,j), 1)", [4, 5]),
        ("y(i) = prod(j : A(i,j) + 1)", [6, 4]),
        ("y(i) min=! A(i,j) * x(j)", [0, 0]),
        ("y(i) *=! A(i,j) + b(i)", [6 * 5 * 7, 7 * 10 * 7]),
        ("y(i) = x(i + k) * b(k)", [1 * 5 + 10 * 7, 10 * 5 + 100 * 7]),
        ("y(i) = x(2*i)", [1, 100]),
        ("y(i) = x(2 - i)", [100, 10, 1]),
        ("y(i) = x(1) * b(i)", [50, 70]),
        ("y(i) = relu(b(i) - 6) ** 2", [0, 1]),
        ("y = x(i)", 111),
        ("y = A(i,j) * 2j", 12j),
        ("y = b(i) * x(j)", 12 * 111),
        ("y(i,j) = b(i)", [[5, 5, 5], [7, 7, 7]]),
        ("y(i,j) = 1.0", [[1, 1, 1], [1, 1, 1]]),
    ],
)
def test_numbers_worked_out_by_hand(text: str, expected: object) -> None:
    result = evaluate(text, {"A": A, "x": x, "b": b}, extents={"j": 3, "i": 2} if "i,j) =" in text else None)
    np.testing.assert_array_equal(result, np.asarray(expected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y(i) += A(i,j) * x(j)", [202, 32]),
        ("y(i) *= b(i)", [5, 14]),
        ("y(i) max= b(i) - 4", [1, 3]),
        ("y(i) min= b(i)", [1, 2]),
        ("y(i) = 3", [3, 3]),
        ("y(i) = y(i) + b(i)", [6, 9]),
    ],
)
def test_the_target_is_read_where_the_operator_says(text: str, expected: object) -> None:
    target = np.array([1.0, 2.0])
    np.testing.assert_array_equal(evaluate(text, {"A": A, "x": x, "b": b}, target=target), np.asarray(expected))
    assert target.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y = A(i,j)", 0.0),
        ("y +=! A(i,j)", 0.0),
        ("y *=! A(i,j)", 1.0),
        ("y max=! A(i,j)", -math.inf),
        ("y min=! A(i,j)", math.inf),
        ("y(i) = A(i,j)", []),
        ("y(j) = A(i,j)", [0.0, 0.0, 0.0]),
    ],
)
def test_reductions_of_nothing_give_the_identity(text: str, expected: object) -> None:
    np.testing.assert_array_equal(evaluate(text, {"A": np.zeros((0, 3))}), np.asarray(expected))


def test_the_identities_of_integers_are_their_limits() -> None:
    empty = {"A": np.zeros(0, np.int16)}
    assert [evaluate(f"y {op}=! A(i)", empty).item() for op in ("max", "min")] == [-(2**15), 2**15 - 1]


def test_integers_wrap_around_in_their_own_type() -> None:
    data = {"a": np.array([100, 100, -100], np.int8)}
    assert evaluate("y = a(i)", data) == np.int8(100)
    assert evaluate("y = a(i) * a(i)", data) == np.int8((3 * 10000 + 128) % 256 - 128)
    assert evaluate("y(i) = 2 * a(i)", data).tolist() == [-56, -56, 56]


@pytest.mark.parametrize(
    ("text", "types", "expected"),
    [
        ("y(i) = A(i,j) * x(j)", ("f4", "f4"), "f4"),
        ("y(i) = A(i,j) * x(j)", ("f4", "f8"), "f8"),
        ("y(i) = A(i,j) * x(j)", ("i1", "i4"), "i4"),
        ("y(i) = A(i,j) * x(j)", ("f8", "c8"), "c16"),
        ("y(i) = A(i,j) * x(j)", ("i4", "f4"), "f8"),
        ("y(i) = A(i,j) * x(j)", (BF16, BF16), BF16),
        ("y(i) = A(i,j) * x(j)", (BF16, "f2"), "f4"),
        ("y(i) = A(i,j) * x(j)", (BF16, "f4"), "f4"),
        ("y(i) = A(i,j) * x(j)", (BF16, "i1"), BF16),
        ("y(i) = A(i,j) * x(j)", (BF16, "i8"), "f8"),
        ("y(i) = A(i,j) * x(j)", ("?", "?"), "i8"),
        ("y(i) = 2.5 * A(i,j) * x(j)", ("f4", "f4"), "f4"),
        ("y(i) = 2.5 * A(i,j) * x(j)", (BF16, BF16), BF16),
        ("y(i) = 2.5 * A(i,j) * x(j)", ("i4", "i4"), "f8"),
        ("y(i) = 2 * A(i,j) * x(j)", ("i1", "i1"), "i1"),
        ("y(i) = 2j * A(i,j) * x(j)", ("f4", "f4"), "c8"),
        ("y(i) = 2j * A(i,j) * x(j)", (BF16, BF16), "c8"),
        ("y(i) = A(i,j) / x(j)", ("i4", "i4"), "f8"),
        ("y(i) = A(i,j) / x(j)", ("f4", "f4"), "f4"),
        ("y(i) = exp(A(i,j) + x(j))", ("i1", "i1"), "f8"),
        ("y(i) = abs(A(i,j)) + max(x(j), 0)", ("i2", "i1"), "i2"),
    ],
)
def test_result_types_follow_numpy(text: str, types: tuple[object, object], expected: object) -> None:
    dtypes = {name: np.dtype(dtype) for name, dtype in zip("Ax", types, strict=True)}  # type: ignore[call-overload]
    assert result_dtype(text, dtypes) == np.dtype(expected)  # type: ignore[call-overload]


def test_literals_alone_have_pythons_types() -> None:
    assert [result_dtype(f"y = {text}", {}) for text in ("1", "1.0", "1j")] == ["int64", "float64", "complex128"]


def test_the_target_counts_among_the_types_where_it_is_read() -> None:
    dtypes = {"y": np.float64, "x": np.float32}
    assert [result_dtype(f"y(i) {op} x(i)", dtypes) for op in ("=", "+=")] == ["float32", "float64"]


def test_half_types_are_rounded_once() -> None:
    # 2048 + 1 is not an f16, and 256 + 1 not a bf16, but the sum of all is.
    for dtype, large in ((np.float16, 2048), (ml_dtypes.bfloat16, 256)):
        data = np.array([large, 1, 1], dtype)
        assert evaluate("y = a(i)", {"a": data}).item() == large + 2


@pytest.mark.parametrize(
    ("text", "tensors", "message"),
    [
        ("y(i) = A(i,j) * x(j)", {"A": A, "x": b}, "index variable `j` has two extents, 3 and 2"),
        ("y(i) = 1", {}, "the extents of \\['i'\\] are unknown"),
        ("y(i) = A(i,0) + x(i + 2)", {"A": A, "x": x}, "`x\\(i \\+ 2\\)` leaves the 3 elements of axis 0"),
        ("y(i) = A(i,j)", {"A": x}, "`A\\(i,j\\)` has 2 subscripts for shape \\(3,\\)"),
    ],
)
def test_the_oracle_refuses_data_that_does_not_fit(text: str, tensors: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        evaluate(text, tensors)  # type: ignore[arg-type]


def test_an_operand_must_be_there() -> None:
    with pytest.raises(KeyError, match="x"):
        evaluate("y(i) = A(i,j) * x(j)", {"A": A})


def test_complex_numbers_have_no_maximum() -> None:
    with pytest.raises(TypeError, match="complex numbers have no order"):
        evaluate("y max=! A(i,j)", {"A": A + 1j})


@given(kernels())
def test_every_kernel_of_the_family_has_a_result(case: KernelCase) -> None:
    result = evaluate(case.assignment, case.tensors, extents=case.extents)
    assert result.shape == tuple(case.extents[index.name] for index in case.assignment.target.indices)
    assert result.dtype == result_dtype(case.assignment, dict.fromkeys(case.tensors, case.dtype))


class TestComparison:
    def test_rounding_passes(self) -> None:
        expected = np.array([1.0, 1e-20, -3.0], np.float32)
        assert_close(expected + np.float32(1e-7), expected)

    @pytest.mark.parametrize(
        ("actual", "expected"),
        [
            (np.array([1.001], np.float32), np.array([1.0], np.float32)),
            (np.array([1.0], np.float32), np.array([1.0], np.float64)),
            (np.array([[1.0]], np.float32), np.array([1.0], np.float32)),
            (np.array([3], np.int8), np.array([4], np.int8)),
            (np.array([math.nan], np.float64), np.array([1.0], np.float64)),
            (np.array([math.inf], np.float64), np.array([1.0], np.float64)),
            (np.array([1.0], np.float64), np.array([math.inf], np.float64)),
            (np.array([1 + 1e-3j], np.complex64), np.array([1], np.complex64)),
            (np.array([1.1], BF16), np.array([1.0], BF16)),
        ],
    )
    def test_differences_fail(self, actual: ArrayLike, expected: ArrayLike) -> None:
        with pytest.raises(AssertionError):
            assert_close(actual, expected)

    def test_equal_infinities_and_nans_pass(self) -> None:
        values = np.array([math.inf, -math.inf, math.nan, 0.0])
        assert_close(values, values.copy())

    def test_longer_sums_may_err_more(self) -> None:
        assert tolerance(np.int32, 100) == 0.0
        assert tolerance(np.float64, 1) < tolerance(np.float64, 100) < 1e-12
        assert tolerance(BF16) == 6 * 2.0**-7


def test_assignments_and_texts_are_the_same() -> None:
    np.testing.assert_array_equal(evaluate(parse("y = x(i)"), {"x": x}), evaluate("y = x(i)", {"x": x}))
