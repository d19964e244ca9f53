"""How much a run tries: all pairs of choices and a few examples by default, whole products and many under `--all`.

Most faults of a product of choices show in two of them (Kuhn et al. 2004). Where values of an axis are alike, their
classes may be crossed in place of them: each value of one axis then meets each class of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import combinations, product
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import settings

__all__ = ["cover", "covering", "crossed", "examples", "is_whole", "rows", "seeds", "take_whole"]

Class = Callable[[Any], Hashable]
Row = tuple[Any, ...]
Choice = TypeVar("Choice")

# How many times as many examples the whole run takes. Others draw new ones each time, and take half of them.
_MORE = 10
_whole = False


def take_whole() -> None:
    """Makes `crossed` give whole products: `pytest --all`, before the tests are collected."""
    global _whole
    _whole = True


def is_whole() -> bool:
    """Returns whether whole products were asked for."""
    return _whole


def examples(count: int, parent: settings | None = None, **more: Any) -> settings:
    """Returns the settings of a property: on so many examples, half of them by default, or ten times as many."""
    return settings(parent, max_examples=count * _MORE if _whole else -(-count // 2), **more)


def seeds(count: int) -> range:
    """Returns the seeds of a test that draws its own data: ten times as many in the whole run."""
    return range(count * (_MORE if _whole else 1))


def crossed(classes: Mapping[str, Class] | None = None, **axes: Iterable[Any]) -> pytest.MarkDecorator:
    """Parametrizes a test by rows of values, one of each axis.

    Args:
        classes: for an axis, what tells the class of a value; each value is a class of its own where there is none.
        **axes: the values of each argument of the test.
    """
    found = rows(*axes.values(), classes=[(classes or {}).get(name) for name in axes])
    return pytest.mark.parametrize(tuple(axes), found, ids=_name)


def rows(*axes: Iterable[Any], classes: Sequence[Class | None] = ()) -> list[Row]:
    """Returns the rows that a test takes of a product: all pairs, or everything in the whole run."""
    values = [tuple(axis) for axis in axes]
    return list(product(*values)) if _whole else covering(values, classes)


def _name(value: Any) -> str | None:
    return str(value) if isinstance(value, np.dtype | dict) else None


def covering(axes: Sequence[Sequence[Any]], classes: Sequence[Class | None] = ()) -> list[Row]:
    """Returns rows in which each value of an axis occurs with each class of every other axis, the same in each run."""
    of = [*classes, *[None] * (len(axes) - len(classes))]
    groups = [
        [number if kind is None else kind(value) for number, value in enumerate(axis)]
        for axis, kind in zip(axes, of, strict=True)
    ]
    pairs = {row: _pairs(row, groups) for row in product(*(range(len(axis)) for axis in axes))}
    return [tuple(axis[at] for axis, at in zip(axes, row, strict=True)) for row in cover(pairs)]


def cover(choices: Mapping[Choice, frozenset[Hashable]]) -> list[Choice]:
    """Returns few choices that together have all that any has, in the order given.

    Each is the one with most of what is still missing; the first of several.
    """
    missing = set().union(*choices.values())
    chosen = set()
    while missing:
        best = max(choices, key=lambda one: len(choices[one] & missing))
        chosen.add(best)
        missing -= choices[best]
    return [one for one in choices if one in chosen]


def _pairs(row: tuple[int, ...], groups: list[list[Hashable]]) -> frozenset[Hashable]:
    """Returns the pairs in a row: a value of one axis, the class of another's."""
    kinds = [group[at] for group, at in zip(groups, row, strict=True)]
    pairs = combinations(range(len(row)), 2)
    return frozenset(one for a, b in pairs for one in ((a, row[a], b, kinds[b]), (b, row[b], a, kinds[a])))
