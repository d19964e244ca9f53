"""Where entries of matrices are by a sample, against all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import mlir_sparse as ms
from dialect_tests.crossing import examples
from mlir_sparse import _native
from mlir_sparse.encoding import PatternSketch
from mlir_sparse.tensor.sampled_pattern import sampled_pattern
from mlir_sparse.tensor.sketch_of import sketch_of


def drawn(size: int, entries: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(0, size, (2, entries))
    made = scipy.sparse.coo_array((np.ones(entries), (rows, columns)), shape=(size, size)).tocsr()
    made.sum_duplicates()
    return made


def pattern(matrix: Any, storage: str = "CSR") -> PatternSketch:
    A = ms.tensor(matrix, storage)
    found = sampled_pattern(A.storage, A.shape)
    assert found is not None
    return found


@pytest.mark.parametrize("storage", ["CSR", "CSC"])
def test_shares_are_those_of_all_entries(storage: str) -> None:
    A = drawn(1000, 20_000)
    offsets = A.tocoo().coords[1].astype(int) - A.tocoo().coords[0]
    exact = {int(b): float((bits == b).mean()) for bits in [_bits(offsets)] for b in np.unique(bits)}
    found = pattern(A, storage)
    assert sum(found.offsets.values()) == pytest.approx(1.0)
    assert max(abs(found.offsets.get(bits, 0.0) - share) for bits, share in exact.items()) < 0.08


def _bits(offsets: Any) -> Any:
    return np.array([(1 if d > 0 else -1) * int(abs(d)).bit_length() for d in offsets.tolist()])


@pytest.mark.parametrize("storage", ["CSR", "CSC"])
def test_mirrored_entries_are_found(storage: str) -> None:
    A = drawn(3000, 30_000)
    assert pattern(A, storage).mirrored < 0.1
    assert pattern((A + A.T).tocsr(), storage).mirrored == 1.0
    lower = scipy.sparse.tril(A + A.T, -1, "csr")
    assert pattern(lower, storage).mirrored == 0.0
    assert all(bits < 0 for bits in pattern(lower, storage).offsets)
    half = (lower + scipy.sparse.tril(drawn(3000, 60_000, 1), -1, "csr").T).tocsr()
    assert pattern(half, storage).mirrored < 0.2


def same(one: PatternSketch, other: PatternSketch) -> bool:
    return (one.mirrored, one.offsets) == (other.mirrored, other.offsets)


def test_graphs_have_entries_of_one_value() -> None:
    A = drawn(3000, 30_000)
    A.data[:] = 2.5
    weighted = A.copy()
    weighted.data[::3] = 1.0
    assert (pattern(A).of_one_value, pattern(weighted).of_one_value) == (True, False)
    assert pattern(A).rounded != pattern(weighted).rounded
    empty = A.copy()
    empty.data[:] = np.nan
    assert not pattern(empty).of_one_value


def test_the_diagonal_is_at_offset_0() -> None:
    assert same(pattern(scipy.sparse.eye_array(5000, format="csr")), PatternSketch(1.0, {0: 1.0}))


@pytest.mark.parametrize("storage", ["COO", "DCSR", "BSR(2,2)", "CSR"])
def test_other_storage_and_shapes_have_no_sample(storage: str) -> None:
    A = drawn(400, 20_000)
    other = A[:, :300] if storage == "CSR" else A
    B = ms.tensor(other, storage)
    assert sampled_pattern(B.storage, B.shape) is None
    assert sketch_of(B).pattern is None
    small = ms.tensor(drawn(50, 100))
    assert sketch_of(small).pattern is None
    assert sketch_of(ms.tensor(np.zeros((0, 0)), "CSR")).pattern is None


def test_a_sample_is_the_same_each_time_and_decides_about_plans() -> None:
    A = drawn(2000, 30_000)
    assert same(pattern(A), pattern(A))
    one, other = sketch_of(ms.tensor(A)), sketch_of(ms.tensor((A + A.T).tocsr()[:, ::1]))
    assert one.rounded[-1] != other.rounded[-1]
    hash(one)


@pytest.mark.parametrize("widths", [(32, 32), (64, 64), (16, 32), (64, 16)])
def test_positions_and_coordinates_of_any_width(widths: tuple[int, int]) -> None:
    A = drawn(1000, 20_000)
    kind = f"(i, j) -> (i : dense, j : compressed), posWidth = {widths[0]}, crdWidth = {widths[1]}"
    B = ms.tensor(A, f"#sparse_tensor.encoding<{{ map = {kind} }}>")
    found = sampled_pattern(B.storage, B.shape)
    assert found is not None
    assert same(found, pattern(A))


@given(
    size=st.sampled_from([1, 2, 3, 7, 60, 250]),
    share=st.floats(0, 1),
    mirror=st.booleans(),
    widths=st.tuples(*[st.sampled_from(["u1", "u2", "i4", "i8"])] * 2),
    dtype=st.sampled_from(["f4", "f8", "i2", "c16", "?"]),
    step=st.sampled_from([1, 2]),
    seed=st.integers(0, 1000),
)
@examples(150)
def test_native_samples(
    size: int, share: float, mirror: bool, widths: tuple[str, str], dtype: str, step: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    there = random.random((size, size)) < share**2
    rows, columns = np.nonzero(there | there.T if mirror else there)
    if rows.size == 0 or (widths[0] == "u1" and rows.size > 255):
        return
    positions = np.searchsorted(rows, np.arange(size + 1)).astype(widths[0])
    coordinates = np.repeat(columns.astype(widths[1]), step)[::step]
    values = random.choice([3, 3, 3, seed], rows.size).astype(dtype)
    assert _native.sample_rows(positions, coordinates, values) == _sampled(positions, coordinates, values)


def _sampled(positions: Any, coordinates: Any, values: Any) -> tuple[float, bool, dict[int, float]]:
    """Returns what native code finds, by NumPy: all entries are in a set, and rows are found by bisection."""
    sample = min(max(values.size // 64, 128), 512)
    chosen = (np.arange(sample) * ((5**0.5 - 1) / 2) % 1.0 * values.size).astype(np.int64)
    rows = np.searchsorted(positions, chosen, side="right") - 1
    columns = coordinates[chosen].astype(np.int64)
    of_rows = np.repeat(np.arange(positions.size - 1), np.diff(positions))
    there = set(zip(of_rows.tolist(), coordinates.tolist(), strict=True))
    mirrored = [
        place in there for place in zip(columns[: sample // 4].tolist(), rows[: sample // 4].tolist(), strict=True)
    ]
    bits, counts = np.unique(_bits(columns - rows), return_counts=True)
    shares = dict(zip(bits.tolist(), (counts / sample).tolist(), strict=True))
    return sum(mirrored) / len(mirrored), bool((values[chosen] == values[0]).all()), shares


def test_samples_of_faulty_storage_read_no_memory_but_its_own() -> None:
    positions, coordinates = np.array([0, 900, -7, 4]), np.array([1 << 40, -5, 2, 0])
    mirrored, alike, shares = _native.sample_rows(positions, coordinates, np.ones(4))
    assert (0 <= mirrored <= 1, alike, sum(shares.values())) == (True, True, pytest.approx(1.0))
    with pytest.raises(ValueError, match="a value for each coordinate"):
        _native.sample_rows(positions, coordinates, np.ones(3))
