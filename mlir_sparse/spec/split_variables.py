"""Splits index variables whose quotients and remainders are all that definitions read of them.

In `K(i,j) = A(i / p, j / q) * B(i % p, j % q)` the variable i is a pair of variables, and a vector along i is a matrix
with rows of p elements. So `y(i) = K(i,j) * x(j)` is a product of three matrices.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field, replace
from functools import reduce

from mlir_sparse.classes import dataclass
from mlir_sparse.notation import (
    Access,
    Assignment,
    Binary,
    BinaryOp,
    Expr,
    IndexVar,
    Literal,
    Reduce,
    ReduceOp,
    Subscript,
    children,
    fresh_name,
    is_index_vector,
    reads,
    rebuild,
)

__all__ = ["RadixDigit", "SplitStatement", "split_variables"]

Splits = tuple[tuple[int, int], ...]
"""(axis, radix) of each axis that becomes two."""


@dataclass(frozen=True, slots=True)
class RadixDigit:
    """What a selection takes of the variable of its rows: the quotient by a radix, or the remainder.

    Args:
        radix: the divisor.
        is_quotient: whether it is the quotient.
    """

    radix: int
    is_quotient: bool


@dataclass(frozen=True, slots=True)
class SplitStatement:
    """A statement with pairs of variables in place of some.

    Args:
        assignment: the statement.
        operands: by name, the axes that become two.
        target: those of the result.
    """

    assignment: Assignment
    operands: Mapping[str, Splits]
    target: Splits


def split_variables(
    assignment: Assignment, digits: Mapping[str, RadixDigit], arrays: Collection[str]
) -> SplitStatement | None:
    """Returns a statement without selections of quotients and remainders; None where some must stay.

    Args:
        assignment: the statement.
        digits: by name, the selections of quotients and remainders, whose columns are all there are.
        arrays: the names of dense operands.

    >>> from mlir_sparse.notation import parse
    >>> text = "y(i) = sum(p : d(i,p) * a(p)) * sum(p1 : m(i,p1) * b(p1)) * x(i)"
    >>> found = split_variables(parse(text), {"d": RadixDigit(3, True), "m": RadixDigit(3, False)}, {"a", "b", "x"})
    >>> print(found.assignment, dict(found.operands))
    y(i1,i2) = a(i1) * b(i2) * x(i1,i2) {'x': ((0, 3),)}
    """
    rows: dict[IndexVar, set[int]] = {}
    for access in reads(assignment.value):
        if access.tensor in digits and isinstance(access.subscripts[0], IndexVar):
            rows.setdefault(access.subscripts[0], set()).add(digits[access.tensor].radix)
    if not rows or any(len(radices) > 1 for radices in rows.values()):
        return None
    taken = {v.name for v in assignment.indices} | {access.tensor for access in reads(assignment.value)}
    pairs = {v: (IndexVar(fresh_name(v.name, taken)), IndexVar(fresh_name(v.name, taken))) for v in rows}
    splitter = _Splitter(digits, arrays, pairs, {v: next(iter(radices)) for v, radices in rows.items()})
    value = splitter.split(assignment.value)
    target, axes = splitter.taken_apart(assignment.target)
    if splitter.fails or any(v in pairs for access in reads(value) for v in access.indices):
        return None
    left = {access.tensor for access in reads(value)} & set(digits)
    if left:
        return None
    operands = {name: found for name, found in splitter.operands.items() if found}
    if assignment.op.reads_target:
        if axes and target.tensor not in arrays:
            return None
        operands |= {target.tensor: axes} if axes else {}
    return SplitStatement(replace(assignment, target=target, value=value, source=None), operands, axes)


@dataclass(slots=True)
class _Splitter:
    digits: Mapping[str, RadixDigit]
    arrays: Collection[str]
    pairs: Mapping[IndexVar, tuple[IndexVar, IndexVar]]
    radices: Mapping[IndexVar, int]
    operands: dict[str, Splits] = field(default_factory=dict)
    fails: bool = False

    def split(self, node: Expr) -> Expr:
        """Returns an expression with pairs in place of variables; sets `fails` where there is none."""
        match node:
            case Reduce(ReduceOp.SUM, indices, body):
                return self._reduce(node, indices, body)
            case Reduce(op, indices):
                # Which of a pair's values is greatest is no position of what was split.
                self.fails |= op.finds and any(v in self.pairs for v in indices)
                each = (self.pairs.get(v, (v,)) for v in indices)
                return replace(node, indices=tuple(v for pair in each for v in pair), body=self.split(node.body))
            case Access():
                return self._access(node)
            case _:
                return rebuild(node, tuple(map(self.split, children(node))))

    def _reduce(self, node: Reduce, indices: tuple[IndexVar, ...], body: Expr) -> Expr:
        columns: dict[IndexVar, Subscript] = {}
        rest: list[Expr] = []
        for factor in _factors(body):
            match factor:
                case Access(tensor, (IndexVar() as row, IndexVar() as column)) if (
                    tensor in self.digits and row in self.pairs and column in indices and column not in columns
                ):
                    columns[column] = self.pairs[row][0 if self.digits[tensor].is_quotient else 1]
                case _:
                    rest.append(factor)
        product = reduce(lambda a, b: Binary(BinaryOp.MUL, a, b), map(self.split, rest)) if rest else Literal(1)
        placed = _placed(product, columns) if columns else product
        own = tuple(self.pairs.get(v, (v,)) for v in indices if v not in columns)
        left = tuple(variable for each in own for variable in each)
        return replace(node, indices=left, body=placed) if left else placed

    def _access(self, node: Access) -> Access:
        if not any(v in self.pairs for v in node.indices):
            if self.operands.setdefault(node.tensor, ()):
                self.fails = True
            return node
        # A variable that is read as a value stays one.
        if node.tensor in self.digits or node.tensor not in self.arrays or is_index_vector(node.tensor):
            self.fails = True
            return node
        found, axes = self.taken_apart(node)
        if self.operands.setdefault(node.tensor, axes) != axes:
            self.fails = True
        return found

    def taken_apart(self, node: Access) -> tuple[Access, Splits]:
        """Returns an access at pairs of variables, and the axes that these are."""
        subscripts: list[Subscript] = []
        axes: list[tuple[int, int]] = []
        for axis, subscript in enumerate(node.subscripts):
            if isinstance(subscript, IndexVar) and subscript in self.pairs:
                subscripts += self.pairs[subscript]
                axes.append((axis, self.radices[subscript]))
            else:
                subscripts.append(subscript)
        return replace(node, subscripts=tuple(subscripts)), tuple(axes)


def _factors(node: Expr) -> list[Expr]:
    if isinstance(node, Binary) and node.op is BinaryOp.MUL:
        return [*_factors(node.left), *_factors(node.right)]
    return [node]


def _placed(node: Expr, places: Mapping[IndexVar, Subscript]) -> Expr:
    """Returns an expression with other variables; no sum in it binds these."""
    if isinstance(node, Access):
        return replace(
            node, subscripts=tuple(places.get(s, s) if isinstance(s, IndexVar) else s for s in node.subscripts)
        )
    return rebuild(node, tuple(_placed(child, places) for child in children(node)))
