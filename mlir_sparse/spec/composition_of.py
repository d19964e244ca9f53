"""What a defined tensor is in statements: its definition, with sparse selections in place of gathers and conditions.

`B(P(i), j)` is the sum over p of a matrix that has an entry at each (i, P(i)), times B(p, j), and so is any value where
`c(i) == j`. So the search for the best plan sees products of tensors, which it knows how to order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import reduce

from mlir_sparse.classes import dataclass
from mlir_sparse.notation import (
    Access,
    Apply,
    Binary,
    BinaryOp,
    Call,
    Composition,
    Expr,
    Fold,
    IndexFormula,
    IndexVar,
    Literal,
    Negate,
    Reduce,
    ReduceOp,
    children,
    fresh_name,
    reads,
    rebuild,
    walk,
    with_explicit_sums,
)
from mlir_sparse.spec.logical_tensor import LogicalTensor, as_formula, conjuncts, is_condition

__all__ = ["ComposedTensor", "EntriesOfPattern", "Selection", "composition_of"]


@dataclass(frozen=True, slots=True)
class Selection:
    """A tensor with an entry of 1 for each of its rows, at the column that a formula says.

    Args:
        formula: the column, by the variables of the rows.
        shape: the extents of the rows, and of the columns.
        of: the tensor whose axis is gathered from, out of which no column may be; "" where rows whose column is out
            of range have no entry.
        axis: the axis.
    """

    formula: IndexFormula
    shape: tuple[int, ...]
    of: str = ""
    axis: int = 0


@dataclass(frozen=True, slots=True)
class EntriesOfPattern:
    """A sparse tensor with entries where a condition on its indices holds, gathered from an array.

    Args:
        condition: the condition, by the variables of the dimensions.
        shape: the extents.
        read: the access whose elements the entries are.
    """

    condition: IndexFormula
    shape: tuple[int, ...]
    read: Access


@dataclass(frozen=True, slots=True)
class ComposedTensor:
    """A defined tensor as statements read it.

    Args:
        composition: its elements; None where it is made first whatever the statement.
        reason: why it is.
        selections: by name, the selections that the composition reads.
        patterns: by name, likewise.
        open_axes: the axes whose extents no tensor of the composition has.
    """

    composition: Composition | None
    reason: str = ""
    selections: Mapping[str, Selection] = field(default_factory=dict)
    patterns: Mapping[str, EntriesOfPattern] = field(default_factory=dict)
    open_axes: tuple[int, ...] = ()


def composition_of(logical: LogicalTensor) -> ComposedTensor:
    """Returns what a defined tensor is in statements."""
    assignment = with_explicit_sums(logical.assignment)
    if logical.kind.dtype.is_truth:
        return ComposedTensor(None, "its elements are truth values, whose sums count")
    if any(isinstance(node, Apply | Fold) for node in walk(assignment.value)):
        return ComposedTensor(None, "it applies operators to stored entries")
    rewriting = _Selecting(logical)
    value = rewriting.linear(assignment.value)
    variables = logical.assignment.target.indices
    there = {s for access in reads(value) for s in access.subscripts if isinstance(s, IndexVar)}
    open_axes = tuple(axis for axis, variable in enumerate(variables) if variable not in there)
    return ComposedTensor(Composition(variables, value), "", rewriting.selections, rewriting.patterns, open_axes)


class _Selecting:
    """Puts selections in place of gathers and conditions.

    Args:
        logical: the tensor.
    """

    def __init__(self, logical: LogicalTensor) -> None:
        self._logical = logical
        self.selections: dict[str, Selection] = {}
        self.patterns: dict[str, EntriesOfPattern] = {}
        accesses = list(reads(logical.assignment.value))
        self._taken = {access.tensor for access in accesses} | {v.name for v in logical.extents}
        self._formulas = {name: one.formula for name, one in logical.formulas.items()}

    def linear(self, node: Expr) -> Expr:
        """Returns a sum of products with selections as factors; other expressions have them in gathers only."""
        match node:
            case Call("where", (condition, value, _)) if is_condition(node):
                return self._where(condition, value)
            case Negate() | Binary(BinaryOp.ADD | BinaryOp.SUB | BinaryOp.MUL) | Reduce(ReduceOp.SUM):
                return rebuild(node, tuple(map(self.linear, children(node))))
            case _:
                return self._gathers(node)

    def _gathers(self, node: Expr) -> Expr:
        if isinstance(node, Access):
            return self._gathered(node)
        return rebuild(node, tuple(map(self._gathers, children(node))))

    # -- conditions ----------------------------------------------------------------------------------------------

    def _where(self, condition: Expr, value: Expr) -> Expr:
        pattern = self._pattern(condition, value)
        if pattern is not None:
            return pattern
        factors: list[Expr] = []
        rest: list[Expr] = []
        for one in conjuncts(condition):
            selection = self._equality(one)
            (rest if selection is None else factors).append(one if selection is None else selection)
        body = self.linear(value) if factors else self._gathers(value)
        if rest:
            joined = reduce(lambda a, b: Binary(BinaryOp.AND, a, b), map(self._gathers, rest))
            body = Call("where", (joined, body, Literal(0)))
        if not (factors and isinstance(body, Literal) and body.value == 1):
            factors.append(body)
        return reduce(lambda a, b: Binary(BinaryOp.MUL, a, b), factors)

    def _equality(self, condition: Expr) -> Access | None:
        """Returns the selection of an equality of a variable and a formula without it."""
        if not (isinstance(condition, Binary) and condition.op is BinaryOp.EQ):
            return None
        for other, side in ((condition.left, condition.right), (condition.right, condition.left)):
            column = self._variable(side)
            formula = as_formula(other, self._formulas, self._logical.types)
            if column is None or formula is None:
                continue
            rows = tuple(dict.fromkeys(v for a in reads(other) for v in a.indices))
            if column not in rows and len(rows) < 2:
                return self._selection(IndexFormula(rows, formula), column)
        return None

    def _variable(self, node: Expr) -> IndexVar | None:
        """Returns the variable whose values a node reads."""
        if not (isinstance(node, Access) and node.tensor in self._formulas):
            return None
        match self._formulas[node.tensor]:
            case IndexFormula((variable,), Access(name, ())) if name == variable.name:
                return variable if node.subscripts == (variable,) else None
            case _:
                return None

    def _pattern(self, condition: Expr, value: Expr) -> Access | None:
        """Returns the entries of an array that is gathered from where a condition on indices alone holds."""
        if not (isinstance(value, Access) and any(self._is_wide(s) for s in value.subscripts)):
            return None
        formula = as_formula(condition, self._formulas, self._logical.types)
        variables = tuple(dict.fromkeys(v for a in reads(value) for v in a.indices))
        used = {v for a in reads(condition) for v in a.indices}
        arrays = {a.tensor for a in reads(value)} - set(self._formulas)
        dense = all(self._logical.types[name].encoding is None for name in arrays)
        if formula is None or not dense or not used <= set(variables) or len(variables) != 2:
            return None
        name = fresh_name(f"{value.tensor}_entries", self._taken)
        shape = tuple(self._logical.extents[v] for v in variables)
        self.patterns[name] = EntriesOfPattern(IndexFormula(variables, formula), shape, value)
        return Access(name, variables)

    def _is_wide(self, subscript: object) -> bool:
        return isinstance(subscript, Access) and subscript.tensor in self._formulas and len(subscript.subscripts) > 1

    # -- gathers -------------------------------------------------------------------------------------------------

    def _gathered(self, node: Access) -> Expr:
        """Returns a gather of rows as a product with selections; one of numbers stays as it is."""
        if len(node.subscripts) < 2 or not any(isinstance(s, Access) for s in node.subscripts):
            return node
        if self._logical.types[node.tensor].dtype.is_truth:
            return node
        factors: list[Expr] = []
        subscripts, columns = list(node.subscripts), []
        for axis, subscript in enumerate(node.subscripts):
            formula = self._rows(subscript)
            if formula is not None:
                column = IndexVar(fresh_name("p", self._taken))
                extent = self._logical.types[node.tensor].shape[axis]
                assert extent is not None
                factors.append(self._selection(formula, column, extent, node.tensor, axis))
                subscripts[axis] = column
                columns.append(column)
        if not columns:
            return node
        body = Access(node.tensor, tuple(subscripts))
        product = reduce(lambda a, b: Binary(BinaryOp.MUL, a, b), [*factors, body])
        return Reduce(ReduceOp.SUM, tuple(columns), product)

    def _rows(self, subscript: object) -> IndexFormula | None:
        """Returns a subscript that is gathered by one variable as a formula."""
        if not (isinstance(subscript, Access) and len(subscript.indices) == 1):
            return None
        variable = subscript.indices[0]
        if subscript.subscripts != (variable,):
            return None
        guarded = self._logical.formulas.get(subscript.tensor)
        if guarded is None:
            return IndexFormula((variable,), subscript)
        return guarded.formula if not guarded.guards else None

    def _selection(
        self, formula: IndexFormula, column: IndexVar, extent: int | None = None, of: str = "", axis: int = 0
    ) -> Access:
        extents = self._logical.extents
        shape = (*(extents[v] for v in formula.variables), extents[column] if extent is None else extent)
        found = Selection(formula, shape, of, axis)
        for name, other in self.selections.items():
            if other == found:
                return Access(name, (*formula.variables, column))
        read = [a.tensor for a in reads(formula.value) if a.subscripts]
        name = fresh_name(f"{read[0]}_selected" if len(read) == 1 else f"{column.name}_selected", self._taken)
        self.selections[name] = found
        return Access(name, (*formula.variables, column))
