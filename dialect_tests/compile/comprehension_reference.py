"""What a comprehension means, one element at a time: every result is compared with this.

It shares the parser and the nodes with the compiler, and nothing after them. Ranges
are found by trying numbers: a variable's are those at which no read leaves its
tensor, whatever the variables do whose ranges are known.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from mlir_sparse.notation import (
    Access,
    AffineSubscript,
    Assignment,
    AssignOp,
    Binary,
    BinaryOp,
    Call,
    Comprehension,
    Expr,
    IndexVar,
    Literal,
    Negate,
    Subscript,
    walk,
)

__all__ = ["InfiniteError", "RefusedError", "evaluate"]

Array = np.ndarray[Any, Any]
Numbers = Mapping[str, int]

# Further than any subscript of a test reaches.
_FAR = 40


class RefusedError(Exception):
    """A program without a meaning on the data at hand."""


class InfiniteError(Exception):
    """A program some of whose values are not finite."""


class UnrangedError(RefusedError):
    """A statement that by itself does not say where its variables run."""


_OPERATORS: dict[BinaryOp, Callable[[float, float], float]] = {
    BinaryOp.ADD: operator.add,
    BinaryOp.SUB: operator.sub,
    BinaryOp.MUL: operator.mul,
}
_MEET: dict[AssignOp, Callable[[float, float], float]] = {
    AssignOp.ADD: operator.add,
    AssignOp.REDUCE_ADD: operator.add,
    AssignOp.ASSIGN: operator.add,
    AssignOp.REDUCE_MAX: max,
    AssignOp.REDUCE_MIN: min,
    AssignOp.MUL: operator.mul,
    AssignOp.MAX: max,
    AssignOp.MIN: min,
}
_START = {
    AssignOp.REDUCE_MAX: -math.inf,
    AssignOp.REDUCE_MIN: math.inf,
    AssignOp.MUL: 1.0,
    AssignOp.MAX: -math.inf,
    AssignOp.MIN: math.inf,
}


def evaluate(program: Comprehension, operands: Mapping[str, Array]) -> dict[str, Array]:
    """Returns every tensor of a program in f64.

    Raises:
        RefusedError: where a variable has no range, leaves a tensor, or leaves elements without values.
        InfiniteError: where a statement assigns what is not finite, as the greatest of nothing: where a factor
            stands before or after a sum, and what sparse iteration skips, matters then.
    """
    values = {name: np.asarray(array, np.float64) for name, array in operands.items()}
    sizes: dict[str, int] = {}
    for parameter in program.parameters:
        for size, extent in zip(parameter.sizes or (), values[parameter.name].shape, strict=True):
            if sizes.setdefault(str(size), extent) != extent:
                raise RefusedError(f"two values of {size}")
    ranges, shapes = _all_ranges(program, values, sizes)
    for number, statement in enumerate(program.statements):
        shape = shapes[statement.target.tensor]
        assigned = _assigned(statement, ranges[number], shape, values, sizes)
        if not np.isfinite(assigned).all():
            raise InfiniteError
        values[statement.target.tensor] = assigned
    return values


def _all_ranges(
    program: Comprehension, operands: Mapping[str, Array], sizes: Numbers
) -> tuple[list[dict[str, range]], dict[str, tuple[int, ...]]]:
    """Returns where the variables of each statement run, and shapes; a statement may need what a later one gives."""
    known = dict(operands)
    found: dict[int, dict[str, range]] = {}
    while len(found) < len(program.statements):
        before = len(found)
        for number, statement in enumerate(program.statements):
            own = statement.target.tensor
            read = {node.tensor for node in walk(statement.value) if isinstance(node, Access)} - {own} - sizes.keys()
            if number in found or not read <= known.keys():
                continue
            try:
                found[number] = _ranges(statement, known, sizes)
            except UnrangedError:
                continue
            shape = tuple(found[number][index.name].stop for index in statement.target.indices)
            known.setdefault(own, np.zeros(shape))
        if len(found) == before:
            raise RefusedError("some statement says not where its variables run")
    return [found[number] for number in range(len(found))], {name: array.shape for name, array in known.items()}


def _assigned(
    statement: Assignment,
    ranges: Mapping[str, range],
    shape: tuple[int, ...],
    values: Mapping[str, Array],
    sizes: Numbers,
) -> Array:
    kept = [index.name for index in statement.target.indices]
    summed = sorted(_names(statement.value) - set(kept))
    present = values.get(statement.target.tensor)
    named = {clause.variable.name for clause in statement.ranges}
    for name, size in zip(kept, shape, strict=True):
        whole = range(size) == ranges[name] or (not size and not ranges[name])
        if not whole and (present is None or name not in named or ranges[name].stop > size):
            raise RefusedError(f"{name} runs over {ranges[name]} of {size}")
    result = np.full(shape, np.nan) if present is None else present.copy()
    for point in itertools.product(*(ranges[name] for name in kept)):
        at = dict(zip(kept, point, strict=True))
        total = _START.get(statement.op, 0.0)
        for rest in itertools.product(*(ranges[name] for name in summed)):
            total = _MEET[statement.op](
                total, _value(statement.value, at | dict(zip(summed, rest, strict=True)), values, sizes)
            )
        meets = statement.op.reads_target and present is not None
        result[point] = _MEET[statement.op](present[point], total) if meets else total
    return result


def _accesses(statement: Assignment, values: Mapping[str, Array], sizes: Numbers) -> Iterator[Access]:
    for node in (*walk(statement.value), *statement.exists, *([statement.target] if statement.op.reads_target else [])):
        if isinstance(node, Access) and node.tensor in values and node.tensor not in sizes:
            yield node


def _names(node: Expr) -> set[str]:
    return {index.name for below in walk(node) if isinstance(below, Access) for index in below.indices}


def _ranges(statement: Assignment, values: Mapping[str, Array], sizes: Numbers) -> dict[str, range]:
    found = _asked(statement, sizes)
    axes = [pair for access in _accesses(statement, values, sizes) for pair in _axes(access, values)]
    own = list(_axes(statement.target, values))
    kept = {index.name for index in statement.target.indices}
    while missing := [index.name for index in statement.indices if index.name not in found]:
        new = _round(missing, axes, found, kept, sizes) or _round(missing, own, found, kept, sizes)
        if not new:
            raise UnrangedError(f"no range for {missing[0]}")
        found |= new
    for subscript, size in (*(p for a in _accesses(statement, values, sizes) for p in _axes(a, values)), *own):
        reached = _reached(subscript, found, sizes) if all(found[name] for name in _variables(subscript)) else [0]
        if all(found[name] for name in _variables(subscript)) and (min(reached) < 0 or max(reached) >= size):
            raise RefusedError(f"{subscript} leaves {size}")
    _check_clauses(statement, values, sizes)
    return found


def _asked(statement: Assignment, sizes: Numbers) -> dict[str, range]:
    found = {}
    for clause in statement.ranges:
        low = _at(clause.low, {}, sizes)
        found[clause.variable.name] = range(low, max(low, _at(clause.high, {}, sizes)))
    return found


def _round(
    missing: list[str],
    axes: list[tuple[Subscript, int]],
    known: dict[str, range],
    kept: set[str],
    sizes: Numbers,
) -> dict[str, range]:
    found = {}
    for name in missing:
        limits = [_allowed(name, s, size, known, sizes) for s, size in axes if _unknown(s, known) == {name}]
        if limits:
            low, high = max(limit[0] for limit in limits), min(limit[1] for limit in limits)
            low = max(0, low) if name in kept else low
            empty = 0 if name in kept else low
            found[name] = range(low, high) if high > low else range(empty, empty)
    return found


def _check_clauses(statement: Assignment, values: Mapping[str, Array], sizes: Numbers) -> None:
    asked = _asked(statement, sizes)
    accesses = [*_accesses(statement, values, sizes), statement.target]
    for subscript, size in (pair for access in accesses for pair in _axes(access, values)):
        named = set(_variables(subscript)) & asked.keys()
        if named and all(asked[name] for name in named):
            others = {name: range(1) for name in _variables(subscript) if name not in asked}
            reached = _reached(subscript, asked | others, sizes)
            if max(reached) - min(reached) >= size:
                raise RefusedError(f"{subscript} is longer than {size}")


def _axes(access: Access, values: Mapping[str, Array]) -> Iterator[tuple[Subscript, int]]:
    if access.tensor in values:
        yield from zip(access.subscripts, values[access.tensor].shape, strict=True)


def _unknown(subscript: Subscript, known: Mapping[str, range]) -> set[str]:
    return {name for name in _variables(subscript) if name not in known}


def _variables(subscript: Subscript) -> list[str]:
    return [index.name for index in Access("any", (subscript,)).indices]


def _reached(subscript: Subscript, ranges: Mapping[str, range], sizes: Numbers) -> list[int]:
    names = _variables(subscript)
    # What runs nowhere counts as its first value, so that it does not hide what others do.
    spans = [ranges[name] or range(ranges[name].start, ranges[name].start + 1) for name in names]
    return [_at(subscript, dict(zip(names, point, strict=True)), sizes) for point in itertools.product(*spans)]


def _allowed(name: str, subscript: Subscript, size: int, known: Mapping[str, range], sizes: Numbers) -> tuple[int, int]:
    """Returns the first value of a variable at which a subscript stays inside, and the one after the last.

    Where it stays inside nowhere, as in an axis of no elements, the first is where it no
    longer leaves by the side from which greater values lead in: so what depends on the
    variable has the range that it has in the limit.
    """
    reached = {
        value: _reached(subscript, {**known, name: range(value, value + 1)}, sizes) for value in range(-_FAR, _FAR)
    }
    below = {value for value, places in reached.items() if min(places) < 0}
    above = {value for value, places in reached.items() if max(places) >= size}
    # Whether the subscript grows with the variable: then small values leave it below.
    before, after = (below, above) if min(reached[_FAR - 1]) > min(reached[-_FAR]) else (above, below)
    return max(before) + 1, min(after)


def _at(subscript: Subscript, point: Numbers, sizes: Numbers) -> int:
    match subscript:
        case IndexVar(name):
            return point[name]
        case AffineSubscript(terms, constant, symbolic=symbolic):
            total = constant + sum(factor * point[variable.name] for factor, variable in terms)
            for factor, names, variable in symbolic:
                total += factor * math.prod(sizes[name] for name in names) * (point[variable.name] if variable else 1)
            return total
    raise AssertionError(subscript)


def _value(node: Expr, point: Numbers, values: Mapping[str, Array], sizes: Numbers) -> float:
    match node:
        case Access(tensor) if tensor in sizes:
            return float(sizes[tensor])
        case Access(tensor, subscripts):
            return float(values[tensor][tuple(_at(s, point, sizes) for s in subscripts)])
        case Literal(value):
            return float(value.real)
        case Negate(operand):
            return -_value(operand, point, values, sizes)
        case Binary(op, left, right):
            return _OPERATORS[op](_value(left, point, values, sizes), _value(right, point, values, sizes))
        case Call("max", (left, right)):
            return max(_value(left, point, values, sizes), _value(right, point, values, sizes))
    raise AssertionError(node)
