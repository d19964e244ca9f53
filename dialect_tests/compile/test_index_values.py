"""Index variables as values and conditions on them: every storage, threads, streams, Dask, files, the command line."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from dialect_tests.as_array import as_array
from dialect_tests.crossing import crossed
from mlir_sparse.tools.cli import main as cli

Array = np.ndarray[Any, Any]
STORAGES = [
    "dense",
    "CSR",
    "COO",
    "CSC",
    "DCSR",
    "BSR(2, 2)",
    "ELL",
    "DIA",
    "UnorderedCOO",
    "NonuniqueCOO",
    "RowIntervals",
]


def _matrix(rows: int = 6, columns: int = 6, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    found: Array = np.where(rng.random((rows, columns)) < 0.5, rng.integers(-4, 5, (rows, columns)), 0).astype(float)
    return found


def _stored(dense: Array, storage: str) -> Any:
    return dense if storage == "dense" else ms.tensor(dense, storage)


def _expected(text: str, D: Array, x: Array) -> Array:
    """Returns what NumPy gives for one of CASES."""
    i, j = np.indices(D.shape)
    kept = np.where(j <= i, D, 0)
    known: dict[str, Callable[[], Any]] = {
        "y(i) = A(i,j) * j": lambda: (D * j).sum(1),
        "y(i) = A(i,j) * j * i": lambda: (D * j * i).sum(1),
        "y(j) = A(i,j) * (i + 1) / (j + 1)": lambda: (D * (i + 1)).sum(0) / (1 + np.arange(D.shape[1])),
        "y(i) = A(i,j) * x(j) if j <= i": lambda: kept @ x,
        "y(i) = sum(j : A(i,j) * x(j) if j <= i) + i": lambda: kept @ x + np.arange(len(D)),
        "y(i) = A(i,j) * x(j) if j % 2 == 0 & i > 0": lambda: np.where((j % 2 == 0) & (i > 0), D, 0) @ x,
        "B(i,j) = A(i,j) if j <= i": lambda: kept,
        "B(i,j) = A(i,j) if not j <= i": lambda: D - kept,
        "B(i,j) = j <= i ? A(i,j) : -A(i,j)": lambda: np.where(j <= i, D, -D),
        "B(i,j) = A(i,j) * i": lambda: D * i,
        "B(i,j) = A(i,j) + i if i == j": lambda: np.where(i == j, D + i, 0),
        "C(i,j) = A(i,k) * A(k,j) if j <= i": lambda: np.tril(D @ D),
        "C(i,j) = A(i,k) * A(k,j) if k <= i": lambda: kept @ D,
        "C(i,j) = A(i,k) * k * A(k,j)": lambda: D @ (D * i),
        "y(i) = max(j : A(i,j) * j)": lambda: (D * j).max(1),
        "y(i) = argmax(j : A(i,j) * j)": lambda: (D * j).argmax(1),
        "t = A(i,j) * (i - j)": lambda: (D * (i - j)).sum(),
    }
    return np.asarray(known[text]())


CASES = [
    "y(i) = A(i,j) * j",
    "y(i) = A(i,j) * j * i",
    "y(j) = A(i,j) * (i + 1) / (j + 1)",
    "y(i) = A(i,j) * x(j) if j <= i",
    "y(i) = sum(j : A(i,j) * x(j) if j <= i) + i",
    "y(i) = A(i,j) * x(j) if j % 2 == 0 & i > 0",
    "B(i,j) = A(i,j) if j <= i",
    "B(i,j) = A(i,j) if not j <= i",
    "B(i,j) = j <= i ? A(i,j) : -A(i,j)",
    "B(i,j) = A(i,j) * i",
    "B(i,j) = A(i,j) + i if i == j",
    "C(i,j) = A(i,k) * A(k,j) if j <= i",
    "C(i,j) = A(i,k) * A(k,j) if k <= i",
    "C(i,j) = A(i,k) * k * A(k,j)",
    "y(i) = max(j : A(i,j) * j)",
    "y(i) = argmax(j : A(i,j) * j)",
    "t = A(i,j) * (i - j)",
]


@crossed(text=CASES, storage=STORAGES, optimize=["auto", "off", "algebra"])
def test_agrees_with_numpy(text: str, storage: str, optimize: str) -> None:
    """Each storage and each way to optimize gives NumPy's numbers."""
    D, x = _matrix(), np.arange(6.0) - 2
    given = {"A": _stored(D, storage)} | ({"x": x} if "x(j)" in text else {})
    found = ms.evaluate(text, tensors=given, optimize=optimize)
    np.testing.assert_allclose(as_array(found), _expected(text, D, x))


@crossed(text=CASES[:8], shape=[(0, 3), (3, 0), (1, 1), (1, 5)], storage=["dense", "CSR", "COO", "CSC"])
def test_extents_of_zero_and_one(text: str, shape: tuple[int, int], storage: str) -> None:
    D, x = _matrix(*shape), np.arange(float(shape[1]))
    given = {"A": _stored(D, storage)} | ({"x": x} if "x(j)" in text else {})
    np.testing.assert_allclose(as_array(ms.evaluate(text, tensors=given)), _expected(text, D, x))


@pytest.mark.parametrize("dtype", ["i8", "i32", "i64", "f32", "f64", "bf16", "c64", "bool"])
def test_an_index_is_an_integer_of_64_bits(dtype: str) -> None:
    """The result has the type that NumPy gives an array of `dtype` times one of int64."""
    D = np.abs(_matrix())
    A = ms.tensor(D, "CSR").astype(ms.DType.of(dtype).numpy)
    found = ms.evaluate("y(i) = A(i,j) * j", A=A)
    expected = A.to_numpy().astype(np.float64 if dtype == "bf16" else A.dtype) @ np.arange(6)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_a_condition_keeps_the_storage_and_drops_entries() -> None:
    """tril and triu of a sparse tensor take what they keep, NaN and infinities included."""
    D = _matrix()
    D[2, 1], D[3, 3], D[1, 4] = np.nan, np.inf, -0.0
    A = ms.tensor(scipy.sparse.csr_array((np.arange(1.0, 7), ([0, 1, 2, 3, 4, 5], [5, 0, 2, 5, 1, 5]))), "DCSR")
    lower = ms.evaluate("B(i,j) = A(i,j) if j <= i", A=A, out="DCSR")
    assert (lower.nse, lower.encoding.levels) == (4, A.encoding.levels)
    for storage in ("CSR", "COO", "CSC"):
        found = ms.evaluate("B(i,j) = A(i,j) if j <= i", A=ms.tensor(D, storage))
        np.testing.assert_array_equal(as_array(found), np.tril(D))
        assert found.nse == np.count_nonzero(np.tril(D))


def test_positions_are_those_of_the_whole_in_every_piece() -> None:
    """Threads, streams, Dask and slices: positions are global, though each piece sees a part."""
    rows, columns = 60_000, 30_000
    rng = np.random.default_rng(1)
    S = scipy.sparse.random_array((rows, columns), density=10 / columns, rng=rng, format="csr")
    A, x, i = ms.tensor(S), rng.random(columns), np.arange(rows)
    weighted = S.copy()
    weighted.data = S.data * S.indices
    cases: list[tuple[str, Array]] = [
        ("y(i) = A(i,j) * j * i", weighted.sum(1) * i),
        ("y(j) = A(i,j) * i", S.T @ i.astype(float)),
        ("y(i) = A(i,j) * x(j) if j <= i", scipy.sparse.tril(S) @ x),
        ("t = sum(i, j : i * A(i,j))", np.asarray((S.sum(1) * i).sum())),
    ]
    source = ms.source(lambda low, high: S[low:high], shape=S.shape, type="f64[?,?] CSR", nbytes=12 * S.nnz)
    for text, expected in cases:
        given = {"x": x} if "x(j)" in text else {}
        for threads in (1, 2, 3):
            np.testing.assert_allclose(ms.evaluate(text, A=A, threads=threads, tensors=given), expected)
        np.testing.assert_allclose(ms.stream(text, A=source, memory="8MiB", tensors=given), expected)
    lower = ms.evaluate("B(i,j) = A(i,j) if j <= i", A=A, threads=2)
    assert abs(lower.to_scipy() - scipy.sparse.tril(S)).max() == 0
    part = A[1000:5000]  # an index counts within what is read
    np.testing.assert_allclose(ms.evaluate("y(i) = P(i,j) * i", P=part), S[1000:5000].sum(1) * np.arange(4000))


def test_positions_that_no_memory_holds_are_refused_with_the_way_out() -> None:
    entries = np.array([[0, 5, 7], [3, 1, 10**13 - 1]]), np.array([1.0, 2.0, 3.0])
    A = ms.tensor(entries, "DCSR", shape=(10, 10**13))
    with pytest.raises(ms.TooLargeError, match=r"the positions of an index variable .* has its values at the entries"):
        ms.evaluate("s = A(i,j) * j", A=A)
    assert ms.evaluate("s = A(i,j) * i", A=A) == 2 * 5 + 3 * 7


def test_positions_are_kept_once_for_all_lengths() -> None:
    for length in (5, 4000, 7, 1, 0):
        assert ms.evaluate("s = x(i) * i", x=np.ones(length)) == length * (length - 1) / 2


def test_dask() -> None:
    msd = pytest.importorskip("mlir_sparse.dask")
    D = _matrix(20, 9)
    for text, expected in (
        ("y(i) = A(i,j) * j * i", (D * np.indices(D.shape).prod(0)).sum(1)),
        ("y(j) = A(i,j) * i", np.arange(20) @ D),
    ):
        found = ms.evaluate(text, A=msd.from_tensor(ms.tensor(D), pieces=3))
        np.testing.assert_allclose(found.compute(scheduler="synchronous"), expected)


def test_ranges_count_from_their_start() -> None:
    x = np.arange(7.0)
    np.testing.assert_array_equal(ms.evaluate("y(i) = i * i where i in 0:4", tensors={}), [0, 1, 4, 9])
    np.testing.assert_array_equal(ms.evaluate("y(i) = x(i + j) * j where i in 0:3, j in 2:4", x=x), [13, 18, 23])
    np.testing.assert_array_equal(ms.evaluate("y(i) = x(2*i + 1) * (2*i + 1)", x=x), [1, 9, 25])
    np.testing.assert_array_equal(ms.evaluate("y(i) = sum(k : k) * x(i) where k in 0:4", x=x), 6 * x)


def test_kernels_are_called_without_the_vectors(tmp_path: Path) -> None:
    """Kernels for types, saved and pickled ones take the user's operands, of any shape, and an array for the result."""
    text = "y(i) = A(i,j) * x(j) * j if j < i"
    kernel = ms.compile(text, A="f64[?,?] CSR", x="f64[?]")
    kernel.save(tmp_path / "kernel.msk")
    for made in (kernel, pickle.loads(pickle.dumps(kernel)), ms.load(tmp_path / "kernel.msk")):
        assert made.parameters == ("A", "x")
        for size in (6, 4, 6):
            D, x = _matrix(size, size), np.arange(1.0, size + 1)
            expected = np.tril(D, -1) @ (x * np.arange(size))
            A, out = ms.tensor(D, "CSR"), np.empty(size)
            np.testing.assert_allclose(made(A, x), expected)
            assert made(A=A, x=x, out=out) is out
            np.testing.assert_allclose(out, expected)
    assert "made by calls" in kernel.explain()
    assert "j.index" in kernel.explain(A, x)
    assert kernel.ir("notation") == "y(i) = sum(j : where(j < i, A(i,j) * x(j) * j, 0))\n"
    square = ms.compile("C(i,j) = A(i,k) * k * A(k,j)", A=A)
    assembled = square.assemble(A)
    np.testing.assert_allclose(square.compute(A, out=assembled).to_numpy(), D @ np.diag(np.arange(6)) @ D)


COMPREHENSION = """def f(double(M,N) A, double(N) x, int64(M) L, int64(K) I) -> (y, z, s, g) {
    y(i) +=! A(i,k) * x(k) * k if k <= i
    z(i) = y(i) * i
    s(i) +=! A(i,k) where k in 0:L(i)
    J(k) = 2 * I(k)
    g(k) = x(J(k) + 1) + k
}"""


@pytest.mark.parametrize("storage", ["dense", "CSR", "COO", "CSC"])
def test_statements_of_comprehensions(storage: str) -> None:
    """Each statement has positions of its own: `k` has two extents here. Kernels serve other shapes."""
    kernel = ms.compile(COMPREHENSION, A=f"f64[?,?] {storage}".removesuffix(" dense"))
    assert kernel.parameters == ("A", "x", "L", "I")
    for rows, columns in ((3, 6), (5, 6), (0, 6)):
        D, x, ends = _matrix(rows, columns), np.arange(1.0, columns + 1), np.arange(rows)[::-1] - 1
        places = np.array([0, 2, 1])
        i, k = np.arange(rows)[:, None], np.arange(columns)
        y = (D * x * k * (k <= i)).sum(1)
        expected = y, y * np.arange(rows), np.where(k < ends[:, None], D, 0).sum(1), x[2 * places + 1] + np.arange(3)
        given = {"A": _stored(D, storage), "x": x, "L": ends, "I": places}
        for made in (kernel, pickle.loads(pickle.dumps(kernel))):
            for _ in range(2):
                for one, other in zip(made(**given), expected, strict=True):
                    np.testing.assert_allclose(one, other)
        for one, other in zip(ms.evaluate(COMPREHENSION, **given), expected, strict=True):
            np.testing.assert_allclose(one, other)
    assert "k <= i" in kernel.explain()


def test_ranges_of_comprehensions_shift_positions() -> None:
    x = np.arange(6.0)
    found = ms.evaluate("def f(double(M) x) -> (y) { y(i) = 0 * x(i) y(i) = x(i + 1) * i where i in 2:5 }", x=x)
    np.testing.assert_array_equal(found, [0, 0, 6, 12, 20, 0])
    with pytest.raises(ms.UnsupportedError, match="without index variables as values for a GPU"):
        ms.compile("def f(double(M) x) -> (y) { y(i) = x(i) * i }", target="cuda:sm_90")


def test_tensors_by_definition_may_be_read() -> None:
    D = _matrix()
    G = ms.define("G(i,j) = 2 * A(i,j)", A=ms.tensor(D))
    for _ in range(2):
        np.testing.assert_allclose(ms.evaluate("y(i) = G(i,j) * j", G=G), 2 * D @ np.arange(6))
    np.testing.assert_allclose(ms.compile("y(i) = G(i,j) * j", G=G)(G), 2 * D @ np.arange(6))
    H = ms.define("H(i,j) = A(i,j) if j < i else -1", A=D)
    np.testing.assert_allclose(H.toarray(), np.where(np.tri(6, k=-1) > 0, D, -1))


@pytest.mark.parametrize("radix", [1, 2, 3])
def test_a_variable_that_a_definition_takes_apart_may_be_a_value(radix: int) -> None:
    """To split it in two would leave no variable with its values."""
    given = np.arange(-30, 30).reshape(6, 10)
    apart = given.reshape(6 // radix, radix, 10)
    A = ms.define("A(i,j) = S(i / r, i % r, j)", S=apart, r=radix, shape=given.shape)
    i, j = np.arange(6)[:, None], np.arange(10)
    assert ms.evaluate("s = A(i,j) * i", A=A) == (given * i).sum()
    np.testing.assert_array_equal(ms.evaluate("y(i) = A(i,j) * j + i", A=A), (given * j + i).sum(axis=1) - 9 * i[:, 0])
    where = np.where(i >= j, given, i)
    np.testing.assert_array_equal(ms.evaluate("y(j) = A(i,j) if i >= j else i", A=A), where.sum(axis=0))


def test_derivatives_take_positions_for_constants() -> None:
    text = "y(i) = A(i,j) * j * x(j) if j <= i"
    found = ms.adjoint(text, ["x"], A="f64[?,?] CSR")
    D, dy = _matrix(), np.arange(6.0)
    (statement,) = str(found).splitlines()
    assert "j <= i" in statement
    np.testing.assert_allclose(ms.evaluate(statement, A=ms.tensor(D, "CSR"), dy=dy), (np.tril(D) * np.arange(6)).T @ dy)


def test_users_names_may_be_odd() -> None:
    """An index called `index`, `sum` or `p`, and a tensor called `i`, mean what they say."""
    D = _matrix()
    for name in ("p", "sum", "index", "where", "not_"):
        np.testing.assert_allclose(ms.evaluate(f"y({name}) = A({name},j) * {name}", A=D), D.sum(1) * np.arange(6))
    np.testing.assert_allclose(ms.evaluate("y(a) = A(a,b) * i", A=D, i=2.0), 2 * D.sum(1))


@pytest.mark.parametrize(
    ("text", "given", "error", "message"),
    [
        ("y(i) = i", {}, ms.ExtentError, "expected index i to have an extent"),
        ("y(i) = x(i) * i", {"x": np.ones((2, 2))}, ms.RankError, "expected 2 subscripts for x"),
        ("y(i) = A(i,j) * x(j) * j", {"A": np.eye(2), "x": np.ones(3)}, ms.ExtentError, "but got 2 (axis 1 of A)"),
        ("y(i) = x(i) * i", {}, ms.UnknownTensorError, "expected data for tensor x, but got none: pass x=..."),
        ("y(i) = x(i) * i", {"x": np.ones(2), "z": 1}, ms.UnknownTensorError, "a tensor of y(i) = x(i) * i (x)"),
        ("def f(double(M) x) -> (y) { y(i) = i }", {"x": np.ones(2)}, ms.ExtentError, "expected a range for index i"),
        ("def f(double(M) x) -> (y) { y(i) = x(Q(i) + 1) }", {"x": np.ones(2)}, ms.UnknownTensorError, "but got `Q`"),
    ],
)
def test_mistakes(text: str, given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        ms.evaluate(text, **given)
    assert message in str(raised.value)


def test_tunes() -> None:
    """What is tuned takes the user's operands alone, and they alone are tried in other storage."""
    D = _matrix(40, 40)
    A, expected = ms.tensor(D, "CSR"), np.tril(D) @ np.arange(40.0)
    kernel = ms.compile("y(i) = A(i,j) * j if j <= i", A=A)
    for given in (kernel, "y(i) = A(i,j) * j if j <= i"):
        found = ms.tune(given, A, budget=0.1, formats={"A": ["COO"]}, fresh=True)
        assert isinstance(found.kernel, ms.Kernel)
        assert list(found.encodings) == ["A"]
        assert len(found.arrange(A)) == 1
        np.testing.assert_allclose(found.kernel(*found.arrange(A)), expected)
        assert "index" not in str(found).partition("fastest")[2]
    pushed = ms.tune("p(j) = A(i,j)", A, semiring="min_firsti", budget=0.05, fresh=True)
    np.testing.assert_array_equal(pushed.kernel(A), ms.evaluate("p(j) = A(i,j)", A=A, semiring="min_firsti"))
    with pytest.raises(ms.UnknownTensorError, match=r"expected formats= for operands A, but got j\.index"):
        ms.tune("y(i) = A(i,j) * j", A, budget=0.05, formats={"j.index": ["COO"]}, fresh=True)


def test_a_kernel_is_one_for_users() -> None:
    """Stages, modules, passes, alternatives and pickles are those of any kernel."""
    A = ms.tensor(_matrix(), "CSR")
    kernel = ms.compile("y(i) = A(i,j) * A(j,k) * k", A=A)
    assert isinstance(kernel, ms.Kernel)
    assert isinstance(pickle.loads(pickle.dumps(kernel)), ms.Kernel)
    assert len(kernel.passes()) > 3
    assert kernel.alternatives()
    for way in kernel.alternatives(A):
        np.testing.assert_allclose(ms.compile(way, A=A)(A), A.to_numpy() @ A.to_numpy() @ np.arange(6.0))
    for operands in ((), (A, A), (A, np.arange(6))):
        with pytest.raises(ms.SparseError):
            kernel(*operands)
    with pytest.raises(ms.UnknownTensorError, match="expected"):
        kernel(A, x=1)
    ranged = ms.compile("y(i) = A(i,j) * j where j in 0:3", A=A)
    assert ranged.parameters == ("A",)
    np.testing.assert_allclose(ranged(A), A.to_numpy()[:, :3] @ np.arange(3.0))


DIFFERENTIATED = "y(i) = A(i,j) * j * x(j) if j <= i"


def test_torch() -> None:
    torch = pytest.importorskip("torch", reason="expected PyTorch (extra torch)")
    D, x = _matrix(), torch.arange(1.0, 7.0, dtype=torch.float64, requires_grad=True)
    kernel = ms.torch.kernel(DIFFERENTIATED)
    weights = torch.arange(6.0, dtype=torch.float64)
    A = torch.tensor(D).requires_grad_()
    found = kernel(A, x)
    expected = (torch.tril(A) * (x * weights)).sum(1)
    np.testing.assert_allclose(found.detach(), expected.detach())
    for one, other in zip(
        torch.autograd.grad(found @ weights, (A, x)), torch.autograd.grad(expected @ weights, (A, x)), strict=True
    ):
        np.testing.assert_allclose(one, other)
    assert torch.autograd.gradcheck(kernel, (A, x))
    sparse = torch.tensor(D).to_sparse_csr().requires_grad_()
    (gradient,) = torch.autograd.grad((kernel(sparse, x) @ weights).sum(), sparse)
    dense = np.outer(np.arange(6.0), np.arange(1.0, 7.0) * np.arange(6.0)) * np.tri(6)
    np.testing.assert_allclose(gradient.to_dense(), np.where(D != 0, dense, 0))
    assert torch.autograd.gradgradcheck(kernel, (A, x))


def test_jax() -> None:
    jax = pytest.importorskip("jax", reason="expected JAX (extra jax)")
    D, x = np.float32(_matrix()), np.arange(1.0, 7.0, dtype=np.float32)
    kernel = ms.jax.kernel(DIFFERENTIATED)
    np.testing.assert_allclose(kernel(D, x), np.tril(D) @ (x * np.arange(6)), rtol=1e-5)
    found = jax.grad(lambda given: kernel(D, given).sum())(x)
    np.testing.assert_allclose(found, np.tril(D).sum(0) * np.arange(6), rtol=1e-5)


def test_compiles_for_gpus() -> None:
    kernel = ms.compile("y(i) = A(i,j) * j if j < i", A="f64[?,?] CSR", target="cuda:sm_90", via="codegen")
    assert ".visible .entry" in kernel.ir("ptx")


def test_command_line(tmp_path: Path) -> None:
    from click.testing import CliRunner

    D = _matrix()
    ms.write(tmp_path / "a.mtx", ms.tensor(D))
    given = ["-f", "A:CSR", "-i", f"A={tmp_path / 'a.mtx'}"]
    for text in ("y(i) = A(i,j) * j if j <= i", "y(i) = A(i,j) * (i + j)"):
        ran = CliRunner().invoke(cli, ["run", text, *given, "--verify"])
        assert ran.exit_code == 0, ran.output
        assert "passed" in ran.output
    shown = CliRunner().invoke(cli, ["emit", "y(i) = A(i,j) * j", "-f", "A:CSR"])
    assert "%arg1: tensor<?xi64>" in shown.output
