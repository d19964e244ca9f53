"""Properties of encodings that follow from the others, each computed when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

__all__ = ["derived_fact", "derived_once"]

Fact = TypeVar("Fact")
_MOST = 64  # values of one kind that an object keeps: each shape of a tensor may bring another


class derived_fact(Generic[Fact]):  # noqa: N801 - it is written as `property` is
    """A property that an object with a dictionary `_derived` keeps there.

    Objects with slots have no dictionary of their own, which `functools.cached_property` asks for.
    """

    def __init__(self, compute: Callable[[Any], Fact]) -> None:
        self.compute = compute
        self.name = compute.__name__
        self.__doc__ = compute.__doc__

    def __get__(self, instance: Any, _: type) -> Fact:
        if instance is None:
            return self  # type: ignore[return-value]  # asked of the class, as by `help`
        derived: dict[object, Fact] = instance._derived
        if self.name not in derived:
            derived[self.name] = self.compute(instance)
        return derived[self.name]


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
