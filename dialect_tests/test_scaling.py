"""`scripts/scale`: computed volumes of cuts are those of real cuts, and times follow from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scaling.__main__ import checked, table
from scaling.model import KERNELS, Network, chosen, estimates, grid, power_law
from scaling.volumes import Degrees, computed, counted, grid_images, grid_of

import mlir_sparse as ms

N = 20_000


def _skewed() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    order = random.permutation(N)
    columns = order[np.minimum(N - 1, (random.pareto(1.1, 8 * N) * 40).astype(np.int64))]
    places = np.unique(random.integers(0, N, columns.size) * N + columns)
    return places // N, places % N


@pytest.mark.parametrize("parts", [2, 16, 60, 256, 4096])
def test_computed_volumes_are_those_of_cuts_of_a_skewed_matrix(parts: int) -> None:
    rows, columns = _skewed()
    found = counted(rows, columns, (N, N), parts)
    model = computed(Degrees.of(rows, N), Degrees.of(columns, N), parts)
    for cut, volume in found.items():
        assert model[cut] == pytest.approx(volume, rel=0.05), cut
    assert found["images"] <= found["broadcast"]


@pytest.mark.parametrize("parts", [4, 64, 4096])
def test_entries_of_the_diagonal_name_what_their_node_owns(parts: int) -> None:
    order = np.random.default_rng(1).permutation(N)
    rows, columns = np.concatenate([order, order]), np.concatenate([order, np.roll(order, 1)])
    model = computed(Degrees.of(rows, N), Degrees.of(columns, N), parts, Degrees.of(np.roll(order, 1), N))
    assert model["images"] == pytest.approx(counted(rows, columns, (N, N), parts)["images"], rel=0.05)


def test_counts_are_those_of_each_part_one_by_one() -> None:
    rows, columns = _skewed()
    parts, (down, across) = 12, grid_of(12)
    images = sum(
        np.count_nonzero(np.unique(columns[rows * parts // N == part]) * parts // N != part) for part in range(parts)
    )
    expanded = reduced = 0
    for i in range(down):
        for j in range(across):
            inside = (rows * down // N == i) & (columns * across // N == j)
            named, partial = np.unique(columns[inside]), np.unique(rows[inside])
            expanded += np.count_nonzero(named * across % N * down // N != i)
            reduced += np.count_nonzero(partial * down % N * across // N != j)
    found = counted(rows, columns, (N, N), parts)
    assert (found["images"], found["2-D"]) == (images, expanded + reduced)


@pytest.mark.parametrize("parts", [2, 8, 64])
def test_a_grid_in_strips_sends_the_lines_where_they_meet(parts: int) -> None:
    side = 64
    place = np.arange(side * side).reshape(side, side)
    pairs = [(place, place), *((place[1:], place[:-1]), (place[:-1], place[1:]))]
    pairs += [(place[:, 1:], place[:, :-1]), (place[:, :-1], place[:, 1:])]
    rows, columns = (np.concatenate([pair[at].ravel() for pair in pairs]) for at in (0, 1))
    assert counted(rows, columns, (side * side, side * side), parts)["images"] == grid_images(side, parts)


def test_what_is_chosen_takes_least_and_images_never_more_than_all() -> None:
    network = Network(22e9, 2e-6)
    for kernel in KERNELS:
        for problem in (grid(1e6), power_law(1e6)):
            for nodes in (1, 10, 1000):
                found = {one.cut: one for one in estimates(kernel, problem, 1e-3, nodes, network)}
                assert found["images"].nbytes <= found["broadcast"].nbytes * (1 + 1e-9) or nodes == 1
                assert chosen(list(found.values())).seconds == min(one.seconds for one in found.values())
    (best,) = {chosen(estimates("SpMV", grid(1e6), 1e-3, nodes, network)).cut for nodes in (10, 100, 1000)}
    assert best == "images"
    dense = [power_law(1e6, 256.0)]
    assert chosen(estimates("SpMV", dense[0], 1e-3, 100, network)).cut == "2-D"


def test_the_tables_name_every_kernel_and_matrix(tmp_path: Path) -> None:
    text = table(dict.fromkeys(KERNELS, 1e-9), 1e6, [10, 100], Network(22e9, 2e-6, 3e-4), 32)
    assert len(text.splitlines()) == 1 + 2 * 2 * len(KERNELS)
    assert text.count("*") == 1 + 2 * 2 * len(KERNELS)
    rows, columns = _skewed()
    ms.write(tmp_path / "a.mtx", ms.tensor(((rows, columns), np.ones(rows.size)), "CSR", shape=(N, N)))
    assert "4096 parts: broadcast" in checked(str(tmp_path / "a.mtx"), [4, 4096])
