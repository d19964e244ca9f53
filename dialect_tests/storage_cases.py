"""Level storage, right or broken, as a stranger hands it over: checked or refused, and then read right by everything.

Each case takes the buffers of a random tensor, lays them out in memory in ways that mean nothing, breaks some of
them, and gives them to `from_levels`. What is taken is compared with a reader of the definition that shares
nothing with the package.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import mlir_sparse as ms
from dialect_tests.tensor import reference
from mlir_sparse.encoding import PRESETS, Encoding

__all__ = ["NAMES", "Case", "cases", "run"]

Array = np.ndarray[Any, Any]

_FOREIGN = [
    (name, ms.encoding(name, rank=2))
    for name, preset in PRESETS.items()
    if preset.min_rank <= 2 <= (preset.max_rank or 3) and not ms.encoding(name, rank=2).is_native
]
_ENCODINGS: dict[str, Encoding] = dict(
    [*reference.MATRICES, *_FOREIGN, *((f"{name} of rank {r}", e) for r in (1, 3) for name, e in reference.WHOLE[r])]
)
NAMES = tuple(sorted(_ENCODINGS))
_ENDS = (-1, -(2**31), -(2**63), 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, 0, 1, 2, 3, 7)


@dataclass(frozen=True, slots=True)
class Case:
    """Storage to hand over.

    Args:
        name: the encoding's.
        seed: decides on all else.
        harms: how many changes that may break it.
    """

    name: str
    seed: int
    harms: int

    @property
    def encoding(self) -> Encoding:
        return _ENCODINGS[self.name]


def cases() -> st.SearchStrategy[Case]:
    """Returns the strategy that draws storage of every preset, a third of it as it must be."""
    return st.builds(Case, st.sampled_from(NAMES), st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 2]))


def _odd(array: Array, random: np.random.Generator) -> Array:
    memory = np.zeros(array.nbytes + 64, np.uint8)
    found = np.frombuffer(memory.data, array.dtype, array.size, int(random.integers(1, 17))).reshape(array.shape)
    found[...] = array
    return found


def _spread(array: Array, random: np.random.Generator) -> Array:
    step = int(random.integers(2, 4))
    return np.repeat(array, step, axis=-1)[..., ::step]


def _turned(array: Array, random: np.random.Generator) -> Array:
    return np.ascontiguousarray(array[..., ::-1])[..., ::-1]


def _swapped_bytes(array: Array, random: np.random.Generator) -> Array:
    return array.astype(array.dtype.newbyteorder(">"))


def _frozen(array: Array, random: np.random.Generator) -> Array:
    return np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape)


# Ways to lay an array out that mean the same.
_LAYOUTS: list[Callable[[Array, np.random.Generator], Array]] = [_odd, _spread, _turned, _swapped_bytes, _frozen]


def _element(array: Array, random: np.random.Generator) -> Any:
    changed = array.astype(np.int64) if array.dtype.kind in "iu" else array.copy()
    if changed.size:
        near = random.random() < 0.5
        number = int(random.integers(-2, 12)) if near else int(random.choice(_ENDS))
        if array.dtype.kind in "iu" and not near:
            number = min(max(number, -(2**63)), 2**63 - 1)
        changed.reshape(-1)[int(random.integers(changed.size))] = number
    return changed


def _shorter(array: Array, random: np.random.Generator) -> Any:
    return array[..., : max(0, array.shape[-1] - int(random.integers(1, 4)))]


def _longer(array: Array, random: np.random.Generator) -> Any:
    return np.concatenate([array, array[..., -1:]], axis=-1)


def _exchanged(array: Array, random: np.random.Generator) -> Any:
    changed = array.copy()
    if changed.size > 1:
        flat = changed.reshape(-1)
        a, b = random.integers(changed.size, size=2)
        flat[[a, b]] = flat[[b, a]]
    return changed


# Ways to change one that mean something else, or nothing that storage can be.
_HARMS: list[Callable[[Array, np.random.Generator], Any]] = [
    _element,
    _element,
    _element,
    _shorter,
    _longer,
    _exchanged,
    lambda array, random: None,
    lambda array, random: array.astype(np.float32),
    lambda array, random: array.astype(np.uint64),
    lambda array, random: array.astype(np.int8),
    lambda array, random: array[None],
    lambda array, random: array[:0],
    lambda array, random: array.tolist(),
    lambda array, random: [object()],
    lambda array, random: "none",
]


def _dense(case: Case, random: np.random.Generator) -> Array:
    rank = case.encoding.dim_rank
    shape = tuple(int(random.integers(0, 9)) for _ in range(rank))
    dtype = random.choice(["f8", "f4", "i4", "i8", "c16", "i1"])
    filled = random.random(shape) < random.choice([0.0, 0.1, 0.4, 1.0])
    dense = np.where(filled, random.integers(-9, 10, shape), 0).astype(dtype)
    return reference.fits_structured(dense, case.encoding) if case.encoding.is_native else dense


def run(case: Case) -> None:
    """Hands storage over, and compares what was taken with what it says.

    Raises:
        SparseError: for storage that is refused by name.
        AssertionError: for right storage that is refused, and for wrong answers.
    """
    random = np.random.default_rng(case.seed)
    dense = _dense(case, random)
    try:
        given = ms.tensor(dense, case.encoding)
    except ms.StorageError:  # a band, a triangle or slots that have no room for these
        dense = np.zeros_like(dense)
        given = ms.tensor(dense, case.encoding)
    storage = given.storage
    slots = [("positions", level) for level in range(case.encoding.lvl_rank)]
    slots += [("coordinates", level) for level in range(case.encoding.lvl_rank)]
    parts: dict[Any, Any] = {slot: getattr(storage, slot[0])[slot[1]] for slot in slots} | {"values": storage.values}
    stored = [slot for slot, part in parts.items() if part is not None]
    for slot in stored:
        if random.random() < 0.4:
            parts[slot] = random.choice(np.array(_LAYOUTS, object))(np.array(parts[slot]), random)
    for _ in range(case.harms):
        slot = stored[int(random.integers(len(stored)))]
        if isinstance(parts[slot], np.ndarray):
            parts[slot] = random.choice(np.array(_HARMS, object))(parts[slot], random)
    levels = [[parts[name, level] for level in range(case.encoding.lvl_rank)] for name in ("positions", "coordinates")]
    try:
        found = ms.SparseTensor.from_levels(given.encoding, dense.shape, *levels, parts["values"])
    except ms.SparseError as error:
        if case.harms:
            raise
        raise AssertionError(f"refused though nothing is wrong: {error}") from error
    _check(found, dense if not case.harms else None)


def _check(A: ms.SparseTensor, dense: Array | None) -> None:
    """Compares what everything makes of a tensor with what its storage says."""
    for buffer in A.storage.buffers():
        assert (buffer.flags.aligned, buffer.flags.c_contiguous, buffer.dtype.isnative) == (True, True, True)
    said = reference.to_dense(A) if A.encoding.is_native else A.to_numpy()
    if dense is not None:
        np.testing.assert_array_equal(said, dense)
    np.testing.assert_array_equal(A.to_numpy(), said)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(A)).to_numpy(), said)
    plain = "SparseVector" if A.ndim == 1 else "COO"
    np.testing.assert_array_equal(A.convert(plain).to_numpy(), said)
    np.testing.assert_array_equal(A.T.to_numpy(), said.T)
    with np.errstate(all="ignore"):
        x = np.arange(1, said.shape[-1] + 1).astype(said.dtype)
        np.testing.assert_allclose(A @ x, said @ x, rtol=1e-5)
        np.testing.assert_allclose((A * 2).to_numpy(), said * 2, rtol=1e-5)
    assert str(A)
    assert A.nse >= 0
