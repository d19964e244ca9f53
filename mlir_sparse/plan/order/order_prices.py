"""The price of each loop order of a nest: its loop steps and the conversions of operands that rule it out.

Thousands of orders are compared, so that what they share is made once: an operand that is converted gets plain storage,
which differs between orders in its outermost level alone to the estimates, and no type is made of an order that is not
taken. Loops are numbers while orders are compared, as numbers are found in tables in a tenth of the time of variables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Access, Expr, IndexVar, accesses_of, replace_accesses
from mlir_sparse.plan.cost import conversion_cost, entries, meeting_lengths, trip_counts
from mlir_sparse.plan.order.loop_choice import NestToOrder
from mlir_sparse.plan.order.scattered_masks import scattered_in
from mlir_sparse.plan.order.storage_choice import (
    can_co_iterate,
    can_insert_into,
    can_iterate_alone,
    is_sparse,
    level_variables,
    ordered_as,
)

__all__ = ["LoopNumbers", "OrderPrices", "OrderedOperand", "Price", "stays_in_bounds"]

# The cost of a strided access in the innermost loop; far below any relevant difference in loop steps.
_STRIDED = 0.05
# The cost of a result row gathered in a workspace, relative to an appended one.
_WORKSPACE = 1.5
# The same if a mask leaves few entries, and its row is looked up.
_SCATTERED = 1.2

LoopNumbers = tuple[int, ...]
"""Loops by their places in the text: those of the result, then the reductions."""

# By operand the first dimension of its storage if it is converted, else -1.
_Roots = tuple[int, ...]


class Price(NamedTuple):
    """What an order costs.

    Args:
        cost: estimated loop steps, conversions included.
        meetings: how many coordinates of lists loops meet, by estimate.
        order: the loops, outermost first.
        converted: the operands that are converted.
        in_order: whether the sparsifier keeps the order.
    """

    cost: float
    meetings: float
    order: LoopNumbers
    converted: tuple[Access, ...]
    in_order: bool


@dataclass(frozen=True, slots=True)
class OrderedOperand:
    """A sparse operand with the orders that it allows.

    Args:
        access: its access.
        kind: its type.
        levels: the loops of its levels; None if it always has to be converted.
        dims: for each loop that it reads, the first dimension that it is the subscript of.
    """

    access: Access
    kind: TensorType
    levels: LoopNumbers | None
    dims: Mapping[int, int]

    def root(self, order: LoopNumbers, places: Sequence[int]) -> int:
        """Returns the dimension that is outermost after a conversion for an order; -1 if there is none."""
        if self.levels is not None and _follows(self.levels, places):
            return -1
        dims = self.dims
        for loop in order:
            if loop in dims:
                return dims[loop]
        raise AssertionError("affine subscripts of sparse operands are made dense before")


@dataclass(frozen=True, slots=True)
class _Work:
    """The work of the loops after some conversions, for any order.

    Args:
        trip_counts: the number of iterations of each loop for one iteration of those around it.
        met: how many coordinates of lists one walk over each loop meets.
        converted: the operands that are converted.
        cost: the cost of the conversions.
        kept: the factor by which loops are longer than the storage suggests.
        in_order: whether the sparsifier keeps the given order.
    """

    trip_counts: Sequence[float]
    met: Sequence[float]
    converted: tuple[Access, ...]
    cost: float
    kept: float
    in_order: bool


@dataclass(frozen=True, slots=True)
class OrderPrices:
    """The prices of the orders of a nest.

    Args:
        nest: the loops.
        types: the types of the operands, by name.
        sparse: the sparse operands.
        strided: by innermost loop, the number of arrays that it reads or writes with a stride.
        output: the loops of the levels of the storage asked for, if loops can insert into it.
        seen: a cache of work by conversions.
        masks: a cache of whether a mask is looked up, by conversions and the two innermost loops.
    """

    nest: NestToOrder
    types: Mapping[str, TensorType]
    sparse: tuple[OrderedOperand, ...]
    strided: Sequence[int]
    output: LoopNumbers | None
    seen: dict[_Roots, _Work] = field(default_factory=dict)
    masks: dict[tuple[_Roots, int, int], bool] = field(default_factory=dict)

    @classmethod
    def of(cls, nest: NestToOrder, types: Mapping[str, TensorType]) -> OrderPrices:
        """Returns the prices of a nest with operands of some types, by name."""
        reads, loops = accesses_of(nest.payload), nest.variables + nest.reductions
        numbers = {variable: number for number, variable in enumerate(loops)}
        sparse = [access for access in reads if is_sparse(types[access.tensor])]
        alone = len(sparse) == 1 and not nest.sparse
        operands = tuple(_operand(nest, access, types[access.tensor], numbers, alone=alone) for access in sparse)
        dense = [access.subscripts for access in reads if types[access.tensor].encoding is None]
        arrays = dense if nest.sparse else [*dense, nest.variables]
        strided = [sum(loop in subscripts[:-1] for subscripts in arrays) for loop in loops]
        inserts = nest.sparse and nest.output is not None and can_insert_into(nest.output)
        return cls(nest, types, operands, strided, nest.output.level_order if inserts and nest.output else None)

    @property
    def loops(self) -> tuple[IndexVar, ...]:
        """The loops in the order of the text."""
        return self.nest.variables + self.nest.reductions

    def order(self, price: Price) -> tuple[IndexVar, ...]:
        """Returns the order of a price, outermost first."""
        return tuple(self.loops[loop] for loop in price.order)

    def accumulates(self, order: LoopNumbers) -> bool:
        """Returns whether reductions in an order accumulate into the values of earlier ones."""
        return not self.nest.overwrites or self.nest.accumulates(tuple(self.loops[loop] for loop in order))

    def each(self, orders: Iterable[LoopNumbers]) -> list[Price]:
        """Returns the prices of those orders that can insert into the result."""
        return [price for order in orders if (price := self.price(order)) is not None]

    def price(self, order: LoopNumbers) -> Price | None:
        """Returns the price of an order; None if it cannot insert into the result."""
        nest = self.nest
        if nest.sparse and not self._can_insert(order):
            return None
        places = _places(order)
        roots = tuple([operand.root(order, places) for operand in self.sparse])
        work = self.seen.get(roots) or self._work(roots, order)
        counts, lengths = work.trip_counts, work.met
        total, met, steps = 0.0, 0.0, 1.0
        for loop in order:
            met += steps * lengths[loop]
            steps *= counts[loop]
            total += steps
        cost = total * work.kept * (1 + _STRIDED * (self.strided[order[-1]] if order else 0))
        outer = len(nest.variables)
        if nest.sparse and nest.reductions and any(loop >= outer for loop in order[:outer]):
            cost *= _SCATTERED if self._is_scattered(order, roots) else _WORKSPACE
        output_cost = 0.0 if not nest.sparse or nest.output is None else self._output_cost(order, places, counts)
        return Price(cost + (output_cost + work.cost), met, order, work.converted, work.in_order)

    def inserts_as_asked(self, order: LoopNumbers) -> bool:
        """Returns whether loops in an order insert into the storage that is asked for."""
        return self.output is not None and _follows(self.output, _places(order))

    def conversions(self, order: LoopNumbers) -> dict[Access, TensorType]:
        """Returns the operands that an order converts, each with its type then."""
        places = _places(order)
        converted = (operand for operand in self.sparse if operand.root(order, places) >= 0)
        return {operand.access: ordered_as(operand.kind, self._dims(operand, places)) for operand in converted}

    def _dims(self, operand: OrderedOperand, places: Sequence[int]) -> tuple[int, ...]:
        """Returns the dimensions of an operand in the order of loops at these places."""
        at = [places[self.loops.index(s)] for s in operand.access.subscripts if isinstance(s, IndexVar)]
        return tuple(sorted(range(operand.kind.rank), key=at.__getitem__))

    def _can_insert(self, order: LoopNumbers) -> bool:
        """Returns whether at most the result's last level is inside a reduction: only one level can be expanded."""
        variables = len(self.nest.variables)
        return all(loop < variables for loop in order[: variables - 1]) if variables else True

    def _output_cost(self, order: LoopNumbers, places: Sequence[int], counts: Sequence[float]) -> float:
        """Returns the cost of the conversion of the result."""
        if self.output is not None and _follows(self.output, places):
            return 0.0
        # The result has at most as many entries as steps of the loops over its variables.
        total, steps, variables = 0.0, 1.0, len(self.nest.variables)
        for loop in order:
            if loop < variables:
                steps *= counts[loop]
                total += steps
        return total

    def _work(self, roots: _Roots, order: LoopNumbers) -> _Work:
        """Returns the work after some conversions, which an order makes, and keeps it.

        Of plain storage the levels below the outermost have trip counts of one kind.
        """
        types, conversions = self.types, self.conversions(order)
        payload, after = self._after(conversions)
        found = _Work(
            list(trip_counts(self.loops, payload, after).values()),
            list(meeting_lengths(self.loops, payload, after).values()),
            tuple(conversions),
            sum(conversion_cost(types[access.tensor]) for access in conversions),
            _kept(conversions, types),
            all(_is_permutation(after[access.tensor]) for access in accesses_of(payload)),
        )
        self.seen[roots] = found
        return found

    def _is_scattered(self, order: LoopNumbers, roots: _Roots) -> bool:
        """Returns whether the rows of a mask are looked up in the innermost loop.

        The two innermost loops decide: all other levels of a converted operand lie above that of the innermost.
        """
        variables = len(self.nest.variables)
        if len(order) < 2 or order[-2] < variables or order[-1] >= variables:
            return False
        key = roots, order[-2], order[-1]
        if key not in self.masks:
            payload, after = self._after(self.conversions(order))
            named = tuple(self.loops[loop] for loop in order)
            self.masks[key] = scattered_in(named, self.nest.reductions, payload, after) is not None
        return self.masks[key]

    def _after(self, conversions: Mapping[Access, TensorType]) -> tuple[Expr, Mapping[str, TensorType]]:
        """Returns the payload and the types after the conversions."""
        if not conversions:
            return self.nest.payload, self.types
        names = {access: f"{access.tensor}#{number}" for number, access in enumerate(conversions)}
        after = {names[access]: kind for access, kind in conversions.items()}
        return replace_accesses(self.nest.payload, names), {**self.types, **after}


def _operand(
    nest: NestToOrder, access: Access, kind: TensorType, numbers: Mapping[IndexVar, int], *, alone: bool
) -> OrderedOperand:
    assert kind.encoding is not None
    takes = can_co_iterate(kind.encoding) or (
        alone and can_iterate_alone(kind.encoding) and stays_in_bounds(nest, kind)
    )
    levels = tuple(numbers[variable] for variable in level_variables(access, kind.encoding)) if takes else None
    subscripts = [(dim, s) for dim, s in enumerate(access.subscripts) if isinstance(s, IndexVar)]
    # Of a variable in two dimensions the first comes first.
    dims = {numbers[subscript]: dim for dim, subscript in reversed(subscripts)}
    return OrderedOperand(access, kind, levels, dims if len(subscripts) == kind.rank else {})


def stays_in_bounds(nest: NestToOrder, kind: TensorType) -> bool:
    """Returns whether loops over blocks, which exceed the last index, stay inside the dense operands.

    Dense operands are padded for plain subscripts only.
    """
    assert kind.encoding is not None
    plain = all(isinstance(s, IndexVar) for a in accesses_of(nest.payload) for s in a.subscripts)
    return plain or kind.encoding.is_permutation


def _kept(conversions: Mapping[Access, TensorType], types: Mapping[str, TensorType]) -> float:
    """Returns the factor by which loops over converted operands are longer than their storage suggests.

    A conversion keeps every entry: compressing a dense level removes none.
    """
    ratios = (entries(types[access.tensor]) / max(1.0, entries(kind)) for access, kind in conversions.items())
    return math.prod(max(1.0, ratio) for ratio in ratios)


def _is_permutation(kind: TensorType) -> bool:
    return kind.encoding is None or kind.encoding.is_permutation


def _places(order: LoopNumbers) -> list[int]:
    """Returns for each loop its place in an order."""
    places = [0] * len(order)
    for place, loop in enumerate(order):
        places[loop] = place
    return places


def _follows(levels: LoopNumbers, places: Sequence[int]) -> bool:
    last = -1
    for loop in levels:
        place = places[loop]
        if place < last:
            return False
        last = place
    return True
