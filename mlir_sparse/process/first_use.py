"""Names of a package that are imported at their first use, so that a program loads only what it needs."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ForwardRef

from mlir_sparse.process.forks import importing

__all__ = ["at_first_use", "import_at_first_call", "in_hints"]


_PACKAGE = __name__.partition(".")[0]


def at_first_use(package: str, modules: Mapping[str, Sequence[str]], rooms: Sequence[str] = ()) -> Callable[[str], Any]:
    """Returns the `__getattr__` of a package (PEP 562); any thread may ask, and forks wait.

    Args:
        package: the package, `__name__` in it.
        modules: its modules, with the names that the package has from each. None is named as one of its modules: an
            import of that would set the package's name to the module.
        rooms: packages in it that users reach through it.
    """
    homes = {name: module for module, names in modules.items() for name in names}

    def found(name: str) -> Any:
        if name in rooms:
            with importing():
                return importlib.import_module(f"{package}.{name}")
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with importing():
            value = getattr(importlib.import_module(f"{package}.{home}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return found


def import_at_first_call(user: str, modules: Mapping[str, Sequence[str]]) -> None:
    """Gives a module functions that import others at their first call, which then take their place in it.

    Only functions can be given so: annotations name classes, which a module has from its beginning.

    Args:
        user: the module that calls them, `__name__` in it.
        modules: modules below the package, with the functions of each.
    """
    given = vars(sys.modules[user])
    for module, names in modules.items():
        for name in names:
            given[name] = _first_call(given, module, name)


def _first_call(given: dict[str, Any], module: str, name: str) -> Callable[..., Any]:
    def first(*arguments: Any, **named: Any) -> Any:
        with importing():
            function = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), name)
        if given.get(name) is first:  # unless a test has put another in its place
            given[name] = function
        return function(*arguments, **named)

    first.__name__ = first.__qualname__ = name
    return first


def in_hints(module: str, name: str) -> ForwardRef:
    """Returns what stands for a name that only type checkers import: `typing.get_type_hints` imports it then.

    >>> import typing
    >>> Fraction = in_hints("fractions", "Fraction")
    >>> def half(of: "Fraction | None") -> "list[Fraction]": ...
    >>> typing.get_type_hints(half, {"Fraction": Fraction})["return"]
    list[fractions.Fraction]
    """
    return ForwardRef(f"__import__({module!r}, fromlist=[{name!r}]).{name}")
