"""Tensors that are converted for a call because loops would meet the list of their outermost level again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from mlir_sparse.plan.met_lists import MetList, begins_with_list, met_lists
from mlir_sparse.process.available_memory import available_bytes
from mlir_sparse.runtime import operand_check
from mlir_sparse.spec import KernelSpec, Rewriting
from mlir_sparse.tensor import SparseTensor

__all__ = ["account_of_lists", "bounds_of_lists", "with_entered_lists"]

Value = np.ndarray[Any, Any] | SparseTensor
# To convert an entry takes as long as to meet so many, and a place of the dense level as long as to meet one.
_CONVERTED = 8
# Calls that meet fewer take too little time to convert anything.
_LEAST = 1 << 14
# A dense level takes this part of the memory at the most: it has places for coordinates without entries.
_SHARE = 4
_ANY = 1 << 62


def with_entered_lists(spec: KernelSpec, way: Rewriting | None, values: Mapping[str, Value]) -> dict[str, Value]:
    """Returns the operands, those in other storage whose outermost level loops would meet for longer than that takes.

    Args:
        spec: the statement.
        way: how it is computed.
        values: the operands by name.
    """
    found = dict(values)
    for met in _met_lists(spec, way, values):
        tensor, beside = values[met.tensor], values[met.beside]
        assert isinstance(tensor, SparseTensor)
        assert isinstance(beside, SparseTensor)
        if _is_worth(met, tensor, beside):
            found[met.tensor] = tensor.convert(met.storage)
    return found


def bounds_of_lists(spec: KernelSpec, values: Mapping[str, Value]) -> Sequence[tuple[int, int]]:
    """Returns the least and the greatest number of entries of operands for which no more lists are met than in a call.

    Args:
        spec: the statement, as the call computed it.
        values: the operands by name, as the call took them.

    Returns:
        the bounds of each operand; none where there is no list to meet.
    """
    met = {name for one in _met_lists(spec, spec.rewriting, values) for name in (one.tensor, one.beside)}
    return [(0, _entries(value) if name in met else _ANY) for name, value in values.items()] if met else []


def account_of_lists(spec: KernelSpec, given: Mapping[str, Any]) -> str:
    """Returns what readers are told of the operands that a call converts; "" where it converts none.

    Args:
        spec: the statement, as it is planned.
        given: the operands by name, of any kind.
    """
    values = {name: operand_check.as_argument(name, given[name], kind) for name, kind in spec.inputs}
    told = ""
    for met in _met_lists(spec, spec.rewriting, values):
        tensor, beside = values[met.tensor], values[met.beside]
        assert isinstance(tensor, SparseTensor)
        assert isinstance(beside, SparseTensor)
        if _is_worth(met, tensor, beside):
            listed, times = _listed(tensor).size, _times(beside, met)
            long = f"loops would meet its {listed:,} coordinates up to {times:,} times, in loops over {met.beside}"
            told += f"\n  {met.tensor} is converted to {met.storage.map_text()} first: {long}"
    return f"\n\nlists{told}" if told else ""


def _entries(value: Value) -> int:
    return value.storage.values.size if isinstance(value, SparseTensor) else value.size


def _met_lists(spec: KernelSpec, way: Rewriting | None, values: Mapping[str, Value]) -> tuple[MetList, ...]:
    if not any(type(value) is SparseTensor and begins_with_list(value.encoding) for value in values.values()):
        return ()
    return _found(spec, way, tuple(map(operand_check.type_of, values.values())))


@lru_cache(maxsize=256)
def _found(spec: KernelSpec, way: Rewriting | None, kinds: tuple[Any, ...]) -> tuple[MetList, ...]:
    inputs = tuple((name, kind) for (name, _), kind in zip(spec.inputs, kinds, strict=True))
    return met_lists(replace(spec, inputs=inputs, rewriting=way))


def _is_worth(met: MetList, tensor: SparseTensor, beside: SparseTensor) -> bool:
    """Returns whether to convert a tensor takes less time than to meet its list, and fits in memory."""
    meetings = _times(beside, met) * _listed(tensor).size
    places = tensor.shape[met.dimension]
    if meetings < _LEAST or meetings < _CONVERTED * tensor.nse + places:
        return False
    return _SHARE * places * np.dtype(np.int64).itemsize <= available_bytes()


def _listed(tensor: SparseTensor) -> np.ndarray[Any, Any]:
    found = tensor.storage.coordinates[0]
    assert found is not None
    return found


def _times(tensor: SparseTensor, met: MetList) -> int:
    """Returns how often loops over a tensor come to the level that a list is met with, at the most."""
    begins = None if met.level is None else tensor.storage.positions[met.level]
    if begins is not None:
        return int(begins.size) - 1
    return min(tensor.nse, prod(tensor.shape[dimension] for dimension in met.outside))
