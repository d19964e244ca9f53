"""Random assignments to parts of tensors: `ms.assign(A, where, B)` beside NumPy's `A[where] = B`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import mlir_sparse as ms
from dialect_tests.generated import dense_data, encodings

__all__ = ["Case", "cases", "run"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """An assignment.

    Args:
        whole: the tensor, dense.
        storage: its storage; None for an array.
        where: the index.
        part: what is assigned.
        is_sparse: whether that is passed as a tensor.
    """

    whole: Array
    storage: Any
    where: Any
    part: Any
    is_sparse: bool


def _one_index(extent: int) -> st.SearchStrategy[Any]:
    """Draws what may stand in brackets for a dimension: slices of any step, and integers from either end."""
    slices = st.builds(
        slice,
        st.one_of(st.none(), st.integers(-extent - 1, extent + 1)),
        st.one_of(st.none(), st.integers(-extent - 1, extent + 1)),
        st.sampled_from([None, 1, 2, -1, -2]),
    )
    return st.one_of(slices, st.integers(-extent, extent - 1)) if extent else slices


@st.composite
def _drawn(draw: st.DrawFn) -> Case:
    shape = draw(st.tuples(st.integers(0, 5), st.integers(0, 5)))
    dtype = np.dtype(draw(st.sampled_from(["int8", "int64", "float32", "float64", "complex128", "bool"])))
    seed = draw(st.integers(0, 99))
    whole = dense_data(shape, dtype, draw(st.sampled_from([0.0, 0.4, 1.0])), seed)
    kind = draw(st.sampled_from(["basic", "mask", "lists"]))
    where: Any
    if kind == "mask":
        where = np.random.default_rng(seed).random(shape) < 0.4
    elif kind == "lists" and min(shape):
        numbers, apart = st.integers(-shape[0], shape[0] - 1), lambda at: at % shape[0]
        rows = draw(st.lists(numbers, min_size=1, max_size=4, unique_by=apart))
        where = (rows, draw(_one_index(shape[1])))
    else:
        where = tuple(draw(_one_index(extent)) for extent in shape[: draw(st.integers(1, 2))])
    place = whole[where]
    extents = draw(st.sampled_from([(), np.shape(place)]))
    part = dense_data(extents, dtype, 0.6, seed + 1)
    is_sparse = kind != "mask" and part.ndim > 0 and draw(st.booleans())
    storage = draw(st.one_of(st.none(), encodings(2)))
    return Case(whole, storage, where, part, is_sparse)


def cases() -> st.SearchStrategy[Case]:
    """Draws assignments to parts of matrices in any storage of the dialect."""
    return _drawn()


def run(case: Case) -> None:
    """Assigns, and compares with NumPy.

    Raises:
        SparseError: for a case that is refused by name.
    """
    given = case.whole if case.storage is None else ms.tensor(case.whole, case.storage)
    before = given.to_numpy() if isinstance(given, ms.SparseTensor) else given.copy()
    found = ms.assign(given, case.where, ms.tensor(case.part) if case.is_sparse else case.part)
    expected = before.copy()
    expected[case.where] = case.part
    whole = found.to_numpy() if isinstance(found, ms.SparseTensor) else found
    assert whole.dtype == expected.dtype, f"{case}: {whole.dtype}"
    np.testing.assert_array_equal(whole, expected, err_msg=str(case))
    after = given.to_numpy() if isinstance(given, ms.SparseTensor) else given
    np.testing.assert_array_equal(after, before, err_msg=f"{case}: its operand changed")
