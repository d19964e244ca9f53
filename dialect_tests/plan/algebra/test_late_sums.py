"""Sums that are done later than they could be, where a part that is summed has no entries to skip others by."""

from __future__ import annotations

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse._search import EntrySet, FactorSets


def tensor(shape: tuple[int, ...], entries: int, encoding: str, seed: int) -> ms.SparseTensor:
    """Returns a tensor with entries at random places."""
    rng = np.random.default_rng(seed)
    places = np.unique(rng.integers(0, int(np.prod(shape)), entries))
    coordinates = np.stack(np.unravel_index(places, shape))
    return ms.tensor((coordinates, rng.integers(1, 9, len(places)).astype(float)), encoding, shape=shape)


@pytest.mark.parametrize("result", ["Y", "Y(k)"])
def test_few_entries_of_a_tensor_are_multiplied_before_their_sum(result: str) -> None:
    """The sum over j alone is a part as large as the tensor; beside the matrix it has next to no entries."""
    given = {"A": tensor((2000, 2000, 300), 9000, "CSF", 1), "B": tensor((2000, 300), 90_000, "CSR", 2)}
    text = f"{result} = A(i,j,k) * B(i,k)"
    kernel = ms.compile(text, **given)
    best = kernel.alternatives()[0]
    assert [str(part.value) for part in best.parts] == ["sum(j : A(i,j,k) * B(i,k))"]
    assert np.array_equal(ms.compile(best)(**given), ms.evaluate(text, optimize="off", **given))


def test_sets_keep_variables_that_are_summed_later() -> None:
    rows, columns, deep = 1, 2, 4
    factors = [EntrySet(rows | columns, 10.0, True, {}, {}), EntrySet(columns | deep, 10.0, True, {}, {})]
    sets = FactorSets(factors, deep)
    assert sets.kept(sets.whole) == deep
    late = sets.keeping(sets.whole, rows | deep)
    assert (late & sets.whole, sets.late(late), sets.kept(late)) == (sets.whole, rows, rows | deep)
    assert sets.kept(1) == columns
    assert not sets.is_read(1)
    assert sets.is_read(sets.keeping(1, rows))
