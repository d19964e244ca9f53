"""Level storage read by its definition, one coordinate at a time: shares nothing with the package's own readers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import PRESETS, Encoding, encoding
from mlir_sparse.tensor import LevelStorage, SparseTensor

Array = np.ndarray[Any, Any]

# Presets of a whole tensor, with a rank; parameters where they have no default.
WHOLE = {
    rank: [
        (name, encoding(name, rank=rank))
        for name, preset in PRESETS.items()
        if name not in ("CSR_SLICE", "BatchedCSR") and preset.min_rank <= rank <= (preset.max_rank or 3)
        if encoding(name, rank=rank).is_native
    ]
    for rank in (1, 2, 3)
}
MORE = [
    ("unique COO", encoding("(i, j) -> (i : compressed(nonunique), j : singleton(nonunique))")),
    ("loose DCSR", encoding("(i, j) -> (i : loose_compressed, j : loose_compressed)")),
    ("narrow", encoding("(i, j) -> (j : compressed, i : compressed)", pos_width=8, crd_width=16)),
    ("mixed", encoding("(i, j) -> (i : dense, j : compressed)", pos_width=64, crd_width=32)),
    ("row blocks", encoding("(i, j) -> (i floordiv 4 : dense, j : compressed, i mod 4 : dense)")),
    ("inner CSR", encoding("(i, j) -> (i floordiv 2 : compressed, i mod 2 : dense, j : compressed)")),
    ("blocks of COO", encoding(
        "(i, j) -> (i floordiv 2 : compressed(nonunique), j floordiv 3 : singleton, i mod 2 : dense, j mod 3 : dense)"
    )),
    ("soa blocks", encoding(
        "(i, j) -> (i floordiv 2 : compressed(nonunique), j floordiv 3 : singleton(soa), i mod 2 : dense, "
        "j mod 3 : compressed)"
    )),
]  # fmt: skip
MATRICES = WHOLE[2] + MORE


def entries(storage: LevelStorage) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yields level coordinates and value of every stored entry, in storage order."""
    yield from _walk(storage, 0, 0, ())


def _walk(
    storage: LevelStorage, level: int, parent: int, above: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], Any]]:
    if level == storage.encoding.lvl_rank:
        yield above, storage.values[parent]
        return
    for place, coordinate in _children(storage, level, parent):
        yield from _walk(storage, level + 1, place, (*above, coordinate))


def _children(storage: LevelStorage, level: int, parent: int) -> list[tuple[int, int]]:
    kind = storage.encoding.level_types[level]
    pos, crd = storage.positions[level], storage.coordinates[level]
    match kind.format.value:
        case "dense":
            size = storage.level_sizes[level]
            return [(parent * size + c, c) for c in range(size)]
        case "compressed":
            places = range(int(pos[parent]), int(pos[parent + 1]))
        case "loose_compressed":
            places = range(int(pos[2 * parent]), int(pos[2 * parent + 1]))
        case "singleton":
            places = range(parent, parent + 1)
        case "structured":
            places = range(parent * kind.n, (parent + 1) * kind.n)
    return [(place, int(crd[place])) for place in places]


def to_dense(tensor: SparseTensor) -> Array:
    """Returns the dense array, by Python's own arithmetic on coordinates."""
    dense = np.zeros(tensor.shape, tensor.dtype)
    for coordinates, value in entries(tensor.storage):
        where = tensor.encoding.lvl_to_dim.evaluate(coordinates)
        if all(c < extent for c, extent in zip(where, tensor.shape, strict=True)):
            dense[tuple(where)] += value
        else:
            assert value == 0, f"{value} at {where}, beyond {tensor.shape}"
    return dense


def same(a: Array, b: Array) -> bool:
    """Returns whether two arrays agree in dtype, shape and every element."""
    return a.dtype == b.dtype and a.shape == b.shape and bool(np.array_equal(a, b))


def addresses(buffers: Sequence[Array]) -> list[int]:
    return [buffer.ctypes.data for buffer in buffers if buffer.size]


def fits_structured(dense: Array, storage_encoding: Encoding) -> Array:
    """Returns the array with as few nonzeros in each block as a structured level holds."""
    kind = storage_encoding.level_types[-1]
    if kind.format.value != "structured":
        return dense
    inner = storage_encoding.levels[-1].expr.dims()[0]
    moved = np.moveaxis(dense.copy(), inner, -1)
    for start in range(0, moved.shape[-1], kind.m):
        block = moved[..., start : start + kind.m]
        block[np.cumsum(block != 0, axis=-1) > kind.n] = 0
    return np.ascontiguousarray(np.moveaxis(moved, -1, inner))


@st.composite
def dense_arrays(draw: st.DrawFn, rank: int, dtypes: Sequence[str] = ("f64",)) -> Array:
    """Small arrays, extents of 0 and 1 among them, mostly zeros, every element exact in every type."""
    shape = tuple(draw(st.lists(st.integers(0, 9), min_size=rank, max_size=rank)))
    dtype = DType(draw(st.sampled_from(list(dtypes))))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    filled = rng.random(shape) < draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    return np.where(filled, rng.integers(-9, 10, shape), 0).astype(dtype.numpy)
