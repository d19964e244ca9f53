"""MLIR's `ir` of whichever bindings there are: `ir.Value` is theirs, imported at the first use of a name.

What is used of it stands, with its types, in the stub beside this file: annotations import nothing.
"""

from __future__ import annotations

from mlir_sparse._mlir.provider import bindings

__all__: list[str] = []  # the names are those of the bindings


def __getattr__(name: str) -> object:
    """Returns a name of the bindings' `ir`, and keeps it."""
    if name.startswith("_"):  # of modules as such, by which tools look around: not worth an import of MLIR
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(bindings().ir, name)
    return found
