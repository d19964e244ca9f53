"""Tensors to try NumPy's interface on: an array, the tensor that stores it, in any preset and element type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import mlir_sparse as ms

__all__ = ["DTYPES", "STORAGE", "Case", "agree", "arrays", "cases", "shapes"]

Array = np.ndarray[Any, Any]

DTYPES = tuple(map(np.dtype, ("float64", "float32", "int32", "complex128", "int8", "bool", "uint8", "uint64")))
# Formats for triangles and for n entries of every m take only some tensors: they are tried on their own.
_SOME = ("Banded", "PackedLower", "PackedUpper", "UpperSkyline", "CSR_SLICE", "NV_24", "NM")


def _storage(rank: int) -> tuple[ms.Encoding, ...]:
    """Returns every preset of a rank, blocks being of two elements."""
    found = []
    for name in ms.PRESETS:
        for parameters in ({}, {"block": (2,) * rank}):
            try:
                found.append(ms.encoding(name, rank=rank, **parameters))
            except ms.SparseError:
                continue
            break
    return tuple(encoding for encoding in found if encoding.preset not in _SOME)


STORAGE = {rank: _storage(rank) for rank in (1, 2, 3)}


@dataclass(frozen=True)
class Case:
    """An array, and the tensor that stores it."""

    array: Array
    tensor: ms.SparseTensor

    def __repr__(self) -> str:
        return f"Case({self.array!r}, {self.tensor.encoding.map_text()})"


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
) -> Case:
    """Draws an array and its tensor, in a storage that holds any tensor of the rank."""
    wanted = draw(shapes(draw(st.sampled_from(ranks)))) if shape is None else shape
    array = draw(arrays(wanted, dtype))
    encoding = draw(st.sampled_from(STORAGE[len(wanted)]))
    if encoding.preset == "Skyline":
        array = np.tril(array)
    return Case(array, ms.tensor(array, encoding))


def agree(found: Any, expected: Any, *, exact: bool = True, what: str = "") -> None:
    """Asserts that a result is NumPy's: shape, dtype and elements."""
    dense = found.to_numpy() if isinstance(found, ms.SparseTensor) else np.asarray(found)
    wanted = np.asarray(expected)
    assert dense.shape == wanted.shape, what
    assert dense.dtype == wanted.dtype, what
    if exact:
        np.testing.assert_array_equal(dense, wanted, err_msg=what)
    else:
        np.testing.assert_allclose(dense, wanted, rtol=1e-5, atol=1e-6, err_msg=what)
