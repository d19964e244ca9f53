"""Properties of encodings that follow from the others, each computed when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["derived_fact"]

Fact = TypeVar("Fact")


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
