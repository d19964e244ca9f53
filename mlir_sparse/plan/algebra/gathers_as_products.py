"""Gathered rows as products: `A(P(i), j)` is the sum over p of a matrix with an entry of 1 at each (i, P(i)), times
A(p, j).

So the search meets them as products of tensors, and may place a sum before a gather: `y(i) = A(P(i), j) * x(j)` is a
product by the whole of A, of which elements are taken. What it finds is brought back to gathers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import AxisSketch, Encoding, Sketch, TensorType, encoding
from mlir_sparse.machine import machine_profile
from mlir_sparse.notation import (
    Access,
    Assignment,
    Expr,
    IndexVar,
    NoCompositionError,
    Reduce,
    ReduceOp,
    accesses_of,
    gathered_sums,
    product_of,
    reads,
    substitute,
)
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts
from mlir_sparse.spec import Part, Rewriting
from mlir_sparse.text.identifiers import generated_name

__all__ = ["GathersAsProducts", "gathers_as_products"]


@dataclass(frozen=True, slots=True)
class _Selection:
    """The matrix that stands for a subscript.

    Args:
        places: the array of integers.
        of: the tensor that is gathered from.
        axis: along which of its axes.
        column: the name of the variable that runs over it.
    """

    places: str
    of: str
    axis: int
    column: str


@dataclass(frozen=True, slots=True)
class GathersAsProducts:
    """A statement with products in place of gathers.

    Args:
        assignment: the statement.
        selections: by name, the matrices that stand for subscripts.
    """

    assignment: Assignment
    selections: Mapping[str, _Selection]

    def facts(self, known: Mapping[str, TensorFacts]) -> dict[str, TensorFacts]:
        """Returns what is known of the tensors that the statement reads.

        Args:
            known: what is known of those with gathers in it.
        """
        if not self.selections:
            return dict(known)
        names = {access.tensor for access in self.assignment.reads}
        found = {name: one for name, one in known.items() if name in names}
        return found | {name: _facts_of(one, known) for name, one in self.selections.items()}

    def restored(self, rewriting: Rewriting) -> Rewriting | None:
        """Returns a way to compute the statement with its gathers; None where one would have no place to be."""
        if not self.selections:
            return rewriting
        taken = {name for value in _values(rewriting) for name in _names(value)}
        try:
            parts = tuple(self._part(part, taken) for part in rewriting.parts)
            axes = tuple((one.column, one.of, one.axis) for one in self.selections.values())
            value = self._gathered(rewriting.value, taken)
            found = replace(rewriting, parts=parts, value=value, gathered=axes)
        except NoCompositionError:
            return None
        left = {access.tensor for value in _values(found) for access in reads(value)}
        return found if left.isdisjoint(self.selections) else None

    def _part(self, part: Part, taken: set[str]) -> Part:
        if not any(access.tensor in self.selections for access in reads(part.value)):
            return part
        return replace(part, value=self._gathered(part.value, taken), order=None)

    def time(self, written: Assignment, known: Mapping[str, TensorFacts]) -> float:
        """Returns how many nanoseconds the rows take that a statement gathers; single elements count as looked up.

        Args:
            written: the statement with gathers in it.
            known: what is known of the tensors that it reads.
        """
        found = 0.0
        if not _gathers(written):
            return found
        for access in accesses_of(written.value):
            one = known.get(access.tensor)
            if access.gathers and one is not None and len(access.subscripts) > 1:
                rows = prod(known[s.tensor].sketch.entries for s in access.subscripts if isinstance(s, Access))
                sizes = zip(one.sketch.shape, access.subscripts, strict=True)
                all_rows = prod(size for size, place in sizes if isinstance(place, Access))
                found += 2 * machine_profile().times.fresh_write * rows * one.sketch.entries / max(1, all_rows)
        return found

    def _gathered(self, value: Expr, taken: set[str]) -> Expr:
        return gathered_sums(value, {name: one.places for name, one in self.selections.items()}, taken)


def _values(rewriting: Rewriting) -> Iterator[Expr]:
    yield rewriting.value
    yield from (part.value for part in rewriting.parts)


def _names(value: Expr) -> Iterator[str]:
    for access in reads(value):
        yield access.tensor
        yield from (variable.name for variable in access.indices)


def _facts_of(one: _Selection, known: Mapping[str, TensorFacts]) -> TensorFacts:
    """Returns what is known of a selection: as many entries in each column, as far as one knows."""
    rows, columns = known[one.places].sketch.shape[0], known[one.of].sketch.shape[one.axis]
    entries, distinct = float(rows), float(min(rows, columns))
    each = entries / max(1.0, distinct)
    axes = AxisSketch(entries, 1.0, entries), AxisSketch(distinct, each, entries * each)
    return TensorFacts(TensorType(known[one.of].kind.dtype, (None, None), _CSR), Sketch((rows, columns), entries, axes))


_CSR: Encoding = encoding("CSR")


def gathers_as_products(assignment: Assignment, types: Mapping[str, TensorType]) -> GathersAsProducts:
    """Returns a statement in which products stand for gathers of rows, where they can.

    Args:
        assignment: the statement with explicit sums.
        types: the types of the tensors that it reads.

    >>> from mlir_sparse.notation import parse, with_explicit_sums
    >>> types = {"A": "f64[?,?] CSR", "P": "i64[?]", "x": "f64[?]"}
    >>> kinds = {name: TensorType.parse(text) for name, text in types.items()}
    >>> found = gathers_as_products(with_explicit_sums(parse("y(i) = A(P(i), j) * x(j)")), kinds)
    >>> print(found.assignment)
    y(i) = sum(j : sum(A.p : A.P.selected(i,A.p) * A(A.p,j)) * x(j))
    """
    if not _gathers(assignment):
        return GathersAsProducts(assignment, {})
    gathered = [one for one in accesses_of(assignment.value) if one.gathers and len(one.subscripts) > 1]
    taken = {variable.name for variable in assignment.indices}
    selections: dict[str, _Selection] = {}
    instead: dict[Access, Expr] = {}
    for access in gathered:
        product = _product(access, types, selections, taken)
        if product is not None:
            instead[access] = product
    value = substitute(assignment.value, instead) if instead else assignment.value
    return GathersAsProducts(replace(assignment, value=value), selections)


def _gathers(assignment: Assignment) -> bool:
    """Returns whether a statement reads rows at places that a tensor has."""
    for access in assignment.reads:  # each plan asks, and no statement that gathers nothing needs a search for it
        for subscript in access.subscripts:
            if isinstance(subscript, Access):
                return True
    return False


def _product(
    access: Access, types: Mapping[str, TensorType], selections: dict[str, _Selection], taken: set[str]
) -> Expr | None:
    if not all(isinstance(s, IndexVar) or _is_plain(s, types) for s in access.subscripts):
        return None
    factors: list[Expr] = []
    subscripts, columns = list(access.subscripts), []
    for axis, place in enumerate(access.subscripts):
        if isinstance(place, Access):
            column = IndexVar(generated_name(access.tensor, "p", taken))
            taken.add(column.name)
            # `S.index` alone would be the name of the vector that stands for a variable S as a value.
            name = generated_name(access.tensor, f"{place.tensor}.selected", selections)
            selections[name] = _Selection(place.tensor, access.tensor, axis, column.name)
            factors.append(Access(name, (*place.indices, column)))
            subscripts[axis] = column
            columns.append(column)
    factors.append(Access(access.tensor, tuple(subscripts)))
    return Reduce(ReduceOp.SUM, tuple(columns), product_of(factors))


def _is_plain(place: object, types: Mapping[str, TensorType]) -> bool:
    """Returns whether a subscript is an element of an array at a variable."""
    if not (isinstance(place, Access) and len(place.subscripts) == 1):
        return False
    return isinstance(place.subscripts[0], IndexVar) and types[place.tensor].encoding is None
