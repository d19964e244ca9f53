"""Arrays of other libraries that are shared after one native check, beside a check in Python of every rule."""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import mlir_sparse as ms
from mlir_sparse import _native
from mlir_sparse.runtime.thread_limit import within
from mlir_sparse.tensor.borders.foreign_parts import Entries, Lines
from mlir_sparse.tensor.borders.known_forms import shared_tensor

SHAPES = [(6,), (5, 4), (3, 4, 2), (2, 3, 2, 2)]


def listed(shape: tuple[int, ...], dtype: Any, interleaved: bool, seed: int) -> tuple[Any, Any]:
    """Returns coordinates and values of a random tensor in order."""
    draw = np.random.default_rng(seed)
    dense = draw.random(shape) < 0.5
    places = np.argwhere(dense).astype(dtype)
    return np.ascontiguousarray(places if interleaved else places.T), draw.random(int(dense.sum()))


def is_right(indices: Any, shape: tuple[int, ...], interleaved: bool) -> bool:
    entries = [tuple(map(int, entry)) for entry in (indices if interleaved else indices.T)]
    inside = all(0 <= at < extent for entry in entries for at, extent in zip(entry, shape, strict=True))
    return inside and all(one < other for one, other in pairwise(entries))


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_entries_are_shared_if_every_rule_holds(shape: tuple[int, ...], dtype: Any, interleaved: bool) -> None:
    draw = np.random.default_rng(len(shape))
    refused = 0
    for seed in range(60):
        indices, values = listed(shape, dtype, interleaved, seed)
        if seed % 3 and indices.size:
            at = tuple(draw.integers(0, size) for size in indices.shape)
            indices[at] = draw.choice([-1, 0, 1, indices[at] + 1, 1 << 20, np.iinfo(dtype).max, np.iinfo(dtype).min])
        found = _native.share_entries(indices, values, shape, interleaved)
        assert (found is not None) == is_right(indices, shape, interleaved)
        refused += found is None
        if found is None:
            continue
        positions, columns, flat, stored = found
        assert positions.tolist() == [0, len(values)]
        assert positions.dtype == dtype
        assert stored is values
        assert (flat is not None) == (interleaved and len(shape) > 1)
        for dim, column in enumerate(columns):
            np.testing.assert_array_equal(column, indices[:, dim] if interleaved else indices[dim])
            assert not column.flags.writeable
            assert np.shares_memory(column, indices) or not indices.size
    assert refused > 5


def test_entries_that_are_no_arrays_of_theirs_are_left_to_others() -> None:
    indices, values = np.array([[0, 1], [1, 0]]), np.ones(2)
    assert _native.share_entries(indices, values, (2, 2), False) is not None
    for wrong in (indices.astype(np.uint64), indices.astype(np.int16), indices.astype(">i8"), indices.astype(float)):
        assert _native.share_entries(wrong, values, (2, 2), False) is None
    for wrong in (np.asfortranarray(indices), indices[0], indices.tolist(), indices[np.newaxis]):
        assert _native.share_entries(wrong, values, (2, 2), False) is None
    for bare in (np.ones((2, 1)), np.ones(3), np.ones(4)[::2], [1.0, 2.0]):
        assert _native.share_entries(indices, bare, (2, 2), False) is None
    for shape in ((), (2,), (2, 2, 2), (2, -1)):
        assert _native.share_entries(indices, values, shape, False) is None
    none = np.empty((2, 0), np.int64)
    assert _native.share_entries(none, np.ones(0), (0, 3), False) is not None
    assert _native.share_entries(none, np.ones(0), (-1, 3), False) is None
    assert _native.share_entries(np.zeros((2, 1), np.int64), np.ones(1), (0, 3), False) is None


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("interleaved", [False, True])
def test_many_entries_are_looked_at_to_the_last(interleaved: bool, threads: int) -> None:
    n = 1 << 19
    whole = np.stack([np.arange(n) // 4, np.arange(n) % 4])
    with within(threads, False):
        for at in (0, 1, 4095, 4096, 4097, n // 3, n // 2, n - 1):
            for wrong in (-1, 3, n):
                places = whole.copy()
                right = places[1, at] == wrong
                places[1, at] = wrong
                given = np.ascontiguousarray(places.T) if interleaved else places
                found = _native.share_entries(given, np.ones(n), (n, 4), interleaved)
                assert (found is not None) == bool(right), (at, wrong)


def test_vectors_side_by_side_are_joined() -> None:
    whole = np.arange(24).reshape(3, 8)
    for vectors in (list(whole), list(whole[:, ::2]), list(whole[::2]), [whole[0]], list(whole.T[:4])):
        joined = _native.join_views(vectors)
        assert joined is not None
        np.testing.assert_array_equal(joined, np.stack(vectors))
        assert np.shares_memory(joined, whole)
        assert not joined.flags.writeable
    other = np.arange(24).reshape(3, 8)
    for vectors in (
        [whole[0], other[1]],
        [whole[1], whole[0]],
        [whole[0], whole[0]],
        [whole[0], whole[1], whole[1]],
        [whole[0], whole[1, :4]],
        [whole[0], whole[1].astype(np.int32)],
        [whole[0], whole[1].view(np.uint64)],
        [whole[0][::2], whole[1][:4]],
        [np.empty(0), np.empty(0)],
        [],
        [whole],
    ):
        assert _native.join_views(vectors) is None


@pytest.mark.parametrize("block", [(2, 3), (2, 2), (1, 4), (4, 1)])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_blocks_are_shared_and_looked_at_each_time(block: tuple[int, int], index: Any) -> None:
    dense = np.kron(sp.random(4, 3, 0.5, random_state=1).toarray(), np.arange(1.0, 1 + np.prod(block)).reshape(block))
    matrix = sp.bsr_array(dense, blocksize=block)
    matrix.indptr, matrix.indices = matrix.indptr.astype(index), matrix.indices.astype(index)
    for _ in range(3):
        found = ms.tensor(matrix)
        np.testing.assert_array_equal(found.to_numpy(), dense)
        assert np.shares_memory(found.storage.values, matrix.data) == (min(block) > 1)
    matrix.indices[0] = 99
    with pytest.raises((ms.CoordinatesError, ValueError)):
        ms.tensor(matrix)
    matrix.indices[0] = -1
    with pytest.raises((ms.CoordinatesError, ValueError)):
        ms.tensor(matrix)


def test_blocks_beyond_the_edge_are_looked_at() -> None:
    whole = sp.bsr_array(np.ones((4, 4)), blocksize=(2, 2))
    ms.tensor(whole)
    ms.tensor(whole)
    whole._shape = (3, 4)
    with pytest.raises(ms.StorageError, match="beyond shape"):
        ms.tensor(whole)


def test_layouts_of_dense_dimensions_are_not_taken_for_others() -> None:
    torch: Any = pytest.importorskip("torch")
    dense = np.arange(60.0).reshape(3, 4, 5)
    source = torch.from_numpy(dense)
    for _ in range(2):
        for made in (source.to_sparse(2), source.to_sparse(3), source.to_sparse(1), source.to_sparse_csr(dense_dim=1)):
            np.testing.assert_array_equal(ms.tensor(made).to_numpy(), dense)
        for made in (
            source[0].to_sparse(),
            source[0].to_sparse_csr(),
            source[0].to_sparse_csc(),
            (source + 1).to_sparse_csr(),
        ):
            np.testing.assert_array_equal(ms.tensor(made).to_numpy(), made.to_dense().numpy())
    blocks = torch.from_numpy(np.kron(np.eye(3), np.arange(1.0, 7).reshape(2, 3)))
    for _ in range(3):
        for made in (blocks.to_sparse_bsr((2, 3)), blocks.to_sparse_bsc((2, 3)), blocks.to_sparse_bsr((3, 3))):
            found = ms.tensor(made)
            np.testing.assert_array_equal(found.to_numpy(), blocks.numpy())
            assert np.shares_memory(found.storage.values, made.values().numpy())
            made.values()[0, 0, 0] = 5
            assert found.storage.values[0] == 5


def test_lazily_conjugated_values_of_pytorchs() -> None:
    torch: Any = pytest.importorskip("torch")
    dense = np.array([[0, 1 + 2j], [3 - 1j, 0]])
    made, lazily = torch.from_numpy(dense).to_sparse_csr(), torch.from_numpy(dense[dense != 0]).conj()
    assert lazily.is_conj()
    for _ in range(2):
        ms.tensor(made)
    turned = torch.sparse_csr_tensor(made.crow_indices(), made.col_indices(), lazily, (2, 2), check_invariants=True)
    for _ in range(2):
        np.testing.assert_array_equal(ms.tensor(turned).to_numpy(), dense.conj())


def test_threads_that_meet_classes_for_the_first_time() -> None:
    torch: Any = pytest.importorskip("torch")
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            draw = np.random.default_rng(seed)
            for _ in range(100):
                dense = draw.random((6, 4)) * (draw.random((6, 4)) < 0.5)
                made = torch.from_numpy(dense)
                kinds = [made.to_sparse(), made.to_sparse_csr(), made.to_sparse_bsr((2, 2)), sp.bsr_array(dense)]
                for one in (*kinds, sp.csc_array(dense), sp.coo_array(dense)):
                    np.testing.assert_array_equal(ms.tensor(one).to_numpy(), dense)
        except BaseException as error:
            failures.append(error)

    running = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for one in running:
        one.start()
    for one in running:
        one.join()
    assert not failures


def test_extents_are_integers_of_pythons() -> None:
    """pydata's GCXS has a shape of NumPy's integers, if it was given one."""
    rows, size = sp.csr_array(np.eye(4)), np.int64(4)
    ms.tensor(rows)
    ms.tensor(sp.bsr_array(np.eye(4), blocksize=(2, 2)))
    blocks = sp.bsr_array(np.eye(4), blocksize=(2, 2))
    torch: Any = pytest.importorskip("torch")
    listed_once = torch.eye(4, dtype=torch.float64).to_sparse()
    ms.tensor(listed_once)
    given = [
        Lines("CSR", (size, size), rows.indptr, rows.indices, rows.data),
        Lines("BSR", (size, size), blocks.indptr, blocks.indices, blocks.data),
        Entries((size, size), listed_once._indices().numpy(), listed_once._values().numpy()),
    ]
    for one in given:
        made = shared_tensor(one)
        assert made is not None
        assert [type(extent) for extent in (*made.shape, *made.storage.level_sizes)] == [int] * (
            2 + len(made.storage.level_sizes)
        )
