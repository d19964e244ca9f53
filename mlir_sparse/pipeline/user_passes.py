"""Passes that users write in Python, by name: they stand in a pipeline beside MLIR's and this package's."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from mlir_sparse.errors import OperandError
from mlir_sparse.text.given_arguments import shown, text_of

__all__ = ["USER_PASSES", "options_of", "register_pass"]

# The bindings' own types are not named here: they load nothing before they are used.
_Change = TypeVar("_Change", bound=Callable[..., object])
_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*$")

USER_PASSES: dict[str, Callable[..., object]] = {}
"""The function of each pass."""


def register_pass(name: str) -> Callable[[_Change], _Change]:
    """Registers a function as a pass, which `opt` and `mlir-sparse opt --load-pass-plugin=FILE.py` run by its name.

    The function is called with an `ir.Module` of the bindings, which it changes in place, in its Context, and with the
    options of the pass, texts by name. What it raises ends the pipeline. MLIR verifies the module after it.

    Args:
        name: words of small letters and digits, joined by hyphens; a second function of one name takes its place.

    Raises:
        OperandError: for a name that no pipeline can have.

    >>> @register_pass("count-functions")
    ... def count_functions(module, options):
    ...     print(len(module.body.operations))
    """
    if not _NAME.match(text_of(name, "the name of a pass")):
        raise OperandError(f"expected a name such as my-pass for a pass, but got {shown(name)}")

    def register(change: _Change) -> _Change:
        if not callable(change):
            raise OperandError(
                f"expected a function of a module and options for the pass {name}, but got {shown(change)}"
            )
        USER_PASSES[name] = change
        return change

    return register


def options_of(item: str) -> Mapping[str, str]:
    """Returns the options of a pass in MLIR's syntax.

    >>> options_of("my-pass{size=4 deep=true}")
    {'size': '4', 'deep': 'true'}
    """
    _, _, options = item.partition("{")
    pairs = (option.partition("=") for option in options.removesuffix("}").split())
    return {key: value for key, _, value in pairs}
