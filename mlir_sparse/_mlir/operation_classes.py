"""The classes of operations of a dialect, without what its module has beside them: of linalg's, 0.1 s to import.

MLIR's bindings import the module of a dialect when they first see one of its operations. Where they take another
module for it, they look no further; who imports the dialect's own module gets it.
"""

from __future__ import annotations

import sys
from types import ModuleType

from mlir_sparse._mlir.provider import bindings
from mlir_sparse.process.forks import no_fork

__all__ = ["operation_classes", "without_classes"]


def operation_classes(dialect: str) -> ModuleType:
    """Returns the module that has the generated classes of a dialect's operations: its own in bindings of other layout.

    >>> operation_classes("linalg").GenericOp.OPERATION_NAME
    'linalg.generic'
    """
    found = _module(f"dialects._{dialect}_ops_gen")
    if found is None:
        return bindings().module(f"dialects.{dialect}")
    _take(dialect, found)
    return found


def without_classes(*dialects: str) -> None:
    """Lets operations of dialects have no classes of their own in this process, which makes none of them."""
    for dialect in dialects:
        _take(dialect, ModuleType(dialect))


def _take(dialect: str, module: ModuleType) -> None:
    """Has the bindings take a module for that of a dialect, unless that is loaded."""
    own, library = f"{bindings().name}.dialects.{dialect}", _module("_mlir_libs._mlir")
    is_loaded = getattr(getattr(library, "globals", None), "_check_dialect_module_loaded", None)
    if is_loaded is None or own in sys.modules:  # older bindings, and those of other layout, import it themselves
        return
    with no_fork():
        sys.modules[own] = module
        try:
            is_loaded(dialect)
        finally:
            del sys.modules[own]


def _module(name: str) -> ModuleType | None:
    """Returns a module of the bindings; None where they have none of that name."""
    try:
        return bindings().module(name)
    except ModuleNotFoundError:
        return None
