"""Properties of encodings that follow from the others, each computed when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from typing import Any, Generic, TypeVar

__all__ = ["derived_fact", "derived_once", "fact_of"]

Fact = TypeVar("Fact")
Owner = TypeVar("Owner")
_MOST = 64  # values of one kind that an object keeps: each shape of a tensor may bring another


class derived_fact(Generic[Fact]):  # noqa: N801 - it is written as `property` is
    """A property that an object keeps beside its fields: each later reading is an attribute's, which calls nothing.

    `functools.cached_property` is no member of the class when it is asked of the class.
    """

    def __init__(self, compute: Callable[[Any], Fact]) -> None:
        self.compute = compute
        self.name = compute.__name__
        self.__doc__ = compute.__doc__

    def __get__(self, instance: Any, _: type) -> Fact:
        if instance is None:
            return self  # type: ignore[return-value]  # asked of the class, as by `help`
        found = instance.__dict__[self.name] = self.compute(instance)
        return found


def fact_of(compute: Callable[[Owner], Fact]) -> Callable[[Owner], Fact]:
    """Makes a function of an encoding remember what it returns: with the encoding, and for others that are equal to it.

    A cache by equality compares all levels where an equal encoding, that is another object, was asked about first.
    """
    by_equality = lru_cache(maxsize=512)(compute)

    @wraps(compute)
    def asked(encoding: Owner) -> Fact:
        kept: dict[object, Fact] = encoding._derived  # type: ignore[attr-defined]
        if compute not in kept:
            kept[compute] = by_equality(encoding)
        return kept[compute]

    return asked


def derived_once(instance: Any, kind: str, key: Hashable, compute: Callable[[], Fact]) -> Fact:
    """Returns what follows from an object and a key, which the object keeps for the next call.

    Caches of functions compare by equality, which ignores what an encoding is called; this one is the object's own.

    Args:
        instance: an object with a dictionary `_derived`.
        kind: what it is.
        key: what it depends on beside the object.
        compute: called where it is not known; what it raises is not kept.
    """
    kept: dict[Hashable, Fact] = instance._derived.setdefault(kind, {})
    found = kept.get(key)
    if found is None:
        found = compute()
        if len(kept) >= _MOST:
            kept.clear()
        kept[key] = found
    return found
