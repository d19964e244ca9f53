"""Calls in chunks: the same results for any number of threads, whatever is cut by whatever."""

from __future__ import annotations

import itertools
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.conditions import needs_fork
from dialect_tests.crossing import crossed
from dialect_tests.interrupts import seconds_to_interrupt
from mlir_sparse import _native

Array = np.ndarray[Any, Any]

ROWS, COLUMNS = 61, 47
THREADS = (1, 2, 3, 8)
STORAGE = ("CSR", "CSC", "DCSR", "DCSC", "COO", "BSR(4, 4)", "DIA", "ELL", "CSB(8, 8)", "BCOO")


pytestmark = pytest.mark.usefixtures("whatever_can_be_cut")


def power_law() -> Array:
    """Rows of very different length, many of them empty; whole numbers, whose sums are exact."""
    random = np.random.default_rng(0)
    dense = np.zeros((ROWS, COLUMNS))
    for row in range(ROWS):
        dense[row, random.permutation(COLUMNS)[: int(COLUMNS / (row % 20 + 1)) * (row % 3)]] = random.integers(1, 9)
    return dense


def one_row() -> Array:
    dense = np.zeros((ROWS, COLUMNS))
    dense[17] = np.arange(1, COLUMNS + 1)
    return dense


MATRICES = {
    "power law": power_law(),
    "one huge row": one_row(),
    "empty": np.zeros((ROWS, COLUMNS)),
    "tiny": np.array([[0.0, 2.0], [3.0, 0.0]]),
    "no rows": np.zeros((0, 3)),
}


def numpy_of(result: Any) -> Array:
    return result.to_numpy() if isinstance(result, ms.SparseTensor) else np.asarray(result)


def check(
    text: str, wanted: Array, out: str | None = None, operators: dict[str, Any] | None = None, **operands: Any
) -> None:
    kernel = ms.compile(text, out=out, **operands, **(operators or {}))
    for threads in THREADS:
        ms.set_num_threads(threads)
        found = kernel(**operands)
        np.testing.assert_array_equal(numpy_of(found), wanted, f"{text} on {threads} threads")
        if isinstance(found, ms.SparseTensor):
            held = found.storage
            levels = {"positions": held.positions, "coordinates": held.coordinates, "values": held.values}
            ms.SparseTensor.from_levels(found.encoding, found.shape, **levels)  # validates


@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize("name", MATRICES)
def test_matrices(storage: str, name: str) -> None:
    dense = MATRICES[name]
    rows, columns = dense.shape
    A, x, z = ms.tensor(dense, storage), np.arange(1.0, columns + 1), np.arange(1.0, rows + 1)
    B = np.arange(1.0, columns * 3 + 1).reshape(columns, 3)
    check("y(i) = A(i,j) * x(j)", dense @ x, A=A, x=x)
    check("y(j) = A(i,j) * z(i)", dense.T @ z, A=A, z=z)
    check("y(i) = z(i) - A(i,j) * x(j)", z - dense @ x, A=A, x=x, z=z)
    check("C(i,k) = A(i,j) * B(j,k)", dense @ B, A=A, B=B)
    check("C(k,i) = A(i,j) * B(j,k)", (dense @ B).T, A=A, B=B)
    check("s = A(i,j) * A(i,j)", np.sum(dense * dense), A=A)


def test_arrays_under_sums_of_variables() -> None:
    x, w = np.arange(50.0), np.array([1.0, 2.0, 3.0])
    wanted = np.array([sum(x[2 * i + k] * w[k] for k in range(3)) for i in range(20)])
    check("y(i) = x(2*i + k) * w(k) + 0 * n(i)", wanted, x=x, w=w, n=np.zeros(20))


@pytest.mark.parametrize("storage", ["CSF", "COO", "(i, j, k) -> (k : compressed, i : dense, j : compressed)"])
def test_tensors(storage: str) -> None:
    random = np.random.default_rng(1)
    dense = np.where(random.random((9, 11, 7)) < 0.2, random.integers(1, 9, (9, 11, 7)), 0).astype(float)
    T, B, C, v = (
        ms.tensor(dense, storage),
        np.arange(22.0).reshape(11, 2),
        np.arange(14.0).reshape(7, 2),
        np.arange(7.0),
    )
    check("D(i,r) = T(i,j,k) * B(j,r) * C(k,r)", np.einsum("ijk,jr,kr->ir", dense, B, C), T=T, B=B, C=C)
    check("D(i,j) = T(i,j,k) * v(k)", dense @ v, out="dense", T=T, v=v)
    check("s = T(i,j,k)", np.sum(dense), T=T)


@pytest.mark.parametrize(
    ("dtype", "text"),
    [
        ("f4", "y(j) = A(i,j)"),
        ("i1", "y(j) = A(i,j)"),
        ("i8", "y(j) = max(i : A(i,j))"),
        ("c8", "y(j) = A(i,j)"),
        ("c16", "s = A(i,j)"),
        ("f8", "s = max(i, j : A(i,j))"),
        ("i4", "s = min(i, j : A(i,j))"),
        ("f2", "y(j) = A(i,j)"),
    ],
)
def test_combined_results(dtype: str, text: str) -> None:
    dense = MATRICES["power law"].astype(dtype)
    read = ms.tensor(dense, "CSR")
    wanted = ms.evaluate(text, A=read, threads=1)
    for threads in THREADS:
        np.testing.assert_array_equal(ms.evaluate(text, A=read, threads=threads), wanted)
    assert np.array_equal(wanted, dense.sum(0) if text == "y(j) = A(i,j)" else wanted)


@crossed(name=MATRICES, result=["CSR", "DCSR", "COO"], storage=["CSR", "DCSR", "COO"])
def test_sparse_results(storage: str, result: str, name: str) -> None:
    dense = MATRICES[name]
    other = np.roll(dense, 5, 0) * 2
    A, B, C = ms.tensor(dense, storage), ms.tensor(other, storage), ms.tensor(other.T.copy(), storage)
    check("D(i,j) = A(i,j) + B(i,j)", dense + other, result, A=A, B=B)
    check("D(i,j) = A(i,j) * B(i,j)", dense * other, result, A=A, B=B)
    check("D(i,j) = A(i,k) * C(k,j)", dense @ other.T, result, A=A, C=C)
    check("D(i,j) = A(i,j) * M(i,j)", dense * (dense + 1), result, A=A, M=dense + 1)


@pytest.mark.parametrize("result", ["CSR", "DCSR", "COO", "(i, j) -> (j : dense, i : compressed)"])
def test_sparse_results_of_tensors(result: str) -> None:
    random = np.random.default_rng(4)
    dense = np.where(random.random((19, 11, 7)) < 0.1, random.integers(1, 9, (19, 11, 7)), 0).astype(float)
    T, v, B = ms.tensor(dense, "CSF"), np.arange(1.0, 8.0), np.arange(1.0, 15.0).reshape(7, 2)
    check("D(i,j) = T(i,j,k) * v(k)", dense @ v, result, T=T, v=v)
    check("D(i,j,r) = T(i,j,k) * B(k,r)", dense @ B, "CSF", T=T, B=B)
    check("D(i,j,k) = T(i,j,k) + U(i,j,k)", dense * 3, "CSF", T=T, U=ms.tensor(dense * 2, "CSF"))
    check("D(i,j,k) = T(i,j,k) + U(i,j,k)", dense * 3, "COO", T=ms.tensor(dense, "COO"), U=ms.tensor(dense * 2, "COO"))
    rows = "(i, j, k) -> (i : dense, j : dense, k : compressed)"
    check("D(i,j,k) = T(i,j,k) + U(i,j,k)", dense * 3, rows, T=T, U=ms.tensor(dense * 2, rows))


VECTOR = "(i) -> (i : compressed)"


# Each is not zero where A stores nothing: loops go on where a piece of A has no entries.
BEYOND = {
    "(A(i,j) >= 0) * B(i,j)": lambda a, b: (a >= 0) * b,
    "(A(i,j) <= 2 * A(i,j)) * B(i,j)": lambda a, b: (a <= 2 * a) * b,
    "exp2(A(i,j)) * B(i,j)": lambda a, b: np.exp2(a) * b,
    "max(A(i,j), -1) * (A(i,j) == 0) * B(i,j)": lambda a, b: np.maximum(a, -1) * (a == 0) * b,
    "where(A(i,j) > 3, 0, B(i,j))": lambda a, b: np.where(a > 3, 0, b),
    "f(A(i,j)) * B(i,j)": lambda a, b: np.where(a == 0, 7, a + 1) * b,
    "g(A(i,j)) * B(i,j)": lambda a, b: (a == 0) * b,
    "(A(i,j) == 0) * (B(i,j) + A(i,j)) - B(i,j)": lambda a, b: (a == 0) * (b + a) - b,
}


# The left side, the storage of the result, and along which axis the expression is summed.
FORMS = (("C(i,j)", "dense", ()), ("C(i,j)", "COO", ()), ("y(i)", None, 1), ("y(j)", None, 0))


@crossed(text=BEYOND, storage=["COO", "DCSR", "DCSC"], other=["CSR", "CSC", "DCSR"], form=FORMS)
def test_expressions_that_are_not_zero_where_nothing_is_stored(
    text: str, storage: str, other: str, form: tuple[str, str | None, Any]
) -> None:
    a, b = power_law(), np.flipud(power_law())
    functions = {"f": ms.operator(lambda x: x + 1, absent=7), "g": ms.operator(lambda _: None, absent=1)}
    operators = {name: value for name, value in functions.items() if text.startswith(f"{name}(")}
    target, out, summed = form
    wanted = BEYOND[text](a, b).sum(axis=summed)
    check(f"{target} = {text}", wanted, out, operators, A=ms.tensor(a, storage), B=ms.tensor(b, other))


def long_vectors() -> tuple[Array, Array]:
    u, v = np.arange(1.0, 1801.0), np.arange(1.0, 1001.0)
    u[::7], v[::3] = 0, 0
    return u, v


@pytest.mark.parametrize("result", ["CSR", "DCSR", "COO"])
def test_results_of_more_entries_than_their_operands(result: str) -> None:
    u, v = long_vectors()
    check("D(i,j) = u(i) * v(j)", np.outer(u, v), result, u=ms.tensor(u, VECTOR), v=ms.tensor(v, VECTOR))


def test_tensors_of_more_entries_than_their_operands() -> None:
    u, v = long_vectors()
    matrix = u[:, None] * np.array([1.0, 0.0, 2.0])
    U, V = ms.tensor(matrix, "DCSR"), ms.tensor(v, VECTOR)
    for result in ("CSF", "(i, j, k) -> (i : compressed, j : dense, k : compressed)"):
        check("D(i,j,k) = U(i,j) * V(k)", matrix[:, :, None] * v, result, U=U, V=V)


def test_calls_that_take_long_are_cut_on_one_thread_too() -> None:
    _native.set_piece_work(0)
    ms.set_num_threads(1)
    random = np.random.default_rng(5)
    columns = np.sort(random.permuted(np.tile(np.arange(40, dtype=np.int32), (60_000, 1)), axis=1)[:, :20], axis=1)
    positions = np.arange(0, columns.size + 1, 20, dtype=np.int32)
    values = random.integers(1, 9, columns.size).astype(float)
    A = ms.SparseTensor.from_levels("CSR", (60_000, 40), [None, positions], [None, columns.ravel()], values)
    shifted = ms.SparseTensor.from_levels(
        "CSR", (60_000, 40), [None, positions], [None, (39 - columns[:, ::-1]).ravel()], values
    )
    added = ms.compile("C(i,j) = A(i,j) + B(i,j)", A=A, B=shifted)
    multiplied = ms.compile("y(i,k) = A(i,j) * B(j,k)", A=A, B=np.ones((40, 8)))
    whole = [added(A, shifted).to_numpy(), multiplied(A, np.ones((40, 8)))]
    np.testing.assert_array_equal(whole[0], A.to_numpy() + shifted.to_numpy())
    np.testing.assert_array_equal(whole[1], A.to_numpy() @ np.ones((40, 8)))


def test_widths_of_sparse_results() -> None:
    dense = MATRICES["power law"]
    for widths in ("posWidth = 16, crdWidth = 8", "posWidth = 32, crdWidth = 64"):
        encoding = f"#sparse_tensor.encoding<{{ map = (i, j) -> (i : compressed, j : compressed), {widths} }}>"
        A = ms.tensor(dense, encoding)
        check("D(i,j) = A(i,j) + B(i,j)", dense * 2, encoding, A=A, B=ms.tensor(dense, encoding))


def test_unordered_coordinates() -> None:
    dense = MATRICES["power law"]
    rows, columns = np.nonzero(dense)
    order = np.random.default_rng(2).permutation(len(rows))
    coordinates = np.stack([rows[order], columns[order]])
    x = np.arange(1.0, COLUMNS + 1)
    encoding = "(i, j) -> (i : compressed(nonunique, nonordered), j : singleton(nonordered))"
    positions = np.array([0, len(order)])
    A = ms.SparseTensor.from_levels(
        ms.encoding(encoding),
        dense.shape,
        positions=[positions, None],
        coordinates=[*coordinates],
        values=dense[rows, columns][order],
    )
    assert (
        "in one chunk: the coordinates of A are in no order" in ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x).explain()
    )
    check("y(i) = A(i,j) * x(j)", dense @ x, A=A, x=x)


def test_results_are_the_same_bit_for_bit_where_asked() -> None:
    random = np.random.default_rng(3)
    A, x = ms.tensor(random.standard_normal((200, 50)), "CSR"), random.standard_normal(200)
    for text in ("y(j) = A(i,j) * x(i)", "s = A(i,j) * x(i)"):
        results = [ms.evaluate(text, A=A, x=x, threads=t, deterministic=True) for t in THREADS]
        assert len({result.tobytes() for result in results}) == 1
        np.testing.assert_allclose(ms.evaluate(text, A=A, x=x, threads=8), results[0], rtol=1e-12, atol=1e-12)


def test_limits() -> None:
    ms.set_num_threads(3)
    assert ms.get_num_threads() == 3
    with _native.Limits(2):
        assert ms.get_num_threads() == 2
        with _native.Limits(0, True):
            assert ms.get_num_threads() == 2
    assert ms.get_num_threads() == 3
    A, x = np.eye(3), np.ones(3)
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=ms.tensor(A), x=x, threads=2)
    assert "up to 2 threads" in kernel.explain()
    assert kernel(ms.tensor(A), x).tolist() == kernel(ms.tensor(A), x).tolist() == [1, 1, 1]
    with pytest.raises(ms.ScheduleError, match="expected at least 1 thread, but got 0"):
        ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x, threads=0)
    with pytest.raises(ms.ScheduleError, match=r"expected at least 1 thread, but got 1\.5"):
        ms.set_num_threads(1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [({"MLIR_SPARSE_NUM_THREADS": "5"}, "5"), ({"OMP_NUM_THREADS": "1"}, "1")],
)
def test_environment(variables: dict[str, str], wanted: str) -> None:
    program = "import mlir_sparse as ms; print(ms.get_num_threads())"
    kept = {k: v for k, v in os.environ.items() if k not in ("MLIR_SPARSE_NUM_THREADS", "OMP_NUM_THREADS")}
    run = subprocess.run([sys.executable, "-c", program], env={**kept, **variables}, capture_output=True, text=True)
    assert run.stdout.strip() == wanted, run.stderr


def test_callers_at_the_same_time() -> None:
    dense, x = MATRICES["power law"], np.arange(1.0, COLUMNS + 1)
    A, wanted = ms.tensor(dense, "CSR"), MATRICES["power law"] @ x
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x, threads=3)
    kernel(A, x)
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(200):
                np.testing.assert_array_equal(kernel(A, x), wanted)
        except BaseException as error:
            errors.append(error)

    callers = [threading.Thread(target=work) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not errors


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_children_of_a_fork_have_threads_of_their_own() -> None:
    dense, x = MATRICES["power law"], np.arange(1.0, COLUMNS + 1)
    A = ms.tensor(dense, "CSR")
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x, threads=3)
    kernel(A, x)
    assert _native.pool_size() >= 2
    child = os.fork()
    if child == 0:
        before = _native.pool_size()
        right = np.array_equal(kernel(A, x), dense @ x)
        os._exit(0 if before == 0 and right and _native.pool_size() == 2 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert np.array_equal(kernel(A, x), dense @ x)


def test_interrupts_arrive_and_leave_the_process_sound() -> None:
    n = 1200
    A, B = ms.tensor(np.ones((n, n)), "CSR"), np.ones((n, 400))
    kernel = ms.compile("C(i,k) = A(i,j) * B(j,k)", A=A, B=B)
    small = kernel(A, np.ones((n, 1)))
    seconds_to_interrupt(lambda: kernel(A, B), 0.05)
    np.testing.assert_array_equal(kernel(A, np.ones((n, 1))), small)


@pytest.mark.parametrize("threads", [1, 2])
def test_interrupts_arrive_in_the_middle_of_a_long_call(threads: int) -> None:
    """Nine billion products; pieces have some milliseconds each, as they have for users."""
    _native.set_piece_work(0)
    A, B = ms.tensor(np.ones((1500, 1500)), "CSR"), np.ones((1500, 4000))
    kernel = ms.compile("C(i,k) = A(i,j) * B(j,k)", A=A, B=B, threads=threads)
    out = np.zeros((1500, 4000))
    kernel(ms.tensor(np.eye(1500), "CSR"), B, out=out)
    assert seconds_to_interrupt(lambda: kernel(A, B, out=out), 0.1) < 1
    assert out.min() < 1500, "the call had ended"
    np.testing.assert_array_equal(kernel(ms.tensor(np.eye(1500), "CSR"), B, out=out), B)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "?", "c16"])
@pytest.mark.parametrize("ring", ["min_plus", "max_times", "or_and", "and_or", "times_first", "plus_pair"])
def test_semirings_whose_results_are_combined(ring: str, dtype: str) -> None:
    """Along a variable that is summed, chunks' results meet by the semiring's addition."""
    random = np.random.default_rng(6)
    dense = np.where(random.random((ROWS, COLUMNS)) < 0.4, random.integers(1, 4, (ROWS, COLUMNS)), 0).astype(dtype)
    A, z = ms.tensor(dense, "CSR"), random.integers(1, 3, ROWS).astype(dtype)
    if dtype == "c16" and ring in ("min_plus", "max_times"):  # complex numbers have no order
        with pytest.raises(ms.SparseError):
            ms.compile("d(j) = A(i,j) * z(i)", A=A, z=z, semiring=ring)
        return
    kernel = ms.compile("d(j) = A(i,j) * z(i)", A=A, z=z, semiring=ring)
    found = []
    for threads in THREADS:
        ms.set_num_threads(threads)
        found.append(kernel(A, z))
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    if dtype in ("f8", "i8"):
        assert "combined in order" in kernel.explain()


@pytest.mark.parametrize("operator", ["or", "and", "prod", "max", "min"])
def test_reductions_with_a_target_that_is_read(operator: str) -> None:
    """What the target had counts once, whatever number it is."""
    dense = power_law() % 3
    word = {"prod": "*"}.get(operator, operator)
    target = np.arange(COLUMNS, dtype=float) % 4
    found = []
    for threads in THREADS:
        ms.set_num_threads(threads)
        found.append(ms.evaluate(f"y(j) {word}= A(i,j)", A=ms.tensor(dense, "CSR"), y=target.copy()))
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


_USERS = {
    "odd": (np.logical_xor, 0),
    "either": (lambda a, b: a + b - a * b, 0),
    "further": (lambda a, b: ms.where(abs(a) > abs(b), a, b), 0),
    "soft": (lambda a, b: np.logaddexp(a, b), float("-inf")),
}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("odd", "?"), *itertools.product(["either", "further", "soft"], ["f8", "i8", "u1"])],
)
def test_monoids_of_a_users_own(name: str, dtype: str) -> None:
    """Their function is compiled for chunks' results too."""
    function, identity = _USERS[name]
    random = np.random.default_rng(7)
    dense = np.where(random.random((ROWS, COLUMNS)) < 0.4, random.integers(1, 4, (ROWS, COLUMNS)), 0).astype(dtype)
    own = ms.monoid(function, identity, name=name)
    for storage in ("CSR", "DCSR", "COO"):
        A = ms.tensor(dense, storage)
        for text in (f"y(j) = {name}(i : A(i,j))", f"y = {name}(i, j : A(i,j))"):
            kernel = ms.compile(text, A=A, **{name: own})
            assert "combined in order" in kernel.explain()
            found = []
            for threads in THREADS:
                ms.set_num_threads(threads)
                found.append(kernel(A))
            for other in found[1:]:
                if name == "soft":
                    np.testing.assert_allclose(other, found[0], rtol=1e-14)
                else:
                    np.testing.assert_array_equal(other, found[0])


def test_a_saved_kernel_combines_chunks_by_a_users_monoid(tmp_path: Path) -> None:
    own = ms.monoid(lambda a, b: np.minimum(a + b, 40), 0, name="bounded")
    dense = (power_law() * 7).astype(np.int64)
    A = ms.tensor(dense, "CSR")
    kernel = ms.compile("y(j) = bounded(i : A(i,j))", A=A, bounded=own)
    kernel.save(tmp_path / "bounded.msk")
    wanted = np.minimum(dense.sum(axis=0), 40)
    for other in (ms.load(tmp_path / "bounded.msk"), pickle.loads(pickle.dumps(kernel))):
        ms.set_num_threads(3)
        np.testing.assert_array_equal(other(A), wanted)


def test_the_addition_of_a_users_semiring_combines_chunks() -> None:
    own = ms.semiring(ms.monoid(lambda a, b: np.minimum(a + b, 900), 0, name="bounded"), "times")
    dense = power_law().astype(np.int32)
    A, z = ms.tensor(dense, "CSR"), np.arange(ROWS, dtype=np.int32)
    kernel = ms.compile("y(j) = A(i,j) * z(i)", A=A, z=z, semiring=own)
    wanted = np.minimum(z @ dense, 900)
    for threads in THREADS:
        ms.set_num_threads(threads)
        np.testing.assert_array_equal(kernel(A, z), wanted)


def test_what_takes_the_last_entry_is_not_cut_where_chunks_may_have_none() -> None:
    A, z = ms.tensor(power_law(), "CSR"), np.arange(1.0, ROWS + 1)
    for ring in ("any_second", ms.semiring(ms.monoid(lambda a, b: b, 0.0, name="last"), "second")):
        kernel = ms.compile("y(j) = A(i,j) * z(i)", A=A, z=z, semiring=ring)
        assert "takes the last entry, and a chunk may have none" in kernel.explain()
        last = ROWS - (power_law()[::-1] != 0).argmax(axis=0)
        np.testing.assert_array_equal(kernel(A, z), np.where((power_law() != 0).any(axis=0), last, 0))
