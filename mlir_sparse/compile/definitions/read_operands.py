"""Whether a statement reads tensors that stand for a definition: asked of every call, so it loads no definitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlir_sparse.compile.definitions.defined_operators import DefinedOperators
from mlir_sparse.tensor import FilledTensor

__all__ = ["reads_defined", "reads_filled"]


def reads_defined(*given: Mapping[str, Any] | None) -> bool:
    """Returns whether some operand is a defined tensor."""
    return any(
        isinstance(value, DefinedOperators) for named in given if isinstance(named, Mapping) for value in named.values()
    )


def reads_filled(*given: Mapping[str, Any] | None) -> bool:
    """Returns whether some operand has a fill value."""
    return any(type(value) is FilledTensor for named in given if isinstance(named, Mapping) for value in named.values())
