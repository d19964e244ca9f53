"""What follows from an assignment and the types of its tensors: extents, element type, storage of the result."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mlir_sparse as ms
from dialect_tests import oracle
from dialect_tests.generated import DTYPES, assignments
from mlir_sparse.notation import AffineSubscript, IndexVar, index_vectors, with_explicit_sums
from mlir_sparse.spec import infer_extents, promote, result_dtype, subscript_bounds, vanishes


def extents(text: str, out: tuple[int, ...] | None = None, **shapes: tuple[int, ...]) -> dict[str, int]:
    found = infer_extents(ms.parse(text), shapes, out)
    return {variable.name: extent for variable, extent in found.items()}


@pytest.mark.parametrize(
    ("text", "shapes", "out", "expected"),
    [
        ("y(i) = A(i,j) * x(j)", {"A": (3, 4), "x": (4,)}, None, {"i": 3, "j": 4}),
        ("y(i) = x(i + k) * w(k)", {"x": (7,), "w": (3,)}, None, {"i": 5, "k": 3}),
        ("y(i) = x(2*i + k) * w(k)", {"x": (8,), "w": (3,)}, None, {"i": 3, "k": 3}),
        ("y(i) = x(2*i + 1)", {"x": (6,)}, None, {"i": 3}),
        ("y(i) = x(2*i + 1)", {"x": (5,)}, None, {"i": 2}),
        ("y(i) = x(i + k) * w(k)", {"x": (2,), "w": (3,)}, None, {"i": 0, "k": 3}),
        ("y(i) = x(i + k) * w(k)", {"x": (7,), "w": (3,)}, (2,), {"i": 2, "k": 3}),
        ("y(i) = 1.0", {}, (4,), {"i": 4}),
    ],
)
def test_extents(
    text: str, shapes: dict[str, tuple[int, ...]], out: tuple[int, ...] | None, expected: dict[str, int]
) -> None:
    assert extents(text, out, **shapes) == expected


@pytest.mark.parametrize(
    ("text", "shapes", "out", "place"),
    [
        ("y(i) = A(i,j) * x(j)", {"A": (3, 4), "x": (5,)}, None, "1:19"),
        ("y(i) = A(i,j) * x(j)", {"A": (3, 4), "x": (4,)}, (4,), "1:3"),
        ("y(i,j) = x(i)", {"x": (3,)}, None, "1:5"),
        ("y(i) = x(i + k)", {"x": (3,)}, None, None),
        ("y(i) = x(i + 5)", {"x": (3,)}, (2,), "1:10"),
        ("y(i) = x(i - 1)", {"x": (3,)}, None, "1:10"),
    ],
)
def test_extents_that_do_not_fit(
    text: str, shapes: dict[str, tuple[int, ...]], out: tuple[int, ...] | None, place: str | None
) -> None:
    with pytest.raises(ms.ExtentError) as caught:
        extents(text, out, **shapes)
    if place:
        assert f"{caught.value.line}:{caught.value.column}" == place


def test_subscript_bounds() -> None:
    i, k = IndexVar("i"), IndexVar("k")
    subscript = AffineSubscript(((2, i), (-1, k)), 3)
    assert subscript_bounds(subscript, {i: 4, k: 3}) == (1, 9)
    assert subscript_bounds(subscript, {i: 0, k: 3}) is None


def test_promotion_is_numpys() -> None:
    for left in DTYPES:
        for right in DTYPES:
            ours = promote(ms.DType.of(left), ms.DType.of(right)).numpy
            assert ours == oracle.result_dtype("y(i) = a(i) * b(i)", {"a": left, "b": right}), (left, right)
            assert ours == promote(ms.DType.of(right), ms.DType.of(left)).numpy
            if ml_dtypes.bfloat16 not in (left, right):
                assert ours == np.result_type(left, right)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "text",
    ["y(i) = 2 * x(i)", "y(i) = 0.5 * x(i)", "y(i) = x(i) / 2", "y(i) = -x(i)", "y(i) = exp(x(i))", "y(i) = abs(x(i))"],
)
def test_literals_are_weak(text: str, dtype: np.dtype[np.generic]) -> None:
    if dtype == np.bool_ and "-x" in text:
        with pytest.raises(ms.DTypeError, match="expected numbers for `-`, but got truth values in -x"):
            ms.compile(text, x="bool[?]")
        return
    ours = result_dtype(ms.parse(text).value, {"x": ms.DType.of(dtype)}).numpy
    assert ours == oracle.result_dtype(text, {"x": dtype})


@given(assignments(), st.sampled_from(DTYPES), st.sampled_from(DTYPES))
def test_types_of_any_expression(
    assignment: ms.Assignment, one: np.dtype[np.generic], two: np.dtype[np.generic]
) -> None:
    dtypes = {name: (one, two)[number % 2] for number, name in enumerate(assignment.inputs) if name != "y"}
    dtypes |= dict.fromkeys(index_vectors(assignment), np.dtype(np.int64))
    if not dtypes or assignment.op.reads_target:
        return
    value = with_explicit_sums(assignment).value
    ours = result_dtype(value, {name: ms.DType.of(dtype) for name, dtype in dtypes.items()})
    try:
        expected = oracle.result_dtype(assignment, dtypes)
    except TypeError:  # of truth values NumPy has no differences
        return
    assert ours.numpy == expected


def inferred(text: str, **types: str) -> str:
    return str(ms.compile(text, tensors=types).output)


@pytest.mark.parametrize(
    ("text", "types", "expected"),
    [
        ("y(i) = A(i,j) * x(j)", {"A": "f64[?,?] CSR", "x": "f64[?]"}, "f64[?]"),
        ("C(i,j) = A(i,k) * B(k,j)", {"A": "f64[?,?] CSR", "B": "f32[?,?] CSR"}, "f64[?,?] CSR"),
        ("C(i,j) = A(i,k) * B(k,j)", {"A": "f64[?,?] CSR", "B": "f64[?,?]"}, "f64[?,?]"),
        ("C(i,j) = A(i,j) + B(i,j)", {"A": "f64[?,?] CSC", "B": "f64[?,?] CSC"}, "f64[?,?] CSC"),
        ("C(i,j) = A(i,j) + B(i,j)", {"A": "f64[?,?] CSR", "B": "f64[?,?]"}, "f64[?,?]"),
        ("C(i,j) = A(i,j) * B(i,j)", {"A": "f64[?,?]", "B": "i32[?,?] DCSR"}, "f64[?,?] DCSR"),
        ("C(i,j) = A(i,j) + 1", {"A": "f64[?,?] CSR"}, "f64[?,?]"),
        ("C(i,j) = exp(A(i,j))", {"A": "f64[?,?] CSR"}, "f64[?,?]"),
        ("C(i,j) = sin(A(i,j))", {"A": "f64[?,?] CSR"}, "f64[?,?] CSR"),
        ("C(i,j) = A(i,j) / B(i,j)", {"A": "f64[?,?] CSR", "B": "f64[?,?] CSR"}, "f64[?,?]"),
        ("C(i,j) = A(i,j) / b(i)", {"A": "f64[?,?] CSR", "b": "f64[?]"}, "f64[?,?] CSR"),
        ("c(i) = a(i) * b(i)", {"a": "f64[?] SparseVector", "b": "f64[?]"}, "f64[?] SparseVector"),
        ("s = A(i,j)", {"A": "i8[?,?] CSR"}, "i8[]"),
        ("C(i,j) = u(i) * v(j)", {"u": "f64[?] SparseVector", "v": "f64[?]"}, "f64[?,?]"),
        ("C(i,j,k) = A(i,j,k) + B(i,j,k)", {"A": "f64[?,?,?] CSF", "B": "f64[?,?,?] CSF"}, "f64[?,?,?] CSF"),
        ("C(i,j) = T(i,j,k) * x(k)", {"T": "f64[?,?,?] CSF", "x": "f64[?]"}, "f64[?,?] CSR"),
        ("C(i,j) = A(i,k) * B(k,j)", {"A": "f64[3,?] CSR", "B": "f64[?,4]"}, "f64[3,4]"),
        # What pads its entries holds those of another tensor at any cost.
        ("C(i,j) = A(i,j) + B(i,j)", {"A": "f64[?,?] DIA", "B": "f64[?,?] CSR"}, "f64[?,?] CSR"),
        ("C(i,j) = A(i,j) + B(i,j)", {"A": "f64[?,?] DIA", "B": "f64[?,?] DIA"}, "f64[?,?] DIA"),
        ("C(i,j) = A(i,j) + B(i,j)", {"A": "f64[?,?] BSR(2, 2)", "B": "f64[?,?] BSR(3, 3)"}, "f64[?,?] CSR"),
        ("C(i,j) = A(i,j) * B(i,j)", {"A": "f64[?,?] DIA", "B": "f64[?,?] CSR"}, "f64[?,?] DIA"),
        ("C(i,j) = A(i,j) + A(j,i)", {"A": "f64[?,?] HashedRows"}, "f64[?,?] HashedRows"),
        ("C(i,j) = A(i,j) * B(i,j) + B(i,j)", {"A": "f64[?,?] DIA", "B": "f64[?,?] COO"}, "f64[?,?] COO"),
    ],
)
def test_inferred_results(text: str, types: dict[str, str], expected: str) -> None:
    assert inferred(text, **types) == expected


@pytest.mark.parametrize(
    ("value", "zeros", "expected"),
    [
        ("a(i) * b(i)", {"a"}, True),
        ("a(i) + b(i)", {"a"}, False),
        ("a(i) + b(i)", {"a", "b"}, True),
        ("a(i) / b(i)", {"a"}, True),
        ("a(i) / b(i)", {"a", "b"}, False),
        ("2 / a(i)", {"a"}, False),
        ("-a(i) - 0", {"a"}, True),
        ("sin(a(i))", {"a"}, True),
        ("cos(a(i))", {"a"}, False),
        ("exp(a(i))", {"a"}, False),
        ("max(a(i), b(i))", {"a", "b"}, True),
        ("max(a(i), b(i))", {"a"}, False),
        ("sum(j : A(i,j) * b(i))", {"A"}, True),
    ],
)
def test_where_zeros_make_zero(value: str, zeros: set[str], expected: bool) -> None:
    assert vanishes(ms.parse(f"y(i) = {value}").value, zeros) is expected


@pytest.mark.parametrize(
    ("operand", "result", "expected"),
    [
        ("f64", "i8", "integers"),
        ("f16", "i64", "integers"),
        ("c64", "i32", "integers"),
        ("c128", "f64", "real numbers"),
    ],
)
@pytest.mark.parametrize("text", ["y(i) = A(i,j) * x(j)", "y(i) = 2 * x(i)", "y(i) += x(i)"])
def test_numbers_that_the_type_of_the_result_loses_are_refused(
    operand: str, result: str, expected: str, text: str
) -> None:
    types = {"A": f"{operand}[?,?] CSR", "x": f"{operand}[?]", "y": f"{result}[?]"}
    given = {name: types[name] for name in ms.parse(text).inputs}
    message = (
        rf"expected {expected} for y\(i\), whose type is {result}, but got {operand}: ask for a result of {operand}"
    )
    with pytest.raises(ms.DTypeError, match=message):
        ms.compile(text, tensors=given, out=ms.TensorType.parse(types["y"]))


@pytest.mark.parametrize("result", ["f16", "bf16"])
def test_results_in_halves_of_wide_numbers_are_rounded(result: str) -> None:
    x = np.array([1.0, 1 / 3, -65504.0, 1e-9, np.inf])
    found = ms.compile("y(i) = x(i)", x="f64[?]", out=ms.TensorType.parse(f"{result}[?]"))(x=x)
    np.testing.assert_array_equal(found, x.astype(np.float32).astype(ms.DType(result).numpy))
