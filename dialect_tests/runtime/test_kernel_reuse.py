"""One kernel for all shapes and widths of its types, called from anywhere."""

from __future__ import annotations

import gc
import multiprocessing
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.conditions import needs_fork
from mlir_sparse import _native
from mlir_sparse.compile import cpu_build, cpu_kernel
from mlir_sparse.runtime.fast_paths import ChainedCalls

SPMV = "y(i) = A(i,j) * x(j)"


def random_matrix(rows: int, columns: int, seed: int = 0) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(seed)
    return np.asarray(random.integers(1, 9, (rows, columns)) * (random.random((rows, columns)) < 0.3), np.float64)


def test_new_shapes_compile_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    spmv = ms.compile(SPMV, A="f64[?,?] CSR", x="f64[?]")
    spmv(ms.tensor(random_matrix(3, 4)), np.ones(4))
    monkeypatch.setattr(cpu_build.pipeline, "compile_module", _forbidden)
    for rows, columns in ((1, 1), (0, 5), (7, 0), (100, 3), (3, 100), (64, 64)):
        dense, x = random_matrix(rows, columns, seed=rows), np.arange(columns, dtype=np.float64)
        np.testing.assert_array_equal(spmv(ms.tensor(dense), x), dense @ x)


@pytest.mark.parametrize("storage", ["dense", "SparseVector"])
@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        (("y(i) = x(i) / 0.0", "y(i) = x(i) / -0.0"), ([np.inf, -np.inf], [-np.inf, np.inf])),
        (("y(i) = x(i) / -0.0", "y(i) = x(i) / 0.0"), ([-np.inf, np.inf], [np.inf, -np.inf])),
        (("y(i) = 1 / (x(i) * 0.0)", "y(i) = 1 / (x(i) * -0.0)"), ([np.inf, -np.inf], [-np.inf, np.inf])),
        (("y(i) = x(i) / 0.0 + 1", "y(i) = x(i) / -0.0 + 1"), ([np.inf, -np.inf], [-np.inf, np.inf])),
        (("y(i) = x(i) / 0.0 - x(i) / -0.0",), ([np.inf, -np.inf],)),
    ],
)
def test_texts_that_differ_by_the_sign_of_a_zero(
    storage: str, texts: tuple[str, ...], wanted: tuple[list[float], ...]
) -> None:
    """Zeros of both signs are equal as numbers, and are not the same kernel, nor the same part of one."""
    x: Any = np.array([3.0, -4.0])
    if storage != "dense":
        x = ms.tensor(x, storage)
    for text, values in zip(texts, wanted, strict=True):
        np.testing.assert_array_equal(ms.evaluate(text, x=x, out="dense"), values)


def test_monoids_that_differ_by_the_sign_of_a_zero() -> None:
    nothing = ms.tensor(np.zeros((2, 3)), "CSR")
    for identity in (0.0, -0.0, 0, -0.0, np.float32(-0.0), 0.0):
        m = ms.monoid(lambda a, b: a + b, identity)
        found = ms.evaluate("y(i) = 1.0 / m(j : A(i,j))", A=nothing, m=m)
        np.testing.assert_array_equal(found, [np.copysign(np.inf, identity)] * 2)


def test_results_go_into_arrays_of_classes_of_their_own(tmp_path: Path) -> None:
    A, x = random_matrix(5, 7), np.arange(7.0)
    kernel = ms.compile("y(i) = 0.5 * A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]")
    for _ in range(2):  # the second time, the function is known
        mapped = np.memmap(tmp_path / "y", np.float64, "w+", shape=(5,))
        assert kernel(in_rows(A), x, out=mapped) is mapped
        np.testing.assert_array_equal(mapped, 0.5 * (A @ x))


def test_what_was_called_last_keeps_its_machine_code() -> None:
    dense, x = random_matrix(30, 40), np.arange(40.0)
    tensor = ms.tensor(dense)
    spmv = ms.compile("y(i) = 17 * A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]")
    for number in range(3):
        np.testing.assert_array_equal(spmv(tensor, x), 17 * (dense @ x))
        spmv._builds.clear()
        gc.collect()
        ms.evaluate(f"y(i) = {number + 2} * A(i,j)", A=tensor)  # takes the memory that is free by now


def _forbidden(*args: object, **kwargs: object) -> bytes:
    raise AssertionError("compiled again")


def test_operands_in_an_order_that_is_not_the_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second call knows the function already, and binds nothing by name."""
    residual = ms.compile("y(i) = b(i) - A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]", b="f64[?]", threads=2)
    dense, x, b = random_matrix(3, 3), np.array([1.0, 2.0, 4.0]), np.array([100.0, 200.0, 300.0])
    a, out = ms.tensor(dense), np.empty(3)
    residual(b, a, x)
    monkeypatch.setattr(cpu_kernel.Kernel, "bound", _forbidden)
    assert residual(2 * b, a, x, out=out) is out
    np.testing.assert_array_equal(out, 2 * b - dense @ x)
    np.testing.assert_array_equal(residual(b, A=a, x=2 * x), b - 2 * dense @ x)
    monkeypatch.undo()
    with pytest.raises(ms.UnknownTensorError):
        residual(b, a)
    with pytest.raises(ms.SparseError):
        residual(ms.tensor(dense), b, x)


@pytest.mark.parametrize("number", [3.0, np.float64(3), np.array(3.0), 3, True])
def test_numbers_in_place_of_arrays(number: Any) -> None:
    scaled = ms.compile("y(i) = alpha * x(i)", alpha="f64[]", x="f64[?]")
    for _ in range(2):  # the second time, the function is known
        np.testing.assert_array_equal(scaled(number, np.arange(4.0)), float(number) * np.arange(4.0))


@pytest.mark.parametrize(
    ("dtype", "number"),
    [("i8", 300), ("i8", 2.5), ("i32", np.nan), ("f32", 1j), ("i8", 1j), ("f64", "2"), ("f64", None)],
)
def test_numbers_that_an_element_type_does_not_hold(dtype: str, number: Any) -> None:
    scaled = ms.compile("y(i) = alpha * x(i)", alpha=f"{dtype}[]", x=f"{dtype}[?]")
    x = np.ones(3, ms.DType(dtype).numpy)
    np.testing.assert_array_equal(scaled(2, x), 2 * x)
    with pytest.raises((ms.DTypeError, ms.OperandError)):
        scaled(number, x)


def test_a_number_is_no_place_for_a_result() -> None:
    norm = ms.compile("s = x(i) * x(i)", x="f64[?]")
    out = np.zeros(())
    assert norm(np.ones(3), out=out) is out
    assert out == 3
    with pytest.raises(ms.OperandError, match="NumPy array for out"):
        norm(np.ones(3), out=np.float64(0))


def test_widths_in_turn() -> None:
    """Each pair of widths is a function of its own; the kernel finds the right one at each call."""
    dense, x = random_matrix(20, 30), np.arange(30.0)
    spmv = ms.compile(SPMV, A="f64[?,?] CSR", x="f64[?]")
    tensors = [
        ms.tensor(dense, ms.encoding("CSR", pos_width=p, crd_width=c))
        for p, c in ((32, 32), (64, 64), (8, 8), (64, 32), (16, 8), (32, 64))
    ]
    for _ in range(3):
        for tensor in tensors:
            np.testing.assert_array_equal(spmv(tensor, x), dense @ x)


def test_scipy_widths() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    dense, x = random_matrix(20, 30), np.arange(30.0)
    spmv = ms.compile(SPMV, A="f64[?,?] CSR", x="f64[?]")
    for index in (np.int32, np.int64):
        matrix = sparse.csr_array(dense)
        matrix.indptr, matrix.indices = matrix.indptr.astype(index), matrix.indices.astype(index)
        a = ms.tensor(matrix)
        assert (a.encoding.pos_width, a.encoding.crd_width) == (np.iinfo(index).bits,) * 2
        np.testing.assert_array_equal(spmv(a, x), dense @ x)
        np.testing.assert_array_equal(spmv(matrix, x), dense @ x)


def test_named_widths_are_a_promise() -> None:
    stored = ms.encoding("CSR", pos_width=64, crd_width=64)
    spmv = ms.compile(SPMV, A=ms.TensorType(ms.DType("f64"), (None, None), stored), x="f64[?]")
    with pytest.raises(ms.OperandError, match="posWidth = 32"):
        spmv(ms.tensor(random_matrix(3, 3), "CSR"), np.ones(3))
    np.testing.assert_array_equal(spmv(ms.tensor(np.eye(3), stored), np.ones(3)), np.ones(3))


def test_results_get_the_operands_widths() -> None:
    dense = random_matrix(10, 10)
    for width in (32, 64):
        a = ms.tensor(dense, ms.encoding("CSR", pos_width=width, crd_width=width))
        c = ms.evaluate("C(i,j) = A(i,k) * B(k,j)", A=a, B=a)
        assert (c.encoding.pos_width, c.encoding.crd_width) == (width, width)
        np.testing.assert_array_equal(c.to_numpy(), dense @ dense)


def test_a_kernel_takes_its_own_results() -> None:
    dense = random_matrix(10, 10)
    a = ms.tensor(dense)
    product = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=a, B=a)
    np.testing.assert_array_equal(product(product(a, a), a).to_numpy(), dense @ dense @ dense)


def test_calls_from_many_threads() -> None:
    """First calls race for the compiler, later ones for the launcher; sparse and dense results, several widths."""
    dense, x = random_matrix(40, 40), np.arange(40.0)
    spmv = ms.compile(SPMV, A="f64[?,?] CSR", x="f64[?]")
    square = ms.compile("C(i,j) = A(i,k) * B(k,j)", A="f64[?,?] CSR", B="f64[?,?] CSR")
    wrong: list[BaseException | str] = []

    def work(number: int) -> None:
        try:
            a = ms.tensor(dense * number, ms.encoding("CSR", pos_width=(32, 64)[number % 2]))
            out = np.empty(40)
            for _ in range(50):
                if not np.array_equal(spmv(a, x, out=out), number * (dense @ x)):
                    wrong.append(f"spmv in thread {number}")
                if not np.array_equal(square(a, a).to_numpy(), number**2 * (dense @ dense)):
                    wrong.append(f"square in thread {number}")
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_one_operand_shared_by_threads() -> None:
    """The descriptors of a tensor are made once and shared: calls must not disturb each other."""
    dense = random_matrix(200, 200)
    a, b = ms.tensor(dense), ms.tensor(random_matrix(200, 200, seed=1), "CSC")
    add = ms.compile("C(i,j) = A(i,j) + B(i,j)", A=a, B=b)
    expected = dense + b.to_numpy()
    results: list[bool] = []

    def work() -> None:
        results.extend(np.array_equal(add(a, b).to_numpy(), expected) for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 80
    assert all(results)


@needs_fork
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_after_a_fork_both_sides_compile() -> None:
    """A child that used its parent's compiler would take the parent's answers out of the pipe."""
    ms.evaluate(SPMV, A=ms.tensor(np.eye(3)), x=np.ones(3))  # the compiler is up, the kernel is there
    context = multiprocessing.get_context("fork")
    queue: Any = context.Queue()

    def child(number: int) -> None:
        a = ms.tensor(random_matrix(5, 5))
        known = ms.evaluate(SPMV, A=a, x=np.ones(5))
        fresh = ms.evaluate(f"y(i) = {number} * A(i,j) * x(j)", A=a, x=np.ones(5))
        queue.put(np.array_equal(fresh, number * known))

    children = [context.Process(target=child, args=(number,)) for number in (11, 12)]
    for process in children:
        process.start()
    x = np.ones(5)
    here = [ms.evaluate(f"y(i) = {n} * A(i,j) * x(j)", A=ms.tensor(random_matrix(5, 5)), x=x) for n in (13, 14)]
    answers = [queue.get(timeout=60) for _ in children]
    for process in children:
        process.join(timeout=60)
        assert process.exitcode == 0
    assert answers == [True, True]
    np.testing.assert_array_equal(here[0] * 14, here[1] * 13)


# -- the launcher by itself ---------------------------------------------------------------------------------


def test_an_operand_checks_its_buffers() -> None:
    with pytest.raises(ValueError, match="contiguous, aligned buffers of rank 1"):
        _native.Operand(1, [2, 2], [2, 2], [np.zeros(8)[::2]])
    with pytest.raises(ValueError, match="contiguous, aligned buffers of rank 1"):
        _native.Operand(1, [2, 2], [2, 2], [np.zeros((2, 2))])


def test_a_launcher_returns_none_for_what_is_not_its_own() -> None:
    """Addresses are never called: every argument here is refused first."""
    i, j = _native.Subscript([(1, 0)]), _native.Subscript([(1, 1)])
    dtype = np.dtype(np.float64)
    parameters = [
        _native.Parameter.sparse(5, [i, j]),
        _native.Parameter.dense(dtype, [j]),
        _native.Parameter.dense(dtype, [i]),
    ]
    launch = _native.Launcher(0, parameters, _native.Result.dense(), 2)
    operand = _native.Operand(5, [2, 3], [2, 3], [np.zeros(3, np.int32), np.zeros(0, np.int32), np.zeros(0)])
    other = _native.Operand(6, [2, 3], [2, 3], [np.zeros(0)])

    class Holder:
        def __init__(self, operand: object) -> None:
            self._operand = operand

    x, y = np.zeros(3), np.zeros(2)
    read_only = np.zeros(2)
    read_only.flags.writeable = False
    shared = np.zeros(5)
    for arguments, out in (
        ((), None),
        ((Holder(operand),), None),
        ((Holder(operand), x, x), None),
        ((Holder(other), x), y),
        ((Holder(None), x), y),
        ((object(), x), y),
        ((Holder(operand), x.astype(np.float32)), y),
        ((Holder(operand), np.zeros(4)), y),
        ((Holder(operand), np.zeros((3, 1))), y),
        ((Holder(operand), np.zeros(6)[::2]), y),
        ((Holder(operand), [0.0, 0.0, 0.0]), y),
        ((Holder(operand), x), np.zeros(3)),
        ((Holder(operand), x), np.zeros(2, np.float32)),
        ((Holder(operand), x), read_only),
        ((Holder(operand), x), [0.0, 0.0]),
        ((Holder(operand), shared[:3]), shared[2:4]),
        ((Holder(operand), x.astype(">f8")), y),
    ):
        assert launch(arguments, out) is None
    assert y.tolist() == [0.0, 0.0]


def test_subscripts_stay_inside_their_axis() -> None:
    i, k = _native.Subscript([(1, 0)]), _native.Subscript([(1, 1)])
    reach = _native.Subscript([(1, 0), (1, 1)])
    dtype = np.dtype(np.float64)
    parameters = [
        _native.Parameter.dense(dtype, [reach]),
        _native.Parameter.dense(dtype, [k]),
        _native.Parameter.dense(dtype, [i]),
    ]
    launch = _native.Launcher(0, parameters, _native.Result.dense(), 2)
    # i + k reaches 4 + 2 = 6: seven elements are enough, six are not.
    assert launch((np.zeros(6), np.zeros(3)), np.zeros(5)) is None


def test_a_dense_result_needs_an_output_parameter() -> None:
    with pytest.raises(ValueError, match="dense output"):
        _native.Launcher(0, [], _native.Result.dense(), 0)


@pytest.mark.parametrize("storage", ["BSR(2, 2)", "BSC(2, 2)", "DBSR(2, 2)", "CSB(2, 2)", "NV_24"])
def test_blocks_that_the_shape_does_not_fill_show_in_no_later_call(storage: str) -> None:
    array = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    tensor, x = ms.tensor(array, storage), np.array([1.0, 10.0])
    kernel = ms.compile("y(j) = A(i,j) * x(i)", A=tensor, x=x)
    for _ in range(3):
        np.testing.assert_array_equal(kernel(tensor, x), x @ array)
    product = ms.compile("y(i) = A(i,j) * x(j)", A=tensor, x=x)
    for _ in range(3):
        np.testing.assert_array_equal(product(tensor, np.ones(3)), array.sum(axis=1))
        with pytest.raises(ms.ExtentError, match="3"):
            product(tensor, np.ones(4))
        with pytest.raises(ms.ExtentError, match="3"):
            kernel(tensor, x, out=np.zeros(4))


def test_several_loops_into_one_array_are_called_as_one_function_and_refuse_as_others_do() -> None:
    A, x, z = random_matrix(5, 7), np.arange(5.0), np.arange(7.0)
    kernel = ms.compile("y(j) = a * A(i,j) * x(i) + b * z(j)", A=in_rows(A), x=x, z=z, a=2.0, b=0.5)
    expected = 2.0 * (x @ A) + 0.5 * z
    for _ in range(2):
        np.testing.assert_array_equal(kernel(2.0, in_rows(A), x, 0.5, z), expected)
    assert isinstance(kernel._last, ChainedCalls)
    out = np.full(7, np.nan)
    assert kernel(2.0, in_rows(A), x, 0.5, z, out=out) is out
    np.testing.assert_array_equal(out, expected)
    for wrong in (
        (2.0, in_rows(A), x[:4], 0.5, z),
        (2.0, in_rows(A), x, 0.5, z[:6]),
        (2.0, in_rows(A[:, :6]), x, 0.5, z),
    ):
        with pytest.raises(ms.ExtentError):
            kernel(*wrong)
        out[:] = 3.0
        with pytest.raises(ms.ExtentError):
            kernel(*wrong, out=out)
        assert (out == 3.0).all()
    with pytest.raises(ms.ExtentError):
        kernel(2.0, in_rows(A), x, 0.5, z, out=np.zeros(8))
    other, w = random_matrix(5, 7, 1), np.arange(1.0, 8.0)
    np.testing.assert_array_equal(kernel(1.0, in_rows(other), x, 1.0, w), x @ other + w)


def test_a_result_in_an_operand_of_the_last_loops_is_right() -> None:
    """The first loops must not have written to it then."""
    A, x, z = random_matrix(6, 6), np.arange(6.0), np.arange(6.0) + 1
    kernel = ms.compile("y(j) = A(i,j) * x(i) + z(j)", A=in_rows(A), x=x, z=z)
    expected = x @ A + z
    for _ in range(3):
        for operand in (x, z):
            before = operand.copy()
            np.testing.assert_array_equal(kernel(in_rows(A), x, z, out=operand), expected)
            operand[:] = before


def test_extents_that_two_sums_share_are_compared() -> None:
    A, B = random_matrix(5, 7), random_matrix(5, 7, 1)
    x, w = np.arange(5.0), np.arange(5.0) + 1
    kernel = ms.compile("y(j) = A(i,j) * x(i) + B(i,j) * w(i)", A=in_rows(A), B=in_rows(B), x=x, w=w)
    for _ in range(2):
        np.testing.assert_array_equal(kernel(in_rows(A), x, in_rows(B), w), x @ A + w @ B)
        with pytest.raises(ms.ExtentError):
            kernel(in_rows(A), x, in_rows(B[:3]), w[:3])


def in_rows(array: np.ndarray[Any, Any]) -> ms.SparseTensor:
    return ms.tensor(array, "CSR")


@pytest.mark.parametrize("shape", [(8_000_000, 3), (3, 8_000_000)], ids=["rows", "columns"])
def test_other_threads_run_beside_a_call_on_few_entries_of_long_axes(shape: tuple[int, int]) -> None:
    """What has little to do keeps the GIL, but results are set as a whole, and rows without entries gone through."""
    A = ms.tensor(([[1, 2], [2, 1]], [3.0, 4.0]), "CSR" if shape[0] > 3 else "CSC", shape=shape)
    kernel = ms.compile("y(i) = A(i,j)" if shape[0] > 3 else "y(j) = A(i,j)", A=A, out="dense")
    out, stamps, done = np.zeros(max(shape)), list[float](), threading.Event()
    kernel(A, out=out)

    def stamp() -> None:
        while not done.wait(0.001):
            stamps.append(time.perf_counter())

    thread = threading.Thread(target=stamp)
    thread.start()
    try:
        for _ in range(20):
            begin = time.perf_counter()
            kernel(A, out=out)
            quarter = (time.perf_counter() - begin) / 4
            if any(begin + quarter < at < begin + 3 * quarter for at in list(stamps)):
                return
    finally:
        done.set()
        thread.join()
    pytest.fail("no other thread ran in the middle of a call")
