"""What users of sparse arrays in Python ask for most, and what answers it here: a row each, run for the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from doc_pages import markup
from doc_pages.running import session
from doc_pages.screenshots import ADDED

__all__ = ["ROWS", "SETUP", "Row", "given_names", "page"]

LEAD = """Twenty-five things that are asked for most in the issue trackers of SciPy, PyTorch, JAX, scikit-learn,
pydata/sparse, LLVM and others. The code of each row was run for this page with the names below, and the
tests check what it gives. What is answered in part, or not at all, says why."""
SETUP = """
import numpy as np
import scipy.sparse.linalg
import mlir_sparse as ms

rng = np.random.default_rng(0)
A, B = ms.random((6, 6), 0.4, rng=rng), ms.random((6, 6), 0.4, rng=rng)
T = ms.random((3, 4, 5), 0.3, rng=rng)
X, Y, b = rng.random((6, 4)), rng.random((4, 6)), np.ones(6)
P = A @ A.T + 6 * ms.eye(6)
"""
YES, PARTLY = "yes", "in part"


@dataclass(frozen=True, slots=True)
class Row:
    """A want.

    Args:
        want: what is asked for.
        asked: where, with the numbers of threads.
        code: a Python expression of the names in SETUP, what answers it.
        holds: a Python expression that says whether its value, `_`, is right.
        page: the page that says more, with the section.
        why: what is missing, and the reason.
    """

    want: str
    asked: str
    code: str
    holds: str
    page: str = "guide.html"
    why: str = ""

    @property
    def answered(self) -> str:
        """Whether it is, in a word."""
        return PARTLY if self.why else YES


_TWICE = (
    r'ms.module("func.func @twice(%x: f64) -> f64 {\n  %y = arith.addf %x, %x : f64\n  return %y : f64\n}").twice(21.0)'
)
_SOFTMAX = 'ms.evaluate("S(i,j) = stored(exp(A(i,j))) / sum(k : stored(exp(A(i,k))))", A=A, out="CSR")'

ROWS = (
    Row(
        "Gradients whose pattern is the operand's",
        "pytorch#98929 #68621 #86963 #2389, jax#13118 #14623, pytorch_sparse#45, TensorComprehensions#208",
        'str(ms.adjoint("Y(i,k) = A(i,j) * B(j,k)", "A", A="f64[?,?] CSR"))',
        "_ == 'dA(i,j) = dY(i,k) * B(j,k) if A(i,j)'",
        "gradients.html",
    ),
    Row(
        "The array API's namespace",
        "scipy#18915, scikit-learn#17364 #34087, anndata#2536",
        "A.__array_namespace__().sort(A)",
        "np.array_equal(_.to_numpy(), np.sort(A.to_numpy())) and A.__array_namespace__() is ms.xp",
        "neighbours.html#xarray",
    ),
    Row(
        "Products on several threads",
        "scipy#19112 #20845 #10201 #19717 #1196",
        'ms.compile("C(i,j) = A(i,k) * B(k,j)", A=A, B=B, threads=2)(A=A, B=B)',
        "np.allclose(_.to_numpy(), A.to_numpy() @ B.to_numpy())",
    ),
    Row(
        "Krylov and eigenvalue solvers on a tensor",
        "scipy.sparse.linalg, pytorch#10043",
        "scipy.sparse.linalg.cg(P, b, rtol=1e-12)[0]",
        "np.allclose(P @ _, b)",
        "neighbours.html#SciPy",
    ),
    Row(
        "Arrays of n dimensions, indexed and reduced",
        "scipy#21169 #8162 #21613",
        "T[1:, ::2].sum(axis=0)",
        "np.allclose(_.to_numpy(), T.to_numpy()[1:, ::2].sum(axis=0))",
    ),
    Row(
        "Batches of products",
        "pytorch#98675 #72065 #4925",
        'ms.tensor(np.stack([np.eye(6), 2 * np.eye(6)]), "BatchedCSR") @ X',
        "np.allclose(_, [X, 2 * X])",
        "pictures.html#BatchedCSR",
    ),
    Row(
        "einsum of any operands",
        "pydata/sparse#415, jax#27397",
        'ms.einsum("ij,jk,kl->il", A, X, B[:4])',
        "np.allclose(np.asarray(_), A.to_numpy() @ X @ B.to_numpy()[:4])",
    ),
    Row(
        "Sampled products (SDDMM)",
        "cupy#7346, dgl#5032",
        'ms.evaluate("Z(i,j) = A(i,j) * X(i,k) * Y(k,j)", A=A, X=X, Y=Y)',
        "np.allclose(_.to_numpy(), A.to_numpy() * (X @ Y)) and _.nse == A.nse",
    ),
    Row(
        "Blocks (BSR) everywhere",
        "pytorch#9222, jax#14524",
        'ms.tensor(A, "BSR", block=(2, 2)) @ X',
        "np.allclose(_, A.to_numpy() @ X)",
        "pictures.html#BSR",
    ),
    Row(
        "CSR, CSC and CSF with NumPy's functions",
        "pydata/sparse#433 #125 #775",
        'np.tensordot(ms.tensor(T, "CSF"), np.ones(5), 1)',
        "np.allclose(_.to_numpy(), T.to_numpy().sum(axis=2))",
    ),
    Row(
        "An MLIR backend for pydata/sparse",
        "pydata/sparse#751 #752",
        "np.sum(ms.tensor(T), axis=2)",
        "np.allclose(_.to_numpy(), T.to_numpy().sum(axis=2))",
        "neighbours.html#pydata/sparse",
        "Its arrays are operands here, results go back, and functions have the same names. It has no place "
        "for a backend of another package: it chooses among three of its own by an environment variable.",
    ),
    Row(
        "A wheel of MLIR's Python bindings",
        "llvm-project#150410 #124878, lighthouse#69 #8, torch-mlir#4182, FlagTree#211",
        "ms.compile('y(i) = A(i,j) * x(j)', A='f64[?,?] CSR', x='f64[?]').ir('linalg').splitlines()[0]",
        "_.startswith('#')",
        "guide.html",
        "LLVM publishes none. The wheel `torch-mlir`, which a new version of comes each month, has what is needed for "
        "every Python and platform; those of `xtc-mlir-python-bindings` work too. Bindings are probed before use.",
    ),
    Row(
        "Programs that do not end Python when a pass does",
        "llvm-project#205706 #211187 #119857 #204712 #202787",
        "error_of(lambda: ms.module(ADDED).added(np.array(1.0), ms.tensor(b, 'SparseVector'), b)).__name__",
        "_ == 'CompilerCrash'",
        "exploring.html#Passes that fail",
    ),
    Row(
        "Modules of one's own on sparse data",
        "mlir-graphblas#22, buddy-mlir#166",
        _TWICE,
        "_ == 42",
        "user_modules.html",
    ),
    Row(
        "Softmax of stored entries, attention",
        "AiDotNet#221, torch.sparse.softmax",
        _SOFTMAX,
        "_.nse == A.nse and np.allclose(_.sum(axis=1), A.getnnz(axis=1) > 0)",
    ),
    Row(
        "Fusion of NumPy's operators",
        "finch-jl-python#17 #79, finch-tensor#673",
        "(ms.lazy(A) @ B).sum().compute()",
        "np.isclose(_, (A.to_numpy() @ B.to_numpy()).sum())",
    ),
    Row(
        "Triangles as one fused statement",
        "Finch.jl#751",
        'ms.evaluate("t = A(i,j) * A(j,k) * A(k,i)", A=A)',
        "np.isclose(_, np.trace(np.linalg.matrix_power(A.to_numpy(), 3)))",
        "neighbours.html#networkx",
    ),
    Row(
        "Schedules",
        "Finch.jl#722 #723",
        'ms.compile("C(i,j) = A(i,k) * B(k,j)", A=A, B=B, schedule=ms.Schedule(order="i,k,j"))(A=A, B=B)',
        "np.allclose(_.to_numpy(), A.to_numpy() @ B.to_numpy())",
    ),
    Row(
        "xarray and Dask",
        "anndata#1088 #2085, scanpy#921, pydata/sparse#433",
        "np.nanmean(T, axis=0)",
        "np.allclose(np.asarray(_), T.to_numpy().mean(axis=0))",
        "neighbours.html#Dask",
    ),
    Row(
        "scikit-learn",
        "scikit-learn#17364 #29031",
        'A.to("scipy").data',
        "np.shares_memory(_, A.storage.values)",
        "neighbours.html#scikit-learn",
        'Its estimators know SciPy\'s sparse arrays by their class, and read all else as dense. `A.to("scipy")` costs '
        "microseconds and no memory; a tensor that is passed itself is made dense with an `ms.DenseCopyWarning`.",
    ),
    Row(
        "networkx and GraphBLAS",
        "python-graphblas#600, networkx#4135",
        'ms.evaluate("d(j) = A(i,j) * e(i)", A=A, e=b, semiring="min_plus")',
        "np.allclose(_, 1 + np.where(A.to_numpy() == 0, np.inf, A.to_numpy()).min(axis=0))",
        "graphblas.html",
        "Graphs and matrices of both go in and out, and statements do what GraphBLAS does. There is no backend that "
        "networkx dispatches to: of its hundreds of algorithms that would be a handful.",
    ),
    Row(
        "Triangular and direct solves",
        "pytorch#10043, nvmath DirectSolver, torchsparsegradutils",
        "ms.linalg.solve_triangular(P, ms.linalg.solve(P, b))",
        "np.allclose(P @ (np.tril(P.to_numpy()) @ _), b)",
        "neighbours.html#SciPy",
    ),
    Row(
        "Assignment to elements",
        "SciPy's lil and dok",
        "ms.assign(A, (slice(2), 1), 5.0)",
        "(_.to_numpy()[:2, 1] == 5).all() and _.format == 'csr'",
        "graphblas.html",
        "`A[i, j] = v` is refused: kernels keep what they found out of a structure, which so never changes. "
        "`ms.assign` returns a changed copy, `ms.from_coo` builds from lists, and `A.with_values` replaces values.",
    ),
    Row(
        "Unsigned integers, truth values, numbers of 8 bits",
        "Finch, pydata/sparse",
        '[ms.tensor(A, dtype=name).dtype.name for name in ("u8", "u64", "bool", "f8e4m3fn", "f8e5m2")]',
        "_ == ['uint8', 'uint64', 'bool', 'float8_e4m3fn', 'float8_e5m2']",
    ),
    Row(
        "Fill values other than zero",
        "pydata/sparse, Finch",
        "A.with_fill(np.inf) + 1",
        "_.fill_value == np.inf and np.array_equal(np.isinf(_.to_numpy()), A.to_numpy() == 0)",
        "guide.html",
    ),
)


def _error_of(action: Any) -> type[BaseException]:
    try:
        action()
    except Exception as error:
        return type(error)
    raise AssertionError("expected an error, but got none")


def given_names() -> dict[str, Any]:
    """Returns the names that rows read."""
    names: dict[str, Any] = {"error_of": _error_of, "ADDED": ADDED}
    exec(SETUP, names)
    return names


def page() -> str:
    """Returns the page.

    Raises:
        AssertionError: for a row whose code gives another value than it must.
    """
    names = given_names()
    cells = [["", "want", "asked for at", "here", ""]]
    for number, row in enumerate(ROWS, 1):
        names["_"] = eval(row.code, names)
        assert eval(row.holds, names), row.want
        name, _, section = row.page.partition("#")
        more = f'<a href="{row.page.replace(" ", "%20")}">{section or markup.TITLES[name]}</a>'
        why = markup.paragraph(row.why) if row.why else ""
        cells.append([str(number), row.want, row.asked, markup.code(row.code), f"{row.answered}: {more}{why}"])
    return markup.document("wants.html", [markup.paragraph(LEAD), session(SETUP, {}), markup.table(cells)])
