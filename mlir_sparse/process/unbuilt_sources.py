"""Sources of the package that Python finds before the installed package, as in the folder of a checkout."""

from __future__ import annotations

from pathlib import Path

__all__ = ["unbuilt"]


def unbuilt(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """Returns what to raise where the native module is not found; the error itself where another is not.

    Args:
        error: that of the import.
    """
    if error.name != "mlir_sparse._native":
        return error
    sources = Path(__file__).resolve().parents[1]
    return ModuleNotFoundError(
        f"expected the native modules of mlir_sparse, but got sources without them in {sources}: to use the installed "
        f"package, start Python in another folder than {sources.parent}, or with -P; to work on the sources, run "
        "scripts/setup",
        name=error.name,
        path=str(sources),
    )
