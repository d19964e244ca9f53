"""What users get wrong: one named error each, that says what to do; inputs unchanged, no output partly written.

And what only looks wrong, and works: arrays in any order and byte order, read-only ones, empty ones.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests import oracle
from mlir_sparse.spec.check_types import OWN_ARGUMENTS

SPMV = "y(i) = A(i,j) * x(j)"
DENSE = np.array([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]])


def matrix() -> ms.SparseTensor:
    return ms.tensor(DENSE)


def square() -> ms.SparseTensor:
    return ms.tensor(np.eye(3))


X = np.array([1.0, 10.0, 100.0])
Y = DENSE @ X

# (text, operands, error, line:column or None, what it says, what it says to do)
EVALUATIONS: tuple[tuple[str, dict[str, Any], type[ms.SparseError], str | None, str], ...] = (
    # Tensors without data, and data without a tensor.
    (
        SPMV,
        {"A": matrix()},
        ms.UnknownTensorError,
        "1:17",
        "expected data for tensor x, but got none; given are A: pass x=",
    ),
    (SPMV, {"A": matrix(), "x": X, "z": X}, ms.UnknownTensorError, None, "expected a tensor of .* (A, x), but got z"),
    ("y(i) += A(i,j) * x(j)", {"A": matrix(), "x": X}, ms.UnknownTensorError, "1:1", "expected data for tensor y"),
    # Two extents.
    (
        SPMV,
        {"A": matrix(), "x": np.ones(4)},
        ms.ExtentError,
        "1:19",
        "expected index j to range over one extent, but got 3 (axis 1 of A) and 4 (axis 0 of x)",
    ),
    (
        "C(i,j) = A(i,j) + A(j,i)",
        {"A": matrix()},
        ms.ExtentError,
        "1:21",
        "index j .* 3 (axis 1 of A) and 2 (axis 0 of A)",
    ),
    ("y(i,j) = x(i)", {"x": X}, ms.ExtentError, "1:5", "expected index j to have an extent, .* pass out="),
    (
        "y(i) = x(i + k) * w(k)",
        {"x": X, "w": np.ones(4), "out": np.zeros(2)},
        ms.ExtentError,
        "1:10",
        "expected subscript i + k of x to stay within 0 to 2 (axis 0), but got 0 to 4: say where i and k run, .*",
    ),
    (
        "y(i) = x(i) * x(i + 1)",
        {"x": X},
        ms.ExtentError,
        "1:17",
        "but got 1 to 3: say where i runs, as in `where i in 0:2`",
    ),
    (
        "y(k) = x(k) * x(i) * x(3 - 2*i)",
        {"x": X},
        ms.ExtentError,
        "1:24",
        "but got -1 to 3: say where i runs, as in `where i in 1:2`",
    ),
    (
        "y(i) = x(i - 1)",
        {"x": X},
        ms.ExtentError,
        "1:10",
        "but got -1 to 2: write i + 1 in place of i, and say where i runs, as in `where i in 0:3`",
    ),
    ("y(i) = x(2 - i)", {"x": X}, ms.ExtentError, "1:3", "pass out= with .*, or say where i runs, as in `where i in"),
    # Ranks.
    (SPMV, {"A": matrix(), "x": DENSE}, ms.RankError, "1:17", "expected 2 subscripts for x .* but got 1 in x(j)"),
    (
        "y(i) = A(i) * x(i)",
        {"A": matrix(), "x": X},
        ms.RankError,
        "1:8",
        "expected 2 subscripts for A .* but got 1 in A(i)",
    ),
    (
        "y(i) = A(i,j) * A(j)",
        {"A": matrix()},
        ms.RankError,
        "1:17",
        "expected 2 subscripts on `A`.* give different tensors different names",
    ),
    (SPMV, {"A": matrix(), "x": X, "out": "CSR"}, ms.RankError, "1:1", "expected rank 2 for CSR, but got 1"),
    # Element types.
    (
        SPMV,
        {"A": matrix(), "x": np.ones(3, "M8[s]")},
        ms.DTypeError,
        None,
        "but got datetime64.*: convert with astype('int64').*(operand x)",
    ),
    (SPMV, {"A": matrix(), "x": np.ones(3, np.longdouble)}, ms.DTypeError, None, "convert with astype('float64')"),
    (
        SPMV,
        {"A": matrix(), "x": np.array(["a", "b", "c"])},
        ms.DTypeError,
        None,
        "convert with astype to a numeric type",
    ),
    (SPMV, {"A": matrix(), "x": [1, None, 3]}, ms.OperandError, None, "expected an array or tensor of numbers for x"),
    (
        SPMV,
        {"A": matrix(), "x": [[1], [2, 3]]},
        ms.OperandError,
        None,
        "expected an array or tensor of numbers for x, but got list: setting an array element with a sequence",
    ),
    (
        "y(i) = max(j : A(i,j))",
        {"A": ms.tensor(DENSE * 1j)},
        ms.UnsupportedError,
        "1:8",
        "expected an ordered element type for max, but got c128",
    ),
    (
        "y(i) = cbrt(x(i))",
        {"x": X * 1j},
        ms.UnsupportedError,
        "1:8",
        "expected a function that complex numbers have, but got cbrt of c128",
    ),
    (
        "y(i) or= min(x(i), 3)",  # the result is a truth value, and what it is of is none
        {"x": X * 1j, "y": X > 0},
        ms.UnsupportedError,
        "1:10",
        "expected a function that complex numbers have, but got min of c128",
    ),
    # Assignments without a meaning.
    (
        "y(i,i) = A(i,j) * x(j)",
        {"A": matrix(), "x": X},
        ms.NotationError,
        "1:5",
        "expected each index variable once in the target, but got `i` again.* give each dimension a variable",
    ),
    (
        "y(i - 1) = x(i)",
        {"x": X},
        ms.ExtentError,
        "1:3",
        "expected subscript i - 1 of y to stay within 0 to 1 .*but got -1 to 1",
    ),
    # Text outside the grammars.
    (
        "y(i) = A(i,j) * * x(j)",
        {"A": matrix(), "x": X},
        ms.NotationSyntaxError,
        "1:17",
        "expected a tensor, a number, .* but got `[*]`",
    ),
    ("y(i) =\n  A(i,j) + * x(j)", {"A": matrix(), "x": X}, ms.NotationSyntaxError, "2:12", "but got `[*]`"),
    ("y(i) = ", {}, ms.NotationSyntaxError, "1:8", "but got the end of the text"),
    ("", {}, ms.NotationSyntaxError, "1:1", "expected a target such as `y(i)`, but got the end of the text"),
    (
        "y(i) = gama(x(i))",
        {"x": X},
        ms.UnknownTensorError,
        "1:8",
        "pass gama=... or tensors={'gama': ...}; as a function, the functions are abs",
    ),
    (SPMV, {"A": matrix(), "x": X, "out": "SparseVectr"}, ms.UnknownPresetError, "1:1", "did you mean SparseVector"),
    (
        SPMV,
        {"A": matrix(), "x": X, "out": "(i) -> (i : compresed)"},
        ms.EncodingSyntaxError,
        "1:13",
        "unknown level format: compresed, expected dense",
    ),
    # Places to run.
    (
        SPMV,
        {"A": matrix(), "x": X, "target": "tpu"},
        ms.UnsupportedError,
        None,
        "expected target='cpu'.*, but got 'tpu'",
    ),
)


def _matches(message: str, pattern: str) -> bool:
    """Returns whether the parts of a pattern, separated by `.*`, stand in a message in order."""
    at = 0
    for part in pattern.replace("[*]", "*").split(".*"):
        at = message.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


@pytest.mark.parametrize(("text", "given", "error", "place", "pattern"), EVALUATIONS)
def test_each_mistake_is_one_named_error(
    text: str, given: dict[str, Any], error: type[ms.SparseError], place: str | None, pattern: str
) -> None:
    before = {name: _content(value) for name, value in given.items()}
    with pytest.raises(error) as caught:
        ms.evaluate(text, **given)
    assert type(caught.value) is error
    assert _matches(caught.value.message, pattern), caught.value.message
    assert ((f"{caught.value.line}:{caught.value.column}") if caught.value.line else None) == place
    if place is not None:
        assert str(caught.value).count("\n") >= 2, "no caret"
        assert f":{place}: " in str(caught.value)
    assert {name: _content(value) for name, value in given.items()} == before


def _content(value: Any) -> Any:
    if isinstance(value, ms.SparseTensor):
        return [buffer.tobytes() for buffer in value.storage.buffers()]
    return value.tobytes() if isinstance(value, np.ndarray) else value


def kernel() -> ms.Kernel:
    return ms.compile(SPMV, A="f64[?,?] CSR", x="f64[?]")


CALLS: tuple[tuple[Callable[[], tuple[tuple[Any, ...], dict[str, Any]]], type[ms.SparseError], str], ...] = (
    (
        lambda: ((matrix(), X.astype("f4")), {}),
        ms.DTypeError,
        "expected f64 for x, but got f32: pass x.astype('float64')",
    ),
    (
        lambda: ((matrix().convert("CSC"), X), {}),
        ms.OperandError,
        "expected A stored as f64[?,?] CSR, .*pass A.convert(",
    ),
    (lambda: ((DENSE, X), {}), ms.OperandError, "but got a dense array: pass ms.tensor(A"),
    (lambda: ((matrix(), ms.tensor(X)), {}), ms.OperandError, "expected a dense array for x.*pass x.to_numpy()"),
    (lambda: ((matrix(),), {}), ms.UnknownTensorError, "expected data for tensor x, but got none"),
    (lambda: ((matrix(), X, X), {}), ms.OperandError, "expected 2 operands (A, x), but got 3"),
    (
        lambda: ((matrix(),), {"A": matrix(), "x": X}),
        ms.OperandError,
        "expected A once, but got it by position and by name",
    ),
    (lambda: ((matrix(), X), {"B": X}), ms.UnknownTensorError, "expected a tensor of .*, but got B"),
    (lambda: ((matrix(), matrix()), {}), ms.SparseError, "x"),
    (lambda: ((None, X), {}), ms.OperandError, "for A, but got NoneType"),
    (lambda: ((matrix(), X), {"out": np.zeros(3)}), ms.ExtentError, "expected index i to range over one extent"),
    (lambda: ((matrix(), X), {"out": np.zeros((2, 1))}), ms.RankError, "expected out of 1 dimensions, but got 2"),
    (
        lambda: ((matrix(), X), {"out": np.zeros(2, "f4")}),
        ms.DTypeError,
        "expected out of dtype float64, but got float32",
    ),
    (lambda: ((matrix(), X), {"out": [0.0, 0.0]}), ms.OperandError, "expected a NumPy array for out, but got list"),
    (lambda: ((matrix(), X), {"out": _read_only(np.zeros(2))}), ms.OperandError, "expected a writeable array for out"),
)


def _read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("warm", [False, True], ids=["first call", "later call"])
@pytest.mark.parametrize(("arguments", "error", "pattern"), CALLS)
def test_kernels_refuse_what_they_were_not_compiled_for(
    arguments: Callable[[], tuple[tuple[Any, ...], dict[str, Any]]],
    error: type[ms.SparseError],
    pattern: str,
    warm: bool,
) -> None:
    """The launcher checks in its own way: after a correct call the same errors must come."""
    spmv = kernel()
    if warm:
        np.testing.assert_array_equal(spmv(matrix(), X), Y)
    positional, named = arguments()
    out = named.get("out")
    before = _content(out)
    with pytest.raises(error) as caught:
        spmv(*positional, **named)
    assert _matches(caught.value.message, pattern), caught.value.message
    assert _content(out) == before
    np.testing.assert_array_equal(spmv(matrix(), X), Y)


def test_static_shapes_hold() -> None:
    spmv = ms.compile(SPMV, A="f64[2,3] CSR", x="f64[3]")
    np.testing.assert_array_equal(spmv(matrix(), X), Y)
    with pytest.raises(ms.ExtentError, match=r"expected A of shape \(2, 3\), but got \(3, 3\) \(axis 0\)"):
        spmv(square(), X)
    with pytest.raises(ms.ExtentError, match=r"expected index j to range over one extent, but got 3 .* and 4"):
        ms.compile(SPMV, A="f64[2,3] CSR", x="f64[4]")


@pytest.mark.parametrize("tensors", [[1, 2], "A", 3])
def test_tensors_must_be_a_mapping(tensors: Any) -> None:
    with pytest.raises(ms.OperandError, match=r"expected a mapping .*tensors.*, but got"):
        ms.evaluate(SPMV, tensors=tensors)


def test_mistakes_in_types() -> None:
    with pytest.raises(ms.DTypeError, match=r"type:1:1: expected an element type of i8, .*, but got 'f65'"):
        ms.compile(SPMV, A="f65[?,?] CSR", x="f64[?]")
    with pytest.raises(ms.RankError, match=r"type:1:10: expected one rank for CSF, but got 2 from the rank"):
        ms.compile(SPMV, A="f64[?,?] CSF(0,1,2)", x="f64[?]")
    with pytest.raises(ms.RankError, match="dimension-rank mismatch between encoding and tensor shape: 1 != 2"):
        ms.tensor(DENSE, "(i) -> (i : compressed)")


# -- level buffers ------------------------------------------------------------------------------------------


def _levels(pos: Any, crd: Any, values: Any = (1.0, 2.0, 3.0), shape: tuple[int, int] = (2, 3)) -> ms.SparseTensor:
    return ms.SparseTensor.from_levels("CSR", shape, [None, pos], [None, crd], np.asarray(values))


@pytest.mark.parametrize(
    ("pos", "crd", "error", "pattern"),
    [
        ([0, 3, 1], [0, 1, 2], ms.PositionsError, "expected .*, but got"),
        ([0, 1], [0, 1, 2], ms.PositionsError, "to have length 3.* but got 2"),
        ([1, 2, 3], [0, 1, 2], ms.PositionsError, "but got 1"),
        ([0, 1, 4], [0, 1, 2], ms.PositionsError, "but got"),
        ([0, -1, 3], [0, 1, 2], ms.PositionsError, "but got -1"),
        ([0, 1, 3], [0, 1, 3], ms.CoordinatesError, "but got 3"),
        ([0, 1, 3], [0, -1, 2], ms.CoordinatesError, "but got -1"),
        ([0, 1, 3], [0, 2, 1], ms.CoordinatesError, "but got 1"),
        ([0, 1, 3], [0, 1, 1], ms.CoordinatesError, "but got 1"),
        ([0, 1, 3], [0.0, 1.0, 2.0], ms.DTypeError, "integers"),
        ([0, 1, 3], None, ms.StorageError, "expected an array as coordinates[1]"),
    ],
)
def test_broken_levels(pos: Any, crd: Any, error: type[ms.SparseError], pattern: str) -> None:
    with pytest.raises(error) as caught:
        _levels(pos, crd)
    assert _matches(caught.value.message, pattern), caught.value.message


def test_widths_too_small_for_the_data() -> None:
    with pytest.raises(ms.WidthError, match=r"expected coordinates of at most 255 for crdWidth = 8, but got 300"):
        ms.tensor(([[0], [300]], [1.0]), ms.encoding("CSR", crd_width=8), shape=(1, 301))
    with pytest.raises(ms.WidthError, match=r"expected positions of at most 255 for posWidth = 8, but got 300"):
        ms.tensor(np.ones((1, 300)), ms.encoding("CSR", pos_width=8))


def test_more_entries_than_32_bits_count_are_refused() -> None:
    """2^31 entries that share the memory of one: nothing of that size is allocated."""
    entries = 2**31
    crd = np.broadcast_to(np.zeros(1, np.int64), (entries,))
    values = np.broadcast_to(np.zeros(1, np.int8), (entries,))
    encoding = ms.encoding("CSR", pos_width=32, crd_width=64)
    with pytest.raises(
        ms.WidthError, match=r"at most 2147483647 for posWidth = 32, but got 2147483648: use posWidth = 64"
    ):
        ms.SparseTensor.from_levels(encoding, (1, entries), [None, np.array([0, entries])], [None, crd], values)


def test_results_that_outgrow_their_positions_are_refused() -> None:
    a = ms.tensor(np.ones((20, 20), np.int8))
    narrow = ms.encoding("CSR", pos_width=8, crd_width=8)
    with pytest.raises(ms.WidthError, match=r"at most 255 .*posWidth = 8.* but got 400"):
        ms.evaluate("C(i,j) = A(i,j)", A=a, out=narrow)
    with pytest.raises(ms.WidthError, match=r"posWidth = 8"):
        ms.evaluate("C(i,j) = A(i,k) * A(k,j)", A=a, out=narrow)
    long = ms.tensor(([[0], [300]], [1.0]), "CSR", shape=(1, 301))
    with pytest.raises(ms.WidthError, match=r"crdWidth = 8"):
        ms.evaluate("C(i,j) = 2 * A(i,j)", A=long, out=narrow)


def test_dense_results_that_no_memory_holds_are_refused() -> None:
    u = ms.tensor(([0], [1.0]), "SparseVector", shape=(2**40,))
    with pytest.raises(ms.TooLargeError, match=r"expected a dense array of shape .* to fit"):
        ms.evaluate("C(i,j) = u(i) * v(j)", u=u, v=u, out="dense")
    with pytest.raises(ms.TooLargeError, match="to fit"):
        ms.evaluate("y(i) = u(i)", u=u, out="dense")


# -- what works ---------------------------------------------------------------------------------------------


def _variants(array: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    spaced = np.zeros(tuple(2 * n for n in array.shape), array.dtype)
    window = spaced[tuple(slice(None, None, 2) for _ in array.shape)]
    window[...] = array
    raw = np.zeros(array.nbytes + 1, np.uint8)[1:]
    unaligned = raw.view(array.dtype).reshape(array.shape)
    unaligned[...] = array
    return {
        "strided": window,
        "backwards": array[::-1].copy()[::-1],
        "Fortran": np.asfortranarray(array),
        "read-only": _read_only(array.copy()),
        "byte-swapped": array.astype(array.dtype.newbyteorder()),
        "unaligned": unaligned,
        "broadcast": np.broadcast_to(array, array.shape),
        "list": array.tolist(),
        "subclass": array.view(np.ma.MaskedArray).data,
    }


@pytest.mark.parametrize("name", list(_variants(DENSE)))
def test_any_array_is_an_operand(name: str) -> None:
    x, d, values = _variants(X)[name], _variants(DENSE)[name], _variants(np.array([2.0, 3.0, 4.0]))[name]
    spmv = ms.compile(SPMV, A="f64[?,?] CSR", x="f64[?]")
    stored = _levels(_variants(np.array([0, 1, 3]))[name], _variants(np.array([1, 0, 2]))[name], values)
    for _ in range(2):
        np.testing.assert_array_equal(spmv(stored if name != "list" else matrix(), x), Y)
        np.testing.assert_array_equal(ms.evaluate(SPMV, A=matrix(), x=x), Y)
        np.testing.assert_array_equal(ms.evaluate("C(i,j) = A(i,j) * D(i,j)", A=matrix(), D=d).to_numpy(), DENSE**2)
    np.testing.assert_array_equal(ms.tensor(d).to_numpy(), DENSE)
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("name", ["strided", "backwards", "Fortran", "byte-swapped", "unaligned"])
def test_any_writeable_array_is_an_output(name: str) -> None:
    text = "C(i,j) = A(i,k) * B(k,j)"
    b = np.arange(6.0).reshape(3, 2)
    spmm = ms.compile(text, A="f64[?,?] CSR", B="f64[?,?]")
    for _ in range(2):
        out = _variants(np.full((2, 2), 7.0))[name]
        assert spmm(matrix(), b, out=out) is out
        np.testing.assert_array_equal(out, DENSE @ b)


def test_only_the_window_of_an_output_is_written() -> None:
    room = np.full((4, 4), 7.0)
    ms.evaluate("C(i,j) = A(i,k) * B(k,j)", A=matrix(), B=np.ones((3, 2)), out=room[1:3, 1:3])
    expected = np.full((4, 4), 7.0)
    expected[1:3, 1:3] = DENSE @ np.ones((3, 2))
    np.testing.assert_array_equal(room, expected)


def test_an_output_may_be_an_input() -> None:
    a = ms.tensor(np.array([[0.0, 2.0], [3.0, 0.0]]))
    spmv = ms.compile(SPMV, A=a, x=X[:2])
    for _ in range(2):
        x = np.array([1.0, 10.0])
        assert spmv(a, x, out=x) is x
        np.testing.assert_array_equal(x, [20.0, 3.0])
    room = np.array([1.0, 10.0, 5.0])
    spmv(a, room[:2], out=room[1:])  # they share one element
    np.testing.assert_array_equal(room, [1.0, 20.0, 3.0])


def test_an_output_may_be_the_values_of_an_operand() -> None:
    values = np.array([2.0, 3.0])
    a = ms.SparseTensor.from_levels("CSR", (2, 2), [None, [0, 1, 2]], [None, [1, 0]], values)
    spmv = ms.compile(SPMV, A=a, x=X[:2])
    for expected in ([20.0, 3.0], [200.0, 3.0]):
        spmv(a, np.array([1.0, 10.0]), out=a.storage.values)
        np.testing.assert_array_equal(a.storage.values, expected)


def test_the_present_value_may_be_the_output() -> None:
    y = np.array([1.0, 2.0])
    text = "y(i) += A(i,j) * x(j)"
    add = ms.compile(text, A=matrix(), x=X, y=y)
    for n in (1, 2):
        assert add(A=matrix(), x=X, y=y, out=y) is y
        np.testing.assert_array_equal(y, [1.0, 2.0] + n * Y)


def test_nothing_is_written_before_an_error() -> None:
    y, w = np.full(2, 7.0), np.full(3, 7.0)
    with pytest.raises(ms.ExtentError):
        ms.evaluate(SPMV, A=matrix(), x=np.ones(4), out=y)
    with pytest.raises(ms.ExtentError):
        ms.evaluate(SPMV, A=matrix(), x=X, out=w)
    with pytest.raises(ms.UnknownTensorError):
        ms.evaluate(SPMV, A=matrix(), out=y)
    assert y.tolist() == [7.0, 7.0]
    assert w.tolist() == [7.0, 7.0, 7.0]


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0)])
@pytest.mark.parametrize("storage", ["CSR", "COO", "DCSC", "BSR(2, 2)"])
def test_extents_of_zero(storage: str, shape: tuple[int, int]) -> None:
    a = ms.tensor(np.zeros(shape), storage)
    x = np.ones(shape[1])
    np.testing.assert_array_equal(ms.evaluate(SPMV, A=a, x=x), np.zeros(shape[0]))
    out = np.full(shape[0], 7.0)
    np.testing.assert_array_equal(ms.evaluate(SPMV, A=a, x=x, out=out), np.zeros(shape[0]))
    assert ms.evaluate("s = A(i,j)", A=a) == 0.0
    total = ms.evaluate("C(i,j) = A(i,j) + B(i,j)", A=a, B=a, out="CSR")
    assert total.shape == shape
    assert total.nse == 0


def test_numbers_and_scalars_are_operands() -> None:
    text = "y(i) = alpha * x(i)"
    for alpha in (2, 2.0, np.float64(2), np.array(2.0)):
        oracle.assert_close(ms.evaluate(text, alpha=alpha, x=X), 2 * X)


def test_own_arguments_are_those_of_the_functions() -> None:
    for function in (ms.compile, ms.evaluate):
        of_it = {name for name, one in inspect.signature(function).parameters.items() if one.kind is one.KEYWORD_ONLY}
        assert of_it == OWN_ARGUMENTS


@pytest.mark.parametrize(
    "text", ["y(i) = {0}(i,j) * x(j)", "def f(double(N,M) {0}, double(M) x) -> (y) {{ y(i) +=! {0}(i,j) * x(j) }}"]
)
def test_messages_say_what_works_for_a_missing_operand(text: str) -> None:
    with pytest.raises(ms.UnknownTensorError, match=r"pass A=\.\.\. or tensors=\{'A': \.\.\.\}"):
        ms.evaluate(text.format("A"), x=X)
    with pytest.raises(ms.UnknownTensorError, match=r"pass tensors=\{'out': \.\.\.\}, since out= is no tensor"):
        ms.evaluate(text.format("out"), x=X, out="dense")
    kernel = ms.compile(text.format("out"), tensors={"out": DENSE, "x": X})
    with pytest.raises(ms.UnknownTensorError, match=r"for tensor x, .*: pass x=\.\.\., or by position"):
        kernel(DENSE)
    with pytest.raises(ms.UnknownTensorError, match=r"for tensor out, .*: pass it by position, since out= is"):
        kernel(out=np.zeros(2), x=X)
    oracle.assert_close(kernel(DENSE, X), Y)


@pytest.mark.parametrize("option", ["semiring", "via", "target", "threads", "schedule", "deterministic", "optimize"])
@pytest.mark.parametrize("value", [np.ones(3), ms.tensor(np.eye(3), "CSR")], ids=["array", "tensor"])
def test_a_tensor_called_as_an_option_is_refused_by_name(option: str, value: Any) -> None:
    with pytest.raises(ms.SparseError, match="expected"):
        ms.evaluate(f"y(i) = {option}(i) * x(i)", x=np.ones(3), **{option: value})


@pytest.mark.parametrize("semiring", ["", False, 0])
def test_a_semiring_that_says_nothing_is_refused(semiring: Any) -> None:
    with pytest.raises(ms.NotationError, match="expected a"):
        ms.evaluate("y(i) = A(i,j) * x(j)", A=DENSE, x=X, semiring=semiring)


def test_a_tensor_given_twice_is_refused() -> None:
    for function in (ms.evaluate, ms.compile, ms.tune):
        with pytest.raises(ms.OperandError, match="expected x once, but got it twice by name"):
            function("y(i) = A(i,j) * x(j)", A=DENSE, x=X, tensors={"x": X})


def test_names_that_clash_with_arguments() -> None:
    result = ms.evaluate("y(i) = out(i,j) * text(j)", tensors={"out": DENSE, "text": X})
    np.testing.assert_array_equal(result, Y)
