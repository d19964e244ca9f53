"""Tensors to try NumPy's interface on: an array, the tensor that stores it, in any preset and element type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import mlir_sparse as ms

__all__ = ["DTYPES", "STORAGE", "Case", "agree", "arrays", "cases", "shapes"]

Array = np.ndarray[Any, Any]

DTYPES = tuple(map(np.dtype, ("float64", "float32", "int32", "complex128", "int8")))
STORAGE = {
    1: ("SparseVector",),
    2: (
        *("CSR", "CSC", "DCSR", "DCSC", "COO", "SoA-COO", "ColumnMajorCOO", "UnorderedCOO", "NonuniqueCOO", "CSF"),
        *("BSR(2, 2)", "BSC(2, 2)", "CSB(2, 2)", "DIA", "ELL", "LooseCSR", "HashedRows", "CompressedDense", "Skyline"),
    ),
    3: ("CSF", "COO", "DenseDenseCompressed", "DenseCompressedDense", "CompressedDenseDense", "BatchedCSR"),
}


@dataclass(frozen=True)
class Case:
    """An array, and the tensor that stores it."""

    array: Array
    tensor: ms.SparseTensor

    def __repr__(self) -> str:
        return f"Case({self.array!r}, {self.tensor.encoding.preset})"


def shapes(rank: int, largest: int = 4) -> st.SearchStrategy[tuple[int, ...]]:
    """Draws a shape, extents 0 and 1 among them."""
    return st.tuples(*(st.integers(0, largest) for _ in range(rank)))


@st.composite
def arrays(draw: st.DrawFn, shape: tuple[int, ...], dtype: np.dtype[Any] | None = None) -> Array:
    """Draws an array of small integers of an element type, most of them zero."""
    kind = draw(st.sampled_from(DTYPES)) if dtype is None else dtype
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    density = draw(st.sampled_from([0.0, 0.3, 0.6, 1.0]))
    values = random.integers(-4, 5, shape) * (random.random(shape) < density)
    if kind.kind == "c":
        values = values + 1j * random.integers(-2, 3, shape) * (random.random(shape) < density)
    return np.asarray(values).astype(kind)


@st.composite
def cases(
    draw: st.DrawFn,
    shape: tuple[int, ...] | None = None,
    dtype: np.dtype[Any] | None = None,
    ranks: tuple[int, ...] = (1, 2, 3),
    storage: tuple[str, ...] | None = None,
) -> Case:
    """Draws an array and its tensor, in a storage that holds any tensor of the rank."""
    wanted = draw(shapes(draw(st.sampled_from(ranks)))) if shape is None else shape
    array = draw(arrays(wanted, dtype))
    names = [n for n in storage or STORAGE[len(wanted)] if n != "Skyline" or wanted[0] == wanted[1]]
    name = draw(st.sampled_from(names))
    if name == "Skyline":
        array = np.tril(array)
    return Case(array, ms.tensor(array, name))


def agree(found: Any, expected: Any, *, exact: bool = True, what: str = "") -> None:
    """Asserts that a result is NumPy's: shape, dtype (truth values may be i8) and elements."""
    dense = found.to_numpy() if isinstance(found, ms.SparseTensor) else np.asarray(found)
    wanted = np.asarray(expected)
    assert dense.shape == wanted.shape, what
    truth = wanted.dtype == np.bool_ and dense.dtype == np.int8
    assert truth or dense.dtype == wanted.dtype, what
    if exact:
        np.testing.assert_array_equal(dense, wanted, err_msg=what)
    else:
        np.testing.assert_allclose(dense, wanted, rtol=1e-5, atol=1e-6, err_msg=what)
