"""Crossed choices: nothing is left out that a pair of values shows, whatever the axes are."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialect_tests import crossing
from dialect_tests.crossing import covering, crossed, examples


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_every_pair_of_values_occurs(sizes: list[int]) -> None:
    axes = [range(size) for size in sizes]
    rows = covering(axes)
    assert len(set(rows)) == len(rows) <= len(list(product(*axes)))
    for (a, first), (b, second) in combinations(enumerate(axes), 2):
        assert {(row[a], row[b]) for row in rows} == set(product(first, second))


def test_most_rows_of_a_long_product_are_left_out() -> None:
    assert len(covering([range(6)] * 4)) < 60 < 6**4


def test_each_value_meets_each_class_of_the_others() -> None:
    rows = covering([range(10), "abcdef"], [lambda number: number % 2, str.isalpha])
    assert {(number % 2, letter) for number, letter in rows} == set(product((0, 1), "abcdef"))
    assert {number for number, _ in rows} == set(range(10))
    assert len(rows) <= 2 * 6


def test_the_whole_run_takes_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    axes = {"a": [1, 2, 3], "b": "xy", "c": [None, True]}
    monkeypatch.setattr(crossing, "_whole", False)
    mark = crossed(**axes).mark
    assert mark.args[0] == ("a", "b", "c")
    assert len(mark.args[1]) == 6
    assert examples(7).max_examples == 4
    monkeypatch.setattr(crossing, "_whole", True)
    assert crossed(**axes).mark.args[1] == list(product(*axes.values()))
    assert examples(7).max_examples == 70
