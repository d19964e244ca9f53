"""Chooses the cheapest loop order that the storage allows.

Every sparse operand needs its index variables in the order of its levels (Kjolstad et al. 2017, section 4.1: the
iteration graph). If operands disagree, the graph has a cycle, which a conversion breaks; the cheapest combination of
order and conversions wins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, replace
from itertools import islice, permutations

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Access, Expr, IndexVar, accesses_of, replace_accesses
from mlir_sparse.plan.cost import conversion_cost, entries, meeting_lengths, meetings_in, steps_in, trip_counts
from mlir_sparse.plan.order.loop_choice import LoopChoice, NestToOrder
from mlir_sparse.plan.order.scattered_masks import scattered_in
from mlir_sparse.plan.order.storage_choice import (
    can_co_iterate,
    can_insert_into,
    can_iterate_alone,
    insertable_storage,
    is_sparse,
    level_variables,
    ordered_as,
    why_converted,
)
from mlir_sparse.text.listed_words import listed

__all__ = ["choose_loops"]

# Seven loops have 5040 orders; with more loops only the first orders, which follow the text, are tried.
_MOST_ORDERS = 5040
# The cost of a strided access in the innermost loop; far below any relevant difference in loop steps.
_STRIDED = 0.05
# The cost of a result row gathered in a workspace, relative to an appended one.
_WORKSPACE = 1.5
# The same if a mask leaves few entries, and its row is looked up.
_SCATTERED = 1.2


def choose_loops(
    nest: NestToOrder, types: Mapping[str, TensorType], asked: tuple[IndexVar, ...] | None = None
) -> LoopChoice | None:
    """Returns the cheapest loop order, or the user's; None if no order can insert into the result.

    Args:
        nest: the loops.
        types: the types of the operands, by name.
        asked: the user's order of these loops and others.

    Raises:
        UnsupportedError: if the user's order cannot insert into the result, or the plan cannot choose the order.
    """
    search = _Search.of(nest, types)
    orders = filter(nest.accumulates, islice(permutations(nest.variables + nest.reductions), _MOST_ORDERS))
    found = [choice for order in orders if (choice := _evaluate(search, order)) is not None]
    # Of equals the one that meets least; of these `min` returns the first: the order of the text.
    best = min(found, key=lambda choice: (choice.cost, choice.meetings), default=None)
    if best is None:
        return None
    why = None
    if asked is not None:
        chosen = _as_asked(search, asked, best)
        why, best = _asked_reason(chosen, best), chosen
    elif liked := [choice for choice in found if choice.order == nest.preferred and choice.in_order]:
        why, best = _preferred_reason(liked[0], best), liked[0]
    converted = tuple(access for access, _ in best.conversions)
    return replace(
        best,
        reasons=tuple(_reason(nest, access, types[access.tensor], best.order) for access in converted),
        otherwise=tuple(_otherwise(access, best, found) for access in converted),
        order_reason=_order_reason(best, found) if why is None else why,
    )


def _as_asked(search: _Search, asked: tuple[IndexVar, ...], best: LoopChoice) -> LoopChoice:
    """Returns the choice for the user's order."""
    nest = search.nest
    order = tuple(variable for variable in asked if variable in best.order)
    if len(order) < len(best.order):
        missing = listed(variable for variable in best.order if variable not in order)
        raise UnsupportedError(f"expected no order for loops that the plan makes itself, but it has {missing}")
    chosen = _evaluate(search, order)
    told = ", ".join(map(str, order))
    if chosen is None:
        raise UnsupportedError(
            f"expected a loop order that can insert into a sparse result over {listed(nest.variables)} (all of these "
            f"but one outside {listed(nest.reductions)}), but got {told}: ask for out='dense', or for another order"
        )
    if not nest.accumulates(order):
        one = f"expected a loop order with all reductions over {listed(nest.reductions)} innermost, or none of them"
        raise UnsupportedError(f"{one}, but got {told}: the innermost would overwrite what the others left")
    if not chosen.in_order and order != best.order:
        raise UnsupportedError(
            f"expected the order {', '.join(map(str, best.order))} of loops over blocked storage, which the sparsifier "
            f"schedules itself, but got {told}: convert the operand to storage without blocks, or leave the order out"
        )
    return chosen


def _asked_reason(chosen: LoopChoice, best: LoopChoice) -> str:
    if chosen.order == best.order:
        return f"as the schedule says, and the cheapest by estimate, at {best.cost:,.0f}" if len(best.order) > 1 else ""
    asked = f"as the schedule says, at {chosen.cost:,.0f} by estimate"
    return f"{asked}; the cheapest would be {_order(best)}, at {best.cost:,.0f}"


def _preferred_reason(chosen: LoopChoice, best: LoopChoice) -> str:
    told = "the cheapest by estimates on the data"
    if chosen.order == best.order:
        return f"{told}, and by types alone, at {best.cost:,.0f}"
    return f"{told}; by types alone it is {_order(best)}, at {best.cost:,.0f}, against {chosen.cost:,.0f}"


def _otherwise(access: Access, best: LoopChoice, found: list[LoopChoice]) -> str:
    """Returns the cheapest choice that does not convert an operand, with its cost."""
    without = [choice for choice in found if access not in dict(choice.conversions)]
    if not without:
        return f"no order of the loops takes {access.tensor} as it is"
    other = min(without, key=lambda choice: choice.cost)
    return f"loops {_order(other)} would cost {other.cost:,.0f} by estimate, against {best.cost:,.0f} with it"


def _order_reason(best: LoopChoice, found: list[LoopChoice]) -> str:
    """Returns how an order compares with the next."""
    others = [choice for choice in found if choice.order != best.order]
    if not others:
        return "the only one that can insert into the result" if len(best.order) > 1 else ""
    second = min(others, key=lambda choice: choice.cost)
    if second.cost == best.cost:
        if second.meetings > best.meetings:
            return f"no dearer than {_order(second)}, and meets fewer coordinates of lists"
        return f"as in the text, no dearer than {_order(second)}"
    first = f"the cheapest of {len(found)} by estimate, at {best.cost:,.0f}"
    return f"{first}; next {_order(second)}, at {second.cost:,.0f}"


def _order(choice: LoopChoice) -> str:
    order = ", ".join(map(str, choice.order))
    names = dict.fromkeys(access.tensor for access, _ in choice.conversions)
    return f"{order} with {listed(names)} converted" if names else order


# The converted sparse operands, each with the order of its dimensions.
_Converted = tuple[tuple[int, tuple[int, ...]], ...]
# The same with the first dimension alone.
_Roots = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Work:
    """The work of the loops after some conversions, for any order.

    Args:
        payload: the computation on converted operands.
        accesses: those of the computation.
        types: the types, with those of conversions.
        trip_counts: the number of iterations of each loop for one iteration of those around it.
        met: how many coordinates of lists one walk over each loop meets.
        conversions: the conversions.
        cost: the cost of the conversions.
        kept: the factor by which loops are longer than the storage suggests.
        in_order: whether the sparsifier keeps the given order.
    """

    payload: Expr
    accesses: tuple[Access, ...]
    types: Mapping[str, TensorType]
    trip_counts: Mapping[IndexVar, float]
    met: Mapping[IndexVar, float]
    conversions: tuple[tuple[Access, TensorType], ...]
    cost: float
    kept: float
    in_order: bool

    @classmethod
    def of(cls, search: _Search, converted: _Converted) -> _Work:
        nest, types = search.nest, search.types
        operands = [(search.sparse[number], dims) for number, dims in converted]
        conversions = {operand.access: ordered_as(operand.kind, dims) for operand, dims in operands}
        payload, after = _after(nest.payload, types, conversions)
        accesses, loops = accesses_of(payload), nest.variables + nest.reductions
        # Plain storage differs in its outermost level alone: its other levels have trip counts of one kind.
        roots = tuple((number, dims[0]) for number, dims in converted)
        if roots not in search.counted:
            search.counted[roots] = trip_counts(loops, payload, after), meeting_lengths(loops, payload, after)
        return cls(
            payload,
            accesses,
            after,
            *search.counted[roots],
            tuple(conversions.items()),
            sum(conversion_cost(types[access.tensor]) for access in conversions),
            _kept(conversions, types),
            all(_is_permutation(after[access.tensor]) for access in accesses),
        )


@dataclass(frozen=True, slots=True)
class _Operand:
    """A sparse operand with the orders that it allows.

    Args:
        access: its access.
        kind: its type.
        levels: the variables of its levels; None if it always has to be converted.
    """

    access: Access
    kind: TensorType
    levels: tuple[IndexVar, ...] | None


@dataclass(frozen=True, slots=True)
class _Search:
    """The values that all orders share.

    Args:
        nest: the loops.
        types: the types of the operands, by name.
        sparse: the sparse operands.
        seen: a cache of work by conversions.
        counted: a cache of trip counts and lengths of meetings, by the outermost dimension of each converted operand.
    """

    nest: NestToOrder
    types: Mapping[str, TensorType]
    sparse: tuple[_Operand, ...]
    seen: dict[_Converted, _Work] = field(default_factory=dict)
    counted: dict[_Roots, tuple[Mapping[IndexVar, float], Mapping[IndexVar, float]]] = field(default_factory=dict)

    @classmethod
    def of(cls, nest: NestToOrder, types: Mapping[str, TensorType]) -> _Search:
        sparse = [access for access in accesses_of(nest.payload) if is_sparse(types[access.tensor])]
        alone = len(sparse) == 1 and not nest.sparse
        levels = [_levels(nest, access, types[access.tensor], alone) for access in sparse]
        found = zip(sparse, levels, strict=True)
        return cls(nest, types, tuple(_Operand(access, types[access.tensor], its) for access, its in found))


def _levels(nest: NestToOrder, access: Access, kind: TensorType, alone: bool) -> tuple[IndexVar, ...] | None:
    assert kind.encoding is not None
    takes = can_co_iterate(kind.encoding) or (
        alone and can_iterate_alone(kind.encoding) and _stays_in_bounds(nest, kind)
    )
    return level_variables(access, kind.encoding) if takes else None


def _evaluate(search: _Search, order: tuple[IndexVar, ...]) -> LoopChoice | None:
    """Returns an order with its conversions and cost."""
    nest, seen = search.nest, search.seen
    output_cost, storage = 0.0, None
    if nest.sparse:
        if not _can_insert(nest, order):
            return None
        storage = _result_storage(nest, order)
    converted = _converted(search, order)
    work = seen.get(converted)
    if work is None:
        work = seen[converted] = _Work.of(search, converted)
    if storage is not None and nest.output not in (None, storage):
        # The result has at most as many entries as steps of the loops over its variables.
        own = tuple(variable for variable in order if variable in nest.variables)
        output_cost = steps_in(own, work.trip_counts)
    strided = _strided(nest, work, order)
    cost = steps_in(order, work.trip_counts) * work.kept * (1 + _STRIDED * strided)
    if nest.sparse and not _injective(nest, order):
        scattered = scattered_in(order, nest.reductions, work.payload, work.types)
        cost *= _WORKSPACE if scattered is None else _SCATTERED
    met = meetings_in(order, work.trip_counts, work.met)
    return LoopChoice(order, work.conversions, storage, work.in_order, cost + (output_cost + work.cost), met)


def _kept(conversions: Mapping[Access, TensorType], types: Mapping[str, TensorType]) -> float:
    """Returns the factor by which loops over converted operands are longer than their storage suggests.

    A conversion keeps every entry: compressing a dense level removes none.
    """
    ratios = (entries(types[access.tensor]) / max(1.0, entries(kind)) for access, kind in conversions.items())
    return math.prod(max(1.0, ratio) for ratio in ratios)


def _is_permutation(kind: TensorType) -> bool:
    return kind.encoding is None or kind.encoding.is_permutation


def _converted(search: _Search, order: tuple[IndexVar, ...]) -> _Converted:
    """Returns the operands that rule out a loop order, and the order that each needs."""
    stay = [operand.levels is not None and _follows(operand.levels, order) for operand in search.sparse]
    return tuple((number, _dims(search.sparse[number], order)) for number, stays in enumerate(stay) if not stays)


def _after(
    payload: Expr, types: Mapping[str, TensorType], conversions: Mapping[Access, TensorType]
) -> tuple[Expr, Mapping[str, TensorType]]:
    """Returns the payload and the types after the conversions."""
    if not conversions:
        return payload, types
    names = {access: f"{access.tensor}#{number}" for number, access in enumerate(conversions)}
    after = {names[access]: kind for access, kind in conversions.items()}
    return replace_accesses(payload, names), {**types, **after}


def _dims(operand: _Operand, order: tuple[IndexVar, ...]) -> tuple[int, ...]:
    """Returns the dimensions of an operand in the order of loops."""
    return tuple(sorted(range(operand.kind.rank), key=lambda dim: _position(operand.access, dim, order)))


def _reason(nest: NestToOrder, access: Access, kind: TensorType, order: tuple[IndexVar, ...]) -> str:
    """Returns why an operand has to be converted for a loop order."""
    assert kind.encoding is not None
    levels = level_variables(access, kind.encoding)
    if kind.encoding.is_native and not kind.encoding.has_slices and not _follows(levels, order):
        return f"its levels run {', '.join(map(str, levels))}, the loops {', '.join(map(str, order))}"
    if can_iterate_alone(kind.encoding) and not _stays_in_bounds(nest, kind):
        return "loops over blocks run beyond the last index, where an affine subscript has no room"
    return why_converted(kind.encoding)


def _stays_in_bounds(nest: NestToOrder, kind: TensorType) -> bool:
    """Returns whether loops over blocks, which exceed the last index, stay inside the dense operands.

    Dense operands are padded for plain subscripts only.
    """
    assert kind.encoding is not None
    plain = all(isinstance(s, IndexVar) for a in accesses_of(nest.payload) for s in a.subscripts)
    return plain or kind.encoding.is_permutation


def _position(access: Access, dim: int, order: tuple[IndexVar, ...]) -> int:
    subscript = access.subscripts[dim]
    assert isinstance(subscript, IndexVar), "affine subscripts of sparse operands are made dense before"
    return order.index(subscript)


def _follows(levels: tuple[IndexVar, ...], order: tuple[IndexVar, ...]) -> bool:
    positions = [order.index(variable) for variable in levels]
    return positions == sorted(positions)


def _can_insert(nest: NestToOrder, order: tuple[IndexVar, ...]) -> bool:
    """Returns whether at most the result's last level is inside a reduction: only one level can be expanded."""
    outer = 0
    while outer < len(order) and order[outer] not in nest.reductions:
        outer += 1
    return outer >= len(nest.variables) - 1


def _injective(nest: NestToOrder, order: tuple[IndexVar, ...]) -> bool:
    return not nest.reductions or set(order[: len(nest.variables)]) == set(nest.variables)


def _result_storage(nest: NestToOrder, order: tuple[IndexVar, ...]) -> Encoding:
    if nest.output is not None and can_insert_into(nest.output):
        levels = tuple(nest.variables[dim] for dim in nest.output.level_order)
        if _follows(levels, order):
            return nest.output
    return insertable_storage(nest.variables, order, nest.output)


def _strided(nest: NestToOrder, work: _Work, order: tuple[IndexVar, ...]) -> int:
    """Returns the number of dense arrays with a stride other than 1 in the innermost loop."""
    if not order:
        return 0
    dense = [access.subscripts for access in work.accesses if work.types[access.tensor].encoding is None]
    every = dense if nest.sparse else [*dense, nest.variables]
    return sum(order[-1] in subscripts[:-1] for subscripts in every if subscripts)
