"""Collections of Dask beside tensors. Dask is not imported for the question: who passes its arrays has done that."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["applied_by_dask", "has_chunks", "is_in_chunks", "register_chunks"]

_registered: set[type] = set()


def is_in_chunks(value: object) -> bool:
    """Returns whether an operand is a collection of Dask, such as a `dask.array`."""
    return hasattr(type(value), "__dask_graph__")


def has_chunks(values: Iterable[object]) -> bool:
    """Returns whether some operand is a collection of Dask."""
    return any(map(is_in_chunks, values))


def register_chunks(*kinds: type) -> None:
    """Tells Dask that its arrays take tensors of some classes beside them, as they take NumPy's arrays."""
    new = [kind for kind in kinds if kind not in _registered]
    if new:
        from dask.array import register_chunk_type  # loaded by then: an operand is one of its arrays

        for kind in new:
            register_chunk_type(kind)
        _registered.update(new)


def applied_by_dask(ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Returns what Dask makes of a ufunc on tensors and on an array of its own, of which nothing is computed yet.

    Args:
        ufunc: the ufunc.
        method: its method, such as `"__call__"`.
        inputs: its operands.
        options: its arguments by name.

    Returns:
        a dask.array; NotImplemented where no operand is one, or Dask lacks the method.
    """
    for operand in inputs:
        if is_in_chunks(operand) and hasattr(type(operand), "chunks"):
            tensors = [type(one) for one in inputs if hasattr(one, "__dask_tokenize__") and not is_in_chunks(one)]
            register_chunks(*tensors)
            return operand.__array_ufunc__(ufunc, method, *inputs, **options)
    return NotImplemented
