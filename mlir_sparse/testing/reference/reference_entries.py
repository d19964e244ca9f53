"""Evaluates expressions on stored entries in NumPy: operators by their regions, folds, masks and selections.

A Relation's rows are entries; a dense array has an entry for each element. Regions are evaluated on columns of values.
Nothing is shared with the planner.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mlir_sparse.dtypes import DType
from mlir_sparse.notation.ast import (
    Access,
    Apply,
    Assignment,
    AssignOp,
    Binary,
    BinaryOp,
    Expr,
    Fold,
    Literal,
    Negate,
    Reduce,
    ReduceOp,
    walk,
)
from mlir_sparse.notation.operator import Extreme, Operator
from mlir_sparse.testing.reference.named_arrays import LIMIT, Array, Relation, TooManyValues, densify, keys_of, unpacked
from mlir_sparse.testing.reference.read_elements import Block, access
from mlir_sparse.testing.reference.reference_sums import with_sums

__all__ = ["evaluate_entries", "is_about_entries", "missing_of"]

# A function that evaluates an expression on columns of values, by name.
Evaluate = Callable[[Expr, Mapping[str, Array]], Array]


def is_about_entries(assignment: Assignment) -> bool:
    """Returns whether an assignment has operators or folds."""
    return _has_entries(assignment.value)


def evaluate_entries(
    assignment: Assignment,
    block: Block,
    evaluate: Evaluate,
    plain: Callable[[Expr, Block], Relation],
    dtype: np.dtype[Any],
) -> Array:
    """Returns the target's values over a block, with an axis for each of its variables; all sums are explicit.

    Raises:
        TooManyValues: if the block must be smaller.
    """
    value = with_sums(assignment)
    names = tuple(index.name for index in assignment.target.indices)
    evaluator = _Evaluator(block, evaluate, plain, dtype)
    found = evaluator.spread(evaluator.entries(value), names)
    missing = missing_of(assignment, dtype)
    _check(math.prod(block.within[name] for name in names))
    full = np.full([block.within[name] for name in names], missing, found.values.dtype)
    if names:
        full[tuple(found.coordinates[:, found.sparse.index(name)] for name in names)] = found.values
    elif len(found.values):
        full[...] = found.values[0]
    if assignment.op is AssignOp.ADD:
        full = full + densify(access(assignment.target, block), names, block.within)
    return full


def missing_of(assignment: Assignment, dtype: np.dtype[Any]) -> Any:
    """Returns the value of missing entries in the result."""
    value = assignment.value
    return _number(value.monoid.identity, dtype) if isinstance(value, Fold) else 0


def _has_entries(node: Expr) -> bool:
    return any(isinstance(below, Apply | Fold) for below in walk(node))


_A, _B = Access("a"), Access("b")
_ARITHMETIC = {
    BinaryOp.ADD: Operator("plus", ("a", "b"), Binary(BinaryOp.ADD, _A, _B), left=_A, right=_B),
    BinaryOp.SUB: Operator("minus", ("a", "b"), Binary(BinaryOp.SUB, _A, _B), left=_A, right=Negate(_B)),
    BinaryOp.MUL: Operator("times", ("a", "b"), Binary(BinaryOp.MUL, _A, _B)),
}


class _Evaluator:
    def __init__(
        self, block: Block, evaluate: Evaluate, plain: Callable[[Expr, Block], Relation], dtype: np.dtype[Any]
    ) -> None:
        self._block = block
        self._evaluate = evaluate
        self._plain = plain
        self._dtype = dtype

    def entries(self, node: Expr) -> Relation:
        """Returns the entries of an expression, with coordinates for all variables."""
        match node:
            case Access():
                return self.spread(access(node, self._block))
            case Literal(value):
                return Relation((), (), np.zeros((1, 0), np.int64), np.array([value]))
            case Fold(monoid, indices, body):
                kept = tuple(index.name for index in indices)
                return self._folded(monoid.operator, kept, self.entries(body))
            case Apply(operator, (operand,)):
                return self._one(operator, self.entries(operand))
            case Apply(operator, (value, condition)) if operator.name == "select":
                return self._selected(self.entries(value), value, condition)
            case Apply(operator, (Access(tensor) as mask, body)) if operator.name in ("if", "if not"):
                masking = self.entries(mask)
                if self._block.operands[tensor].coordinates is None:  # the nonzero elements of an array
                    inside = masking.values != 0
                    masking = replace(masking, coordinates=masking.coordinates[inside], values=masking.values[inside])
                return self._two(operator, masking, self.entries(body))
            case Apply(operator, (left, right)):
                return self._two(operator, self.entries(left), self.entries(right))
            case Reduce(ReduceOp.SUM, indices, body) if _has_entries(body):
                kept = tuple(index.name for index in indices)
                return self._folded(_ARITHMETIC[BinaryOp.ADD], kept, self.entries(body))
            case Binary(op, left, right) if op in _ARITHMETIC and _has_entries(node):
                return self._two(_ARITHMETIC[op], self.entries(left), self.entries(right))
            case _:
                return self.spread(self._plain(node, self._block))

    def spread(self, found: Relation, names: tuple[str, ...] = ()) -> Relation:
        """Returns a Relation with a row for each entry, repeated along further variables."""
        others = tuple(name for name in names if name not in found.variables)
        sizes = [*found.values.shape[1:], *(self._block.within[name] for name in others)]
        _check(len(found.values), *sizes)
        if not sizes:
            return found
        rows, *columns = (a.ravel() for a in np.indices([len(found.values), *sizes], np.int64))
        width = math.prod(found.values.shape[1:])
        values = found.values.reshape(len(found.values), width)
        picked = values[rows, np.arange(len(rows)) // math.prod(sizes[len(found.dense) :]) % max(width, 1)]
        coordinates = np.column_stack([found.coordinates[rows], *columns]).astype(np.int64)
        return Relation(found.sparse + found.dense + others, (), coordinates, picked)

    def _one(self, operator: Operator, found: Relation) -> Relation:
        region = operator.overlap
        inside = found if region is None else replace(found, values=self._region(operator, region, [found.values]))
        if operator.absent is None:
            return inside
        everywhere = self.spread(Relation((), (), np.zeros((1, 0), np.int64), np.zeros(1)), found.sparse)
        values = self._region(operator, operator.absent, [np.zeros(len(everywhere.values), inside.values.dtype)])
        everywhere = replace(everywhere, values=values)
        if region is None:
            return self._two(Operator("others", ("a", "b"), None, left=Access("a")), everywhere, found)
        return self._later(everywhere, inside)

    def _two(self, operator: Operator, left: Relation, right: Relation) -> Relation:
        names = tuple(sorted(left.variables | right.variables))
        sides = [self.spread(side, names) for side in (left, right)]
        keys = [keys_of(side, names, self._block.within) for side in sides]
        both, *at = np.intersect1d(keys[0], keys[1], assume_unique=True, return_indices=True)
        parts: list[tuple[Array, Array]] = []
        if operator.overlap is not None:
            values = self._region(operator, operator.overlap, [s.values[a] for s, a in zip(sides, at, strict=True)])
            parts.append((both, values))
        for place, region in enumerate((operator.left, operator.right)):
            if region is not None:
                alone = ~np.isin(keys[place], both)
                values = sides[place].values[alone]
                parts.append((keys[place][alone], self._region(operator, region, [values, values])))
        found = np.concatenate([keys for keys, _ in parts]) if parts else np.zeros(0, np.int64)
        joined = np.concatenate([values for _, values in parts]) if parts else np.zeros(0)
        return Relation(names, (), unpacked(found, names, self._block.within), joined)

    def _later(self, first: Relation, second: Relation) -> Relation:
        later = Operator("later", ("a", "b"), Access("b"), left=Access("a"), right=Access("b"))
        return self._two(later, first, second)

    def _selected(self, found: Relation, value: Expr, condition: Expr) -> Relation:
        read = [node for node in walk(condition) if isinstance(node, Access) and node != value]
        columns = {str(value): found.values}
        for node in read:
            other = self.spread(access(node, self._block))
            size = max(1, math.prod(self._block.within[name] for name in other.sparse))
            _check(size)
            full = np.zeros(size, other.values.dtype)
            full[keys_of(other, other.sparse, self._block.within)] = other.values
            columns[str(node)] = full[keys_of(found, other.sparse, self._block.within)]
        keep = self._evaluate(condition, columns) != 0
        return Relation(found.sparse, (), found.coordinates[keep], found.values[keep])

    def _folded(self, operator: Operator, names: tuple[str, ...], found: Relation) -> Relation:
        kept = tuple(name for name in found.sparse if name not in names)
        keys = keys_of(found, kept, self._block.within)
        order = np.argsort(keys, kind="stable")
        groups, starts, counts = np.unique(keys[order], return_index=True, return_counts=True)
        values = found.values[order]
        total = values[starts]
        for place in range(1, int(counts.max(initial=0))):
            more = np.flatnonzero(counts > place)
            assert operator.overlap is not None
            total = total.astype(np.result_type(total, values))
            total[more] = self._region(operator, operator.overlap, [total[more], values[starts[more] + place]])
        return Relation(kept, (), unpacked(groups, kept, self._block.within), total)

    def _region(self, operator: Operator, region: Expr, operands: list[Array]) -> Array:
        columns = dict(zip(operator.parameters, operands, strict=True))
        result = np.broadcast_to(np.asarray(self._evaluate(region, columns)), operands[0].shape)
        if region is operator.overlap and isinstance(operator.annihilator, Extreme) and self._dtype.kind in "iu":
            extreme = _number(operator.annihilator, self._dtype)
            stays = np.any([operand == extreme for operand in operands], axis=0)
            result = np.where(stays, extreme, result)
        return result


def _number(value: Any, dtype: np.dtype[Any]) -> Any:
    if not isinstance(value, Extreme):
        return value
    least, greatest = DType.of(dtype).limits
    return least if value is Extreme.LEAST else greatest


def _check(*sizes: int) -> None:
    if math.prod(sizes) > LIMIT:
        raise TooManyValues
