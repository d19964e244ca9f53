"""MLIR's `ir` of the bindings found: `ir.Value` is theirs, imported at the first use of a name.

The stub beside this file has the types of everything used; annotations import nothing.
"""

from __future__ import annotations

from mlir_sparse._mlir.provider import bindings

__all__: list[str] = []  # the names are those of the bindings


def __getattr__(name: str) -> object:
    """Returns a name of the bindings' `ir`, and keeps it."""
    if name.startswith("_"):  # attributes of any module, which tools inspect: do not import MLIR for them
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(bindings().ir, name)
    return found
