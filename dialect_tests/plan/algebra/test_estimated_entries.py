"""Estimates against counts, on small versions of the inputs of the benchmark.

The error of an estimate is the factor by which it is off, whichever way (Moerkotte et al. 2009: the q-error).
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from benchmarks import data
from benchmarks.entries import skewed

import mlir_sparse as ms
from mlir_sparse._search import EntryPattern, Pattern, chance_of_cycles, chance_together, masks_of
from mlir_sparse.machine import machine_profile
from mlir_sparse.notation import Access, IndexVar
from mlir_sparse.plan.algebra.estimates import Estimates
from mlir_sparse.plan.algebra.nest_times import NestTimes
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts
from mlir_sparse.runtime import operand_check
from mlir_sparse.tensor.sketch_of import sketch_of

MACHINE = machine_profile().times

Matrix = Any
# Estimated and counted.
Pair = tuple[float, float]

MATRICES: Mapping[str, Matrix] = {
    "grid": data.grid(60, 60),
    "grid in space": data.grid(14, 14, 10),
    "links between pages": data.power_rows(4000, 12_400),
    "circuit": data.circuit(3000, 16_800),
    "finite elements": data.blocky(250, 16, 4),
    "uniform 20": data.uniform(2000, 20),
    "uniform 8": data.uniform(2000, 8),
    "graph": data.power_law(3000, 9000),
    "triangles": data.triangulated(50),
}
TENSORS = {
    "social": skewed((159, 639, 638), 7000, 5000, 1.5, 11),
    "knowledge": skewed((300, 230, 720), 20_000, 5000, 1.5, 12),
}


def ones(matrix: Matrix) -> Matrix:
    """Returns a matrix with the same entries, all 1: products of such count."""
    found = matrix.tocsr().astype(np.float64)
    found.data[:] = 1
    return found


def facts(value: Any) -> TensorFacts:
    tensor = operand_check.value_of("A", value)
    return TensorFacts(operand_check.type_of(tensor), sketch_of(tensor))


class Product:
    """A product of tensors, for estimates."""

    def __init__(self, kept: str, factors: Mapping[str, TensorFacts]) -> None:
        accesses = [Access(text[0], tuple(map(IndexVar, text[1:]))) for text in factors]
        extents: dict[IndexVar, float] = {}
        for access, one in zip(accesses, factors.values(), strict=True):
            extents.update(zip(access.indices, map(float, one.sketch.shape), strict=True))
        estimates = Estimates(extents)
        relations = [
            one.relation(access.tensor, tuple(map(estimates.bit, access.indices)))
            for access, one in zip(accesses, factors.values(), strict=True)
        ]
        self.nest = NestTimes(estimates, MACHINE).exact(relations, estimates.bits([*map(IndexVar, kept)]))

    def against(self, places: float, entries: float | None = None) -> list[Pair]:
        """Returns the estimates beside the counts: of places where all factors have an entry, and of the result's."""
        found = [(self.nest.places, places)]
        return found if entries is None else [*found, (self.nest.entries, entries)]


@cache
def of_one(name: str) -> list[Pair]:
    """Returns estimates for products of a matrix with itself."""
    A = ones(MATRICES[name])
    own = facts(ms.tensor(A))
    found = []
    for factors, product in (("Aij Ajk", A @ A), ("Aij Akj", A @ A.T), ("Aji Ajk", A.T @ A)):
        found += Product("ik", dict.fromkeys(factors.split(), own)).against(product.sum(), product.nnz)
    both, walks, degrees = A.multiply(A.T), A @ A, np.asarray(A.sum(axis=1)).ravel()
    masked, longer = A.multiply(walks), walks @ A
    found += Product("ij", dict.fromkeys(("Aij", "Aji"), own)).against(both.sum(), both.nnz)
    found += Product("ik", dict.fromkeys(("Aij", "Ajk", "Aik"), own)).against(masked.sum(), masked.nnz)
    found += Product("il", dict.fromkeys(("Aij", "Ajk", "Akl"), own)).against(longer.sum(), longer.nnz)
    found += Product("", dict.fromkeys(("Aij", "Ajk", "Aki"), own)).against(A.multiply(walks.T).sum())
    found += Product("", dict.fromkeys(("Aij", "Aik", "Ail"), own)).against((degrees**3).sum())
    return found


def of_two(one: str, other: str) -> list[Pair]:
    """Returns estimates for a product of two matrices, of the second also in another order of its rows and columns."""
    size = min(MATRICES[one].shape[0], MATRICES[other].shape[0])
    A, B = (ones(MATRICES[name][:size, :size]) for name in (one, other))
    order = np.random.default_rng(0).permutation(size)
    found = []
    for right in (B, ones(B[order][:, order])):
        product = A @ right
        pair = {"Aij": facts(ms.tensor(A)), "Bjk": facts(ms.tensor(right))}
        found += Product("ik", pair).against(product.sum(), product.nnz)
    return found


def of_tensor(name: str) -> list[Pair]:
    """Returns estimates for a tensor: its fibres, products with a matrix, and with itself along one dimension."""
    drawn = TENSORS[name]
    coords = np.asarray(drawn.coords).astype(np.int64).T
    T = facts(ms.tensor((coords, np.ones(drawn.values.size)), "CSF", shape=drawn.shape))
    found = []
    for axes in itertools.combinations(range(3), 2):
        fibres = np.unique(coords[list(axes)], axis=1).shape[1]
        found += Product("".join("ijk"[axis] for axis in axes), {"Tijk": T}).against(coords.shape[1], fibres)
    for axis, variable in enumerate("ijk"):
        counts = np.bincount(coords[axis], minlength=drawn.shape[axis])
        matrix = scipy.sparse.random(drawn.shape[axis], 50, 0.05, "csr", random_state=1)
        factors = {"Tijk": T, f"M{variable}r": facts(ms.tensor(matrix))}
        found += Product("", factors).against(float((counts * np.diff(matrix.indptr)).sum()))
        again = "T" + "".join(v if v == variable else v.upper() for v in "ijk")
        found += Product("", {"Tijk": T, again: T}).against(float((counts.astype(float) ** 2).sum()))
    return found


def every_pair() -> Iterator[Pair]:
    for name in MATRICES:
        yield from of_one(name)
    for one, other in itertools.pairwise((*MATRICES, *MATRICES)):
        if one != other:
            yield from of_two(one, other)
    for name in TENSORS:
        yield from of_tensor(name)


def errors(pairs: list[Pair]) -> list[float]:
    return sorted(max(max(a, 1.0) / max(b, 1.0), max(b, 1.0) / max(a, 1.0)) for a, b in pairs)


def test_most_estimates_are_near() -> None:
    found = errors(list(every_pair()))
    assert len(found) > 190
    assert statistics.median(found) <= 2
    assert found[int(0.95 * len(found))] <= 16


def test_most_estimates_of_products_of_one_matrix_are_near() -> None:
    found = errors([pair for name in MATRICES for pair in of_one(name)])
    assert statistics.median(found) <= 2
    assert found[int(0.95 * len(found))] <= 16


@pytest.mark.parametrize("name", ["grid", "grid in space", "circuit", "finite elements"])
def test_symmetric_matrices_meet_their_transposes(name: str) -> None:
    A = ones(MATRICES[name])
    for storage in ("CSR", "CSC"):
        own = facts(ms.tensor(A, storage))
        assert Product("ij", {"Aij": own, "Aji": own}).nest.places == pytest.approx(A.nnz, rel=0.25)


def test_triangular_matrices_have_no_circles() -> None:
    own = facts(ms.tensor(ones(MATRICES["graph"])))
    assert Product("", dict.fromkeys(("Aij", "Ajk", "Aki"), own)).nest.places <= 10
    assert Product("", dict.fromkeys(("Aij", "Aji"), own)).nest.places <= 10


@pytest.mark.parametrize("per_row", [1, 3])
def test_rows_that_meet_themselves_are_on_the_diagonal(per_row: int) -> None:
    rng = np.random.default_rng(1)
    places = np.repeat(np.arange(6000), per_row), rng.integers(0, 500, 6000 * per_row)
    F = ones(scipy.sparse.coo_array((np.ones(6000 * per_row), places), shape=(6000, 500)))
    own, product = facts(ms.tensor(F)), F.T @ F
    found = Product("de", {"Fid": own, "Fie": own}).nest
    assert found.places == pytest.approx(product.sum(), rel=1e-9)
    assert found.entries == pytest.approx(product.nnz, rel=0.1)
    # Another tensor with the same degrees meets anywhere.
    assert Product("de", {"Fid": own, "Gie": own}).nest.entries == pytest.approx(found.places, rel=0.1 * per_row)


def test_products_with_a_mask_have_the_entries_at_which_it_meets_them() -> None:
    A = ones(data.uniform(3000, 12))
    own, met = facts(ms.tensor(A)), A.multiply(A @ A).nnz
    estimates = Estimates(dict.fromkeys(map(IndexVar, "ijk"), 3000.0))
    relations = [own.relation("A", tuple(estimates.bit(IndexVar(v)) for v in pair)) for pair in ("ik", "ij", "jk")]
    (mask, *_) = masks_of(relations, 0, estimates)
    assert mask.result.entries == pytest.approx(met, rel=0.2)
    assert mask.result.at_most == A.nnz


@pytest.mark.parametrize("extent", [1.0, 2.0, 3.0, 1000.0])
def test_patterns_of_any_extent_are_taken(extent: float) -> None:
    """Sketches may lie: offsets beyond the extent, no entries, shares that are none."""
    for offsets in ({}, {0: 1.0}, {40: 1.0}, {-3: 0.5, 3: 0.5}):
        pattern = Pattern(offsets, 0.5)
        one = EntryPattern("A", 1, 2, 10.0, extent, pattern)
        two, three = (EntryPattern(n, a, b, 0.0, extent, pattern) for n, a, b in (("B", 2, 4), ("C", 4, 1)))
        often, closing = chance_of_cycles([one, two, three])
        assert often >= 0
        assert closing == (three,)
        assert 0 <= chance_together(one, EntryPattern("B", 2, 1, 1e30, extent, pattern)) <= 1
