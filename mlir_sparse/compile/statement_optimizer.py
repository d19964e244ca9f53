"""Which way a statement is computed on the data at hand: as it is written, or rewritten by cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from mlir_sparse.encoding import Sketch, TensorType
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Assignment
from mlir_sparse.plan.algebra.choose_rewriting import choose_rewriting, may_gain
from mlir_sparse.plan.algebra.part_store import TensorFacts
from mlir_sparse.process import settings
from mlir_sparse.spec import KernelSpec, Rewriting, check_spec
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.sketch_of import sketch_of

__all__ = ["check_optimize", "depends_on_data", "get_optimize", "rewriting_for", "set_optimize"]

_chosen: str | None = None


def set_optimize(optimize: str | None) -> None:
    """Sets how statements of this process are optimized where `optimize=` does not say.

    Args:
        optimize: "auto" or "off", as for `compile`; None restores the default.

    Raises:
        UnsupportedError: for anything else.

    >>> set_optimize("off")
    >>> get_optimize()
    'off'
    >>> set_optimize(None)
    """
    global _chosen
    _chosen = None if optimize is None else check_optimize(optimize)


def get_optimize() -> str:
    """Returns how statements are optimized: as `set_optimize` says, else `MLIR_SPARSE_OPTIMIZE`, else "auto"."""
    return settings.OPTIMIZE.value if _chosen is None else _chosen


def check_optimize(optimize: Any) -> str:
    """Returns an argument `optimize`, that of the process when None.

    Raises:
        UnsupportedError: for a name that no optimization has.
    """
    if optimize is None:
        return get_optimize()
    if not isinstance(optimize, str) or optimize not in settings.OPTIMIZATIONS:
        raise UnsupportedError(f"expected optimize= one of {', '.join(settings.OPTIMIZATIONS)}, but got {optimize!r}")
    return optimize


@dataclass(frozen=True, slots=True)
class _Data:
    """What is known of the operands; data that is alike, but for factors below 4, is equal and has one plan."""

    sketches: tuple[Sketch, ...] = field(compare=False)
    rounded: tuple[object, ...]


def rewriting_for(spec: KernelSpec, value_of: Callable[[str], SparseTensor | np.ndarray[Any, Any]]) -> Rewriting | None:
    """Returns the cheapest way by estimate to compute a statement on data; None for the way it is written.

    Args:
        spec: the statement.
        value_of: returns the data of a tensor; called only where there is something to choose.
    """
    explicit = _open_statement(spec)
    if explicit is None:
        return None
    sketches = tuple(sketch_of(value_of(name)) for name, _ in spec.inputs)
    return _cheapest(explicit, spec.inputs, _Data(sketches, tuple(sketch.rounded for sketch in sketches)))


def depends_on_data(spec: KernelSpec) -> bool:
    """Returns whether data decides how a statement is computed."""
    return spec.rewriting is not None or _open_statement(spec) is not None


@lru_cache(maxsize=512)
def _open_statement(spec: KernelSpec) -> Assignment | None:
    """Returns the statement with explicit sums; None where there is nothing to choose, whatever the data are."""
    check_spec(spec)
    numbers = all(not kind.dtype.is_truth for _, kind in spec.inputs)
    if spec.assignment.ranges or spec.assignment.exists or not numbers:
        return None
    explicit = spec.explicit
    return explicit if may_gain(explicit) else None


@lru_cache(maxsize=256)
def _cheapest(assignment: Assignment, inputs: tuple[tuple[str, TensorType], ...], data: _Data) -> Rewriting | None:
    facts = {name: TensorFacts(kind, sketch) for (name, kind), sketch in zip(inputs, data.sketches, strict=True)}
    return choose_rewriting(assignment, facts)
