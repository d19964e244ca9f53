"""The schedule that tuning found for a statement on operands of a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlir_sparse.compile.tuning.tuning_store import TuningRecord, tuned
from mlir_sparse.encoding import TensorType
from mlir_sparse.runtime import operand_check
from mlir_sparse.spec import KernelSpec, check_spec

__all__ = ["tuned_schedule"]


def tuned_schedule(spec: KernelSpec, given: Mapping[str, Any]) -> TuningRecord:
    """Returns what tuning found for a statement.

    Args:
        spec: the statement.
        given: data or types by name.

    Raises:
        SparseError: one of its kinds, for a statement that does not fit its types, or was not tuned.
    """
    check_spec(spec)
    data = all(not isinstance(one, TensorType | str) for one in given.values())
    values = {name: operand_check.value_of(name, given[name]) for name, _ in spec.inputs} if data else None
    return tuned(spec.with_static_extents(), values)
