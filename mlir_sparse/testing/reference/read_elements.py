"""Operands of the reference: tensors, and the elements that an access selects."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.notation.ast import Access, AffineSubscript, IndexVar, Subscript
from mlir_sparse.testing.reference.named_arrays import LIMIT, Array, Relation, TooManyValues

__all__ = ["Block", "Mode", "Operand", "access"]


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor: an array, or a coordinate array for each dimension and a value for each entry.

    Args:
        values: the array, or the values of the entries.
        shape: the extent of each dimension.
        coordinates: None for an array; else an int64 array for each dimension, without repeated entries.
    """

    values: Array
    shape: tuple[int, ...]
    coordinates: tuple[Array, ...] | None = None


class Mode(Enum):
    """What `evaluate` computes for each element of the target.

    VALUE is the value. MAGNITUDE is the factor of relative errors in the operands: the sum of the absolute values of
    all terms, multiplied by derivatives in functions. COUNT is the number of terms.
    """

    VALUE = "value"
    MAGNITUDE = "magnitude"
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class Block:
    """The part of a problem to evaluate: the tensors, the extents, and a range of one variable.

    Args:
        operands: the tensors by name.
        extents: the extent of each index variable.
        variable: the variable limited to `low <= value < high`, or None.
        mode: the quantity to compute.
    """

    operands: Mapping[str, Operand]
    extents: Mapping[str, int]
    variable: str | None = None
    low: int = 0
    high: int = 0
    mode: Mode = Mode.VALUE
    within: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kept = {} if self.variable is None else {self.variable: self.high - self.low}
        object.__setattr__(self, "within", {**self.extents, **kept})

    def offset(self, name: str) -> int:
        """Returns the first value of a variable within the block."""
        return self.low if name == self.variable else 0


def access(node: Access, block: Block) -> Relation:
    """Returns the elements of a tensor that an access reads, over its variables."""
    operand = block.operands[node.tensor]
    values = _wide(operand.values)
    if block.mode is Mode.MAGNITUDE:
        values = np.abs(values)
    if block.mode is Mode.COUNT:
        values = np.ones(values.shape)
    if operand.coordinates is None:
        return _gather(node, values, block)
    if not all(isinstance(subscript, IndexVar) for subscript in node.subscripts):
        return _gather(node, _scatter(values, operand.shape, operand.coordinates), block)
    return _select(node, values, operand.coordinates, block)


def _wide(values: Array) -> Array:
    """Widens values, so that only the kernel rounds or overflows; below zero, unsigned integers wrap as they are."""
    if values.dtype.kind == "u":
        return values
    if values.dtype.kind in "bi":
        return values.astype(np.int64)
    return values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)


def _gather(node: Access, values: Array, block: Block) -> Relation:
    """Reads an array at every value of its variables."""
    names = tuple(variable.name for variable in node.indices)
    if names == tuple(s.name for s in node.subscripts if isinstance(s, IndexVar)) and len(names) == values.ndim:
        ranges = tuple(slice(block.offset(n), block.offset(n) + block.within[n]) for n in names)
        return Relation.of_dense(names, values[ranges])
    if math.prod(block.within[name] for name in names) > LIMIT:
        raise TooManyValues
    axes = np.ogrid[tuple(slice(block.offset(n), block.offset(n) + block.within[n]) for n in names)]
    at = dict(zip(names, axes, strict=True))
    return Relation.of_dense(names, values[tuple(_subscript(s, at, block) for s in node.subscripts)])


def _subscript(subscript: Subscript, at: Mapping[str, Any], block: Block) -> Any:
    match subscript:
        case IndexVar(name):
            return at[name]
        case AffineSubscript(terms, constant):
            return sum((factor * at[variable.name] for factor, variable in terms), start=np.int64(constant))
        case Access(tensor, subscripts):
            operand = block.operands[tensor]
            places = operand.values
            if operand.coordinates is not None:
                places = _scatter(places, operand.shape, operand.coordinates)
            return places[tuple(_subscript(inner, at, block) for inner in subscripts)]


def _select(node: Access, values: Array, coordinates: tuple[Array, ...], block: Block) -> Relation:
    """Keeps the entries at coordinates that the subscripts can have."""
    columns: dict[str, Array] = {}
    keep = np.ones(len(values), bool)
    for subscript, column in zip(node.subscripts, coordinates, strict=True):
        assert isinstance(subscript, IndexVar)
        if subscript.name in columns:
            keep &= columns[subscript.name] == column
            continue
        columns[subscript.name] = column
        if subscript.name == block.variable:
            keep &= (column >= block.low) & (column < block.high)
    shifted = [column[keep] - block.offset(name) for name, column in columns.items()]
    stacked = np.stack(shifted, axis=1) if shifted else np.zeros((len(values), 0), np.int64)
    return Relation(tuple(columns), (), stacked.astype(np.int64), values[keep])


def _scatter(values: Array, shape: tuple[int, ...], coordinates: tuple[Array, ...]) -> Array:
    if math.prod(shape) > LIMIT:
        raise TooManyValues
    full = np.zeros(shape, values.dtype)
    full[coordinates] = values
    return full
