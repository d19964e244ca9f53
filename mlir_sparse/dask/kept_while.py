"""What is computed once of objects and kept while they live: for all pieces of a process, and all steps of a loop."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

__all__ = ["kept_while"]

_T = TypeVar("_T")

_kept: dict[tuple[Hashable, ...], Any] = {}


def kept_while(owners: tuple[Any, ...], what: tuple[Hashable, ...], make: Callable[[], _T]) -> _T:
    """Returns what a function makes, from its first call until one of the objects ends that it is made of.

    It must not depend on values that a program may change in place.

    Args:
        owners: the objects; weak references to them are possible.
        what: tells apart what is made of the same objects.
        make: is called without arguments.

    >>> class Part: pass
    >>> part = Part()
    >>> [kept_while((part,), ("example",), lambda: once.append(1) or len(once)) for once in ([], [], [])]
    [1, 1, 1]
    """
    key = (*what, *map(id, owners))
    if key not in _kept:
        found = make()
        for owner in owners:  # another may get the identity of one that has ended
            weakref.finalize(owner, _kept.pop, key, None)
        _kept[key] = found
    known: _T = _kept[key]
    return known
