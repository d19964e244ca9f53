"""Chooses the cheapest loop order that the storage allows.

Every sparse operand needs its index variables in the order of its levels (Kjolstad et al. 2017, section 4.1: the
iteration graph). If operands disagree, the graph has a cycle, which a conversion breaks; the cheapest combination of
order and conversions wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Access, IndexVar, accesses_of
from mlir_sparse.plan.order.candidate_orders import candidate_orders
from mlir_sparse.plan.order.loop_choice import LoopChoice, NestToOrder
from mlir_sparse.plan.order.order_prices import LoopNumbers, OrderPrices, Price, stays_in_bounds
from mlir_sparse.plan.order.storage_choice import can_iterate_alone, insertable_storage, level_variables, why_converted
from mlir_sparse.text.listed_words import listed

__all__ = ["choose_loops", "least_cost"]


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
    prices = OrderPrices.of(nest, types)
    found = prices.each(candidate_orders(prices))
    # Of equals the one that meets least; of these `min` returns the first: the order of the text.
    best = min(found, key=lambda price: price[:2], default=None)
    if best is None:
        return None
    why = None
    if asked is not None:
        chosen = _as_asked(prices, asked, best)
        why, best = _asked_reason(prices, chosen, best), chosen
    elif liked := [price for price in found if prices.order(price) == nest.preferred and price.in_order]:
        why, best = _preferred_reason(prices, liked[0], best), liked[0]
    conversions, order = prices.conversions(best.order), prices.order(best)
    return LoopChoice(
        order,
        tuple(conversions.items()),
        _storage(prices, best.order),
        best.in_order,
        best.cost,
        best.meetings,
        tuple(_reason(nest, access, types[access.tensor], order) for access in conversions),
        tuple(_otherwise(prices, access, best, found) for access in conversions),
        _order_reason(prices, best, found) if why is None else why,
    )


def least_cost(nest: NestToOrder, types: Mapping[str, TensorType]) -> float:
    """Returns what the cheapest loop order costs by estimate.

    Args:
        nest: the loops, with a dense result.
        types: the types of the operands, by name.
    """
    return _least_cost(nest, tuple((access.tensor, types[access.tensor]) for access in accesses_of(nest.payload)))


# Cached: products of many factors are compared with and without the last of them, one after the other.
@lru_cache(maxsize=512)
def _least_cost(nest: NestToOrder, types: tuple[tuple[str, TensorType], ...]) -> float:
    prices = OrderPrices.of(nest, dict(types))
    return min(price.cost for price in prices.each(candidate_orders(prices)))


def _as_asked(prices: OrderPrices, asked: tuple[IndexVar, ...], best: Price) -> Price:
    """Returns the price of the user's order."""
    nest = prices.nest
    cheapest = prices.order(best)
    order = tuple(variable for variable in asked if variable in cheapest)
    if len(order) < len(cheapest):
        missing = listed(variable for variable in cheapest if variable not in order)
        raise UnsupportedError(f"expected no order for loops that the plan makes itself, but it has {missing}")
    chosen = prices.price(tuple(map(prices.loops.index, order)))
    told = ", ".join(map(str, order))
    if chosen is None:
        raise UnsupportedError(
            f"expected a loop order that can insert into a sparse result over {listed(nest.variables)} (all of these "
            f"but one outside {listed(nest.reductions)}), but got {told}: ask for out='dense', or for another order"
        )
    if not nest.accumulates(order):
        one = f"expected a loop order with all reductions over {listed(nest.reductions)} innermost, or none of them"
        raise UnsupportedError(f"{one}, but got {told}: the innermost would overwrite what the others left")
    if not chosen.in_order and order != cheapest:
        raise UnsupportedError(
            f"expected the order {', '.join(map(str, cheapest))} of loops over blocked storage, which the sparsifier "
            f"schedules itself, but got {told}: convert the operand to storage without blocks, or leave the order out"
        )
    return chosen


def _asked_reason(prices: OrderPrices, chosen: Price, best: Price) -> str:
    if chosen.order == best.order:
        return f"as the schedule says, and the cheapest by estimate, at {best.cost:,.0f}" if len(best.order) > 1 else ""
    asked = f"as the schedule says, at {chosen.cost:,.0f} by estimate"
    return f"{asked}; the cheapest would be {_order(prices, best)}, at {best.cost:,.0f}"


def _preferred_reason(prices: OrderPrices, chosen: Price, best: Price) -> str:
    told = "the cheapest by estimates on the data"
    if chosen.order == best.order:
        return f"{told}, and by types alone, at {best.cost:,.0f}"
    return f"{told}; by types alone it is {_order(prices, best)}, at {best.cost:,.0f}, against {chosen.cost:,.0f}"


def _otherwise(prices: OrderPrices, access: Access, best: Price, found: list[Price]) -> str:
    """Returns the cheapest choice that does not convert an operand, with its cost."""
    without = [choice for choice in found if access not in choice.converted]
    if not without:
        return f"no order of the loops takes {access.tensor} as it is"
    other = min(without, key=lambda choice: choice.cost)
    return f"loops {_order(prices, other)} would cost {other.cost:,.0f} by estimate, against {best.cost:,.0f} with it"


def _order_reason(prices: OrderPrices, best: Price, found: list[Price]) -> str:
    """Returns how an order compares with the next."""
    others = [choice for choice in found if choice.order != best.order]
    if not others:
        return "the only one that can insert into the result" if len(best.order) > 1 else ""
    second = min(others, key=lambda choice: choice.cost)
    if second.cost == best.cost:
        if second.meetings > best.meetings:
            return f"no dearer than {_order(prices, second)}, and meets fewer coordinates of lists"
        return f"as in the text, no dearer than {_order(prices, second)}"
    first = f"the cheapest of {len(found)} by estimate, at {best.cost:,.0f}"
    return f"{first}; next {_order(prices, second)}, at {second.cost:,.0f}"


def _order(prices: OrderPrices, choice: Price) -> str:
    order = ", ".join(map(str, prices.order(choice)))
    names = dict.fromkeys(access.tensor for access in choice.converted)
    return f"{order} with {listed(names)} converted" if names else order


def _reason(nest: NestToOrder, access: Access, kind: TensorType, order: tuple[IndexVar, ...]) -> str:
    """Returns why an operand has to be converted for a loop order."""
    assert kind.encoding is not None
    levels = level_variables(access, kind.encoding)
    follows = list(levels) == sorted(levels, key=order.index)
    if kind.encoding.is_native and not kind.encoding.has_slices and not follows:
        return f"its levels run {', '.join(map(str, levels))}, the loops {', '.join(map(str, order))}"
    if can_iterate_alone(kind.encoding) and not stays_in_bounds(nest, kind):
        return "loops over blocks run beyond the last index, where an affine subscript has no room"
    return why_converted(kind.encoding)


def _storage(prices: OrderPrices, order: LoopNumbers) -> Encoding | None:
    """Returns the storage that loops in an order insert into; None for a dense result."""
    nest = prices.nest
    if not nest.sparse:
        return None
    if nest.output is not None and prices.inserts_as_asked(order):
        return nest.output
    return insertable_storage(nest.variables, tuple(prices.loops[loop] for loop in order), nest.output)
