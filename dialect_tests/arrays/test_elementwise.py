"""Operators and ufuncs on sparse tensors against NumPy on the arrays they store."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import mlir_sparse as ms
from dialect_tests.arrays.numpy_cases import DTYPES, Case, agree, arrays, cases
from dialect_tests.crossing import examples

Array = np.ndarray[Any, Any]

# Compiled code counts what is not stored over zero as zero; NumPy does not (see the README).
_BINARY: dict[str, Callable[..., Any]] = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "floordiv", "mod")},
    **{name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
    **{name: getattr(np, name) for name in ("maximum", "minimum", "fmax", "logical_and", "logical_xor", "arctan2")},
    **{name: getattr(np, name) for name in ("hypot", "copysign", "true_divide", "bitwise_and", "bitwise_or")},
}
_UNARY = (
    *("sin", "cos", "tan", "arctan", "sinh", "tanh", "exp", "expm1", "log1p", "sqrt", "cbrt", "square", "absolute"),
    *("negative", "positive", "sign", "floor", "ceil", "trunc", "rint", "isnan", "isfinite", "signbit", "conjugate"),
    *("logical_not", "deg2rad", "exp2", "log", "reciprocal", "fabs", "spacing"),
)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def numpys(function: Callable[..., Any], *operands: Any) -> Any:
    """Returns NumPy's result, or the kind of its refusal."""
    try:
        return function(*operands)
    except (TypeError, ValueError, OverflowError):  # the last of numbers beyond the array's type
        return None


QUIET = examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Case, Any, Any]:
    """Draws a tensor, and an operand that broadcasts with it: as an array, and as it is passed."""
    case = draw(cases(ranks=(1, 2, 2, 3)))
    shape = tuple(1 if draw(st.integers(0, 4)) == 0 else size for size in case.array.shape)
    shape = shape[draw(st.sampled_from([0, 0, 0, len(shape) - 1, len(shape)])) :]
    kind = draw(st.sampled_from(["sparse", "dense", "scalar"]))
    if kind == "scalar" or not shape:
        scalar = draw(st.sampled_from([0, 1, -2, 3, 0.5, -1.5, np.float32(2.0), np.int8(3), True]))
        return case, scalar, scalar
    if kind == "dense":
        array = draw(arrays(shape))
        return case, array, array
    other = draw(cases(shape=shape))
    return case, other.array, other.tensor


@QUIET
@given(pairs(), st.sampled_from(sorted(_BINARY)), st.booleans())
def test_two_operands(pair: tuple[Case, Any, Any], name: str, swapped: bool) -> None:
    case, other_array, other = pair
    function = _BINARY[name]
    left, right = (other_array, case.array) if swapped else (case.array, other_array)
    divides = name == "true_divide"
    if divides and np.any(np.equal(right, 0)) and (isinstance(other, np.ndarray) or swapped):
        return
    expected = numpys(function, left, right)
    a, b = (other, case.tensor) if swapped else (case.tensor, other)
    if expected is None:
        with pytest.raises(ms.SparseError, match="expected"):
            function(a, b)
        return
    agree(function(a, b), expected, exact=not divides and name not in ("arctan2", "hypot"), what=name)


@QUIET
@given(cases(), st.sampled_from(_UNARY))
def test_one_operand(case: Case, name: str) -> None:
    function = getattr(np, name)
    expected = numpys(function, case.array)
    if expected is None:
        with pytest.raises(ms.OperandError, match="expected operands that"):
            function(case.tensor)
        return
    agree(function(case.tensor), expected, exact=False, what=name)


@QUIET
@given(cases(), st.sampled_from([0, 1, 2, 3, 0.5, 2.0, -1.0]))
def test_powers(case: Case, exponent: float) -> None:
    agree(case.tensor**exponent, case.array**exponent, exact=False)
    if case.array.dtype.kind != "i":
        agree(np.power(2.0, case.tensor), np.power(2.0, case.array), exact=False)


@pytest.mark.parametrize(
    ("expression", "sparse"),
    [
        (lambda A, d: A + A, True),
        (lambda A, d: A + d, False),
        (lambda A, d: A * d, True),
        (lambda A, d: d * A, True),
        (lambda A, d: A / (1 + abs(d)), True),
        (lambda A, d: A / A, False),
        (lambda A, d: A * 2, True),
        (lambda A, d: 2 * A, True),
        (lambda A, d: A + 1, False),
        (lambda A, d: A + 0, True),
        (lambda A, d: A**2, True),
        (lambda A, d: A**0, False),
        (lambda A, d: np.sin(A), True),
        (lambda A, d: np.cos(A), False),
        (lambda A, d: A > 0, True),
        (lambda A, d: A >= 0, False),
        (lambda A, d: A < A.T, True),
        (lambda A, d: A == A, False),
        (lambda A, d: A != A, True),
        (lambda A, d: np.maximum(A, A), True),
        (lambda A, d: np.maximum(A, 1), False),
        (lambda A, d: -A, True),
        (lambda A, d: (A > 0) & (A < 2), True),
        (lambda A, d: ~(A > 0), False),
        (lambda A, d: np.where(A > 0, A, 0), True),
        (lambda A, d: np.where(A > 0, A, 1), False),
    ],
)
def test_what_is_sparse(expression: Callable[..., Any], sparse: bool) -> None:
    array = np.array([[0.0, 2.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
    dense = np.arange(9.0).reshape(3, 3)
    found = expression(ms.tensor(array), dense)
    assert isinstance(found, ms.SparseTensor) is sparse
    agree(found, expression(array, dense), exact=False)


def test_results_keep_the_storage_of_the_first_tensor() -> None:
    array = np.eye(4)
    for name in ("CSR", "CSC", "DCSR", "COO", "BSR(2, 2)", "DIA"):
        tensor = ms.tensor(array, name)
        for found in (
            tensor * 2,
            np.sin(tensor),
            -tensor,
            np.hypot(tensor, tensor),
            tensor[1:],
            tensor.astype(np.int8),
        ):
            # Kernels are shared by encodings that differ in the names of dimensions only.
            assert found.encoding.with_default_names().map_text() == tensor.encoding.with_default_names().map_text()


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_are_numpys(dtype: np.dtype[Any]) -> None:
    tensor, array = ms.tensor(np.eye(2, dtype=dtype)), np.eye(2, dtype=dtype)
    for other in (2, 0.5, np.float32(2), np.int64(2)):
        agree(tensor * other, array * other)
        agree(other + tensor, other + array)
        agree(tensor / other, array / other)
    for other in (np.ones((2, 2), kind) for kind in DTYPES):
        agree(tensor * other, array * other)
        agree(tensor / ms.tensor(other), array / other)
    agree(np.add(tensor, tensor, dtype=np.complex128), np.add(array, array, dtype=np.complex128))


def test_operators_with_scipy_and_arrays_on_the_left() -> None:
    array = np.array([[0.0, 2.0], [3.0, 4.0]])
    tensor, foreign = ms.tensor(array), scipy.sparse.csr_array(array)
    for found in (foreign + tensor, tensor + foreign):
        assert isinstance(found, ms.SparseTensor)
        agree(found, 2 * array)
    agree(foreign - tensor, 0 * array)
    agree(tensor @ foreign, array @ array)
    agree(array - tensor, 0 * array)
    agree(np.float64(2) * tensor, 2 * array)
    agree([1.0, 2.0] * tensor, [1.0, 2.0] * array)
    assert isinstance(array * tensor, ms.SparseTensor)
    values = np.ones((2, 2))
    values += tensor
    agree(values, 1 + array)
    kept = tensor
    tensor *= 2
    agree(tensor, 2 * array)
    agree(kept, array)


def test_out_and_ufunc_methods() -> None:
    array = np.array([[0.0, 2.0], [3.0, 4.0]])
    tensor, out = ms.tensor(array), np.full((2, 2), 7.0)
    assert np.multiply(tensor, 2, out=out) is out
    agree(out, 2 * array)
    assert np.sum(tensor, axis=0, out=out[0]) is not None
    agree(out[0], array.sum(axis=0))
    agree(np.add.reduce(tensor), array.sum(axis=0))
    agree(np.maximum.reduce(tensor, axis=None, initial=9), 9.0)
    agree(np.multiply.outer(tensor, array), np.multiply.outer(array, array))
    agree(np.subtract.outer(tensor, array[0]), np.subtract.outer(array, array[0]))
    for mistake, error in [
        (lambda: np.add.accumulate(tensor), ms.OperandError),
        (lambda: np.add(tensor, 1, where=array > 0), ms.OperandError),
        (lambda: np.add(tensor, 1, out=np.zeros(3)), ms.ExtentError),
        (lambda: np.add(tensor, 1, out=np.zeros((2, 2), int)), ms.DTypeError),
        (lambda: np.add(tensor, 1, out=ms.tensor(array)), ms.OperandError),
        (lambda: np.bitwise_and(tensor, 1), ms.OperandError),
        (lambda: np.subtract.reduce(tensor), ms.UnsupportedError),
        (lambda: tensor + np.ones(3), ms.ExtentError),
        (lambda: tensor + "x", ms.OperandError),
        (lambda: bool(tensor), ms.OperandError),
    ]:
        with pytest.raises(error, match="expected"):
            mistake()


def test_python_asks_a_tensor() -> None:
    tensor = ms.tensor(np.array([[0.0, 2.0], [3.0, 0.0]]))
    assert len(tensor) == 2
    assert [row.to_numpy().tolist() for row in tensor] == [[0.0, 2.0], [3.0, 0.0]]
    assert 2 in tensor and 7 not in tensor  # noqa: PT018
    assert float(tensor[:1, 1:]) == 2.0
    assert bool(tensor[:1, 1:])
    assert (tensor == None) is False  # noqa: E711
    agree(divmod(tensor, 2)[1], np.array([[0.0, 0.0], [1.0, 0.0]]))
    with pytest.raises(ms.UnsupportedError, match=r"np\.where"):
        tensor[0, 0] = 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(tensor)


def test_values_that_are_stored_twice_count_once() -> None:
    tensor = ms.tensor(([[0, 0], [1, 1]], [2.0, 3.0]), "NonuniqueCOO", shape=(2, 2), sum_duplicates=False)
    assert tensor.nse == 2
    array = tensor.to_numpy()
    for function in (np.square, lambda x: x * 2, lambda x: x > 4, lambda x: x.max(), lambda x: x[0], np.exp):
        agree(function(tensor), function(array))


def test_one_kernel_for_each_combination_of_types(monkeypatch: pytest.MonkeyPatch) -> None:
    from mlir_sparse.arrays import operator_kernels

    tensor, dense = ms.tensor(np.eye(3)), np.ones((3, 3))
    for _ in range(2):
        _ = tensor @ dense, tensor + tensor, tensor * dense
    monkeypatch.setattr(operator_kernels, "compile", lambda *_, **__: pytest.fail("compiled again"))
    _ = tensor @ dense, tensor + tensor, tensor * dense


def test_results_that_do_not_fit_are_refused() -> None:
    tensor = ms.tensor(([[5], [7]], [1.0]), "COO", shape=(10**7, 10**7))
    for function in (np.exp, lambda x: x + 1, lambda x: x == 0, np.ones_like, lambda x: x.to_numpy()):
        with pytest.raises(ms.TooLargeError, match="dense array of shape"):
            function(tensor)
    assert tensor.max() == 1
    assert (tensor * tensor).nse == 1
    assert tensor[5, 7] == 1.0
    assert tensor.argmax() == 5 * 10**7 + 7


def test_an_option_that_is_not_offered_is_named_in_one_line() -> None:
    tensor = ms.tensor(np.eye(30))
    with pytest.raises(ms.OperandError, match=r"^expected no where= for np.add of sparse tensors, but got ndarray .*$"):
        np.add(tensor, tensor, where=np.ones((30, 30), bool))
