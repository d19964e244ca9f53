"""Any expression in any storage: a few combinations of each here, all by `scripts/combinations`."""

from __future__ import annotations

from itertools import combinations as pairs
from pathlib import Path

import pytest
from combining.counts import Counts, Record

from dialect_tests.combinations import DTYPES, EXPRESSIONS, combinations, sample, storages, try_combination
from dialect_tests.crossing import is_whole

# The seed may be any: what fails under another is a defect too.
SEED = 0


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_a_sample_is_right(text: str) -> None:
    for case in sample(text, 30 if is_whole() else 2, SEED):
        verdict, reason = try_combination(case)
        # Storage that pads with zeros cannot hold the results of a semiring whose zero is another number.
        allowed = ("right", "no room", "refused") if case.semiring else ("right", "no room")
        assert verdict in allowed, f"{case}: {verdict}: {reason}"


@pytest.mark.parametrize("text", ["y(i) = b(i) - A(i,j) * x(j)", "C(i,j) = A(i,j) + B(i,j) + D(i,j)", "d(i) = A(i,i)"])
def test_every_pair_of_storages_occurs(text: str) -> None:
    rows = [(*case.storage, case.out, case.dtype) for case in combinations(text)]
    for first, second in pairs(range(len(rows[0])), 2):
        found = {(row[first], row[second]) for row in rows}
        assert len(found) == len({one for one, _ in found}) * len({other for _, other in found})
    assert {row[-1] for row in rows} == set(DTYPES)


def test_all_presets_of_a_rank_take_part() -> None:
    assert {"dense", "SparseVector", "COO", "HashVector", "NV_24"} < set(storages(1))
    assert {"dense", "CSR", "CSC", "DCSR", "BSR", "DIA", "SlotELL", "Skyline", "CSR_SLICE"} < set(storages(2))
    assert {"dense", "CSF", "BatchedCSR", "CompressedDenseDense"} < set(storages(3))
    assert len(EXPRESSIONS) >= 40


def test_counts_are_kept_shard_by_shard(tmp_path: Path) -> None:
    path, record = tmp_path / "counts.json", Record(3)
    for number, verdict in ((0, "right"), (2, "refused")):
        record.counts[number] = Counts()
        record.counts[number].add("s = x(i)", "a case", verdict, "UnsupportedError: expected less\nand a caret")
    record.counts[2].add("s = x(i)", "another", "wrong", "1 is not 2")
    record.write(path)
    read = Record.read(path, 3)
    assert read.total == record.total
    assert read.total.refused == {"s = x(i)": {"UnsupportedError: expected less": 1}}
    assert read.total.bad == [("another", "wrong", "1 is not 2")]
    assert read.total.share == pytest.approx(1 / 3)
    assert not Record.read(path, 4).counts
