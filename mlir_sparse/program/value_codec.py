"""Values to plain data and back, by their fields: how programs stand in files, and facts of the plan in IR.

Lists begin with what they are: `["NestCall", ...]` is a value of that class, `["()", ...]` a tuple. Last fields that
hold their defaults are left out. A new field needs nothing here, and a new class a place in the list of those that are
known where it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any, TypeVar

from mlir_sparse.errors import SparseError

__all__ = ["Plain", "ValueCodec"]

Plain = None | bool | int | float | str | list["Plain"]
"""What JSON has, but dictionaries."""

T = TypeVar("T")


class ValueCodec:
    """Writes and reads values of some dataclasses.

    Args:
        classes: the classes; no two have one name.

    >>> from mlir_sparse.program.size_values import Fixed, LevelSize
    >>> codec = ValueCodec([Fixed, LevelSize])
    >>> codec.written((Fixed(3), LevelSize("A", 0)))
    ['()', ['Fixed', 3], ['LevelSize', 'A', 0]]
    >>> codec.read(["LevelSize", "A", 0], LevelSize)
    LevelSize(tensor='A', level=0)
    """

    def __init__(self, classes: Iterable[type[Any]]) -> None:
        self._classes = {kind.__name__: kind for kind in classes}
        # What makes a value of its parts, by what lists begin with.
        self.makers: dict[str, Callable[..., object]] = {"()": lambda *parts: parts, **self._classes}

    def written(self, value: object) -> Plain:
        """Returns a value as plain data.

        Raises:
            TypeError: for a value of no class that is known.
        """
        match value:
            case None | bool() | int() | float() | str():
                return value
            case tuple():
                return ["()", *map(self.written, value)]
            case _ if self._classes.get(name := type(value).__name__) is type(value):
                return [name, *map(self.written, _fields_of(value))]
            case _:
                raise TypeError(f"expected a value of {', '.join(self._classes)}, but got {value!r}")

    def read(self, data: Plain, kind: type[T]) -> T:
        """Returns the value that plain data is.

        Raises:
            ValueError: for what `written` did not return, and for a value that is not of the kind asked for.
        """
        try:
            value = self._read(data)
        except (AttributeError, IndexError, KeyError, RecursionError, SparseError, TypeError, ValueError) as error:
            raise ValueError(f"expected a {kind.__name__}, but got {type(error).__name__}: {error}") from None
        if not isinstance(value, kind):
            raise ValueError(f"expected a {kind.__name__}, but got {type(value).__name__}")
        return value

    def _read(self, data: Plain) -> object:
        if not isinstance(data, list):
            return data
        kind, *parts = data
        if not isinstance(kind, str) or kind not in self.makers:
            raise KeyError(f"{kind!r} is none of {', '.join(self.makers)}")
        return self.makers[kind](*[self._read(part) for part in parts])


def _fields_of(value: Any) -> list[object]:
    """Returns the fields of a value up to the last that does not hold its default."""
    given = [field for field in fields(value) if field.init]  # others are computed of them
    defaults = [field.default for field in given]
    found = [getattr(value, field.name) for field in given]
    # What is equal may be of another type, and read back as that.
    while found and type(found[-1]) is type(defaults[len(found) - 1]) and found[-1] == defaults[len(found) - 1]:
        found.pop()
    return found
