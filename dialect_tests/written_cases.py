"""Random statements of forms that trees of expressions lack, each with NumPy's way to compute it.

Targets, gathers with offsets, ranges read from tensors, casts, positions as products: data and storage are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import mlir_sparse as ms
from dialect_tests.calls import Call, Results, Trial, densified
from dialect_tests.entries_oracle import entries_of
from dialect_tests.generated import dense_data, encodings
from mlir_sparse.notation import tensors_given

__all__ = ["TEXTS", "Case", "cases", "run", "trial"]

Array = np.ndarray[Any, Any]
Given = Mapping[str, Array]
Computed = Callable[[Given], Array]


def _placed(places: Callable[..., tuple[Any, ...]], shape: Callable[[int, int], tuple[int, ...]]) -> Computed:
    """Returns a function that adds the elements of A up at places."""

    def computed(given: Given) -> Array:
        A = given["A"]
        found = np.zeros(shape(*A.shape), A.dtype)
        i, j = np.indices(A.shape)
        np.add.at(found, tuple(np.broadcast_to(place, A.shape) for place in places(i, j)), A)
        return found

    return computed


def _updated(combine: Any) -> Callable[[Given], Array]:
    def computed(given: Given) -> Array:
        found, x = given["c"].copy(), given["x"]
        part = slice(2, 2 + 2 * len(x), 2)
        found[part] = combine(found[part], x)
        return found

    return computed


def _inside(low: Any, high: Any, given: Given) -> Array:
    j = np.arange(given["A"].shape[1])
    return np.where((j >= np.asarray(low)[..., None]) & (j < np.asarray(high)[..., None]), given["A"], 0)


def _first_index(given: Given) -> Array:
    """Returns the least row of each column's entries; of none, the greatest integer."""
    stored = given["A.stored"]
    rows = np.where(stored, np.arange(len(stored))[:, None], np.iinfo(np.int64).max)
    return rows.min(0, initial=np.iinfo(np.int64).max)


TEXTS: Mapping[str, Callable[[Given], Array]] = {
    "c(i + 3, j + 2) = A(i,j)": _placed(lambda i, j: (i + 3, j + 2), lambda m, n: (m + 3, n + 2)),
    "c(2*i, 7 - j) = A(i,j)": _placed(lambda i, j: (2 * i, 7 - j), lambda m, n: (max(0, 2 * m - 1), 8 if n else 7)),
    "c(j, 1, i) = A(i,j)": _placed(lambda i, j: (j, 1, i), lambda m, n: (n, 2, m)),
    "c(6*i + j) = A(i,j)": _placed(lambda i, j: (6 * i + j,), lambda m, n: (max(0, 6 * m + n - 6) if m * n else 0,)),
    "c(i + j) +=! A(i,j)": _placed(lambda i, j: (i + j,), lambda m, n: (m + n - 1 if m * n else 0,)),
    "c(i, i + 2*j) += A(i,j)": lambda given: (
        given["c"] + _placed(lambda i, j: (i, i + 2 * j), lambda m, n: given["c"].shape)(given)
    ),
    "c(2*i + 2) += x(i)": _updated(np.add),
    "c(2*i + 2) max= x(i)": _updated(np.maximum),
    "c(2*i + 2) *= x(i)": _updated(np.multiply),
    "c(i + 1) = A(i,j) * v(j) * j": lambda given: np.append(
        np.zeros(1, given["A"].dtype), given["A"] @ (given["v"] * np.arange(len(given["v"]), dtype=given["v"].dtype))
    ),
    "Y(k,j) = A(I(k) + 1, j)": lambda given: given["A"][given["I"] + 1],
    "y(k) = A(5 - 2*I(k), j) * v(j)": lambda given: given["A"][5 - 2 * given["I"]] @ given["v"],
    "y(k) = sum(j : A(I(k) + 1, j) * A(I(k), j))": lambda given: np.einsum(
        "kj,kj->k", given["A"][given["I"] + 1], given["A"][given["I"]]
    ),
    "y(i) = A(i,j) * v(j) where j in 0:N(i)": lambda given: _inside(0, given["N"], given) @ given["v"],
    "y(j) +=! A(i,j) where j in N(i) - 1:N(i) + 2": lambda given: _inside(given["N"] - 1, given["N"] + 2, given).sum(0),
    "B(i,j) = A(i,j) where j in 1:N(i)": lambda given: _inside(1, given["N"], given),
    "B(i,j) = i64(A(i,j) / 2)": lambda given: np.trunc(given["A"] / 2).astype(np.int64),
    "y(i) = f64(i8(A(i,j))) * f64(v(j))": lambda given: given["A"].astype(np.int8) @ given["v"].astype(float),
    "y(i) = sum(j : i32(bool(A(i,j))))": lambda given: given["A"].astype(bool).astype(np.int32).sum(1),
    "p(j) = A(i,j) * w(i)": _first_index,
}
_SEMIRINGS = {"p(j) = A(i,j) * w(i)": "min_firsti"}


@dataclass(frozen=True, slots=True)
class Case:
    """A statement on data.

    Args:
        text: one of TEXTS.
        tensors: dense data by name.
        storage: the storage of those that are sparse.
        out: the storage of the result; None where it is inferred.
    """

    text: str
    tensors: Mapping[str, Array]
    storage: Mapping[str, Any]
    out: str | None


@st.composite
def _drawn(draw: st.DrawFn) -> Case:
    text = draw(st.sampled_from(sorted(TEXTS)))
    dtype = np.dtype(draw(st.sampled_from(["int32", "int64", "float32", "float64"])))
    gathers = "I(k)" in text
    rows, columns = (6 if gathers else draw(st.integers(0, 6))), draw(st.integers(0, 6))
    seed, density = draw(st.integers(0, 99)), draw(st.sampled_from([0.0, 0.3, 0.6, 1.0]))
    random = np.random.default_rng(seed)
    all_of: dict[str, Array] = {
        "A": dense_data((rows, columns), dtype, density, seed),
        "v": dense_data((columns,), dtype, 0.7, seed + 1),
        "x": dense_data((rows,), dtype, 0.7, seed + 2),
        "w": np.ones(rows, dtype),
        "I": random.integers(0, 3, columns),
        "N": random.integers(-1, 9, rows),
        "c": dense_data((rows + 1, rows + 2 * columns) if "i, i" in text else (2 * rows + 4,), dtype, 1.0, seed + 3),
    }
    if "i64(" in text:  # a quotient is real
        all_of["A"] = all_of["A"].astype(np.float64)
    statement = ms.parse(text)
    tensors = {name: all_of[name] for name in tensors_given(statement)}
    storage = {
        name: draw(encodings(one.ndim, ("CSR_SLICE",)))
        for name, one in tensors.items()
        if name in "AvxI" and draw(st.integers(0, 2))
    }
    return Case(text, tensors, storage, draw(st.sampled_from([None, "dense"])))


def cases() -> st.SearchStrategy[Case]:
    """Draws statements on data in any storage of the dialect."""
    return _drawn()


def trial(case: Case) -> Trial:
    """Returns the call that a case is, and NumPy's judgement of it."""
    tensors: dict[str, Any] = {
        name: ms.tensor(one, case.storage[name]) if name in case.storage else one for name, one in case.tensors.items()
    }
    # An encoding of n:m drops what does not fit.
    whole = {name: densified(one) for name, one in tensors.items()}
    if "A" in tensors:
        is_sparse = isinstance(tensors["A"], ms.SparseTensor)
        whole["A.stored"] = entries_of(tensors["A"]).present if is_sparse else np.ones(whole["A"].shape, np.bool_)
    expected = TEXTS[case.text](whole)

    def judge(results: Results) -> None:
        (result,) = results
        found = densified(result)
        if case.text in _SEMIRINGS and isinstance(result, ms.SparseTensor):  # what is missing is the identity
            found = np.where(entries_of(result).present, found, np.iinfo(np.int64).max)
        assert found.shape == expected.shape, f"{found.shape} {expected.shape}"
        np.testing.assert_allclose(found.astype(float), expected.astype(float), rtol=1e-6)

    return Trial(Call(ms.parse(case.text), tensors, case.out, semiring=_SEMIRINGS.get(case.text)), judge)


def run(case: Case) -> None:
    """Evaluates a case and compares with NumPy.

    Raises:
        SparseError: for a case that is refused by name; never from within the compiler.
    """
    trial(case).run()
