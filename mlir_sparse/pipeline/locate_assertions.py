"""Writes into each assertion of a user's program where it stands, as MLIR's runtime verification does by itself."""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse._mlir import ir
from mlir_sparse.loops.operation_index import Seen

__all__ = ["locate_assertions"]

_PLACE = "\nLocation: "


def locate_assertions(seen: Seen, options: Mapping[str, str]) -> bool:
    """Adds the location of each assertion to its message: a call that one ends tells file and line.

    Args:
        seen: a module; rewritten in place.
        options: those of the pass: none.

    Returns:
        whether it changed anything.
    """
    found = [op for op in seen.whole.named("cf.assert") if _PLACE not in ir.StringAttr(op.attributes["msg"]).value]
    for op in found:
        message = ir.StringAttr(op.attributes["msg"]).value
        op.attributes["msg"] = ir.StringAttr.get(f"{message}{_PLACE}{op.location}")
    return bool(found)
