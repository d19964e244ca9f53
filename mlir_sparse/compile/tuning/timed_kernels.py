"""The kernels that measure a machine, each of which takes one kind of step that the others do not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.entry_points import compile as compile_kernel
from mlir_sparse.compile.tuning.timed_rounds import TimedRounds, timed_rounds
from mlir_sparse.encoding import encoding
from mlir_sparse.machine import FAR_SIZES
from mlir_sparse.runtime.blas_threads import multiply_within_limits
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor import tensor as as_tensor

__all__ = [
    "ARRAY",
    "COLUMNS",
    "DEGREE",
    "ENTERING",
    "FAR",
    "LARGE",
    "LINES",
    "MATRIX",
    "NEAR",
    "NEAR_ENTRIES",
    "SHORT",
    "SMALL",
    "SQUARE",
    "STACK",
    "THIN",
    "Kernels",
    "sizes",
]

# Rows of the matrices, entries of a row, and the same for products of matrices.
MATRIX, DEGREE = 50_000, 20
# Elements of arrays in the caches, and of those that are not.
ARRAY, LARGE = 100_000, 8_000_000
# Columns of arrays that rows are read from, and their rows: 0.5 MB and 100 MB.
COLUMNS, NEAR, FAR = 64, 1_000, 200_000
# Rows that kernels on such arrays read.
LINES = 20_000
# Rows and columns of matrices that BLAS multiplies: of two large ones, of thin ones with a large result, and of small
# ones, of which there is a stack.
SQUARE, THIN, SMALL, STACK = 512, (2_000, 4), 2, 50_000
# Entries of a matrix in the second-level cache, entries of its rows, and rows of the one that begins them.
NEAR_ENTRIES, SHORT, ENTERING = 1 << 16, 10, 5_000
_ENTERED = "y(i) = sum(j, k : A(i,j) * B(j,k) * x(k))"
_CSR = encoding("CSR").with_widths(32, 32)


def sizes(first: int, last: int) -> list[int]:
    """Returns powers of 2, ascending."""
    return [1 << power for power in range(first, last + 1)]


def _matrix(rows: int, columns: int, degree: int, seed: int) -> SparseTensor:
    """Returns a CSR matrix with a column in each of as many equal parts of a row: in order, and none twice."""
    rng = np.random.default_rng(seed)
    begins = np.arange(degree + 1) * columns // max(degree, 1)
    drawn = begins[:-1] + (rng.random((rows, degree)) * np.diff(begins)).astype(np.int32)
    positions, coordinates = np.arange(rows + 1, dtype=np.int32) * degree, drawn.astype(np.int32).ravel()
    values = rng.random(rows * degree)
    return SparseTensor.from_levels(_CSR, (rows, columns), [None, positions], [None, coordinates], values)


@dataclass(slots=True)
class Kernels:
    """The calls that are timed, by name.

    Args:
        calls: what is called.
        entries: the entries of the matrix of most calls, and those of the products.
    """

    calls: dict[str, Callable[[], Any]]
    entries: float
    products: float

    @classmethod
    def of_this_machine(cls) -> Kernels:
        """Returns the kernels, compiled, with their operands."""
        rng = np.random.default_rng(0)
        A, B = _matrix(MATRIX, MATRIX, DEGREE, 1), _matrix(MATRIX, MATRIX, DEGREE, 2)
        x, tiny, ones = rng.random(MATRIX), as_tensor(np.eye(3), "CSR"), np.ones(3)
        S, T = _matrix(LINES, LINES, DEGREE, 3), _matrix(LINES, LINES, DEGREE, 4)
        rows = [(_matrix(LINES, n, DEGREE, 5), rng.random((n, COLUMNS))) for n in (NEAR, FAR)]
        made = cls({}, float(A.nse), _products(S, T))
        made._add("call", "y(i) = A(i,j) * x(j)", A=tiny, x=ones)
        made._add("sparse_result", "C(i,j) = A(i,j) * x(j)", "CSR", A=tiny, x=ones)
        made._add("rows", "y(i) = A(i,j)", A=A)
        made._add("vector", "y(i) = A(i,j) * x(j)", A=A, x=x)
        made._add_scatters(MATRIX, A)
        made._add("scaled", "C(i,j) = A(i,j) * x(j)", "CSR", A=A, x=x)
        made._add("met", "y(i) = A(i,j) * B(i,j)", A=A, B=B)
        made._add("entered", _ENTERED, A=S, B=T, x=x[:LINES])
        made._add("inserted", "C(i,k) = A(i,j) * B(j,k)", "CSR", A=S, B=T)
        made._add("arrays", "y(i,k) = X(i,j) * Y(j,k)", X=rng.random((64, 256)), Y=rng.random((256, 256)))
        for name, (M, X) in zip(("near_lines", "far_lines"), rows, strict=True):
            made._add(name, "C(i,r) = A(i,j) * X(j,r)", A=M, X=X)
        made._add("written", "y(i) = 2 * x(i)", x=rng.random(ARRAY))
        made._add("fresh", "y(i) = 2 * x(i)", x=rng.random(LARGE))
        made._add("functions", "y(i) = exp(x(i))", x=rng.random(ARRAY))
        made._add("functions of rows", "y(i) = exp(x(i)) * A(i,j) * x(j)", A=A, x=x)
        made.calls["converted"] = lambda: A.convert("CSC")
        made._add_blas("square", rng, (SQUARE, SQUARE), (SQUARE, SQUARE))
        made._add_blas("thin", rng, THIN, THIN[::-1])
        made._add_blas("stack", rng, (STACK, SMALL, SMALL), (STACK, SMALL, SMALL))
        made._add_sizes(rng)
        return made

    def _add(self, name: str, text: str, out: str | None = None, **tensors: Any) -> None:
        kernel = compile_kernel(text, out=out, tensors=tensors, optimize="off")
        self.calls[name] = lambda: kernel(**tensors)

    def _add_blas(self, name: str, rng: np.random.Generator, one: tuple[int, ...], other: tuple[int, ...]) -> None:
        """Adds a product of matrices by NumPy's BLAS, as plans call it."""
        left, right = rng.random(one), rng.random(other)
        out = np.empty((*one[:-1], other[-1]))
        self.calls[name] = lambda: multiply_within_limits(left, right, out)

    def _add_scatters(self, size: int, matrix: SparseTensor) -> None:
        """Adds sums of columns, whose elements loops come to in no order, and the same of a matrix without entries."""
        self._add(f"scattered {size}", "y(j) = A(i,j)", "dense", A=matrix)
        self._add(f"cleared {size}", "y(j) = A(i,j)", "dense", A=_matrix(MATRIX, size, 0, 0))

    def _add_sizes(self, rng: np.random.Generator) -> None:
        """Adds kernels on arrays of many sizes: what far ones take, and up to which size they are near or kept."""
        for size in (NEAR_ENTRIES, *FAR_SIZES):
            few, B = _matrix(ENTERING, size // SHORT, DEGREE, 8), _matrix(size // SHORT, NEAR, SHORT, 9)
            self._add(f"entered {size}", _ENTERED, A=few, B=B, x=rng.random(NEAR))
        for size in FAR_SIZES:
            A = _matrix(MATRIX, size, DEGREE, 7)
            self._add(f"vector {size}", "y(i) = A(i,j) * x(j)", A=A, x=rng.random(size))
            self.calls[f"converted {size}"] = partial(A.convert, "CSC")
            self._add_scatters(size, A)
        for size in sizes(14, 22):
            rows = size // COLUMNS
            self._add(
                f"near {size}", "C(i,r) = A(i,j) * X(j,r)", A=_matrix(2000, rows, 10, 6), X=rng.random((rows, COLUMNS))
            )
            self._add(f"kept {size}", "y(i) = 2 * x(i)", x=rng.random(size))

    def timed(self, rounds: int) -> TimedRounds:
        """Returns what each call takes, in nanoseconds of this thread on the processor."""
        return timed_rounds(self.calls, rounds)


def _products(left: SparseTensor, right: SparseTensor) -> float:
    """Returns how many products of entries a product of matrices has."""
    positions, columns = right.storage.positions[1], left.storage.coordinates[1]
    assert positions is not None
    assert columns is not None
    return float(np.diff(positions)[columns].sum())
