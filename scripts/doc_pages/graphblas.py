"""GraphBLAS: every operation of its C API with the notation or the function that does the same.

Each row is run for the page; the tests compare it with NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import mlir_sparse as ms
from doc_pages import markup
from doc_pages.running import session

__all__ = ["ROWS", "SETUP", "Row", "given_names", "page", "value_of"]

LEAD = """The [GraphBLAS](https://graphblas.org) is a C interface for graph algorithms as linear algebra over
semirings. What it calls a mask, an accumulator, a descriptor or an operator is written in the statement here. Each row
of the table was run for this page, and the tests compare it with NumPy. Missing entries are the semiring's zero; `M` in
`if M(i,j)` is a mask by structure: its entries count, zeros too."""
SETUP = """
import numpy as np
import mlir_sparse as ms

rng = np.random.default_rng(0)
DA, DB, DC = (np.where(rng.random((5, 5)) < 0.5, rng.integers(1, 9, (5, 5)), 0).astype(float) for _ in range(3))
DM = rng.random((5, 5)) < 0.5
du = np.array([0.0, 2.0, 0.0, 1.0, 3.0])
A, B, C, M = (ms.tensor(one, "CSR") for one in (DA, DB, DC, DM))
u = ms.tensor(du, "SparseVector")
I, J = [4, 0, 2], [1, 3]
least = ms.operator(lambda a, b: np.minimum(a, b), left="keep", right="keep")  # GrB_MIN, on unions of entries
minus = ms.operator(lambda a, b: a - b, left=lambda a: a - 1, right=lambda b: 1 - b)  # with 1 for what is missing
"""
NOTES = """Descriptors: `GrB_TRAN` is another order of subscripts (`A(k,i)`); `GrB_STRUCTURE` is `if M(i,j)`, and a mask
by value is a condition, `if M(i,j) != 0`; `GrB_COMP` is `if not M(i,j)`. `=` replaces the result (`GrB_REPLACE`); to
keep what is outside of a mask, add it: `(... if M(i,j)) + (C(i,j) if not M(i,j))`. `+=` accumulates by the addition of
the semiring, `min=` and `max=` by theirs: what they accumulate stands in a sum of its own. Semirings are named as in
SuiteSparse, positional ones (`min_secondi`) too; further operators are `ms.operator` and `ms.monoid`."""


@dataclass(frozen=True, slots=True)
class Row:
    """An operation.

    Args:
        operation: its name in the C API, and what is special about the call.
        code: a Python expression of the names in SETUP.
        expected: NumPy's, for what it must give.
    """

    operation: str
    code: str
    expected: str


def _of(text: str, more: str = "", names: str = "AB") -> str:
    given = ", ".join(f"{name}={name}" for name in names)
    return f'ms.evaluate("{text}", {given}{more})'


_NONE = "np.where((DA != 0) | (DB != 0), {}, 0)"
_BOTH = "np.where((DA != 0) & (DB != 0), {}, 0)"
_INF = "np.where(D == 0, np.inf, D)".replace("D", "{0}")
_MIN_PLUS = f"(lambda d: np.where(np.isinf(d), 0, d))(({_INF.format('DA')}[:, :, None] + {_INF.format('DB')}).min(1))"

ROWS = (
    Row("mxm", _of("C(i,j) = A(i,k) * B(k,j)"), "DA @ DB"),
    Row("mxm, semiring min_plus", _of("C(i,j) = A(i,k) * B(k,j)", ', semiring="min_plus"'), _MIN_PLUS),
    Row(
        "mxm, semiring plus_pair",
        _of("C(i,j) = A(i,k) * B(k,j)", ', semiring="plus_pair"'),
        "(DA != 0) * 1 @ (DB != 0)",
    ),
    Row("mxm, GrB_DESC_T0", _of("C(i,j) = A(k,i) * B(k,j)"), "DA.T @ DB"),
    Row("mxm, mask by structure", _of("C(i,j) = A(i,k) * B(k,j) if M(i,j)", names="ABM"), "np.where(DM, DA @ DB, 0)"),
    Row("mxm, mask by value", _of("C(i,j) = A(i,k) * B(k,j) if M(i,j) != 0", names="ABM"), "np.where(DM, DA @ DB, 0)"),
    Row("mxm, GrB_DESC_C", _of("C(i,j) = A(i,k) * B(k,j) if not M(i,j)", names="ABM"), "np.where(DM, 0, DA @ DB)"),
    Row(
        "mxm, mask without GrB_REPLACE",
        _of("Z(i,j) = (A(i,k) * B(k,j) if M(i,j)) + (C(i,j) if not M(i,j))", names="ABCM"),
        "np.where(DM, DA @ DB, DC)",
    ),
    Row("mxm, accum GrB_PLUS", _of("Z(i,j) = C(i,j) + A(i,k) * B(k,j)", names="ABC"), "DC + DA @ DB"),
    Row(
        "mxm, accum GrB_MIN",
        _of("Z(i,j) = least(C(i,j), sum(k : A(i,k) * B(k,j)))", ", least=least", "ABC"),
        "(lambda p: np.where(DC == 0, p, np.where(p == 0, DC, np.minimum(DC, p))))(DA @ DB)",
    ),
    Row("vxm", _of("w(j) = u(i) * A(i,j)", names="Au"), "du @ DA"),
    Row("mxv", _of("w(i) = A(i,j) * u(j)", names="Au"), "DA @ du"),
    Row(
        "mxv, semiring max_secondi",
        _of("w(i) = A(i,j) * u(j)", ', semiring="max_secondi", out="SparseVector"', "Au"),
        "np.where((DA != 0) & (du != 0), np.arange(5), 0).max(1)",
    ),
    Row("eWiseAdd", _of("C(i,j) = A(i,j) + B(i,j)"), "DA + DB"),
    Row("eWiseAdd, GrB_MAX", _of("C(i,j) = A(i,j) + B(i,j)", ', semiring="max_plus"'), "np.maximum(DA, DB)"),
    Row(
        "eWiseAdd, GrB_MIN",
        _of("C(i,j) = least(A(i,j), B(i,j))", ", least=least"),
        "np.where(DA == 0, DB, np.where(DB == 0, DA, np.minimum(DA, DB)))",
    ),
    Row("eWiseMult", _of("C(i,j) = A(i,j) * B(i,j)"), "DA * DB"),
    Row(
        "eWiseMult, GrB_MIN",
        _of("C(i,j) = A(i,j) * B(i,j)", ', semiring="max_min"'),
        _BOTH.format("np.minimum(DA, DB)"),
    ),
    Row(
        "eWiseUnion",
        _of(
            "C(i,j) = minus(A(i,j), B(i,j))",
            ", minus=minus",
        ),
        _NONE.format("np.where(DA == 0, 1, DA) - np.where(DB == 0, 1, DB)"),
    ),
    Row("extract", "A[np.ix_(I, J)]", "DA[np.ix_(I, J)]"),
    Row(
        "extract, in a statement",
        'ms.evaluate("C(i,j) = A(I(i),J(j)) * 2", A=A, I=np.array(I), J=np.array(J))',
        "2 * DA[np.ix_(I, J)]",
    ),
    Row("Col_extract", "A[:, 3]", "DA[:, 3]"),
    Row("assign", "ms.assign(A, np.ix_(I, J), B[:3, :2])", "put(DA, np.ix_(I, J), DB[:3, :2])"),
    Row("assign, a scalar", "ms.assign(A, np.ix_(I, J), 7)", "put(DA, np.ix_(I, J), 7)"),
    Row("assign, mask", "ms.assign(A, M, 7)", "np.where(DM, 7, DA)"),
    Row(
        "assign, accum GrB_PLUS",
        "ms.assign(A, np.ix_(I, J), A[np.ix_(I, J)] + B[:3, :2])",
        "put(DA, np.ix_(I, J), DA[np.ix_(I, J)] + DB[:3, :2])",
    ),
    Row("Row_assign", "ms.assign(A, 2, u)", "put(DA, 2, du)"),
    Row("apply", _of("C(i,j) = sqrt(A(i,j))", names="A"), "np.sqrt(DA)"),
    Row("apply, of stored entries", _of("C(i,j) = stored(exp(A(i,j)))", names="A"), "np.where(DA != 0, np.exp(DA), 0)"),
    Row("apply, GrB_PLUS bound to 2", _of("C(i,j) = stored(A(i,j) + 2)", names="A"), "np.where(DA != 0, DA + 2, 0)"),
    Row(
        "apply, GrB_ROWINDEX",
        _of("C(i,j) = stored(0 * A(i,j) + i)", names="A"),
        "np.where(DA != 0, np.indices((5, 5))[0], 0)",
    ),
    Row("select, GrB_TRIL", _of("C(i,j) = A(i,j) if j <= i", names="A"), "np.tril(DA)"),
    Row("select, GrB_TRIU with 1", _of("C(i,j) = A(i,j) if j - i >= 1", names="A"), "np.triu(DA, 1)"),
    Row("select, GrB_DIAG", _of("C(i,j) = A(i,j) if i == j", names="A"), "np.diag(np.diag(DA))"),
    Row("select, GrB_OFFDIAG", _of("C(i,j) = A(i,j) if i != j", names="A"), "DA - np.diag(np.diag(DA))"),
    Row("select, GrB_ROWLE with 2", _of("C(i,j) = A(i,j) if i <= 2", names="A"), "DA * (np.arange(5) <= 2)[:, None]"),
    Row("select, GrB_COLGT with 2", _of("C(i,j) = A(i,j) if j > 2", names="A"), "DA * (np.arange(5) > 2)"),
    Row("select, GrB_VALUEGT with 3", _of("C(i,j) = A(i,j) if A(i,j) > 3", names="A"), "np.where(DA > 3, DA, 0)"),
    Row("reduce, of rows", _of("w(i) = A(i,j)", names="A"), "DA.sum(1)"),
    Row(
        "reduce, of rows, by GrB_MAX",
        _of("w(i) = A(i,j)", ', semiring="max_plus", out="SparseVector"', "A"),
        "DA.max(1)",
    ),
    Row("reduce, to a scalar", _of("t = A(i,j)", names="A"), "DA.sum()"),
    Row("reduce, to a scalar, accum", _of("t += A(i,j)", ", t=10.0", "A"), "10 + DA.sum()"),
    Row("transpose", "A.T", "DA.T"),
    Row("transpose, in a statement", _of("C(i,j) = A(j,i) + B(i,j)"), "DA.T + DB"),
    Row("kronecker", "ms.kron(A, B)", "np.kron(DA, DB)"),
    Row(
        "build",
        "ms.from_coo([[0, 1, 0], [2, 0, 2]], [1.0, 2.0, 3.0], (5, 5))",
        "put(np.zeros((5, 5)), ([0, 1], [2, 0]), [4, 2])",
    ),
    Row("extractTuples", "A.to_coo()[1]", "DA[DA != 0]"),
    Row("nvals", "A.nse", "np.count_nonzero(DA)"),
    Row("setElement", "ms.assign(A, (1, 2), 5)", "put(DA, (1, 2), 5)"),
    Row("removeElement", "ms.assign(A, (1, slice(None)), 0)", "put(DA, 1, 0)"),
    Row("extractElement", "A[1, 2]", "DA[1, 2]"),
    Row("Matrix_diag", "ms.diags(du)", "np.diag(du)"),
    Row("concat", "ms.block([[A, None], [None, B]])", "np.block([[DA, 0 * DA], [0 * DB, DB]])"),
    Row("resize", "ms.assign(ms.zeros((7, 6)), (slice(5), slice(5)), A)", "np.pad(DA, ((0, 2), (0, 1)))"),
)


def _put(array: Any, where: Any, value: Any) -> Any:
    new = array.copy()
    new[where] = value
    return new


def given_names() -> dict[str, Any]:
    """Returns the names that rows read."""
    names: dict[str, Any] = {"put": _put}
    exec(SETUP, names)
    return names


def value_of(code: str, names: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Returns what code gives, as an array."""
    found = eval(code, names)
    return found.to_numpy() if isinstance(found, ms.SparseTensor) else np.asarray(found)


def page() -> str:
    """Returns the page.

    Raises:
        AssertionError: for a row that does not give what NumPy does.
    """
    names = given_names()
    for row in ROWS:
        np.testing.assert_allclose(value_of(row.code, names), value_of(row.expected, names), err_msg=row.operation)
    parts = [
        markup.paragraph(LEAD),
        session(SETUP, {}),
        markup.paragraph(NOTES),
        markup.table([["operation", "here"], *([markup.inline(row.operation), markup.code(row.code)] for row in ROWS)]),
    ]
    return markup.document("graphblas.html", parts)
